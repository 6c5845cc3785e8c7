/* What instances of a partition say to each other: a byte has the length of the message, and behind the message stand
 * its sums. What is read and put again is read as the same. A summary that is taken says the same afterwards, a lower
 * number of that life is old, and the model of sums is saved and loaded to the same bytes. */
#include "daemon/merge/merge_message.h"
#include "learn/sums.h"
#include "message_again.h"

#define ARMS     2
#define FEATURES 0

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(cop_bytes *out, const void *message) { cop_merge_message_put(out, message); }

static cop_err read_message(const void *data, size_t length, void *out, cop_wire_fault *fault)
{
	return cop_merge_message_read(data, length, out, fault);
}

static void save_again(const cop_sums *sums)
{
	cop_sums loaded;
	cop_bytes first, second;
	cop_cursor cursor;
	cop_bytes_init(&first);
	cop_bytes_init(&second);
	cop_sums_save(sums, &first);
	cop_cursor_init(&cursor, first.data, first.length);
	COP_ASSERT(cop_sums_init(&loaded, ARMS, FEATURES) == COP_OK);
	COP_ASSERT(cop_sums_load(&loaded, ARMS, FEATURES, &cursor) == COP_OK);
	cop_sums_save(&loaded, &second);
	COP_ASSERT(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
	cop_sums_fini(&loaded);
	cop_bytes_fini(&first);
	cop_bytes_fini(&second);
}

static void take(const cop_merge_message *told, const uint8_t *frame, size_t length)
{
	cop_sums sums;
	cop_summary summary = { (uint32_t)told->part, told->life, told->number, told->time, frame, length };
	COP_ASSERT(cop_sums_init(&sums, ARMS, FEATURES) == COP_OK);
	sums.life = 1;
	const cop_sums_verdict verdict = cop_sums_judge(&sums, &summary);
	COP_ASSERT(verdict == COP_SUMS_NEW || verdict == COP_SUMS_OWN || verdict == COP_SUMS_SHAPE ||
	           verdict == COP_SUMS_BROKEN);
	const cop_err err = cop_sums_take(&sums, &summary);
	COP_ASSERT((err == COP_OK) == (verdict == COP_SUMS_NEW) && sums.peers == (err == COP_OK));
	if (err == COP_OK) {
		COP_ASSERT(cop_sums_judge(&sums, &summary) == COP_SUMS_SAME);
		save_again(&sums);
		summary.number--;
		COP_ASSERT(cop_sums_judge(&sums, &summary) == (summary.number == 0 ? COP_SUMS_BROKEN : COP_SUMS_OLD));
	}
	cop_sums_fini(&sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const message_codec codec = { put, read_message };
	cop_merge_message message, again;
	if (size == 0)
		return 0;
	const size_t length = data[0] < size - 1 ? data[0] : size - 1;
	if (message_again(&codec, data + 1, length, &message, &again) && message.kind == COP_MERGE_SUMMARY)
		take(&message, data + 1 + length, size - 1 - length);
	return 0;
}

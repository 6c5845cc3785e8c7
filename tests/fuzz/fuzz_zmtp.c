/* What ZeroMQ's peers send: read and filtered whole and in pieces, the result must be the same. The first byte is the
 * size of the pieces. */
#include <string.h>

#include "base/assert.h"
#include "daemon/serve/zmtp.h"

#define MOST 8192u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool wanted(const void *context, const uint8_t *topic, size_t length)
{
	(void)context;
	return length <= 5 && memcmp(topic, "act.m", length) == 0;
}

static cop_zmtp_verdict read_pieces(const uint8_t *data, size_t size, size_t piece, cop_zmtp *z, cop_zmtp_done *done)
{
	static const cop_zmtp_limits limits = { .frame_limit = 1000, .message_limit = 2000 };
	cop_zmtp_verdict verdict = COP_ZMTP_GOOD;
	for (size_t at = 0; at < size && verdict == COP_ZMTP_GOOD; at += piece) {
		verdict = cop_zmtp_read(z, &limits, data + at, size - at < piece ? size - at : piece, done);
		COP_ASSERT(z->cost <= limits.message_limit);
	}
	return verdict;
}

static cop_zmtp_verdict filter_pieces(
        const uint8_t *data, size_t size, size_t piece, uint8_t *out, cop_zmtp_filtered *sum)
{
	cop_zmtp z = { 0 };
	cop_zmtp_rest rest = { 0 };
	uint8_t buffer[MOST + sizeof rest.bytes];
	for (size_t at = 0; at < size && sum->verdict == COP_ZMTP_GOOD; at += piece) {
		size_t length = size - at < piece ? size - at : piece;
		memcpy(buffer + rest.length, data + at, length);
		cop_zmtp_filtered f = cop_zmtp_filter(&z, &rest, buffer, length, wanted, NULL);
		sum->verdict = f.verdict;
		if (f.verdict != COP_ZMTP_GOOD)
			break; /* what was before is not passed on either */
		memcpy(out + sum->length, buffer, f.length);
		sum->length += f.length;
		sum->ignored += f.ignored;
		sum->subscriptions += f.subscriptions;
	}
	return sum->verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t whole[MOST], pieces[MOST];
	if (size < 1 || size > MOST)
		return 0;
	size_t piece = 1 + (size_t)data[0];
	cop_zmtp a = { 0 }, b = { 0 };
	cop_zmtp_done x = { 0 }, y = { 0 };
	COP_ASSERT(read_pieces(data + 1, size - 1, MOST, &a, &x) == read_pieces(data + 1, size - 1, piece, &b, &y));
	COP_ASSERT(x.messages == y.messages && x.all == y.all && x.contexts == y.contexts && x.feedback == y.feedback);
	COP_ASSERT(x.contexts + x.feedback <= x.all);
	cop_zmtp_filtered f = { 0 }, g = { 0 };
	COP_ASSERT(filter_pieces(data + 1, size - 1, MOST, whole, &f) ==
	           filter_pieces(data + 1, size - 1, piece, pieces, &g));
	if (f.verdict == COP_ZMTP_GOOD)
		COP_ASSERT(f.length == g.length && f.ignored == g.ignored && f.subscriptions == g.subscriptions &&
		           memcmp(whole, pieces, f.length) == 0);
	return 0;
}

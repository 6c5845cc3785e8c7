/* Arbitrary bytes as the last segment of a journal, behind one that is whole; then as the first of the two; then, with
 * header and checksums set right, as the last once more. Whatever is read is compared with what verify and salvage say
 * of the same files, and cutting the tail must leave all that was read. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "store/journal_keep.h"
#include "store/journal_salvage.h"
#include "store/journal_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECOND 4 /* base of the second segment */

typedef struct places {
	char in[64];
	char out[72];
} places;

static const char *path_in(const places *p, uint64_t base)
{
	static _Thread_local char path[64 + COP_JOURNAL_NAME_ROOM];
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(base, false, name);
	(void)snprintf(path, sizeof path, "%s/%s", p->in, name);
	return path;
}

static void save(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	COP_ASSERT(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void save_whole(const places *p, uint64_t base)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	cop_journal_segment_header_put(&bytes, base, 0, "m", 1);
	for (uint64_t i = 0; i < 3; i++)
		cop_journal_record_put(&bytes, base + i, 1, "abc", (size_t)i);
	COP_ASSERT(bytes.err == COP_OK);
	save(path_in(p, base), bytes.data, bytes.length);
	cop_bytes_fini(&bytes);
}

static void empty(const char *folder)
{
	cop_journal_file *files;
	size_t count;
	COP_ASSERT(cop_journal_list(folder, &files, &count, NULL) == COP_OK);
	for (size_t i = 0; i < count; i++) {
		char name[COP_JOURNAL_NAME_ROOM];
		cop_journal_name(files[i].base, files[i].compressed, name);
		char *path = cop_journal_path(folder, name);
		COP_ASSERT(path != NULL && unlink(path) == 0);
		cop_mem_free(path);
	}
	cop_mem_free(files);
}

/* Every record read, in order; how reading ended. */
static cop_err read_all(const char *folder, bool gaps, uint64_t *records, cop_journal_tail *tail)
{
	cop_journal_reader *reader;
	cop_journal_record record;
	cop_diag diag = { .message = "" };
	uint64_t last = 0;
	*records = 0;
	cop_err err = cop_journal_reader_open(folder, 0, gaps, &reader, &diag);
	COP_ASSERT(err == COP_OK);
	while ((err = cop_journal_next(reader, &record, &diag)) == COP_OK) {
		COP_ASSERT(record.sequence > last && (gaps || last == 0 || record.sequence == last + 1));
		COP_ASSERT(record.type != COP_JOURNAL_MARK);
		volatile uint8_t sum = 0;
		for (size_t i = 0; i < record.length; i++)
			sum = (uint8_t)(sum + record.body[i]);
		last = record.sequence;
		(*records)++;
	}
	COP_ASSERT(err == COP_EEND || diag.message[0] != '\0');
	*tail = *cop_journal_reader_tail(reader);
	cop_journal_reader_close(reader);
	return err;
}

static void check(const places *p)
{
	cop_journal_tail tail;
	cop_journal_tail cut;
	uint64_t records;
	uint64_t again;
	cop_err err = read_all(p->in, false, &records, &tail);
	COP_ASSERT(err == COP_EEND || err == COP_EFORMAT || err == COP_EVERSION);
	cop_err verified = cop_journal_stat_verify(p->in, NULL, NULL);
	COP_ASSERT((err == COP_EEND) == (verified == COP_OK));
	empty(p->out);
	cop_journal_salvage_report report = { .skipped = NULL };
	cop_err salvaged = cop_journal_salvage(p->in, p->out, &report, NULL);
	COP_ASSERT(salvaged == COP_OK || (salvaged == COP_EVERSION && verified != COP_OK));
	if (salvaged == COP_OK) {
		COP_ASSERT(report.records >= records);
		COP_ASSERT(read_all(p->out, true, &again, &cut) == COP_EEND && again == report.records && !cut.torn);
	}
	if (err != COP_EEND)
		return;
	COP_ASSERT(cop_journal_keep_cut_tail(p->in, &cut, NULL) == COP_OK && cut.next_sequence == tail.next_sequence);
	COP_ASSERT(read_all(p->in, false, &again, &cut) == COP_EEND && again == records && !cut.torn && cut.bytes == 0);
}

/* A right header before the data, right checksums wherever a frame can be read. */
static size_t seal(const uint8_t *data, size_t size, uint8_t *out)
{
	cop_bytes header;
	cop_bytes_init(&header);
	cop_journal_segment_header_put(&header, SECOND, 0, NULL, 0);
	COP_ASSERT(header.err == COP_OK);
	size_t start = header.length;
	memcpy(out, header.data, start);
	cop_bytes_fini(&header);
	if (size > 0)
		memcpy(out + start, data, size);
	size += start;
	for (size_t at = start; size - at >= COP_JOURNAL_FRAME_HEAD;) {
		uint32_t length;
		memcpy(&length, out + at, sizeof length);
		if (length > size - at - COP_JOURNAL_FRAME_HEAD)
			break;
		uint32_t crc =
		        cop_crc32c(cop_crc32c(0, out + at, 4), out + at + 8, COP_JOURNAL_FRAME_HEAD - 8 + length);
		memcpy(out + at + 4, &crc, sizeof crc);
		at += COP_JOURNAL_FRAME_HEAD + length;
	}
	return size;
}

static const places *make_places(void)
{
	static places p;
	if (p.in[0] != '\0')
		return &p;
	const char *place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)snprintf(p.in, sizeof p.in, "%s/fuzz_journal_XXXXXX", place);
	COP_ASSERT(mkdtemp(p.in) != NULL);
	(void)snprintf(p.out, sizeof p.out, "%s/out", p.in);
	COP_ASSERT(mkdir(p.out, 0700) == 0);
	return &p;
}

static void remove_places(void)
{
	const places *p = make_places();
	empty(p->out);
	empty(p->in);
	(void)rmdir(p->out);
	(void)rmdir(p->in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int registered;
	const places *p = make_places();
	if (!registered)
		registered = 1 + atexit(remove_places);
	empty(p->in);
	save_whole(p, 1);
	save(path_in(p, SECOND), data, size);
	check(p);
	empty(p->in);
	save(path_in(p, 1), data, size);
	save_whole(p, SECOND);
	check(p);
	uint8_t *sealed = malloc(size + COP_JOURNAL_HEADER_MIN);
	COP_ASSERT(sealed != NULL);
	size_t length = seal(data, size, sealed);
	save_whole(p, 1);
	save(path_in(p, SECOND), sealed, length);
	check(p);
	free(sealed);
	return 0;
}

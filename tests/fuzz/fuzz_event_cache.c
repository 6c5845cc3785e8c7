/* Arbitrary bytes as a cache of events, as they are and then with every checksum set right; and as a block. Whatever is
 * read keeps the promises of events/logged_event.h and linalg/row.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "events/event_cache.h"
#include "events/event_cache_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_row(const cop_row *row)
{
	for (size_t i = 0; i < cop_row_entries(row); i++) {
		COP_ASSERT(isfinite(cop_row_value(row, i)));
		COP_ASSERT(cop_row_index(row, i) < row->d);
		COP_ASSERT(i == 0 || cop_row_index(row, i) > cop_row_index(row, i - 1));
	}
}

static void look_at(const cop_logged_event *event)
{
	look_at_row(&event->x);
	for (size_t i = 0; i < event->candidates; i++)
		look_at_row(&event->candidate[i]);
	volatile uint8_t sum = 0;
	for (size_t i = 0; i < event->arms; i++)
		sum = (uint8_t)(sum + event->mask[i]);
	for (size_t i = 0; i < event->id.length; i++)
		sum = (uint8_t)(sum + event->id.bytes[i]);
	if (!event->labelled)
		return;
	COP_ASSERT(fabs(event->cost) <= COP_LOGGED_COST_MAX);
	COP_ASSERT(event->p >= COP_LOGGED_PROBABILITY_MIN && event->p <= 1.0);
	COP_ASSERT(event->weight > 0.0 && isfinite(event->weight));
	COP_ASSERT(event->candidates == 0 || event->action < event->candidates);
	COP_ASSERT(event->mask == NULL || event->action < event->arms);
}

static void read_cache(const char *path)
{
	cop_event_cache *cache;
	cop_logged_event event;
	cop_diag diag = { .message = "" };
	cop_err err = cop_event_cache_open(path, &cache, &diag);
	if (err != COP_OK) {
		COP_ASSERT(cache == NULL && diag.message[0] != '\0');
		return;
	}
	uint64_t count = 0;
	while ((err = cop_event_reader_next(cop_event_cache_reader(cache), &event, &diag)) == COP_OK) {
		look_at(&event);
		count++;
	}
	COP_ASSERT(err == COP_EEND ? count == cop_event_cache_get_summary(cache)->events : diag.message[0] != '\0');
	cop_event_cache_free(cache);
}

static void read_block(const uint8_t *data, size_t size)
{
	cop_event_block block;
	cop_logged_event event;
	cop_event_block_init(&block);
	cop_err err = cop_event_block_load(&block, data, size);
	COP_ASSERT(err == COP_OK || err == COP_EFORMAT || err == COP_ENONFINITE);
	cop_row *rows = cop_mem_alloc(block.candidates, sizeof *rows);
	COP_ASSERT(rows != NULL);
	for (size_t i = 0; i < block.count; i++) {
		cop_event_block_get(&block, i, rows, &event);
		look_at(&event);
	}
	cop_mem_free(rows);
	cop_event_block_fini(&block);
}

/* Places and lengths stay, checksums become right. */
static void seal(uint8_t *data, size_t size)
{
	cop_cache_start start;
	cop_cache_block block;
	if (size < sizeof start)
		return;
	memcpy(&start, data, sizeof start);
	memcpy(start.magic, COP_CACHE_MAGIC, sizeof start.magic);
	if (start.summary > size || start.summary < sizeof start)
		start.summary = size;
	start.length = size - start.summary;
	start.summary_crc = cop_crc32c(0, data + start.summary, (size_t)start.length);
	start.crc = cop_crc32c(0, &start, sizeof start - sizeof start.crc);
	memcpy(data, &start, sizeof start);
	for (size_t at = sizeof start; start.summary - at >= sizeof block;) {
		memcpy(&block, data + at, sizeof block);
		if (block.length > start.summary - at - sizeof block)
			break;
		block.crc = cop_cache_block_crc(&block, data + at + sizeof block);
		memcpy(data + at, &block, sizeof block);
		at += sizeof block + (size_t)block.length;
	}
}

static char path[64];

static void remove_file(void) { (void)unlink(path); }

static void save(const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	COP_ASSERT(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (path[0] == '\0') {
		const char *place = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
		(void)snprintf(path, sizeof path, "%s/fuzz_event_cache_%ld", place, (long)getpid());
		(void)atexit(remove_file);
	}
	uint8_t *copy = malloc(size + 1);
	COP_ASSERT(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	save(copy, size);
	read_cache(path);
	seal(copy, size);
	save(copy, size);
	read_cache(path);
	free(copy);
	read_block(data, size);
	if (size > sizeof(cop_cache_start) + sizeof(cop_cache_block))
		read_block(data + sizeof(cop_cache_start) + sizeof(cop_cache_block),
		        (size - sizeof(cop_cache_start) - sizeof(cop_cache_block)) & ~(size_t)7);
	return 0;
}

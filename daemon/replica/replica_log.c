/* Batches are a ring: they come at its end, go at its beginning, and are found by halving. Their records are whole,
 * written by this process, so walking from head to head by the lengths in them needs no check. */
#include "daemon/replica/replica_log.h"

#include <endian.h>

#include "base/assert.h"
#include "base/mem.h"
#include "store/journal_segment.h"

#define LEAST 256 /* batches that there is room for */

struct cop_replica_batch {
	uint64_t first, count;
	size_t length;
	cop_bytes state; /* length 0: none */
	uint8_t data[];
};

size_t cop_replica_log_frame(const uint8_t *data)
{
	uint32_t length;
	memcpy(&length, data, sizeof length);
	return COP_JOURNAL_FRAME_HEAD + le32toh(length);
}

uint32_t cop_replica_log_frame_crc(const uint8_t *data)
{
	uint32_t crc;
	memcpy(&crc, data + sizeof crc, sizeof crc);
	return le32toh(crc);
}

void cop_replica_log_init(cop_replica_log *log, uint64_t next, size_t most)
{
	*log = (cop_replica_log){ .next = next, .most = most };
}

static cop_replica_batch *at(const cop_replica_log *log, size_t place)
{
	return log->ring[(log->begin + place) & (log->room - 1)];
}

static void forget_oldest(cop_replica_log *log)
{
	cop_replica_batch *batch = at(log, 0);
	log->begin = (log->begin + 1) & (log->room - 1);
	log->count--;
	log->bytes -= sizeof *batch + batch->length + batch->state.length;
	cop_bytes_fini(&batch->state);
	cop_mem_free(batch);
}

static void forget_all(cop_replica_log *log)
{
	while (log->count > 0)
		forget_oldest(log);
}

void cop_replica_log_fini(cop_replica_log *log)
{
	forget_all(log);
	cop_mem_free(log->ring);
	log->ring = NULL;
	log->room = 0;
}

static bool make_room(cop_replica_log *log)
{
	if (log->count < log->room)
		return true;
	size_t room = log->room == 0 ? LEAST : 2 * log->room;
	cop_replica_batch **ring = cop_mem_alloc(room, sizeof *ring);
	if (ring == NULL)
		return false;
	for (size_t i = 0; i < log->count; i++)
		ring[i] = at(log, i);
	cop_mem_free(log->ring);
	log->ring = ring;
	log->room = room;
	log->begin = 0;
	return true;
}

void cop_replica_log_put(cop_replica_log *log, const void *data, size_t length, uint64_t first, uint64_t count)
{
	cop_replica_batch *batch = make_room(log) ? cop_mem_reserve(1, sizeof *batch + length) : NULL;
	if (first != log->next || batch == NULL)
		forget_all(log);
	log->next = first + count;
	if (batch == NULL)
		return;
	*batch = (cop_replica_batch){ .first = first, .count = count, .length = length };
	cop_bytes_init(&batch->state);
	memcpy(batch->data, data, length);
	log->ring[(log->begin + log->count++) & (log->room - 1)] = batch;
	log->bytes += sizeof *batch + length;
	while (log->bytes > log->most && log->count > 1)
		forget_oldest(log);
}

void cop_replica_log_put_state(cop_replica_log *log, const cop_bytes *state)
{
	cop_replica_batch *batch = log->count == 0 ? NULL : at(log, log->count - 1);
	if (batch == NULL || batch->state.length > 0)
		return;
	cop_bytes_put(&batch->state, state->data, state->length);
	log->bytes += batch->state.length;
}

void cop_replica_log_drop_states(cop_replica_log *log)
{
	for (size_t i = 0; i < log->count; i++) {
		cop_bytes *state = &at(log, i)->state;
		log->bytes -= state->length;
		cop_bytes_fini(state);
		cop_bytes_init(state);
	}
}

uint64_t cop_replica_log_first(const cop_replica_log *log) { return log->count == 0 ? log->next : at(log, 0)->first; }

/* The place of the batch that the record is in; log->count: none. */
static size_t find(const cop_replica_log *log, uint64_t sequence)
{
	size_t low = 0, high = log->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (at(log, middle)->first + at(log, middle)->count <= sequence)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where the record begins, which is in the batch. */
static const uint8_t *place_of(const cop_replica_batch *batch, uint64_t sequence)
{
	const uint8_t *at = batch->data;
	for (uint64_t i = batch->first; i < sequence; i++)
		at += cop_replica_log_frame(at);
	return at;
}

uint64_t cop_replica_log_take(const cop_replica_log *log, uint64_t next, size_t most, cop_bytes *out)
{
	uint64_t count = 0;
	COP_ASSERT(next >= cop_replica_log_first(log) && next <= log->next);
	for (size_t i = find(log, next); i < log->count; i++) {
		const cop_replica_batch *batch = at(log, i);
		const uint8_t *from = place_of(batch, next), *end = batch->data + batch->length, *to = from;
		size_t room = out->length < most ? most - out->length : 0;
		for (; to < end && (count == 0 || (size_t)(to - from) + cop_replica_log_frame(to) <= room); count++)
			to += cop_replica_log_frame(to);
		cop_bytes_put(out, from, (size_t)(to - from));
		if (to < end || batch->state.length > 0)
			break;
		next = batch->first + batch->count;
	}
	return count;
}

const cop_bytes *cop_replica_log_state(const cop_replica_log *log, uint64_t sequence)
{
	size_t place = find(log, sequence);
	const cop_replica_batch *batch = place < log->count ? at(log, place) : NULL;
	bool there = batch != NULL && batch->first + batch->count == sequence + 1 && batch->state.length > 0;
	return there ? &batch->state : NULL;
}

uint32_t cop_replica_log_crc(const cop_replica_log *log, uint64_t sequence)
{
	COP_ASSERT(sequence >= cop_replica_log_first(log) && sequence < log->next);
	return cop_replica_log_frame_crc(place_of(at(log, find(log, sequence)), sequence));
}

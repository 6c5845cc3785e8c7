/* The index holds each stored hash once, at its newest ring position; an older item of the same hash stays in the ring
 * and is skipped when it falls out. */
#include "online/recent_ids.h"

#include <string.h>

#include "base/mem.h"

#define SMALLEST 256

struct cop_recent_ids_item {
	uint64_t hash;
	double time;
	uint8_t state;
};

/* With the hash's low half, which has its home, the ring is seldom asked: it is far away in memory. */
struct cop_recent_ids_slot {
	uint32_t at; /* ring position + 1; 0: empty */
	uint32_t low;
};

void cop_recent_ids_init(cop_recent_ids *memory, size_t max) { *memory = (cop_recent_ids){ .max = max }; }

void cop_recent_ids_fini(cop_recent_ids *memory)
{
	cop_mem_free(memory->ring);
	cop_mem_free(memory->index);
	*memory = (cop_recent_ids){ 0 };
}

/* Index slot of the hash, or the empty slot where it would go. */
static size_t slot_of(const cop_recent_ids *memory, uint64_t hash)
{
	size_t mask = 2 * memory->capacity - 1;
	size_t slot = (size_t)hash & mask;
	for (; memory->index[slot].at != 0; slot = (slot + 1) & mask) {
		const struct cop_recent_ids_slot *s = &memory->index[slot];
		if (s->low == (uint32_t)hash && memory->ring[s->at - 1].hash == hash)
			break;
	}
	return slot;
}

uint8_t cop_recent_ids_recall(const cop_recent_ids *memory, uint64_t hash)
{
	if (memory->count == 0)
		return 0;
	uint32_t at = memory->index[slot_of(memory, hash)].at;
	return at == 0 ? 0 : memory->ring[at - 1].state;
}

void cop_recent_ids_soon(const cop_recent_ids *memory, uint64_t hash)
{
	if (memory->capacity > 0)
		__builtin_prefetch(&memory->index[(size_t)hash & (2 * memory->capacity - 1)], 1);
}

/* Backward-shift deletion keeps every probe sequence unbroken. */
static void unindex(cop_recent_ids *memory, size_t slot)
{
	size_t mask = 2 * memory->capacity - 1;
	size_t hole = slot;
	for (size_t next = (hole + 1) & mask; memory->index[next].at != 0; next = (next + 1) & mask) {
		size_t home = memory->index[next].low & mask;
		if (((next - home) & mask) >= ((next - hole) & mask)) {
			memory->index[hole] = memory->index[next];
			hole = next;
		}
	}
	memory->index[hole].at = 0;
}

static void drop_oldest(cop_recent_ids *memory)
{
	size_t slot = slot_of(memory, memory->ring[memory->first].hash);
	if (memory->index[slot].at == memory->first + 1)
		unindex(memory, slot);
	memory->first = (memory->first + 1) & (memory->capacity - 1);
	memory->count--;
	if (memory->count > 0)
		cop_recent_ids_soon(memory, memory->ring[memory->first].hash);
}

static cop_err grow(cop_recent_ids *memory)
{
	size_t capacity = memory->capacity == 0 ? SMALLEST : 2 * memory->capacity;
	struct cop_recent_ids_item *ring = cop_mem_alloc(capacity, sizeof *ring);
	struct cop_recent_ids_slot *index = cop_mem_alloc(2 * capacity, sizeof *index);
	if (ring == NULL || index == NULL) {
		cop_mem_free(ring);
		cop_mem_free(index);
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < memory->count; i++)
		ring[i] = memory->ring[(memory->first + i) & (memory->capacity - 1)];
	size_t count = memory->count;
	size_t max = memory->max;
	cop_recent_ids_fini(memory);
	*memory = (cop_recent_ids){ .ring = ring, .index = index, .capacity = capacity, .count = count, .max = max };
	for (size_t i = 0; i < count; i++)
		memory->index[slot_of(memory, ring[i].hash)] =
		        (struct cop_recent_ids_slot){ (uint32_t)i + 1, (uint32_t)ring[i].hash };
	return COP_OK;
}

void cop_recent_ids_store(cop_recent_ids *memory, uint64_t hash, uint8_t state, double time)
{
	if (memory->max == 0)
		return;
	while (memory->count >= memory->max)
		drop_oldest(memory);
	if (memory->count == memory->capacity && grow(memory) != COP_OK)
		return;
	size_t at = (memory->first + memory->count) & (memory->capacity - 1);
	size_t slot = slot_of(memory, hash);
	memory->ring[at] = (struct cop_recent_ids_item){ .hash = hash, .time = time, .state = state };
	memory->index[slot] = (struct cop_recent_ids_slot){ (uint32_t)at + 1, (uint32_t)hash };
	memory->count++;
}

void cop_recent_ids_forget(cop_recent_ids *memory, double time)
{
	while (memory->count > 0 && memory->ring[memory->first].time < time)
		drop_oldest(memory);
}

void cop_recent_ids_save(const cop_recent_ids *memory, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, memory->count);
	for (size_t i = 0; i < memory->count; i++) {
		const struct cop_recent_ids_item *item = &memory->ring[(memory->first + i) & (memory->capacity - 1)];
		cop_bytes_put_u64(bytes, item->hash);
		cop_bytes_put_f64(bytes, item->time);
		cop_bytes_put_u8(bytes, item->state);
	}
}

cop_err cop_recent_ids_load(cop_recent_ids *memory, cop_cursor *cursor)
{
	uint64_t count = cop_cursor_u64(cursor);
	for (uint64_t i = 0; i < count && cursor->err == COP_OK; i++) {
		uint64_t hash = cop_cursor_u64(cursor);
		double time = cop_cursor_f64(cursor);
		uint8_t state = cop_cursor_u8(cursor);
		if (cursor->err == COP_OK && state == 0)
			return COP_EFORMAT;
		if (cursor->err == COP_OK)
			cop_recent_ids_store(memory, hash, state, time);
	}
	return cursor->err;
}

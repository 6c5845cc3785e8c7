/* A handle is a unit's number over all chunks; unit 0 is never given out. A free record holds the next free one's
 * handle. */
#include "learn/slab.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define UNIT    ((size_t)8)
#define CHUNK   ((size_t)1 << 20)
#define EXACT   128 /* units up to here have a class each */
#define CLASSES 320

struct cop_slab {
	size_t largest;
	size_t chunk_units; /* power of two */
	unsigned shift;     /* log2 of it */
	uint8_t **chunks;
	size_t count, capacity;
	size_t next; /* first never used unit */
	uint32_t free[CLASSES];
};

/* Rounds units up to their class's size and tells the class: one for each size up to EXACT, then 8 for each doubling.
 */
static size_t class_of(size_t units, unsigned *class)
{
	if (units <= EXACT) {
		*class = (unsigned)units - 1;
		return units;
	}
	unsigned top = 63u - (unsigned)__builtin_clzll((unsigned long long)(units - 1)); /* >= 7 */
	unsigned step = top - 3;
	size_t steps = (units + ((size_t)1 << step) - 1) >> step; /* 9 .. 16 */
	*class = EXACT + (top - 7) * 8 + (unsigned)(steps - 9);
	return steps << step;
}

cop_err cop_slab_new(size_t largest, cop_slab **out)
{
	*out = NULL;
	if (largest == 0 || largest > (size_t)1 << 30)
		return COP_EINVAL;
	cop_slab *slab = cop_mem_alloc(1, sizeof *slab);
	if (slab == NULL)
		return COP_ENOMEM;
	unsigned class;
	size_t units = class_of((largest + UNIT - 1) / UNIT, &class);
	slab->largest = largest;
	slab->chunk_units = CHUNK / UNIT;
	while (slab->chunk_units < units + 1) /* beside unit 0 */
		slab->chunk_units *= 2;
	slab->shift = (unsigned)__builtin_ctzll((unsigned long long)slab->chunk_units);
	slab->next = 1;
	*out = slab;
	return COP_OK;
}

void cop_slab_free(cop_slab *slab)
{
	if (slab == NULL)
		return;
	for (size_t i = 0; i < slab->count; i++)
		cop_mem_free(slab->chunks[i]);
	cop_mem_free(slab->chunks);
	cop_mem_free(slab);
}

static cop_err add_chunk(cop_slab *slab)
{
	if (slab->count == slab->capacity) {
		size_t capacity = slab->capacity == 0 ? 16 : slab->capacity * 2;
		uint8_t **chunks = cop_mem_resize(slab->chunks, slab->count, capacity, sizeof *chunks);
		if (chunks == NULL)
			return COP_ENOMEM;
		slab->chunks = chunks;
		slab->capacity = capacity;
	}
	if ((slab->count + 1) * slab->chunk_units > UINT32_MAX)
		return COP_ENOMEM;
	uint8_t *chunk = cop_mem_alloc(slab->chunk_units, UNIT);
	if (chunk == NULL)
		return COP_ENOMEM;
	slab->chunks[slab->count++] = chunk;
	return COP_OK;
}

void *cop_slab_at(const cop_slab *slab, uint32_t handle)
{
	return slab->chunks[handle >> slab->shift] + (handle & (slab->chunk_units - 1)) * UNIT;
}

/* Room for `units` at next, in the newest chunk or a further one. A record never straddles chunks; the rest of a full
 * chunk stays unused. */
static cop_err fresh_room(cop_slab *slab, size_t units)
{
	size_t end = slab->count * slab->chunk_units;
	if (slab->next + units <= end)
		return COP_OK;
	cop_err err = add_chunk(slab);
	if (err == COP_OK && end != 0)
		slab->next = end;
	return err;
}

cop_err cop_slab_reserve(cop_slab *slab, size_t size)
{
	COP_ASSERT(size > 0 && size <= slab->largest);
	unsigned class;
	size_t units = class_of((size + UNIT - 1) / UNIT, &class);
	return slab->free[class] != 0 ? COP_OK : fresh_room(slab, units);
}

cop_err cop_slab_take(cop_slab *slab, size_t size, uint32_t *handle)
{
	COP_ASSERT(size > 0 && size <= slab->largest);
	unsigned class;
	size_t units = class_of((size + UNIT - 1) / UNIT, &class);
	if (slab->free[class] != 0) {
		*handle = slab->free[class];
		memcpy(&slab->free[class], cop_slab_at(slab, *handle), sizeof *handle);
		return COP_OK;
	}
	cop_err err = fresh_room(slab, units);
	if (err != COP_OK)
		return err;
	*handle = (uint32_t)slab->next;
	slab->next += units;
	return COP_OK;
}

void cop_slab_give(cop_slab *slab, uint32_t handle, size_t size)
{
	unsigned class;
	(void)class_of((size + UNIT - 1) / UNIT, &class);
	memcpy(cop_slab_at(slab, handle), &slab->free[class], sizeof handle);
	slab->free[class] = handle;
}

size_t cop_slab_bytes(const cop_slab *slab) { return slab->count * slab->chunk_units * UNIT; }

void cop_slab_widen(cop_slab *slab, size_t largest)
{
	unsigned class;
	size_t units = class_of((largest + UNIT - 1) / UNIT, &class);
	COP_ASSERT(largest >= slab->largest && units + 1 <= slab->chunk_units);
	slab->largest = largest;
}

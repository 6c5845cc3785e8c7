/* online/remembered.h: a bounded memory of hashed ids, oldest first out: part of the pending table.
 *
 * A ring in order of time beside an open-addressing index. One thread; a steady load allocates nothing. */
#ifndef COP_ONLINE_REMEMBERED_H
#define COP_ONLINE_REMEMBERED_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_memory {
	struct cop_memory_item *ring;  /* capacity items */
	struct cop_memory_slot *index; /* 2 * capacity */
	size_t capacity;               /* power of two, or 0 */
	size_t first, count;           /* oldest item and how many */
	size_t max;
} cop_memory;

void cop_memory_init(cop_memory *memory, size_t max);
void cop_memory_fini(cop_memory *memory);
/* The newest state stored for the hash, 0 when there is none. */
uint8_t cop_memory_recall(const cop_memory *memory, uint64_t hash);
/* The hash will be stored or recalled soon: asks for its place in memory. */
void cop_memory_soon(const cop_memory *memory, uint64_t hash);
/* state > 0. The oldest goes when max are held. Should memory be short, nothing is stored. */
void cop_memory_store(cop_memory *memory, uint64_t hash, uint8_t state, double time);
/* Drops the items stored before `time`. */
void cop_memory_forget(cop_memory *memory, double time);
void cop_memory_save(const cop_memory *memory, cop_bytes *bytes);
/* Into an empty memory. COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_memory_load(cop_memory *memory, cop_cursor *cursor);

#endif

/* online/recent_ids.h: a bounded memory of hashed ids, oldest first out: part of the pending table.
 *
 * A ring in order of time beside an open-addressing index. One thread; a steady load allocates nothing. */
#ifndef COP_ONLINE_RECENT_IDS_H
#define COP_ONLINE_RECENT_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_recent_ids {
	struct cop_recent_ids_item *ring;  /* capacity items */
	struct cop_recent_ids_slot *index; /* 2 * capacity */
	size_t capacity;                   /* power of two, or 0 */
	size_t first, count;               /* oldest item and how many */
	size_t max;
} cop_recent_ids;

void cop_recent_ids_init(cop_recent_ids *memory, size_t max);
void cop_recent_ids_fini(cop_recent_ids *memory);
/* The newest state stored for the hash, 0 when there is none. */
uint8_t cop_recent_ids_recall(const cop_recent_ids *memory, uint64_t hash);
/* The hash will be stored or recalled soon: asks for its place in memory. */
void cop_recent_ids_soon(const cop_recent_ids *memory, uint64_t hash);
/* state > 0. The oldest goes when max are held. Should memory be short, nothing is stored. */
void cop_recent_ids_store(cop_recent_ids *memory, uint64_t hash, uint8_t state, double time);
/* Drops the items stored before `time`. */
void cop_recent_ids_forget(cop_recent_ids *memory, double time);
void cop_recent_ids_save(const cop_recent_ids *memory, cop_bytes *bytes);
/* Into an empty memory. COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_recent_ids_load(cop_recent_ids *memory, cop_cursor *cursor);

#endif

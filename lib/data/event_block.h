/* data/event_block.h: many events together in one piece of memory, and the same bytes in a cache file.
 *
 * What a parsing thread hands to learning ones, and what `replay --cache` keeps. Rows of one block are all dense (of
 * one dimension) or all sparse. A view of an event borrows from its block. One thread writes a block; many may read it
 * afterwards. */
#ifndef COP_DATA_EVENT_BLOCK_H
#define COP_DATA_EVENT_BLOCK_H

#include "base/bytes.h"
#include "base/err.h"
#include "data/logged_event.h"

typedef struct cop_event_block {
	cop_bytes bytes; /* the events, one after the other, aligned to 8 */
	uint32_t *at;    /* offsets of them / 8 */
	size_t count, room;
	cop_row *rows; /* of candidates, for views: room for the event with most of them */
	size_t row_room;
} cop_event_block;

void cop_event_block_init(cop_event_block *block);
void cop_event_block_fini(cop_event_block *block);
/* Empty again, its memory kept. */
void cop_event_block_clear(cop_event_block *block);
/* Copies the event. COP_EFULL: it would pass 2^31 bytes. COP_ENOMEM. */
COP_CHECK cop_err cop_event_block_add(cop_event_block *block, const cop_logged_event *event);
/* A view of event i. `rows`: room of the caller for its candidates (cop_event_block_candidates of them), so that
 * several threads can read one block; NULL when it has none. */
void cop_event_block_get(const cop_event_block *block, size_t i, cop_row *rows, cop_logged_event *out);
size_t cop_event_block_candidates(const cop_event_block *block, size_t i);

/* The block's bytes from a file, checked as a whole: every later get is in bounds, every index and value in order.
 * COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. data is copied. */
COP_CHECK cop_err cop_event_block_load(cop_event_block *block, const void *data, size_t length);

#endif

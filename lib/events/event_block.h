/* events/event_block.h: many events together in one piece of memory.
 *
 * A parsing thread hands blocks to learning threads. Events lie one after the other, each with its rows behind it,
 * aligned to 8 bytes; a view of an event borrows from the block and copies nothing but the id. One thread writes a
 * block; many may read it afterwards. */
#ifndef COP_EVENTS_EVENT_BLOCK_H
#define COP_EVENTS_EVENT_BLOCK_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "events/logged_event.h"

/* A block is full, by custom, when it holds so much. */
#define COP_EVENT_BLOCK_BYTES  ((size_t)1 << 20)
#define COP_EVENT_BLOCK_EVENTS ((size_t)8192)
/* It can hold no more than this. */
#define COP_EVENT_BLOCK_MAX ((size_t)1 << 31)

typedef struct cop_event_block {
	cop_bytes bytes; /* the events; length is a multiple of 8 */
	uint32_t *at;    /* count of their offsets, / 8 */
	size_t count, room;
	size_t candidates; /* most of one event: what room for rows it takes to view any of them */
} cop_event_block;

void cop_event_block_init(cop_event_block *block);
void cop_event_block_fini(cop_event_block *block);
/* Empty again, its memory kept. */
void cop_event_block_clear(cop_event_block *block);
/* It is time for another block. */
bool cop_event_block_is_full(const cop_event_block *block);

/* Copies the event, whose rows are what row.h promises. Counts of features and text are cut to 32 bits.
 * COP_EINVAL: id or label are not what logged_event.h promises. COP_EFULL: the block would pass COP_EVENT_BLOCK_MAX.
 * COP_ENOMEM. Nothing changed then. */
COP_CHECK cop_err cop_event_block_add(cop_event_block *block, const cop_logged_event *event);

/* A view of event i < count. rows: the caller's room for a row for each candidate of the event, so that several threads
 * can read one block; NULL when there are none. */
void cop_event_block_get(const cop_event_block *block, size_t i, cop_row *rows, cop_logged_event *out);

#endif

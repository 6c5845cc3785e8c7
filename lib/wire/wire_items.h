/* wire/wire_items.h: the items of a body: a stream's one map or array of maps, a batch's `{items: [...], after?,
 * seq?}`.
 *
 * Opening checks the whole body first (well-formed, no deeper than COP_WIRE_DEPTH, nothing behind its end), so that a
 * message that is cut off changes nothing; afterwards each item is a slice for one of the decoders. Nothing is
 * allocated. One thread per walk. */
#ifndef COP_WIRE_WIRE_ITEMS_H
#define COP_WIRE_WIRE_ITEMS_H

#include "base/bytes.h"
#include "wire/wire_keys.h"
#include "wire/wire_position.h"

/* In one batch: an item of one byte is answered with fifty, so message_limit alone bounds no reply. */
#define COP_WIRE_BATCH_MAX 65536

typedef struct cop_wire_items {
	cop_wire_cursor cursor; /* borrows the body */
	size_t count;           /* items in all */
	size_t left;            /* still to come */
	bool ordered; /* a batch with `after`: when an item cannot be taken now, those behind it are not either */
	cop_wire_position after; /* that the model has to know; at source NULL: none */
} cop_wire_items;

/* A stream's body: a map is one item, an array as many as it holds. COP_EFORMAT (bad_request), fault filled. */
COP_CHECK cop_err cop_wire_items_stream(cop_wire_items *items, const void *body, size_t length, cop_wire_fault *fault);
/* A batch's body, request or reply; *seq has length 0 when there is none. COP_EFORMAT (bad_request), fault filled. */
COP_CHECK cop_err cop_wire_items_batch(
        cop_wire_items *items, const void *body, size_t length, cop_wire_seq *seq, cop_wire_fault *fault);
/* The next item's bytes (borrowed from the body); false when all were given. An item may be of any type; its decoder
 * refuses what is no map. */
bool cop_wire_items_next(cop_wire_items *items, const void **item, size_t *length);

/* Begins a batch of `count` items: the caller appends them, nothing closes it. seq may be NULL. Failure: bytes->err. */
void cop_wire_items_put(cop_bytes *bytes, size_t count, const cop_wire_seq *seq);

#endif

/* history/forget_spans.h: under which ids of which models something stood, from which record to which.
 *
 * Found by model and id, the newest span of an id first. One thread per table; what only reads may be on several. */
#ifndef COP_HISTORY_FORGET_SPANS_H
#define COP_HISTORY_FORGET_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "events/event_id.h"

typedef struct cop_forget_span {
	uint64_t hash;
	uint64_t from, to; /* records [from, to); UINT64_MAX: to the end */
	uint32_t next;     /* place of another one in the bucket, above 0 */
	uint32_t model;
	cop_event_id id;
} cop_forget_span;

typedef struct cop_forget_spans {
	cop_forget_span *items;
	size_t count, room;
	uint32_t *buckets; /* places, from 1 on; room of them, a power of two */
} cop_forget_spans;

/* Zeroed is an empty table. */
void cop_forget_spans_fini(cop_forget_spans *spans);
/* The newest span of the id, which may have ended; NULL: none. Borrowed until the next add. */
cop_forget_span *cop_forget_spans_find(const cop_forget_spans *spans, uint32_t model, const cop_event_id *id);
/* The next older one of the same id; NULL: none. */
cop_forget_span *cop_forget_spans_older(const cop_forget_spans *spans, const cop_forget_span *span);
/* A span from the record on. COP_ENOMEM, also when there are 2^32. */
COP_CHECK cop_err cop_forget_spans_add(cop_forget_spans *spans, uint32_t model, const cop_event_id *id, uint64_t from);

#endif

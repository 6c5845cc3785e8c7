/* tools/whatif/whatif_pipe.h: records on their way from the thread that reads them to those of the two models.
 *
 * They go in blocks, in their order. One thread puts; two of the pipe's own take, the second one behind the first,
 * with what that left in the item. */
#ifndef COP_TOOLS_WHATIF_WHATIF_PIPE_H
#define COP_TOOLS_WHATIF_WHATIF_PIPE_H

#include "wire/wire_record.h"
#include "whatif_pair.h"

typedef struct cop_whatif_item {
	cop_wire_record_type type;
	uint64_t number; /* of the record */
	size_t length;
	const uint8_t *body;
	bool taken; /* models take it; else it is of interest for what it ends alone */
	bool asks;  /* a decision, or a feedback that is an event of its own: what follows `record` is there */
	bool saw;   /* the first model was asked, and answered */
	const cop_wire_record *record; /* what the body says, of a decision or feedback; else NULL */
	size_t room;                   /* arms at most that the view has room for */
	cop_whatif_view view;
	cop_whatif_seen seen;
} cop_whatif_item;

/* The item is the taker's own until it returns; its view, seen and saw are for the first one to fill. One with a
 * record has a body only where the record points into it, and not for the model's name alone, which is left out. An
 * error ends the taking: what comes later is dropped. */
typedef cop_err cop_whatif_taker(void *context, cop_whatif_item *item);

typedef struct cop_whatif_pipe cop_whatif_pipe;

/* COP_ENOMEM, also when the system gives no more threads; on error *out is NULL. */
COP_CHECK cop_err cop_whatif_pipe_new(cop_whatif_taker *const taker[2], void *const context[2], cop_whatif_pipe **out);
/* What was not taken is dropped. NULL is allowed. */
void cop_whatif_pipe_free(cop_whatif_pipe *pipe);

/* The item is copied, and its view gets its room. A taker's error, if it had one; COP_ENOMEM. */
COP_CHECK cop_err cop_whatif_pipe_put(cop_whatif_pipe *pipe, const cop_whatif_item *item);
/* Waits until everything was taken, and the takers rest. Errors of put. */
COP_CHECK cop_err cop_whatif_pipe_flush(cop_whatif_pipe *pipe);

#endif

/* wire/wire_settled.h: waiting decisions that a journal record ended beside the one that it is of, and how.
 *
 * An array of [id, outcome] or [id, outcome, loss] or [id, outcome, loss, loss], perhaps with a map of named losses
 * behind the last loss, in the order in which they ended; what ended is exactly what is listed, so that whoever reads a
 * journal needs no rule of its own. Losses are those that were learned, in the model's loss_range. No state: any
 * thread. */
#ifndef COP_WIRE_WIRE_SETTLED_H
#define COP_WIRE_WIRE_SETTLED_H

#include "base/bytes.h"
#include "events/event_id.h"
#include "wire/wire_cursor.h"
#include "wire/wire_named.h"

typedef enum cop_wire_outcome {
	COP_WIRE_OUTCOME_RECORDED = 0,    /* the window ended: the losses recorded until then were learned */
	COP_WIRE_OUTCOME_DEFAULT = 1,     /* the window ended without a loss: the default loss was learned */
	COP_WIRE_OUTCOME_UNANSWERED = 2,  /* the window ended without a loss: nothing was learned */
	COP_WIRE_OUTCOME_GAVE_WAY = 3,    /* at a bound, before its window ended; nothing was learned */
	COP_WIRE_OUTCOME_LEARNED_WAY = 4, /* the same, but the losses recorded until then were learned */
	COP_WIRE_OUTCOME_ANOTHER = 5,     /* feedback reported another action than the one decided */
	COP_WIRE_OUTCOMES
} cop_wire_outcome;

typedef struct cop_wire_settlement {
	cop_event_id id;
	cop_wire_outcome outcome;
	double loss[2];
	unsigned losses;      /* of them that are there: 0 when nothing was learned */
	cop_wire_named named; /* borrowed; count 0: none */
} cop_wire_settlement;

/* Whether the decision ended with a loss, and whether it gave way at a bound. */
bool cop_wire_settled_learned(cop_wire_outcome outcome);
bool cop_wire_settled_gave_way(cop_wire_outcome outcome);

/* Encoded settlements, borrowed. Zeroed: none. */
typedef struct cop_wire_settled {
	const uint8_t *items;
	size_t length; /* bytes */
	size_t count;
	bool lost; /* to be put: memory was short, and not all is here */
} cop_wire_settled;

/* Appends one; the caller counts them. Failure is in bytes->err. */
void cop_wire_settled_add(cop_bytes *bytes, const cop_wire_settlement *settlement);
/* Appends the array; COP_ENOMEM in bytes->err if some are lost. */
void cop_wire_settled_put(cop_bytes *bytes, const cop_wire_settled *settled);
/* An array that stands next, every item checked. COP_EINVAL, COP_EFORMAT, COP_ENONFINITE; the cursor stays then. */
COP_CHECK cop_err cop_wire_settled_read(cop_wire_cursor *cursor, cop_wire_settled *out);
/* The first of those that are left, which is taken off; false: none is left. */
bool cop_wire_settled_next(cop_wire_settled *rest, cop_wire_settlement *out);

#endif

/* wire/wire_split.h: who made a decision, and by which terms, as records and answers have it.
 *
 * No state: any thread. */
#ifndef COP_WIRE_WIRE_SPLIT_H
#define COP_WIRE_WIRE_SPLIT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "wire/wire_cursor.h"

/* Who decided; key `by`, unless it is the policy. */
typedef enum cop_wire_maker {
	COP_WIRE_BY_POLICY = 0,
	COP_WIRE_BY_HOLDOUT,      /* the baseline, for the control group */
	COP_WIRE_BY_CONSERVATIVE, /* the baseline, since the policy's allowance is used up */
	COP_WIRE_BY_OBSERVED,     /* an existing system, which the model only watched: of explanations and searches */
	COP_WIRE_MAKERS
} cop_wire_maker;

/* "policy" ...; never NULL. */
const char *cop_wire_split_maker_text(cop_wire_maker maker);

/* What decided about the probability of an action, where it was not the policy alone (bandit/shares.h); key `limit`. */
typedef enum cop_wire_limit {
	COP_WIRE_LIMIT_NONE = 0,
	COP_WIRE_LIMIT_MIN,
	COP_WIRE_LIMIT_MAX,
	COP_WIRE_LIMIT_LEAST,
	COP_WIRE_LIMITS
} cop_wire_limit;

/* The option's name: "share_min" ...; "none". */
const char *cop_wire_split_limit_text(cop_wire_limit limit);

/* By which a decision belongs to the control group or not (online/control.h). */
typedef struct cop_wire_split {
	double share; /* in (0, 1) */
	int64_t baseline;
	double allowance; /* in [0, 1]; 1: none is told */
	uint32_t place;
	bool kept; /* observed: for want of allowance */
} cop_wire_split;

/* Of a decision's record: observed: it is not the policy's; split: NULL, there was no control group. */
cop_wire_maker cop_wire_split_maker(bool observed, const cop_wire_split *split);

/* The value of a record's key `h`. */
void cop_wire_split_put(cop_bytes *bytes, const cop_wire_split *split);
/* COP_EFORMAT: it is none. */
COP_CHECK cop_err cop_wire_split_read(cop_wire_cursor *cursor, cop_wire_split *out);

#endif

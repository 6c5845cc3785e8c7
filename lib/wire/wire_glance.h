/* wire/wire_glance.h: what searching and forgetting need of a journal record, whatever model it is of.
 *
 * No shape of a model is needed: contexts and candidates are passed over. Views point into the body. No state: any
 * thread. */
#ifndef COP_WIRE_WIRE_GLANCE_H
#define COP_WIRE_WIRE_GLANCE_H

#include "wire/wire_code.h"
#include "wire/wire_position.h"
#include "wire/wire_settled.h"
#include "wire/wire_split.h"

typedef struct cop_wire_glance {
	const char *model; /* borrowed, not terminated; NULL: it is of none */
	size_t model_length;
	double time;
	bool has_time;
	cop_event_id id, unit;  /* kind 0: none */
	cop_wire_position from; /* at source NULL: none */
	bool has_arm, has_value, has_p;
	bool observed, splits; /* a decision that is not the policy's; one where there is a control group */
	cop_wire_split split;
	cop_wire_maker by; /* of a decision */
	cop_wire_limit limit;
	uint64_t arm;
	double value; /* in [0, 1] */
	double p;
	double loss[2];
	unsigned losses;
	cop_wire_named named; /* losses by their names; count 0: none */
	cop_wire_result result;
	bool has_x;  /* a decision, or feedback that is self-contained */
	bool joined; /* self-contained feedback that was learned of its waiting decision */
	cop_wire_settled settled;
	const uint8_t *settled_at; /* where the value of `s` begins; NULL: there is none */
} cop_wire_glance;

/* Model, time and id alone, which stand first. COP_EFORMAT, COP_EINVAL, COP_ENONFINITE: it is no such body. */
COP_CHECK cop_err cop_wire_glance_head(const void *body, size_t length, cop_wire_glance *out);
/* All of it. Errors as above. */
COP_CHECK cop_err cop_wire_glance_read(const void *body, size_t length, cop_wire_glance *out);
bool cop_wire_glance_is_of(const cop_wire_glance *glance, const char *model);

#endif

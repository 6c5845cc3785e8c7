/* wire/wire_feedback.h: a feedback `{id, loss, x?, c?, a?, p?, y?, unit?, from?, src?, n?, seq?}`, the body of
 * feedback and of feedback streams. Of a model whose losses have names, `losses` in place of `loss`.
 *
 * Decoding allocates nothing; views point into the workspace and into the message. One thread per workspace. */
#ifndef COP_WIRE_WIRE_FEEDBACK_H
#define COP_WIRE_WIRE_FEEDBACK_H

#include "wire/wire_context.h"

typedef struct cop_wire_feedback {
	cop_event_id id;
	double loss[2];        /* two-point: at y + delta u, at y - delta u */
	unsigned losses;       /* 1 or 2 */
	cop_loss_values named; /* those by the names of the shape; loss[0] is their weighted sum */
	bool has_x;            /* then the feedback is self-contained: a and p, or y, are there too */
	cop_row x;             /* decoded: a view of the workspace */
	bool has_c;            /* models that rank: the played candidate's features */
	cop_row candidate;     /* decoded: a view of the workspace */
	bool has_a;
	size_t a; /* below arms, or max_candidates */
	bool has_p;
	double p; /* in (0, 1] */
	bool has_y;
	double y;
	cop_event_id unit;      /* whom self-contained feedback is of; kind 0: not told */
	cop_wire_position from; /* borrowed from the message; at source NULL: not told */
	cop_wire_source source; /* borrowed from the message */
	cop_wire_seq seq;
} cop_wire_feedback;

/* body (length bytes, borrowed) must be one map and nothing behind it; `id` and `loss` (or `losses`) are needed, and
 * with `x` also `a` and `p` (a model with arms), `c` and `p` (one that ranks) or `y` (one with values). Whether the
 * loss lies in the model's range is not looked at. On error *out is undefined and the fault (NULL allowed) says what is
 * wrong: errors of cop_wire_features_read for `x` and `c`; COP_EINVAL or COP_ENONFINITE (bad_loss) for `loss`;
 * COP_EFORMAT (bad_request) for everything else. */
COP_CHECK cop_err cop_wire_feedback_decode(const void *body, size_t length, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_feedback *out, cop_wire_fault *fault);

/* Appends the feedback as one map; what is not set is left out, and named losses too. Failure: bytes->err. */
void cop_wire_feedback_put(cop_bytes *bytes, const cop_wire_feedback *feedback, cop_wire_form form);

#endif

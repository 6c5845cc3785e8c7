/* wire/wire_context.h: a context `{id, x, c?, mask?, order?, t?, unit?, defer?, from?, src?, n?, seq?}`, the body of
 * decide, rank and of context streams, and explain's body `{id}` or `{x, c?, mask?, t?}`. Models that rank need `c`,
 * others have none. Those of an apprentice need also `a` and `p`, what an existing system decided; those of a model
 * whose baseline is what the caller sends need `a`; elsewhere these are unknown keys.
 *
 * Decoding allocates nothing; views point into the workspace and into the message. One thread per workspace. */
#ifndef COP_WIRE_WIRE_CONTEXT_H
#define COP_WIRE_WIRE_CONTEXT_H

#include "base/bytes.h"
#include "wire/wire_features.h"
#include "wire/wire_keys.h"
#include "wire/wire_position.h"

#define COP_WIRE_CANDIDATE_NAME 64 /* bytes of a candidate's name, at most */

typedef struct cop_wire_context {
	cop_event_id id;          /* kind 0: none */
	bool has_x;               /* explain by id has none */
	cop_row x;                /* decoded: a view of the workspace */
	bool has_mask;            /* the sender gave one */
	const uint8_t *mask;      /* arms flags; decoded: workspace->mask, all 1 without one; NULL when arms is 0 */
	size_t arms;              /* the shape's; of a model that ranks: candidates */
	const cop_row *candidate; /* candidates of them; decoded: workspace->candidate */
	size_t candidates;        /* 0: none */
	cop_wire_cursor names;    /* of the candidates, one text each, in the message; at NULL: they have none */
	bool order;               /* the sender wants all candidates in their order, too */
	bool probabilities;       /* and the probability of each arm or candidate */
	bool has_t;
	double t;               /* the sender's time in seconds */
	bool defer;             /* the reward window starts with `activate` */
	bool observed;          /* a and p are there, an apprentice's */
	bool caller;            /* they are there, as what the caller would play */
	uint32_t a;             /* arm, or candidate's place, that was played; an eligible one */
	double p;               /* its propensity, in (0, 1] */
	cop_event_id unit;      /* whom the decision is for; kind 0: not told */
	cop_wire_position from; /* borrowed from the message; at source NULL: not told */
	cop_wire_source source; /* borrowed from the message */
	cop_wire_seq seq;
} cop_wire_context;

/* body (length bytes, borrowed) must be one map and nothing behind it; `id` and `x` are needed. On error *out is
 * undefined and the fault (NULL allowed) says what is wrong: errors of cop_wire_features_read for `x`; COP_EINVAL
 * (apprentice) for an `a` or `p` that is missing; COP_EFORMAT (bad_request) for everything else. */
COP_CHECK cop_err cop_wire_context_decode(const void *body, size_t length, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_context *out, cop_wire_fault *fault);

/* The same for explain, which knows no a and p: exactly one of `id` and `x` (and `c`) is needed; has_x is set for x. */
COP_CHECK cop_err cop_wire_explain_decode(const void *body, size_t length, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_context *out, cop_wire_fault *fault);

typedef enum cop_wire_form {
	COP_WIRE_FORM_PACKED = 0, /* dense x as binary float32: the smallest and fastest */
	COP_WIRE_FORM_ARRAY,      /* dense x as an array of float32 */
} cop_wire_form;

/* Appends the context as one map; what is not set is left out, so this writes explain's body too. A sparse x becomes a
 * map of indices, the mask a bit set. Failure: bytes->err. */
void cop_wire_context_put(cop_bytes *bytes, const cop_wire_context *context, cop_wire_form form);

/* The candidate's name (borrowed from the message, not terminated); false: it has none. */
bool cop_wire_context_name(const cop_wire_context *context, size_t candidate, const char **text, size_t *length);

/* Parts of it that feedback shares. */
void cop_wire_features_put(cop_bytes *bytes, const cop_row *x, cop_wire_form form);
/* Key `c` and an array of the rows. */
void cop_wire_candidates_put(cop_bytes *bytes, const cop_row *candidate, size_t count, cop_wire_form form);
void cop_wire_id_put(cop_bytes *bytes, const cop_event_id *id);
/* A propensity at the cursor, as key `p` of many messages. COP_EFORMAT (bad_request). */
COP_CHECK cop_err cop_wire_read_p(cop_wire_cursor *cursor, double *p, cop_wire_fault *fault);
/* Key `seq` and its value; nothing when it is empty or NULL. */
void cop_wire_seq_put(cop_bytes *bytes, const cop_wire_seq *seq);
/* `src` and `n`, those that are set. */
void cop_wire_source_put(cop_bytes *bytes, const cop_wire_source *source);
/* A seq holding an integer, for clients that number their requests. */
void cop_wire_seq_from_unsigned(cop_wire_seq *seq, uint64_t value);

#endif

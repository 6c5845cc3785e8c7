/* wire/wire_features.h: what a context carries, `x`, `c` and `mask`, into the learner's own form.
 *
 * The model's shape decides what is accepted. Dense model (features > 0): an array or packed float32 of exactly
 * `features` values, or a map of indices and names, where what is missing is 0. Where features were added, fewer values
 * are taken, and what is missing of the added ones is unknown, NaN. Sparse model (features 0): a
 * map whose names are hashed to 2^bits indices, or values for the indices 0, 1, 2 …; entries that share an index are
 * summed, zeros are dropped. Names are the naming's (wire/wire_names.h); without one a sparse model hashes them plainly
 * and a dense one has none. The result is a view of the workspace, which the caller owns, or of the naming; steady
 * messages allocate nothing. One thread per workspace and naming. */
#ifndef COP_WIRE_WIRE_FEATURES_H
#define COP_WIRE_WIRE_FEATURES_H

#include "events/named_losses.h"
#include "base/name_table.h"
#include "linalg/row.h"
#include "wire/wire_code.h"
#include "wire/wire_cursor.h"
#include "wire/wire_names.h"

typedef struct cop_wire_shape {
	size_t features;           /* dense dimension; 0: sparse */
	size_t least_features;     /* values that a context may have instead, where features were added; 0: features */
	bool recorded;             /* rows are of a journal, which may have NaN where features are unknown */
	unsigned bits;             /* sparse: dimension 2^bits, 1 to 31 */
	size_t max_nonzeros;       /* sparse: entries a context may have */
	size_t arms;               /* 0: the model's actions are values, or it ranks candidates */
	size_t least_mask;         /* entries that a mask may have instead, where arms were added; 0: arms */
	size_t max_candidates;     /* above 0: the model ranks up to so many candidates */
	size_t candidate_features; /* of them, when features > 0; sparse ones have bits and max_nonzeros */
	unsigned losses;           /* numbers in a loss: 1 or 2; 0: either */
	bool apprentice;           /* an existing system decides: contexts carry its a and p, unknown keys otherwise */
	bool caller; /* what the caller would play is needed: its a, and its p unless that is 1; not of an apprentice */
	const cop_named_losses *named; /* kept: names of losses, which feedback must have then; NULL: they have none */
	cop_wire_naming *naming;       /* kept: of this dimension, for so many candidates; NULL: none */
	cop_wire_naming
	        *candidate_naming;       /* kept: dense, of candidates; NULL: naming's columns, if theirs are as many */
	const cop_name_table *arm_names; /* kept: tag 0, a name's number is the arm's; NULL: arms have no names */
} cop_wire_shape;

/* Arrays of the caller, at least as long as said; those that the shape does not need may be NULL. */
typedef struct cop_wire_workspace {
	float *dense;              /* features */
	uint32_t *index;           /* max_nonzeros */
	float *value;              /* max_nonzeros */
	uint8_t *mask;             /* arms, or max_candidates */
	cop_row *candidate;        /* max_candidates */
	float *candidate_value;    /* max_candidates times candidate_features, or times max_nonzeros */
	uint32_t *candidate_index; /* sparse: the same */
} cop_wire_workspace;

/* The model's actions are values. */
static inline bool cop_wire_features_has_values(const cop_wire_shape *shape)
{
	return shape->arms == 0 && shape->max_candidates == 0;
}

/* `x` at the cursor. row (a view of the workspace, or of the naming) is valid until their next use. Refusals fill the
 * fault with bad_features: COP_ESHAPE (a wrong number of values, too many entries, an index or name that is not the
 * model's), COP_ENONFINITE, COP_EINVAL (a wrong type); or bad_request: COP_EFORMAT. */
COP_CHECK cop_err cop_wire_features_read(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_row *row, cop_wire_fault *fault);

/* Candidates can only be read when `x` has been: products are made of both. */
bool cop_wire_features_candidates_wait(const cop_wire_shape *shape);
/* `c` at the cursor: an array of candidates, each as x is, into workspace->candidate. Refusals as above; their messages
 * begin with c[i]. bad_request too: the model does not rank. */
COP_CHECK cop_err cop_wire_features_read_candidates(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, size_t *count, cop_wire_fault *fault);
/* `c` at the cursor as one candidate, for feedback. */
COP_CHECK cop_err cop_wire_features_read_candidate(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_row *row, cop_wire_fault *fault);

/* `a` at the cursor: the number of an arm or candidate, of any size, or the name of an arm. COP_EFORMAT, with the fault
 * filled (bad_request): a wrong type, or a name that no arm has. */
COP_CHECK cop_err cop_wire_features_read_action(
        cop_wire_cursor *cursor, const cop_wire_shape *shape, uint64_t *out, cop_wire_fault *fault);

/* `mask` at the cursor into workspace->mask (0 or 1 per arm): an array of `arms` booleans or 0/1, a binary bit set of
 * ceil(arms / 8) bytes, lowest bit first, spare bits 0, or an array of the names of the eligible arms, each once. At
 * least one arm must be eligible. COP_EFORMAT, with the fault filled (bad_request). */
COP_CHECK cop_err cop_wire_features_read_mask(cop_wire_cursor *cursor, const cop_wire_shape *shape,
        const cop_wire_workspace *workspace, cop_wire_fault *fault);
/* The same for `count` candidates. */
COP_CHECK cop_err cop_wire_features_read_candidates_mask(
        cop_wire_cursor *cursor, size_t count, const cop_wire_workspace *workspace, cop_wire_fault *fault);

#endif

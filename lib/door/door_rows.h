/* door/door_rows.h: rows, candidates and masks of include/coppice.h as the models take them.
 *
 * A dense model's rows are copied into arrays of its own; names are columns of its feature space, where it has one.
 * Rows of a sparse model go through its feature space, which hashes names, sorts places and adds up values of one
 * place. What comes out is a view until the next call; steady rows allocate nothing. One thread per object. */
#ifndef COP_DOOR_DOOR_ROWS_H
#define COP_DOOR_DOOR_ROWS_H

#include <coppice.h>
#include <stdbool.h>

#include "base/err.h"
#include "events/feature_space.h"
#include "learn/learner.h"
#include "linalg/row.h"

typedef struct cop_door_rows {
	size_t features;           /* dense dimension, 0: sparse */
	size_t candidate_features; /* likewise, of candidates */
	size_t max_nonzeros;       /* sparse */
	size_t max_candidates;     /* 0: the model does not rank */
	size_t arms;               /* 0: none */
	cop_feature_space *space;  /* owned; NULL: dense without names */
	bool named;                /* the space is part of the model's file */
	float *dense;              /* features */
	float *candidate_dense;    /* max_candidates x candidate_features */
	cop_row *candidate;        /* max_candidates */
	cop_feature_span *span;    /* max_candidates */
	cop_feature_room shared;   /* sparse: the context's entries, */
	cop_feature_room own;      /* and those of candidates */
	uint8_t *mask;             /* arms or max_candidates */
} cop_door_rows;

/* For a model of these settings; sparse: with a plainly hashed space that keeps names. Ended by fini also after an
 * error. COP_ENOMEM. */
COP_CHECK cop_err cop_door_rows_init(cop_door_rows *rows, const cop_learner_settings *settings);
void cop_door_rows_fini(cop_door_rows *rows);

/* A space of the model's own, taken (*space NULL afterwards); a dense one is frozen. */
void cop_door_rows_take_space(cop_door_rows *rows, cop_feature_space **space);
/* The same of a dense model whose `features` columns are called so. COP_EINVAL: two alike. COP_EFULL, COP_ENOMEM; then
 * nothing changed. */
COP_CHECK cop_err cop_door_rows_name(cop_door_rows *rows, const char *const *name, cop_diag *diag);

/* COP_ESHAPE: the row does not fit. COP_ENOTFOUND: a name is none of the model's. COP_ENONFINITE, COP_EFULL,
 * COP_ENOMEM. With *diag. */
COP_CHECK cop_err cop_door_rows_context(cop_door_rows *rows, const coppice_row *in, cop_row *out, cop_diag *diag);
/* After the context, whose products with candidates are made of both: rows->candidate is filled. COP_EINVAL also: none,
 * or too many. */
COP_CHECK cop_err cop_door_rows_candidates(cop_door_rows *rows, const coppice_candidates *in, cop_diag *diag);
/* `count` flags as 0 and 1 in rows->mask, or NULL for NULL. */
const uint8_t *cop_door_rows_mask(cop_door_rows *rows, const unsigned char *in, size_t count);

#endif

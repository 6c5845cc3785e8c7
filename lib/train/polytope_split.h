/* train/polytope_split.h: one split of a convex polytope tree: a node fitted to rows by gradients, and where it is cut
 * (Armandpour et al., sections 3.2 and 3.3).
 *
 * Of several starts, each the best of a few sets of facets around a row that is drawn, the split of greatest hard gain
 * is kept: the drop of the mean entropy of the class, in nats, or of the variance of the value, by the best cut of
 * the sorted sums s (train/polytope_cut.h). Experts without
 * which no row would change its side, since the prior has taken their weight, are left out; those that remain are its
 * facets. */
#ifndef COP_TRAIN_POLYTOPE_SPLIT_H
#define COP_TRAIN_POLYTOPE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "train/polytope_node.h"

typedef struct cop_polytope_split_settings {
	size_t experts;  /* facets at most, [1, 1024] */
	size_t batch;    /* rows of an update, [1, 2^20] */
	unsigned epochs; /* [1, 10000] */
	unsigned starts; /* [0, 100]; 0: as many as make 20,000 rows, 1 to 8 */
	size_t least;    /* rows on each side, >= 1 */
	double lr;       /* (0, 10], falls to 0 */
	bool keep_spare; /* experts that the rows do not need stay, for a tree that is refined */
	cop_polytope_prior prior;
} cop_polytope_split_settings;

void cop_polytope_split_defaults(cop_polytope_split_settings *settings);

/* Borrowed. Features should have about mean 0 and deviation 1. */
typedef struct cop_polytope_rows {
	size_t n, d, classes;  /* classes 0: values */
	const float *x;        /* n x (d + 1), the last column 1 */
	const uint32_t *label; /* n, below classes; NULL: values */
	const float *target;   /* n values, about as wide as 1; NULL: classes */
} cop_polytope_rows;

/* A row goes right iff its sum s is above the threshold. */
typedef struct cop_polytope_split {
	cop_polytope_node node; /* its arrays are owned; experts are the facets */
	double threshold;
	double gain; /* 0: no cut is better than none, and the rest is of no use */
} cop_polytope_split;

/* Caller finishes with fini, also after an error. COP_EINVAL: a setting; no rows. COP_EDIVERGED, COP_ENOMEM. */
COP_CHECK cop_err cop_polytope_split_fit(const cop_polytope_split_settings *settings, const cop_polytope_rows *rows,
        cop_rng *rng, cop_polytope_split *out);
void cop_polytope_split_fini(cop_polytope_split *split);

/* s of one row x of d + 1 numbers, the last 1. */
double cop_polytope_split_sum(const cop_polytope_split *split, const float *x);

#endif

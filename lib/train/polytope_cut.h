/* train/polytope_cut.h: where the sums of a polytope node are cut, and which of its experts the cut needs.
 *
 * Rows whose sum s is above the threshold go right. One thread per object. */
#ifndef COP_TRAIN_POLYTOPE_CUT_H
#define COP_TRAIN_POLYTOPE_CUT_H

#include <stdbool.h>

#include "train/polytope_split.h"

typedef struct cop_polytope_ranked {
	double s;
	float target;
	uint32_t label;
} cop_polytope_ranked;

typedef struct cop_polytope_cut {
	cop_polytope_ranked *ranked; /* n */
	double *counts;              /* 2 x classes */
} cop_polytope_cut;

/* Room for so many rows. Caller finishes with fini, also after false: no memory. */
bool cop_polytope_cut_init(cop_polytope_cut *cut, const cop_polytope_rows *rows);
void cop_polytope_cut_fini(cop_polytope_cut *cut);

/* The threshold of greatest gain among those that leave `least` rows on each side: the drop of the mean entropy, in
 * nats, or of the variance. 0: none is better than no cut, and *threshold stays as it was. */
double cop_polytope_cut_best(
        cop_polytope_cut *cut, const cop_polytope_rows *rows, const double *s, size_t least, double *threshold);

/* Moves the experts without which some threshold keeps all rows on their sides, and these at least half as far
 * apart, behind the others, which are returned in number, at least 1; the lightest are tried first, and *threshold
 * moves along. z and s: of n rows (cop_polytope_node_sums); z is reordered likewise, s is without those experts
 * afterwards. */
size_t cop_polytope_cut_drop_spare(cop_polytope_node *node, size_t n, float *z, double *s, double *threshold);

#endif

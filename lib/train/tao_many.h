/* train/tao_many.h: softmax leaves of many classes and sparse rows, by optim/l1_softmax_rows. */
#ifndef COP_TRAIN_TAO_MANY_H
#define COP_TRAIN_TAO_MANY_H

#include "train/tao_parts.h"

/* What a leaf is to be fitted to. */
typedef struct cop_tao_many {
	size_t classes, n;
	const uint32_t *output; /* classes, ascending */
	const uint32_t *rows;   /* n: of the sample, of those classes */
	const uint32_t *label;  /* n: places in output */
} cop_tao_many;

/* Whether so many classes and rows are fitted so. */
bool cop_tao_many_is(const cop_tao_state *state, size_t classes, size_t n);
/* Begins with the leaf's weights. Into next, of which nothing is allocated. COP_ENOMEM. */
COP_CHECK cop_err cop_tao_many_fit(
        const cop_tao_state *state, const cop_tao_leaf *leaf, const cop_tao_many *many, cop_tao_leaf *next);

#endif

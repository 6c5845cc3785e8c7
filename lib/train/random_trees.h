/* train/random_trees.h: extremely randomized trees (Geurts, Ernst and Wehenkel, Extremely randomized trees, 2006) of
 * the losses of played arms: splits on one feature, leaves without values.
 *
 * A tree depends on the seed and its number alone, so ranks grow trees of their own (base/ranks.h). */
#ifndef COP_TRAIN_RANDOM_TREES_H
#define COP_TRAIN_RANDOM_TREES_H

#include "base/ranks.h"
#include "table/dataset.h"
#include "tree/tree.h"

typedef struct cop_random_trees_settings {
	size_t trees; /* at least 1 */
	size_t least; /* rows of a leaf, at least 1 */
	uint64_t seed;
} cop_random_trees_settings;

/* Borrowed for as long as it is used. */
typedef struct cop_random_trees_sample {
	const cop_dataset *rows; /* dense, at least one */
	size_t outputs;          /* arms */
	const uint32_t *action;  /* of each row, below outputs */
	const double *loss;      /* of that, in [0, 1] */
} cop_random_trees_sample;

/* Tree `number`; caller frees *out, NULL on error. COP_ENOMEM. */
COP_CHECK cop_err cop_random_trees_grow(
        const cop_random_trees_settings *set, const cop_random_trees_sample *sample, size_t number, cop_tree **out);

/* Trees first to first + *count - 1 into tree[0 ...): one alone, or, of ranks, which all have the sample and call it
 * together, one of each as far as there are so many; all ranks have them then. Room for as many as there are ranks.
 * Caller frees them; none on error. Errors as above, and of cop_ranks_exchange. */
COP_CHECK cop_err cop_random_trees_round(const cop_random_trees_settings *set, const cop_random_trees_sample *sample,
        const cop_ranks *ranks, size_t first, cop_tree **tree, size_t *count);

#endif

/* train/lend.h: fits that ranks work at which have no input of their own (base/ranks.h: led).
 *
 * The first rank goes through its program as if it were alone; whenever it fits, what is to be fitted goes to the
 * others (cop_tao_fit sends it by itself), which fit the same with it and throw the trees away. Whoever is led ends by
 * cop_lend_end. A rank that meets an error of its own ends all ranks: the others may be waiting for it. */
#ifndef COP_TRAIN_LEND_H
#define COP_TRAIN_LEND_H

#include "base/pool.h"
#include "train/random_trees.h"
#include "train/tao.h"

/* Of ranks that are led, by the first: what is to be fitted goes to the others. Nothing for others. COP_EIO,
 * COP_ENOMEM. */
COP_CHECK cop_err cop_lend_tao(const cop_ranks *ranks, const cop_tao_settings *settings, const cop_sample *sample,
        const cop_tree *start, const cop_rng *rng);
/* The same of random trees, before the first round. */
COP_CHECK cop_err cop_lend_random_trees(
        const cop_ranks *ranks, const cop_random_trees_settings *set, const cop_random_trees_sample *sample);

/* Of all but the first: fits what comes, with the pool's ranks, until the first dismisses. COP_EIO, COP_EFORMAT,
 * COP_ENOMEM, and errors of a fit. */
COP_CHECK cop_err cop_lend_help(cop_pool *pool);
/* By the first, when there is nothing more to be fitted. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_lend_end(const cop_ranks *ranks);

#endif

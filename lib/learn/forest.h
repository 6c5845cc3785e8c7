/* learn/forest.h: regression trees that grow with the events they see, their leaves additive over all trees.
 *
 * Every leaf l has two values of each arm k, a quick and a steady one, u[l, k] and v[l, k]. Over M trees
 *     f = 1/2 + a mean of u[leaf_m(x), k] + b mean of v[leaf_m(x), k]
 * is arm k's predicted loss for x, with a and b stacked on the losses seen (learn/stacking.h): the quick values follow
 * what changes and fit what is certain, the steady ones average noise away. Splits are axis-aligned, x_j >= c. A leaf
 * watches a few candidate splits, drawn at random (a feature, and a threshold between two values of it that came by),
 * and divides along the one that takes most from the squared error of the losses of the arms played there, once that is
 * more than a random split is likely to take (Saffari et al., On-line random forests, 2009, with each arm's losses as
 * an output); the best of several is, so trees would grow on noise too, only more slowly. A tree of 16 leaves or more
 * therefore divides only where chance hardly would, however often it is looked at, until a bet that the trees predict
 * better than the arms' means has been won (20 for 1). Either kind of value takes the
 * error of its whole sum, each leaf by its own evidence n[leaf, k]:
 *     r = START / (1 + DECAY n),   u += r (loss - 1/2 - mean of u) / (1 + mean of r over the trees),   n += 1
 * which is recursive least squares on the leaves' indicators with its diagonal alone, discounted by DECAY (a smaller
 * one for the quick values). n stops at 1e5.
 * The last 2,000 rows are kept, fewer where they would take more than 8 MiB. A leaf that divides hands its rows on:
 * either child has them counted at once, watches splits drawn between them, and may divide in its turn, so that few
 * events grow trees as if all had been there from the beginning. With n of them of arm k, of mean loss m, a child takes
 * over the parent's values of k moved by n / (n + 1) (m - mean loss of both children's rows), and of the parent's
 * evidence the share that its rows are of both children's; where no row tells of the arm, the values as they are and
 * INHERIT of the evidence.
 *
 * doubt(k) = sqrt(mean over trees of 1 / (1 + n)) says how seldom arm k was played where x is.
 * Size is fixed at new: a tree that has no leaf left goes on learning without growing. One thread per object; nothing
 * is allocated after new. */
#ifndef COP_LEARN_FOREST_H
#define COP_LEARN_FOREST_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/rng.h"
#include "learn/explanation.h"
#include "linalg/row.h"
#include "tree/tree.h"

typedef struct cop_forest cop_forest;

typedef struct cop_forest_settings {
	size_t inputs;  /* D >= 2, the last the constant, which no split looks at; at most 2^30 */
	size_t entries; /* of a sparse row, at most; 0: rows are dense */
	size_t arms;    /* K >= 1 */
	size_t trees;   /* M at most; fewer where K is so large that their leaves would not fit into the memory meant */
} cop_forest_settings;

/* Trees that such a forest would have: `trees`, fewer for very many arms; 0: none fit. */
size_t cop_forest_trees(const cop_forest_settings *settings);
/* Bytes that it takes, about, whatever it has seen. */
double cop_forest_footprint(const cop_forest_settings *settings);

/* Candidates are drawn by a generator of its own, seeded from rng. COP_EINVAL: a size is out of range, or no tree
 * fits. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_forest_new(const cop_forest_settings *settings, cop_rng *rng, cop_forest **out);
void cop_forest_free(cop_forest *forest);

/* Every arm's predicted loss; room for K. */
void cop_forest_predict(cop_forest *forest, const cop_row *x, float *loss);
/* Arm k's mean u and mean v where the row of the last predict was. */
void cop_forest_means(const cop_forest *forest, size_t arm, double *quick, double *steady);
/* doubt(k) where the row of the last predict was, in (0, 1]; room for K. */
void cop_forest_doubt(const cop_forest *forest, float *doubt);
/* loss in [0, 1]. Whether x is the row of the last predict, and nothing was learned since, is told by `again`. */
void cop_forest_learn(cop_forest *forest, const cop_row *x, size_t arm, double loss, bool again);

/* prediction = 1/2 + what the roots said before they divided + a contribution of each feature: for every split passed
 * that looked at it, by how much the values (as a and b add them up) on the side taken differ from those before. The
 * heaviest go into expert->features (weight 0: there is none), their whole sum into expert->linear. */
void cop_forest_explain(cop_forest *forest, const cop_row *x, size_t arm, cop_explained_expert *expert);

/* Leaves of all trees. */
size_t cop_forest_leaves(const cop_forest *forest);

/* Trees there are, the depth of the deepest leaf, and how many splits look at each feature (D - 1 of them). */
size_t cop_forest_count(const cop_forest *forest);
unsigned cop_forest_deepest(const cop_forest *forest);
void cop_forest_splits(const cop_forest *forest, uint32_t *splits);
/* Tree m by itself, its leaves' values as a and b add them up, turned round: by how much each arm's loss would be below
 * 1/2, were all trees like it. Caller frees. COP_ENOMEM. */
COP_CHECK cop_err cop_forest_tree(const cop_forest *forest, size_t m, cop_tree **out);

void cop_forest_save(const cop_forest *forest, cop_bytes *bytes);
/* Into a forest of the same shape, or one of more arms or, dense, more inputs. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE,
 * COP_ENOMEM; then its state is undefined. */
COP_CHECK cop_err cop_forest_load(cop_forest *forest, cop_cursor *cursor);
/* As learn/learner.h's of the same names. */
size_t cop_forest_grown(const cop_forest *forest);
COP_CHECK cop_err cop_forest_hold(cop_forest *forest, size_t leaves);
COP_CHECK cop_err cop_forest_make_room(cop_forest *forest, const cop_forest *from);
void cop_forest_inherit(cop_forest *forest, cop_forest *from);

#endif

/* learn/refit.h: trees that a batch fit made, taken into an online learner and taught further.
 *
 * Trees (tree/trees.h; outputs are predicted losses in [0, 1], not classes) over raw rows: as their features come, for
 * the learner's standardiser moves on and would bend splits that were fitted before. Splits and what leaves say stay;
 * every leaf l of tree m gets a shift c_mlk for each output k, so that with shares s_m (weights; of a mean their share)
 *     f_k(x) = base_k + sum over m of s_m (leaf_mk(x) + c_mlk), cut to [0, 1]
 * A loss moves the shifts of the leaves it reached so that f_k goes by rate (loss - f_k), rate = 1 / (E + n) for the
 * n-th loss there, at least R: a running mean that begins with evidence as of E events and never stops following.
 * One thread per object; predict, learn and explain allocate nothing. */
#ifndef COP_LEARN_REFIT_H
#define COP_LEARN_REFIT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "learn/explanation.h"
#include "tree/trees.h"

#define COP_REFIT_EVIDENCE 50.0f  /* E */
#define COP_REFIT_RATE     0.005f /* R */
#define COP_REFIT_PATHS    4      /* trees whose path is explained */

typedef struct cop_refit cop_refit;

/* What hinders trees from being taken in by a learner of so many features and outputs, in *diag: COP_ESHAPE. */
COP_CHECK cop_err cop_refit_check(const cop_trees *trees, size_t features, size_t outputs, cop_diag *diag);
/* Copies the trees. rev: the learner's revision from which on they take part. COP_ESHAPE as above; COP_EINVAL: weights
 * that no step could be shared by; COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_refit_new(
        const cop_trees *trees, size_t features, size_t outputs, uint64_t rev, cop_refit **out, cop_diag *diag);
/* One without trees that predicts 1/2, to load into. COP_ENOMEM. */
COP_CHECK cop_err cop_refit_empty(size_t features, size_t outputs, cop_refit **out);
void cop_refit_free(cop_refit *refit);

uint64_t cop_refit_rev(const cop_refit *refit);
const cop_trees *cop_refit_trees(const cop_refit *refit);
/* Outputs of a raw row, each in [0, 1]. */
void cop_refit_predict(cop_refit *refit, const cop_row *raw, float *out);
/* loss: in [0, 1]. again: raw is the row of the last predict, and nothing was learned or explained since. */
void cop_refit_learn(cop_refit *refit, const cop_row *raw, size_t output, double loss, bool again);
/* Paths of the first COP_REFIT_PATHS trees, as many as *e has room for; their nodes have the trees' numbers. */
void cop_refit_explain(
        cop_refit *refit, const cop_row *raw, size_t output, cop_explanation *e, cop_explained_expert *expert);
/* Room that this takes. */
void cop_refit_paths(const cop_refit *refit, size_t *trees, size_t *nodes);

void cop_refit_save(const cop_refit *refit, cop_bytes *bytes);
/* In place of what it holds. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE, COP_EVERSION, COP_ENOMEM; then it is as empty. */
COP_CHECK cop_err cop_refit_load(cop_refit *refit, cop_cursor *cursor);
/* What is loaded next has so many outputs, at most as many as this one; 0: as many. Its trees look at all features of
 * dense rows or, fitted before some were added, at the first ones, at least so many; 0: at all. */
void cop_refit_expect_saved(cop_refit *refit, size_t outputs, size_t features);
/* Features are added before the last `behind` ones: trees of fewer look at all from then on, but at none of the added.
 */
void cop_refit_expect_behind(cop_refit *refit, size_t behind);
/* As learn/learner.h's of the same names. */
COP_CHECK cop_err cop_refit_make_room(cop_refit *refit, const cop_refit *from);
void cop_refit_inherit(cop_refit *refit, cop_refit *from);

#endif

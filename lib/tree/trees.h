/* tree/trees.h: one or more trees that predict together.
 *
 *     mean   average of the trees' outputs, by weight (bagging; probabilities, or values)
 *     vote   each tree's class gets its weight; outputs are the shares (bagging of constant leaves, AdaBoost)
 *     sum    base + sum of weight x outputs (gradient boosting)
 *     softmax of classes: the softmax of such a sum, whose trees have the link values (gradient boosting)
 *     latent one tree, which shows the splits of a latent tree (tree/latent.h) that predicts in its place
 *
 * All trees have the same d, outputs and link. Immutable once made; any thread. */
#ifndef COP_TREE_TREES_H
#define COP_TREE_TREES_H

#include "store/section_file.h"
#include "tree/latent.h"
#include "tree/tree.h"

#define COP_TREES_MOST 65536

typedef enum cop_trees_rule {
	COP_TREES_MEAN = 0,
	COP_TREES_VOTE,
	COP_TREES_SUM,
	COP_TREES_LATENT,
	COP_TREES_SOFTMAX,
	COP_TREES_RULES
} cop_trees_rule;

typedef struct cop_trees cop_trees;

/* tree[0..count): taken one by one (nulled) on success; weight NULL: all 1; base NULL: zeros (K). Caller frees with
 * cop_trees_free. COP_EINVAL: count 0 or above COP_TREES_MOST, shapes that differ, weights not finite or, but for sums
 * (sum, softmax), negative or all 0; a base not finite or, but for sums, not 0; vote of values; softmax of other links;
 * rule latent. COP_ENOMEM. */
COP_CHECK cop_err cop_trees_new(
        cop_trees_rule rule, size_t count, cop_tree **tree, const double *weight, const double *base, cop_trees **out);
/* Of a latent tree, which is taken (nulled) on success: rule latent, with its hard tree (cop_latent_tree). COP_ENOMEM.
 */
COP_CHECK cop_err cop_trees_new_latent(cop_latent **latent, cop_trees **out);
void cop_trees_free(cop_trees *trees);

size_t cop_trees_count(const cop_trees *trees);
const cop_tree *cop_trees_at(const cop_trees *trees, size_t i);
double cop_trees_weight(const cop_trees *trees, size_t i);
cop_trees_rule cop_trees_how(const cop_trees *trees);
/* Whether the trees' outputs are added to each other and to the base: rules sum and softmax. */
bool cop_trees_adds(const cop_trees *trees);
const double *cop_trees_base(const cop_trees *trees);
const cop_latent *cop_trees_latent(const cop_trees *trees); /* NULL but for rule latent */
size_t cop_trees_features(const cop_trees *trees);
size_t cop_trees_outputs(const cop_trees *trees);

/* The same trees over rows of `more` further features, which come before feature `from`, at most their number, and are
 * not looked at. Caller frees *out. Contract: not latent. COP_ENOMEM; then *out is NULL. */
COP_CHECK cop_err cop_trees_widen(const cop_trees *trees, size_t from, size_t more, cop_trees **out);

/* K outputs; work has room for K floats. */
void cop_trees_predict(const cop_trees *trees, const cop_row *row, float *work, double *out);
/* Sums over the trees; of a latent tree its own. */
size_t cop_trees_parameters(const cop_trees *trees);
size_t cop_trees_flops(const cop_trees *trees, const cop_row *row);

/* As sections of a model file: "trees" version 1 (rule, weights, base), then one "tree" each, and of rule latent its
 * section "latent". Errors in bytes->err. */
#define COP_TREES_SECTION "trees"
#define COP_TREES_VERSION 1
void cop_trees_save(const cop_trees *trees, cop_bytes *bytes);
/* From those sections of an open model file, wherever they stand among others. Caller frees *out.
 * COP_ENOTFOUND: one of them is not there. COP_EVERSION, COP_EFORMAT, COP_ENONFINITE, COP_ENOMEM. */
COP_CHECK cop_err cop_trees_load(const cop_section_file *file, cop_trees **out);

#endif

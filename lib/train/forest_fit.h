/* train/forest_fit.h: forests of any batch learner: bagging, AdaBoost (classes) and gradient boosting.
 *
 *     bagging     T trees, each on its own random share of the rows, with or without replacement; mean of values or
 *                 class probabilities, or vote, as where leaves are constant classes (thesis section 2.2)
 *     adaboost    SAMME (Zhu et al. 2009): the rows' weights grow where the newest tree is wrong, their sum stays;
 *                 weighted vote. Ends early at a tree that is no better than guessing (left out, unless it is the
 *                 first) or that is right everywhere (taken as if it had half a row wrong)
 *     gradient    Friedman (2001). Values: each tree fits what the trees so far leave of them (squared loss), times
 *                 `shrinkage`; sum. Classes: each tree has K outputs and fits y - p, the negative gradient of the
 *                 cross-entropy of p = softmax(base + sum), y one-hot; a constant leaf then gets Newton's step,
 *                 sum w (y_k - p_k) / (sum w p_k (1 - p_k) + 1) over its rows, times `shrinkage`; softmax of the sum.
 *                 The base is the classes' log-shares
 *
 * Tree t draws from its own stream of the seed, so a forest does not depend on the number of threads, nor of ranks,
 * among which bagged trees are divided. */
#ifndef COP_TRAIN_FOREST_FIT_H
#define COP_TRAIN_FOREST_FIT_H

#include "base/pool.h"
#include "train/sample.h"
#include "tree/trees.h"

typedef enum cop_forest_kind {
	COP_FOREST_BAGGING = 0,
	COP_FOREST_ADABOOST,
	COP_FOREST_GRADIENT,
	COP_FOREST_KINDS
} cop_forest_kind;

/* Fits tree number t to a sample. pool is NULL where trees are fitted side by side. */
typedef cop_err cop_forest_learner(
        void *context, size_t t, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out);

/* Why there are fewer trees than were asked for. */
typedef enum cop_forest_end {
	COP_FOREST_WHOLE = 0, /* there are not */
	COP_FOREST_STOPPED,   /* progress was told to stop */
	COP_FOREST_PERFECT,   /* adaboost: the last tree is right on every row */
	COP_FOREST_GUESSING   /* adaboost: a tree was no better than guessing */
} cop_forest_end;

typedef struct cop_forest_settings {
	cop_forest_kind kind;
	size_t trees;
	double share;     /* bagging: rows of a tree, in (0, 1] of the sample's */
	bool replace;     /* bagging: drawn with replacement */
	bool vote;        /* bagging of classes: vote instead of the mean of probabilities */
	double shrinkage; /* gradient: in (0, 1] */
	uint64_t seed;
	cop_forest_end *end; /* filled on success; NULL: not wanted */
} cop_forest_settings;

/* The pool runs bagged trees side by side, else it is handed on. progress may be NULL; it is called on this thread,
 * after each tree (of bagged ones side by side, after every few; of ranks, on each), and stops with the trees so far.
 * Boosting copies weights or targets once. Caller frees *out. COP_EINVAL: a setting outside its range, n 0, no weight,
 * or a kind that does not go with the task (vote and adaboost: classes; gradient: classes, values). COP_ENOMEM; the
 * learner's errors. */
COP_CHECK cop_err cop_forest_fit(const cop_forest_settings *settings, const cop_sample *sample,
        cop_forest_learner *learner, void *context, cop_pool *pool, const cop_progress *progress, cop_trees **out);

#endif

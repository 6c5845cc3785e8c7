/* learn/cross_features.h: a context and one of its candidates as one row, with the products of their features.
 *
 * From standardised rows of d_c context and d_a candidate features (sparse: both 2^bits) to inputs
 *     context d_c | candidate d_a | constant | products
 * Near rows end with the constant, whole rows have the products too; a near row is the beginning of its whole one. Only
 * products let a linear function order candidates differently in different contexts. Dense: every pair, context-major,
 * up to COP_CROSS_FEATURES_PRODUCTS; where there are more, that many of them, drawn once from the seed. Sparse: pairs
 * of present entries hashed to 2^bits, of the COP_CROSS_FEATURES_PAIRED lowest entries of either row (indices are
 * hashes, so these are a sample that equal features share).
 *
 * A linear function of whole rows is folded with the context once, and then costs a candidate d_a products. One thread
 * per object; nothing is allocated after new. */
#ifndef COP_LEARN_CROSS_FEATURES_H
#define COP_LEARN_CROSS_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "linalg/kernel.h"
#include "linalg/row.h"

#define COP_CROSS_FEATURES_PRODUCTS 65536 /* of a dense row */
#define COP_CROSS_FEATURES_PAIRED   64    /* entries of either sparse row */

typedef struct cop_cross_features cop_cross_features;

typedef struct cop_cross_features_settings {
	const cop_kernel *kernel;
	bool sparse;
	size_t features, candidate_features; /* d_c and d_a; sparse: 2^bits both */
	size_t max_nonzeros;                 /* sparse: entries of a raw row */
	uint64_t seed;
} cop_cross_features_settings;

/* COP_EINVAL: a size is 0. COP_ENOMEM. On error *out is NULL. */
COP_CHECK cop_err cop_cross_features_new(const cop_cross_features_settings *settings, cop_cross_features **out);
void cop_cross_features_free(cop_cross_features *joint);
double cop_cross_features_footprint(const cop_cross_features_settings *settings);

/* Inputs of near and whole rows; the same by settings. */
size_t cop_cross_features_near(const cop_cross_features *joint);
size_t cop_cross_features_whole(const cop_cross_features *joint);
void cop_cross_features_sizes(const cop_cross_features_settings *settings, size_t *near, size_t *whole);
/* The context features, at most as many, of dense rows in which every pair is a product, too, and that have so many
 * inputs; 0: none have. An input of these that is none of a context feature is one further for each context feature
 * that is not theirs (learn/grown_inputs.h). */
size_t cop_cross_features_fewer(const cop_cross_features_settings *settings, size_t whole);
/* The context and candidate features that a product input is of; false when it is none, or shared by many. */
bool cop_cross_features_pair(const cop_cross_features *joint, size_t input, size_t *feature, size_t *candidate_feature);

/* Sparse: the input that the product of two features is hashed to. */
size_t cop_cross_features_hashed(const cop_cross_features *joint, size_t feature, size_t candidate_feature);
/* Sparse: indices of the entries of both rows, the skip-th pair from 0, whose product is that input. false: there is
 * none. */
bool cop_cross_features_find_pair(
        const cop_cross_features *joint, const cop_row *x, const cop_row *a, size_t input, size_t skip, size_t pair[2]);

/* The context, then a candidate: standardised rows with their constant (learn/standardiser.h); what they point to is
 * kept until the next call of the same kind. */
void cop_cross_features_set_context(cop_cross_features *joint, const cop_row *x);
void cop_cross_features_set_candidate(cop_cross_features *joint, const cop_row *a);
/* The rows as they were set. */
const cop_row *cop_cross_features_context(const cop_cross_features *joint);
const cop_row *cop_cross_features_candidate(const cop_cross_features *joint);

/* All that there is to learn from; views until the next call. */
typedef struct cop_cross_features_rows {
	cop_row context, candidate; /* as they were set */
	cop_row near, whole;
} cop_cross_features_rows;
void cop_cross_features_make_rows(cop_cross_features *joint, cop_cross_features_rows *rows);
/* The near row in two: the context's entries, and (beginning at input *at) the candidate's with the constant. */
void cop_cross_features_first(const cop_cross_features *joint, cop_row *first);
void cop_cross_features_rest(const cop_cross_features *joint, cop_row *rest, size_t *at);

/* The linear function w (cop_cross_features_whole values) with the context put in. v: d_a values when dense, else
 * unused. */
typedef struct cop_cross_features_fold {
	float base;
	float *v;
} cop_cross_features_fold;
void cop_cross_features_fold_context(const cop_cross_features *joint, const float *w, cop_cross_features_fold *fold);
/* Its value for the candidate. */
float cop_cross_features_folded(const cop_cross_features *joint, const float *w, const cop_cross_features_fold *fold);

#endif

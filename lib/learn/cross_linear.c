/* Sums start at 1, so that a first step is at most the rate. */
#include "learn/cross_linear.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/sparse_state.h"

#define SUM_START 1.0f

/* Nothing is learned. */
static void begin(cop_cross_linear *linear)
{
	memset(linear->w, 0, linear->inputs * sizeof *linear->w);
	for (size_t i = 0; i < linear->inputs; i++)
		linear->sum[i] = SUM_START;
}

cop_err cop_cross_linear_init(
        cop_cross_linear *linear, const cop_cross_features_settings *joint, bool products_only, float rate)
{
	size_t near;
	*linear = (cop_cross_linear){ .joint = *joint, .rate = rate, .sparse = joint->sparse };
	cop_cross_features_sizes(joint, &near, &linear->inputs);
	linear->from = products_only ? near : 0;
	linear->w = cop_mem_alloc(linear->inputs, sizeof *linear->w);
	linear->sum = cop_mem_alloc(linear->inputs, sizeof *linear->sum);
	linear->fold.v = cop_mem_alloc(joint->sparse ? 1 : joint->candidate_features, sizeof *linear->fold.v);
	if (linear->w == NULL || linear->sum == NULL || linear->fold.v == NULL)
		return COP_ENOMEM;
	begin(linear);
	return COP_OK;
}

void cop_cross_linear_fini(cop_cross_linear *linear)
{
	cop_mem_free(linear->w);
	cop_mem_free(linear->sum);
	cop_mem_free(linear->fold.v);
}

double cop_cross_linear_footprint(const cop_cross_features_settings *joint)
{
	size_t near, whole;
	cop_cross_features_sizes(joint, &near, &whole);
	return 2.0 * sizeof(float) * (double)whole;
}

void cop_cross_linear_begin(cop_cross_linear *linear, const cop_cross_features *joint)
{
	cop_cross_features_fold_context(joint, linear->w, &linear->fold);
}

float cop_cross_linear_score(const cop_cross_linear *linear, const cop_cross_features *joint)
{
	return cop_cross_features_folded(joint, linear->w, &linear->fold);
}

/* The row's first entry that counts. */
static size_t first_entry(const cop_cross_linear *linear, const cop_row *whole)
{
	size_t i = 0;
	if (whole->dense != NULL)
		return linear->from;
	while (i < whole->nnz && whole->index[i] < linear->from)
		i++;
	return i;
}

float cop_cross_linear_value(const cop_cross_linear *linear, const cop_row *whole)
{
	float sum = 0.0f;
	for (size_t i = first_entry(linear, whole); i < cop_row_entries(whole); i++)
		sum += linear->w[cop_row_index(whole, i)] * cop_row_value(whole, i);
	return sum;
}

static void update_dense(cop_cross_linear *linear, const float *restrict x, float g)
{
	float *restrict w = linear->w;
	float *restrict sum = linear->sum;
	float rate = linear->rate;
#pragma omp simd
	for (size_t i = linear->from; i < linear->inputs; i++) {
		float gradient = g * x[i];
		float next = sum[i] + gradient * gradient;
		sum[i] = next < FLT_MAX ? next : FLT_MAX;
		w[i] -= rate * gradient / sqrtf(sum[i]);
	}
}

void cop_cross_linear_update(cop_cross_linear *linear, const cop_row *whole, float g)
{
	if (whole->dense != NULL) {
		update_dense(linear, whole->dense, g);
		return;
	}
	for (size_t i = first_entry(linear, whole); i < whole->nnz; i++) {
		uint32_t at = whole->index[i];
		float gradient = g * whole->value[i];
		linear->sum[at] = fminf(linear->sum[at] + gradient * gradient, FLT_MAX);
		linear->w[at] -= linear->rate * gradient / sqrtf(linear->sum[at]);
	}
}

void cop_cross_linear_explain(const cop_cross_linear *linear, const cop_row *whole, cop_explained_expert *expert)
{
	cop_explained_feature own[COP_EXPLANATION_LINEAR];
	cop_explained_feature other[COP_EXPLANATION_LINEAR];
	uint8_t own_count = cop_explanation_top(whole, linear->w, 1, COP_EXPLANATION_LINEAR, own);
	uint8_t other_count = expert->count;
	uint8_t i = 0;
	uint8_t k = 0;
	memcpy(other, expert->features, sizeof other);
	for (expert->count = 0; expert->count < COP_EXPLANATION_LINEAR && (i < other_count || k < own_count);
	        expert->count++) {
		bool from_other = k == own_count ||
		                  (i < other_count && fabsf(other[i].contribution) >= fabsf(own[k].contribution));
		expert->features[expert->count] = from_other ? other[i++] : own[k++];
	}
	expert->linear += (double)cop_cross_linear_value(linear, whole);
}

static cop_sparse_state rows_of(const cop_cross_linear *linear)
{
	return (cop_sparse_state){ .values = linear->w + linear->from,
		.sums = linear->sum + linear->from,
		.sums_started = SUM_START,
		.rows = linear->inputs - linear->from,
		.width = 1 };
}

void cop_cross_linear_save(const cop_cross_linear *linear, cop_bytes *bytes)
{
	const cop_sparse_state rows = rows_of(linear);
	cop_bytes_put_u64(bytes, linear->sparse ? rows.rows | COP_SPARSE_MARK : rows.rows);
	if (linear->sparse) {
		cop_sparse_state_save(&rows, NULL, bytes);
		return;
	}
	cop_bytes_put_f32s(bytes, rows.values, rows.rows);
	cop_bytes_put_f32s(bytes, rows.sums, rows.rows);
}

/* The inputs of whole rows that a saved state of so many weights had; 0: it is none of fewer context features. */
static size_t saved_inputs(const cop_cross_linear *linear, uint64_t weights)
{
	const size_t each = linear->joint.candidate_features;
	if (linear->sparse || weights > linear->inputs)
		return 0;
	if (linear->from == 0)
		return (size_t)weights;
	return (size_t)weights % each == 0 ? ((size_t)weights / each + 1) * (each + 1) : 0;
}

/* One of two arrays of a state of fewer context features: products lie in the same order. */
static void load_values(
        const cop_cross_linear *linear, float *values, size_t weights, size_t features, cop_cursor *cursor)
{
	const size_t added = linear->joint.features - features, first = linear->from == 0 ? features : 0;
	cop_cursor_f32s(cursor, values + linear->from, first);
	cop_cursor_f32s(cursor, values + linear->from + first + (first > 0 ? added : 0), weights - first);
}

cop_err cop_cross_linear_load(cop_cross_linear *linear, cop_cursor *cursor)
{
	const cop_sparse_state rows = rows_of(linear);
	uint64_t count = cop_cursor_u64(cursor);
	bool sparse = linear->sparse && (count & COP_SPARSE_MARK) != 0;
	if (cursor->err != COP_OK)
		return cursor->err;
	const bool same = (sparse ? count ^ COP_SPARSE_MARK : count) == rows.rows;
	const size_t features = same ? 0 : cop_cross_features_fewer(&linear->joint, saved_inputs(linear, count));
	if (!same && features == 0)
		return COP_ESHAPE;
	if (sparse) {
		cop_sparse_state_load(&rows, false, NULL, cursor);
	} else if (!same) {
		begin(linear);
		load_values(linear, linear->w, (size_t)count, features, cursor);
		load_values(linear, linear->sum, (size_t)count, features, cursor);
	} else {
		cop_cursor_f32s(cursor, rows.values, rows.rows);
		cop_cursor_f32s(cursor, rows.sums, rows.rows);
	}
	for (size_t i = 0; i < rows.rows && cursor->err == COP_OK; i++)
		if (rows.sums[i] < SUM_START) /* they divide */
			cursor->err = COP_EFORMAT;
	return cursor->err;
}

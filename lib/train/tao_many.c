/* The solver has weights feature by feature; a leaf has them class by class, and only those that are not 0. */
#include "train/tao_many.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/kernel.h"
#include "optim/l1_softmax_rows.h"

#define CELLS  ((size_t)1 << 18) /* classes x rows from which on passes over rows pay */
#define PASSES 10U

typedef struct wide {
	cop_screened_rows has;
	cop_l1_softmax_rows rows;
	cop_l1_softmax_pairs pairs;
	float *bias, *weight; /* classes, n */
} wide;

static void wide_fini(wide *l)
{
	cop_screened_rows_fini(&l->has);
	cop_l1_softmax_pairs_fini(&l->pairs);
	cop_mem_free(l->bias);
	cop_mem_free(l->weight);
}

bool cop_tao_many_is(const cop_tao_state *state, size_t classes, size_t n)
{
	return state->sample->rows->sparse && classes >= 2 && n >= CELLS / classes;
}

static cop_err wide_init(wide *l, const cop_tao_state *state, const cop_tao_many *many)
{
	uint32_t *at = cop_mem_alloc(many->n, sizeof *at);
	cop_err err = COP_ENOMEM;

	l->bias = cop_mem_alloc(many->classes, sizeof *l->bias);
	l->weight = cop_mem_alloc(many->n, sizeof *l->weight);
	if (at != NULL && l->bias != NULL && l->weight != NULL) {
		for (size_t i = 0; i < many->n; i++) {
			at[i] = (uint32_t)cop_sample_row(state->sample, many->rows[i]);
			l->weight[i] = (float)cop_tao_weight(state, many->rows[i]);
		}
		err = cop_screened_rows_init(
		        &l->has, state->sample->rows, many->n, at, l->weight, state->set->leaf_alpha);
	}
	cop_mem_free(at);
	if (err != COP_OK)
		return err;
	l->rows = (cop_l1_softmax_rows){ many->n, l->has.d, many->classes, l->has.start, l->has.index, l->has.value,
		many->label, l->weight };
	return cop_l1_softmax_pairs_init(&l->pairs, &l->rows, state->set->leaf_alpha);
}

/* The weight of class r at hand for feature j; NULL: there is none. */
static float *pair_of(const wide *l, size_t j, size_t r)
{
	size_t from = l->pairs.start[j], to = l->pairs.start[j + 1];

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (l->pairs.class[middle] < r)
			from = middle + 1;
		else
			to = middle;
	}
	return from < l->pairs.start[j + 1] && l->pairs.class[from] == r ? &l->pairs.w[from] : NULL;
}

static void take_row(wide *l, const cop_tao_leaf *leaf, size_t q, size_t r)
{
	l->bias[r] = leaf->bias[q];
	for (size_t e = leaf->start[q], j = 0; e < leaf->start[q + 1]; e++) {
		while (j < l->has.d && l->has.feature[j] < leaf->index[e])
			j++;
		float *w = j < l->has.d && l->has.feature[j] == leaf->index[e] ? pair_of(l, j, r) : NULL;
		if (w != NULL)
			*w = leaf->v[e];
	}
}

/* The leaf's present weights, of the classes and features at hand. */
static void take(wide *l, const cop_tao_leaf *leaf, const cop_tao_many *many)
{
	for (size_t r = 0, q = 0; leaf->start != NULL && q < leaf->rows; q++) {
		while (r < many->classes && many->output[r] < leaf->output[q])
			r++;
		if (r < many->classes && many->output[r] == leaf->output[q])
			take_row(l, leaf, q, r);
	}
}

/* From the starts of the rows on, which move on to the ends. */
static void fill(const wide *l, cop_tao_leaf *leaf)
{
	for (size_t j = 0; j < l->has.d; j++)
		for (size_t p = l->pairs.start[j]; p < l->pairs.start[j + 1]; p++) {
			float v = l->pairs.w[p];
			if (v == 0)
				continue;
			size_t *at = &leaf->start[l->pairs.class[p]];
			leaf->index[*at] = l->has.feature[j];
			leaf->v[(*at)++] = v;
			leaf->norm += fabs((double)v);
		}
}

static cop_err finish(const wide *l, const cop_tao_many *many, cop_tao_leaf *leaf)
{
	size_t classes = many->classes;

	leaf->rows = classes;
	leaf->bias = cop_mem_alloc(classes, sizeof *leaf->bias);
	leaf->output = cop_mem_alloc(classes, sizeof *leaf->output);
	leaf->start = cop_mem_alloc(classes + 1, sizeof *leaf->start);
	if (leaf->bias == NULL || leaf->output == NULL || leaf->start == NULL)
		return COP_ENOMEM;
	memcpy(leaf->bias, l->bias, classes * sizeof *leaf->bias);
	memcpy(leaf->output, many->output, classes * sizeof *leaf->output);
	for (size_t p = 0; p < l->pairs.start[l->has.d]; p++)
		leaf->start[l->pairs.class[p] + 1] += l->pairs.w[p] != 0;
	for (size_t r = 0; r < classes; r++)
		leaf->start[r + 1] += leaf->start[r];
	leaf->index = cop_mem_alloc(leaf->start[classes], sizeof *leaf->index);
	leaf->v = cop_mem_alloc(leaf->start[classes], sizeof *leaf->v);
	if (leaf->index == NULL || leaf->v == NULL)
		return COP_ENOMEM;
	fill(l, leaf);
	memmove(leaf->start + 1, leaf->start, classes * sizeof *leaf->start);
	leaf->start[0] = 0;
	return COP_OK;
}

cop_err cop_tao_many_fit(
        const cop_tao_state *state, const cop_tao_leaf *leaf, const cop_tao_many *many, cop_tao_leaf *next)
{
	wide l = { 0 };
	unsigned steps = state->set->node_steps;
	cop_l1_settings solver = { .lambda = state->set->leaf_alpha,
		.tolerance = state->set->node_tolerance,
		.max_steps = steps < PASSES ? steps : PASSES };
	cop_err err = wide_init(&l, state, many);

	if (err == COP_OK) {
		take(&l, leaf, many);
		err = cop_l1_softmax_rows_fit(&solver, &l.rows, &l.pairs, l.bias, NULL);
		err = err == COP_ENONFINITE ? COP_OK : err;
	}
	if (err == COP_OK)
		err = finish(&l, many, next);
	if (err != COP_OK)
		cop_tao_leaf_fini(next);
	wide_fini(&l);
	return err;
}

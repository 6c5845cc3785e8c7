/* tests/unit/train/tao_problem.h: small random problems for TAO, and E counted without any of its code. */
#ifndef COP_TESTS_UNIT_TRAIN_TAO_PROBLEM_H
#define COP_TESTS_UNIT_TRAIN_TAO_PROBLEM_H

#include "support.h"

#include <math.h>

#include "base/mem.h"
#include "train/tao.h"

#define TAO_ROWS     300
#define TAO_FEATURES 5
#define TAO_OUTPUTS  4

typedef struct tao_problem {
	cop_dataset *rows;
	uint32_t label[TAO_ROWS], order[TAO_ROWS];
	float target[TAO_ROWS * TAO_OUTPUTS], weight[TAO_ROWS];
	cop_sample sample;
	cop_tao_settings set;
} tao_problem;

static inline cop_task tao_task(cop_tao_loss loss)
{
	return loss == COP_TAO_COST                                        ? COP_TASK_COSTS
	       : loss == COP_TAO_ZERO_ONE || loss == COP_TAO_CROSS_ENTROPY ? COP_TASK_CLASSES
	                                                                   : COP_TASK_VALUES;
}

/* The first n of TAO_ROWS rows; features in [-1, 1], in sparse rows a third of them is missing. */
static inline void tao_make(tao_problem *p, cop_tao_loss loss, size_t n, bool sparse, uint64_t seed)
{
	cop_rng rng;
	cop_rng_init(&rng, seed, 0);
	assert_int_equal(
	        sparse ? cop_dataset_new_sparse(&p->rows) : cop_dataset_new_dense(TAO_FEATURES, &p->rows), COP_OK);
	for (uint32_t i = 0; i < n; i++) {
		float x[TAO_FEATURES], value[TAO_FEATURES], sum = 0;
		uint32_t index[TAO_FEATURES], nnz = 0;
		for (uint32_t j = 0; j < TAO_FEATURES; j++) {
			x[j] = (float)(2.0 * cop_rng_unit(&rng) - 1.0);
			if (sparse && i > 0 && cop_rng_below(&rng, 3) == 0)
				continue;
			index[nnz] = j;
			value[nnz++] = x[j];
			sum += x[j];
		}
		assert_int_equal(sparse ? cop_dataset_push_sparse(p->rows, nnz, index, value, 0.0)
		                        : cop_dataset_push_dense(p->rows, x, 0.0),
		        COP_OK);
		p->label[i] = (uint32_t)(sum > 0.2F) + 2 * (uint32_t)(value[0] > 0);
		if (cop_rng_below(&rng, 10) == 0)
			p->label[i] = (uint32_t)cop_rng_below(&rng, TAO_OUTPUTS);
		for (uint32_t k = 0; k < TAO_OUTPUTS; k++)
			p->target[i * TAO_OUTPUTS + k] =
			        (float)(p->label[i] == k) + sum * (float)k / 5 + 0.2F * (float)cop_rng_normal(&rng);
		p->weight[i] = (float)(0.5 + cop_rng_unit(&rng));
		p->order[i] = i;
	}
	p->sample = (cop_sample){ .rows = p->rows,
		.n = n,
		.task = tao_task(loss),
		.outputs = TAO_OUTPUTS,
		.label = p->label,
		.target = p->target,
		.weight = p->weight };
	cop_tao_defaults(p->sample.task, &p->set);
	p->set.loss = loss;
	p->set.depth = 4;
	p->set.alpha = 0.1;
	p->set.leaf_alpha = 0.05;
	p->set.iterations = 6;
	p->set.tolerance = 0;
	p->set.node_tolerance = 1e-2;
	p->set.node_steps = 20;
}

static inline void tao_end(tao_problem *p) { cop_dataset_free(p->rows); }

/* c L(y, out) of row number `at`. */
static inline double tao_naive_loss(const tao_problem *p, size_t at, const float *out)
{
	double sum = 0;
	uint32_t most = 0, least = 0;

	for (uint32_t k = 0; k < TAO_OUTPUTS; k++) {
		double away = (double)p->target[at * TAO_OUTPUTS + k] - (double)out[k];
		sum += p->set.loss == COP_TAO_SQUARED ? away * away : fabs(away);
		most = out[k] > out[most] ? k : most;
		least = out[k] < out[least] ? k : least;
	}
	if (p->set.loss == COP_TAO_ZERO_ONE)
		sum = most != p->label[at];
	if (p->set.loss == COP_TAO_CROSS_ENTROPY)
		sum = -log(fmax((double)out[p->label[at]], 1e-6));
	if (p->set.loss == COP_TAO_COST)
		sum = (double)p->target[at * TAO_OUTPUTS + least];
	return sum * (p->sample.weight != NULL ? (double)p->weight[at] : 1.0);
}

static inline double tao_naive_objective(const tao_problem *p, const cop_tree *tree)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	double e = 0;
	float out[TAO_OUTPUTS];

	for (size_t i = 0; i < p->sample.n; i++) {
		cop_row row;
		cop_dataset_row(p->rows, cop_sample_row(&p->sample, i), &row);
		cop_tree_predict(tree, &row, out);
		e += tao_naive_loss(p, cop_sample_row(&p->sample, i), out);
	}
	for (size_t t = 0; t < parts->nodes.count; t++)
		for (size_t j = parts->nodes.start[t]; j < parts->nodes.start[t + 1]; j++)
			e += p->set.alpha * fabs((double)parts->nodes.weight[j]);
	for (size_t r = 0; r < parts->rows.count; r++)
		for (size_t j = parts->rows.start[r]; j < parts->rows.start[r + 1]; j++)
			e += p->set.leaf_alpha * fabs((double)parts->rows.weight[j]);
	return e;
}

/* Fits with seed 1; the caller frees the tree and, when report is given, its history. */
static inline cop_tree *tao_run(const tao_problem *p, const cop_tree *start, cop_pool *pool, cop_tao_report *report)
{
	cop_rng rng;
	cop_tree *tree = NULL;

	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_tao_fit(&p->set, &p->sample, start, pool, &rng, NULL, report, &tree), COP_OK);
	return tree;
}

#endif

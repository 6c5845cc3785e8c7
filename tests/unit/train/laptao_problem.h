/* tests/unit/train/laptao_problem.h: small problems for LapTAO: points in the plane, a graph of all pairs that are
 * near, made by hand; and (3.1) counted without any of its code. */
#ifndef COP_TESTS_UNIT_TRAIN_LAPTAO_PROBLEM_H
#define COP_TESTS_UNIT_TRAIN_LAPTAO_PROBLEM_H

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/laptao.h"

#define LAP_MOST    400
#define LAP_OUTPUTS 3

typedef struct laptao_problem {
	size_t n, outputs;
	cop_dataset *rows;
	float x[LAP_MOST][2];
	float target[LAP_MOST * LAP_OUTPUTS];
	uint32_t label[LAP_MOST];
	float mask[LAP_MOST * LAP_OUTPUTS]; /* of each output */
	float shared[LAP_MOST];
	double *w; /* n x n */
	cop_graph graph;
	cop_sample sample;
	cop_laptao_settings set;
} laptao_problem;

static inline void laptao_graph_end(cop_graph *g)
{
	cop_mem_free(g->start);
	cop_mem_free(g->index);
	cop_mem_free(g->weight);
	cop_mem_free(g->degree);
	cop_mem_free(g->part);
}

static inline void laptao_spread_part(cop_graph *g, size_t i, uint32_t part)
{
	g->part[i] = part;
	for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
		if (g->part[g->index[e]] == UINT32_MAX)
			laptao_spread_part(g, g->index[e], part);
}

/* Of a dense symmetric w, whose entries are floats. */
static inline void laptao_graph_make(cop_graph *g, size_t n, const double *w)
{
	*g = (cop_graph){ .n = n,
		.start = cop_mem_alloc(n + 1, sizeof *g->start),
		.index = cop_mem_alloc(n * n, sizeof *g->index),
		.weight = cop_mem_alloc(n * n, sizeof *g->weight),
		.degree = cop_mem_alloc(n, sizeof *g->degree),
		.part = cop_mem_alloc(n, sizeof *g->part) };
	for (size_t i = 0, e = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			if (!(w[i * n + j] > 0))
				continue;
			g->index[e] = (uint32_t)j;
			g->weight[e++] = (float)w[i * n + j];
			g->degree[i] += w[i * n + j];
		}
		g->start[i + 1] = e;
		g->part[i] = UINT32_MAX;
	}
	for (size_t i = 0; i < n; i++)
		if (g->part[i] == UINT32_MAX)
			laptao_spread_part(g, i, g->parts++);
}

/* Points that are nearer than `reach` are joined by a Gaussian weight. Takes x as it is. */
static inline void laptao_join(laptao_problem *p, double reach)
{
	p->w = cop_mem_alloc(p->n * p->n, sizeof *p->w);
	for (size_t i = 0; i < p->n; i++) {
		for (size_t j = 0; j < p->n; j++) {
			double a = (double)p->x[i][0] - (double)p->x[j][0], b = (double)p->x[i][1] - (double)p->x[j][1];
			double square = a * a + b * b;
			if (i != j && square < reach * reach)
				p->w[i * p->n + j] = (double)(float)exp(-2 * square / (reach * reach));
		}
	}
	laptao_graph_make(&p->graph, p->n, p->w);
	assert_int_equal(cop_dataset_new_dense(2, &p->rows), COP_OK);
	for (size_t i = 0; i < p->n; i++)
		assert_int_equal(cop_dataset_push_dense(p->rows, p->x[i], 0), COP_OK);
	p->sample = (cop_sample){ .rows = p->rows,
		.n = p->n,
		.task = COP_TASK_VALUES,
		.outputs = p->outputs,
		.target = p->target,
		.label = p->label };
}

/* Two groups of points that nothing joins, 4 apart; smooth targets; a third of the entries seen, with weights. */
static inline void laptao_make(laptao_problem *p, size_t n, size_t outputs, uint64_t seed)
{
	cop_rng rng;

	*p = (laptao_problem){ .n = n, .outputs = outputs };
	cop_rng_init(&rng, seed, 0);
	for (size_t i = 0; i < n; i++) {
		p->x[i][0] = (float)(cop_rng_unit(&rng) + (i % 4 == 0 ? 4 : 0));
		p->x[i][1] = (float)cop_rng_unit(&rng);
		p->label[i] = (uint32_t)(p->x[i][1] > 0.5F) + (uint32_t)(i % 4 == 0 && outputs > 2);
		for (size_t k = 0; k < outputs; k++) {
			size_t e = i * outputs + k;
			p->target[e] = (float)(2.0 * sin(3.0 * (double)p->x[i][0] + (double)k) +
			                       (double)p->x[i][1] * (double)k + 0.1 * cop_rng_normal(&rng) + 3.0);
			p->mask[e] = cop_rng_below(&rng, 3) == 0 ? (float)(0.5 + cop_rng_unit(&rng)) : 0;
		}
		p->shared[i] = p->mask[i * outputs];
	}
	laptao_join(p, 0.35);
	cop_laptao_defaults(&p->set);
	p->set.mu = 0.05;
	p->set.tree.depth = 3;
	p->set.tree.alpha = 0.01;
	p->set.tree.leaf_alpha = 0.01;
	p->set.tree.iterations = 6;
	p->set.rounds = 8;
	p->set.tolerance = 0;
}

static inline void laptao_end(laptao_problem *p)
{
	cop_mem_free(p->w);
	laptao_graph_end(&p->graph);
	cop_dataset_free(p->rows);
}

/* Fits with seed 1; the caller frees the trees, and the report's lagrangian when report is given. */
static inline cop_trees *laptao_run(
        const laptao_problem *p, bool shared, cop_pool *pool, const cop_tree *start, cop_laptao_report *report)
{
	cop_rng rng;
	cop_trees *trees = NULL;

	cop_rng_init(&rng, 1, 0);
	assert_int_equal(cop_laptao_fit(&p->set, &p->sample, shared ? p->shared : p->mask, shared, &p->graph, start,
	                         pool, &rng, NULL, report, &trees),
	        COP_OK);
	return trees;
}

static inline void laptao_predict(const laptao_problem *p, const cop_trees *trees, double *out)
{
	float work[LAP_OUTPUTS];

	for (size_t i = 0; i < p->n; i++) {
		cop_row row;
		cop_dataset_row(p->rows, i, &row);
		cop_trees_predict(trees, &row, work, out + i * p->outputs);
	}
}

static inline double laptao_seen(const laptao_problem *p, bool shared, size_t i, size_t k)
{
	return (double)(shared ? p->shared[i] : p->mask[i * p->outputs + k]);
}

/* (3.1) but its penalty. */
static inline double laptao_naive_smooth(const laptao_problem *p, bool shared, const double *t)
{
	double sum = 0, rough = 0;

	for (size_t k = 0; k < p->outputs; k++) {
		for (size_t i = 0; i < p->n; i++) {
			double y = p->sample.task == COP_TASK_CLASSES ? (double)(p->label[i] == k)
			                                              : (double)p->target[i * p->outputs + k];
			double away = t[i * p->outputs + k] - y;
			sum += laptao_seen(p, shared, i, k) * away * away;
			for (size_t j = 0; j < p->n; j++) {
				double step = t[i * p->outputs + k] - t[j * p->outputs + k];
				rough += p->w[i * p->n + j] * step * step / 2;
			}
		}
	}
	return sum + p->set.gamma * rough;
}

static inline double laptao_naive_objective(const laptao_problem *p, bool shared, const cop_trees *trees)
{
	double *t = cop_mem_alloc(p->n * p->outputs, sizeof *t), penalty = 0;

	laptao_predict(p, trees, t);
	for (size_t m = 0; m < cop_trees_count(trees); m++) {
		const cop_tree_parts *parts = cop_tree_view(cop_trees_at(trees, m));
		for (size_t v = 0; v < parts->nodes.count; v++)
			for (size_t e = parts->nodes.start[v]; e < parts->nodes.start[v + 1]; e++)
				penalty += p->set.tree.alpha * fabs((double)parts->nodes.weight[e]);
		for (size_t r = 0; r < parts->rows.count; r++)
			for (size_t e = parts->rows.start[r]; e < parts->rows.start[r + 1]; e++)
				penalty += p->set.tree.leaf_alpha * fabs((double)parts->rows.weight[e]);
	}
	double sum = laptao_naive_smooth(p, shared, t) + penalty / (double)cop_trees_count(trees);
	cop_mem_free(t);
	return sum;
}

static inline bool laptao_same(const cop_trees *a, const cop_trees *b)
{
	cop_bytes x, y;

	cop_bytes_init(&x);
	cop_bytes_init(&y);
	cop_trees_save(a, &x);
	cop_trees_save(b, &y);
	assert_int_equal(x.err, COP_OK);
	bool same = x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
	cop_bytes_fini(&x);
	cop_bytes_fini(&y);
	return same;
}

#endif

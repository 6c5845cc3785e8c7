/* The end: the best leaves of a structure, and the trees as they are handed out.
 *
 * B'LB is the Laplacian of the graph of leaves, in which the weight between two leaves is the sum of the weights
 * between their rows. So (3.11) is a label step with mu = 0 on that graph; B'JB and B'Jy are sums over the rows of
 * each leaf. */
#include "train/laptao_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tree/tree_build.h"

/* Of (3.11): what is left, relative, and steps for each leaf. */
#define EXACT    1e-12
#define PER_LEAF ((size_t)20)
#define STEPS    1000u

/* ---- the graph of leaves ---- */

typedef struct joining {
	const cop_graph *graph;
	const uint32_t *leaf; /* of each row */
	cop_graph *out;
	size_t room;
	size_t *begin;   /* leaves + 1, of order */
	uint32_t *order; /* rows by leaf */
	double *sum;     /* leaves */
	uint32_t *met;   /* leaves */
} joining;

static void order_rows(joining *j)
{
	size_t leaves = j->out->n;

	for (size_t i = 0; i < j->graph->n; i++)
		j->begin[j->leaf[i] + 1]++;
	for (size_t a = 0; a < leaves; a++)
		j->begin[a + 1] += j->begin[a];
	for (size_t i = j->graph->n; i-- > 0;)
		j->order[--j->begin[j->leaf[i] + 1]] = (uint32_t)i;
	memmove(j->begin, j->begin + 1, leaves * sizeof *j->begin);
	j->begin[leaves] = j->graph->n;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Weights from leaf a to the others: their sums in j->sum, the leaves ascending in j->met. */
static size_t join(joining *j, uint32_t a)
{
	size_t count = 0;

	for (size_t r = j->begin[a]; r < j->begin[a + 1]; r++) {
		uint32_t i = j->order[r];
		for (size_t e = j->graph->start[i]; e < j->graph->start[i + 1]; e++) {
			uint32_t b = j->leaf[j->graph->index[e]];
			if (b == a || !(j->graph->weight[e] > 0))
				continue;
			if (j->sum[b] <= 0)
				j->met[count++] = b;
			j->sum[b] += (double)j->graph->weight[e];
		}
	}
	qsort(j->met, count, sizeof *j->met, ascending);
	return count;
}

static cop_err make_room(joining *j, size_t wanted)
{
	size_t room = j->room;

	if (wanted <= room)
		return COP_OK;
	while (room < wanted)
		room = 2 * room + 64;
	uint32_t *index = cop_mem_resize(j->out->index, j->room, room, sizeof *index);
	if (index != NULL)
		j->out->index = index;
	float *weight = index != NULL ? cop_mem_resize(j->out->weight, j->room, room, sizeof *weight) : NULL;
	if (weight == NULL)
		return COP_ENOMEM;
	j->out->weight = weight;
	j->room = room;
	return COP_OK;
}

/* The weight from b to a, which was rounded already; or w when there is none. */
static float mirrored(const cop_graph *graph, uint32_t b, uint32_t a, double w)
{
	const uint32_t *from = graph->index + graph->start[b];
	const uint32_t *found = bsearch(&a, from, graph->start[b + 1] - graph->start[b], sizeof a, ascending);

	return found != NULL ? graph->weight[found - graph->index] : (float)w;
}

static cop_err join_all(joining *j)
{
	cop_graph *out = j->out;

	order_rows(j);
	for (uint32_t a = 0; a < out->n; a++) {
		size_t count = join(j, a), at = out->start[a];
		cop_err err = make_room(j, at + count);
		if (err != COP_OK)
			return err;
		for (size_t c = 0; c < count; c++) {
			uint32_t b = j->met[c];
			out->index[at + c] = b;
			out->weight[at + c] = b < a ? mirrored(out, b, a, j->sum[b]) : (float)j->sum[b];
			out->degree[a] += (double)out->weight[at + c];
			j->sum[b] = 0;
		}
		out->start[a + 1] = at + count;
	}
	return COP_OK;
}

static void end_graph(cop_graph *graph)
{
	cop_mem_free(graph->start);
	cop_mem_free(graph->index);
	cop_mem_free(graph->weight);
	cop_mem_free(graph->degree);
}

/* Without parts. The caller ends it with end_graph in every case. */
static cop_err graph_of_leaves(const cop_graph *graph, const uint32_t *leaf, size_t leaves, cop_graph *out)
{
	*out = (cop_graph){ .n = leaves,
		.start = cop_mem_alloc(leaves + 1, sizeof *out->start),
		.degree = cop_mem_alloc(leaves, sizeof *out->degree) };
	joining j = { .graph = graph,
		.leaf = leaf,
		.out = out,
		.begin = cop_mem_alloc(leaves + 1, sizeof *j.begin),
		.order = cop_mem_alloc(graph->n, sizeof *j.order),
		.sum = cop_mem_alloc(leaves, sizeof *j.sum),
		.met = cop_mem_alloc(leaves, sizeof *j.met) };
	cop_err err = COP_ENOMEM;

	if (out->start != NULL && out->degree != NULL && j.begin != NULL && j.order != NULL && j.sum != NULL &&
	        j.met != NULL)
		err = make_room(&j, 1);
	if (err == COP_OK)
		err = join_all(&j);
	cop_mem_free(j.begin);
	cop_mem_free(j.order);
	cop_mem_free(j.sum);
	cop_mem_free(j.met);
	return err;
}

/* ---- the best leaves ---- */

/* A copy with other biases of the leaves' rows. */
static cop_err with_bias(const cop_tree *tree, const float *bias, cop_tree **out)
{
	cop_tree_parts parts = *cop_tree_view(tree);

	parts.rows.bias = bias;
	return cop_tree_new(&parts, out);
}

/* A copy whose leaves have those values (K x leaves). */
static cop_err with_values(const cop_tree *tree, const double *value, cop_tree **out)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	size_t leaves = cop_tree_leaves(tree);
	float *bias = cop_mem_alloc(parts->rows.count, sizeof *bias);

	*out = NULL;
	if (bias == NULL)
		return COP_ENOMEM;
	for (size_t l = 0; l < leaves; l++)
		for (size_t r = parts->leaf[l]; r < parts->leaf[l + 1]; r++)
			bias[r] = (float)value[parts->output[r] * leaves + l];
	cop_err err = with_bias(tree, bias, out);
	cop_mem_free(bias);
	return err;
}

/* B'J1 and B'Jy. */
static void gather(const cop_laptao_state *state, const uint32_t *leaf, size_t leaves, double *seen, double *right)
{
	for (size_t k = 0; k < state->outputs; k++) {
		const double *weight = state->weight + (state->shared ? 0 : k * state->n);
		for (size_t i = 0; i < state->n; i++) {
			right[k * leaves + leaf[i]] += weight[i] * state->y[k * state->n + i];
			if (k == 0 || !state->shared)
				seen[k * leaves + leaf[i]] += weight[i];
		}
	}
}

static cop_err solve_leaves(const cop_laptao_state *state, const uint32_t *leaf, size_t leaves, double *value)
{
	size_t masks = state->shared ? 1 : state->outputs;
	double *seen = cop_mem_alloc(leaves, masks * sizeof *seen);
	double *right = cop_mem_alloc(leaves, state->outputs * sizeof *right);
	cop_graph graph = { 0 };
	cop_err err = COP_ENOMEM;

	if (seen != NULL && right != NULL)
		err = graph_of_leaves(state->graph, leaf, leaves, &graph);
	if (err == COP_OK) {
		size_t steps = STEPS + PER_LEAF * leaves;
		cop_laptao_system system = { .graph = &graph,
			.n = leaves,
			.outputs = state->outputs,
			.gamma = state->set->gamma,
			.weight = seen,
			.shared = state->shared,
			.tolerance = EXACT,
			.steps = steps < UINT32_MAX ? (unsigned)steps : UINT32_MAX };
		gather(state, leaf, leaves, seen, right);
		err = cop_laptao_solve(&system, 0, right, state->pool, value);
	}
	cop_mem_free(seen);
	cop_mem_free(right);
	end_graph(&graph);
	return err;
}

cop_err cop_laptao_best_leaves(cop_laptao_state *state)
{
	size_t leaves = cop_tree_leaves(state->tree[0]);
	uint32_t *leaf = cop_mem_alloc(state->n, sizeof *leaf);
	double *value = cop_mem_alloc(leaves, state->outputs * sizeof *value);
	cop_tree *best = NULL;
	cop_err err = COP_ENOMEM;

	if (leaf != NULL && value != NULL)
		err = cop_laptao_leaves(state, state->tree[0], leaf);
	if (err == COP_OK)
		err = solve_leaves(state, leaf, leaves, value);
	if (err == COP_OK)
		err = with_values(state->tree[0], value, &best);
	if (err == COP_OK) {
		cop_tree_free(state->tree[0]);
		state->tree[0] = best;
	}
	cop_mem_free(leaf);
	cop_mem_free(value);
	return err;
}

/* ---- as they are handed out ---- */

cop_err cop_laptao_shifted(const cop_tree *tree, const double *shift, double sign, cop_tree **out)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	float *bias = cop_mem_alloc(parts->rows.count, sizeof *bias);

	*out = NULL;
	if (bias == NULL)
		return COP_ENOMEM;
	for (size_t r = 0; r < parts->rows.count; r++)
		bias[r] = (float)((double)parts->rows.bias[r] + sign * shift[parts->output[r]]);
	cop_err err = with_bias(tree, bias, out);
	cop_mem_free(bias);
	return err;
}

/* The best leaves of one-hot targets are probabilities, but for rounding, since no value of them lies beyond what was
 * seen and the sums over the outputs are 1. */
static cop_err probabilities(const cop_tree *tree, cop_tree **out)
{
	cop_tree_parts parts = *cop_tree_view(tree);
	float *bias = cop_mem_alloc(parts.rows.count, sizeof *bias);

	*out = NULL;
	if (bias == NULL)
		return COP_ENOMEM;
	for (size_t l = 0; l < cop_tree_leaves(tree); l++) {
		double sum = 0;
		for (size_t r = parts.leaf[l]; r < parts.leaf[l + 1]; r++)
			sum += fmax((double)parts.rows.bias[r], 0);
		for (size_t r = parts.leaf[l]; r < parts.leaf[l + 1]; r++)
			bias[r] = (float)(fmax((double)parts.rows.bias[r], 0) / sum);
	}
	parts.link = COP_TREE_PROBABILITIES;
	parts.rows.bias = bias;
	cop_err err = cop_tree_new(&parts, out);
	cop_mem_free(bias);
	return err;
}

static cop_err prune(const cop_laptao_state *state, const cop_tree *tree, cop_tree **out)
{
	uint32_t *leaf = cop_mem_alloc(state->n, sizeof *leaf);
	uint64_t *rows = cop_mem_alloc(cop_tree_leaves(tree), sizeof *rows);
	cop_err err = COP_ENOMEM;

	*out = NULL;
	if (leaf != NULL && rows != NULL)
		err = cop_laptao_leaves(state, tree, leaf);
	if (err == COP_OK) {
		for (size_t i = 0; i < state->n; i++)
			rows[leaf[i]]++;
		err = cop_tree_prune(tree, rows, out);
	}
	cop_mem_free(leaf);
	cop_mem_free(rows);
	return err;
}

/* *tree is replaced by its successor; on error it stays. */
static cop_err replace(cop_err err, cop_tree *next, cop_tree **tree)
{
	if (err != COP_OK)
		return err;
	cop_tree_free(*tree);
	*tree = next;
	return COP_OK;
}

static cop_err finish_tree(const cop_laptao_state *state, cop_tree **tree)
{
	bool shares = state->sample->task == COP_TASK_CLASSES && state->trees == 1 && cop_tree_constant_leaves(*tree);
	cop_tree *next = NULL;
	cop_err err = cop_laptao_shifted(*tree, state->mean, 1, &next);

	err = replace(err, next, tree);
	if (err == COP_OK && state->set->tree.prune) {
		err = prune(state, *tree, &next);
		err = replace(err, next, tree);
	}
	if (err == COP_OK && shares) {
		err = probabilities(*tree, &next);
		err = replace(err, next, tree);
	}
	return err;
}

cop_err cop_laptao_finish(cop_laptao_state *state, double *objective, cop_trees **out)
{
	cop_err err = COP_OK;

	for (size_t t = 0; t < state->trees && err == COP_OK; t++)
		err = finish_tree(state, &state->tree[t]);
	if (err == COP_OK)
		err = cop_laptao_predict(state, state->tree, state->t);
	if (err != COP_OK)
		return err;
	for (size_t k = 0; k < state->outputs; k++)
		for (size_t i = 0; i < state->n; i++)
			state->t[k * state->n + i] -= state->mean[k];
	*objective = cop_laptao_smooth(state, state->t) + cop_laptao_penalty(state, state->tree);
	return cop_trees_new(COP_TREES_MEAN, state->trees, state->tree, NULL, NULL, out);
}

/* The fitted tree is written as a cop_tree, and its dead and pure subtrees are cut. */
#include "train/tao_parts.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tree/tree_build.h"

typedef struct writer {
	const cop_tao_state *state;
	cop_tree_build *build;
	const uint64_t *reached; /* rows of each leaf: what no row reaches is left out; NULL: everything stays */
	float *dense;            /* d */
	uint32_t *output;        /* K */
	float *bias;             /* K */
	size_t *nowhere;         /* K + 1 zeros: the starts of rows without entries */
} writer;

static uint64_t reached(const writer *w, uint32_t first, uint32_t last)
{
	uint64_t n = 0;

	for (uint32_t l = first; l < last; l++)
		n += w->reached[l];
	return n;
}

/* A constant leaf among softmax leaves: the logits of its shares. */
static int32_t write_shares(writer *w, const cop_tao_leaf *leaf)
{
	size_t rows = 0;

	for (uint32_t k = 0; k < w->state->outputs; k++) {
		if (!(leaf->bias[k] > 0))
			continue;
		w->output[rows] = k;
		w->bias[rows++] = (float)log((double)leaf->bias[k]);
	}
	const cop_tree_vectors none = { .count = rows, .start = w->nowhere, .bias = w->bias };
	return cop_tree_build_sparse(w->build, w->output, &none);
}

static int32_t write_leaf(writer *w, uint32_t l)
{
	const cop_tao_state *state = w->state;
	const cop_tao_leaf *leaf = &state->leaf[l];

	if (leaf->start == NULL && state->set->leaves == COP_TAO_LINEAR && state->sample->task == COP_TASK_CLASSES)
		return write_shares(w, leaf);
	if (leaf->start == NULL)
		return cop_tree_build_constant(w->build, leaf->bias);
	const cop_tree_vectors rows = { leaf->rows, leaf->start, leaf->index, leaf->v, leaf->bias };
	return cop_tree_build_sparse(w->build, leaf->output, &rows);
}

static int32_t write_node(writer *w, const cop_tao_node *node)
{
	const cop_tao_linear *f = &node->f;

	if (f->index != NULL && f->count == 1 && f->w[0] == 1)
		return cop_tree_build_axis(w->build, f->index[0], -f->bias);
	memset(w->dense, 0, w->state->d * sizeof *w->dense);
	for (size_t k = 0; k < f->count; k++)
		w->dense[f->index != NULL ? f->index[k] : k] = f->w[k];
	return cop_tree_build_node(w->build, w->dense, f->bias);
}

static int32_t write_child(writer *w, int32_t child)
{
	if (child < 0)
		return write_leaf(w, (uint32_t)~child);
	const cop_tao_node *node = &w->state->node[child];
	if (w->reached != NULL && reached(w, node->first, node->middle) == 0)
		return write_child(w, node->child[1]);
	if (w->reached != NULL && reached(w, node->middle, node->last) == 0)
		return write_child(w, node->child[0]);
	int32_t self = write_node(w, node);
	int32_t left = write_child(w, node->child[0]);
	int32_t right = write_child(w, node->child[1]);
	cop_tree_build_children(w->build, self, left, right);
	return self;
}

static cop_err write_tree(const cop_tao_state *state, const uint64_t *rows, cop_tree **out)
{
	bool softmax = state->set->leaves == COP_TAO_LINEAR;
	cop_tree_link link = state->sample->task != COP_TASK_CLASSES ? COP_TREE_VALUES
	                     : softmax                               ? COP_TREE_LOGITS
	                                                             : COP_TREE_PROBABILITIES;
	writer w = { .state = state, .reached = rows, .output = cop_mem_alloc(state->outputs, sizeof *w.output) };
	cop_err err = COP_ENOMEM;

	w.bias = cop_mem_alloc(state->outputs, sizeof *w.bias);
	w.nowhere = cop_mem_alloc(state->outputs + 1, sizeof *w.nowhere);
	w.dense = cop_mem_alloc(state->d, sizeof *w.dense);
	if (w.output != NULL && w.bias != NULL && w.nowhere != NULL && w.dense != NULL)
		err = cop_tree_build_new(state->d, state->outputs, link, &w.build);
	if (err == COP_OK) {
		int32_t root = write_child(&w, state->nodes > 0 ? 0 : ~0);
		err = cop_tree_build_finish(w.build, root, out);
	}
	cop_tree_build_free(w.build);
	cop_mem_free(w.output);
	cop_mem_free(w.bias);
	cop_mem_free(w.nowhere);
	cop_mem_free(w.dense);
	return err;
}

/* Dead subtrees are cut here; pure ones by cop_tree_prune, except where a class's probability counts: a merged leaf has
 * the shares of one of its parts. */
static cop_err prune(const cop_tao_state *state, cop_tree **tree)
{
	uint64_t *rows = cop_mem_alloc(state->leaves, sizeof *rows);
	cop_tree *cut = NULL;
	cop_err err = COP_OK;

	if (rows == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < state->n; i++) {
		cop_row row;
		cop_dataset_row(state->sample->rows, cop_sample_row(state->sample, i), &row);
		rows[cop_tree_leaf(*tree, &row)]++;
	}
	if (state->set->loss == COP_TAO_CROSS_ENTROPY)
		err = write_tree(state, rows, &cut);
	else
		err = cop_tree_prune(*tree, rows, &cut);
	cop_mem_free(rows);
	if (err != COP_OK)
		return err;
	cop_tree_free(*tree);
	*tree = cut;
	return COP_OK;
}

static cop_err measure(const cop_tao_state *state, const cop_tree *tree, double *objective)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	float *out = cop_mem_alloc(state->outputs, sizeof *out);
	double nodes = 0, leaves = 0, sum = 0;

	if (out == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < state->n; i++) {
		cop_row row;
		cop_dataset_row(state->sample->rows, cop_sample_row(state->sample, i), &row);
		cop_tree_predict(tree, &row, out);
		sum += cop_tao_loss_of_outputs(state, i, out);
	}
	for (size_t e = 0; parts->nodes.count > 0 && e < parts->nodes.start[parts->nodes.count]; e++)
		nodes += fabs((double)parts->nodes.weight[e]);
	for (size_t e = 0; e < parts->rows.start[parts->rows.count]; e++)
		leaves += fabs((double)parts->rows.weight[e]);
	*objective = sum + state->set->alpha * nodes + state->set->leaf_alpha * leaves;
	cop_mem_free(out);
	return COP_OK;
}

cop_err cop_tao_finish(const cop_tao_state *state, cop_tree **out, double *objective)
{
	cop_tree *tree = NULL;
	cop_err err = write_tree(state, NULL, &tree);

	if (err == COP_OK && state->set->prune)
		err = prune(state, &tree);
	if (err == COP_OK)
		err = measure(state, tree, objective);
	if (err != COP_OK) {
		cop_tree_free(tree);
		tree = NULL;
	}
	*out = tree;
	return err;
}

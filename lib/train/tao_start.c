/* Where the tree comes from: random hyperplanes, each of which halves the rows of its node, or a given tree. */
#include "train/tao_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A random hyperplane of a sparse sample has at most so many weights, on features drawn as often as they occur. */
#define SPARSE_WEIGHTS 1024
/* Tries to find a hyperplane that divides rows which are not all equal. */
#define TRIES 4

typedef struct grower {
	cop_tao_state *state;
	cop_rng *rng;
	uint32_t *rows; /* n: those of the present node are one range */
	float *margin;  /* n */
	float *sorted;  /* n */
	cop_tao_leaf fresh;
} grower;

static cop_err fresh_leaf(const cop_tao_state *state, cop_tao_leaf *fresh)
{
	uint32_t *rows = cop_mem_alloc(state->n, sizeof *rows);
	float *bias = cop_mem_alloc(state->outputs, sizeof *bias);
	uint32_t choice = 0;
	bool any = false;
	cop_err err = COP_ENOMEM;

	if (rows != NULL && bias != NULL) {
		for (size_t i = 0; i < state->n; i++)
			rows[i] = (uint32_t)i;
		err = cop_tao_constant(state, rows, state->n, bias, &choice, &any);
	}
	if (err == COP_OK)
		err = cop_tao_leaf_set_constant(state, fresh, bias, choice);
	cop_mem_free(rows);
	cop_mem_free(bias);
	return err;
}

static cop_err make_room(cop_tao_state *state, size_t nodes)
{
	state->node = cop_mem_alloc(nodes, sizeof *state->node);
	state->leaf = cop_mem_alloc(nodes + 1, sizeof *state->leaf);
	state->node_room = nodes;
	state->leaf_room = nodes + 1;
	return state->node != NULL && state->leaf != NULL ? COP_OK : COP_ENOMEM;
}

static cop_err add_leaf(cop_tao_state *state, const cop_tao_leaf *fresh, unsigned depth, uint32_t *out)
{
	cop_tao_leaf *leaf = &state->leaf[state->leaves];

	leaf->depth = depth;
	*out = (uint32_t)state->leaves++;
	return cop_tao_leaf_set_constant(state, leaf, fresh->bias, fresh->choice);
}

/* ---- random ---- */

/* Unit Gaussian weights of all features, or of some that occur in the rows. */
static void draw_weights(grower *g, const uint32_t *rows, size_t n, float *w)
{
	const cop_dataset *data = g->state->sample->rows;
	size_t d = g->state->d;
	double square = 0;

	memset(w, 0, d * sizeof *w);
	if (!data->sparse) {
		for (size_t j = 0; j < d; j++)
			w[j] = (float)cop_rng_normal(g->rng);
	} else {
		for (size_t t = 0; t < SPARSE_WEIGHTS; t++) {
			size_t at = cop_sample_row(g->state->sample, rows[cop_rng_below(g->rng, n)]);
			size_t from = data->start[at], entries = data->start[at + 1] - from;
			if (entries > 0)
				w[data->index[from + cop_rng_below(g->rng, entries)]] = (float)cop_rng_normal(g->rng);
		}
	}
	for (size_t j = 0; j < d; j++)
		square += (double)w[j] * (double)w[j];
	for (size_t j = 0; j < d && square > 0; j++)
		w[j] = (float)((double)w[j] / sqrt(square));
}

static int ascending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* A number that divides a < b: a < *out <= b. */
static float between(float a, float b)
{
	float mid = (float)(((double)a + (double)b) / 2);

	return mid > a ? mid : b;
}

/* The threshold nearest to the middle of n sorted margins that leaves rows on both sides; false: they are all equal. */
static bool halving(size_t n, const float *sorted, float *out)
{
	size_t middle = n / 2;

	for (size_t away = 0; away < n; away++) {
		size_t up = middle + away;
		if (up >= 1 && up < n && sorted[up - 1] < sorted[up]) {
			*out = between(sorted[up - 1], sorted[up]);
			return true;
		}
		if (away < middle && sorted[middle - away - 1] < sorted[middle - away]) {
			*out = between(sorted[middle - away - 1], sorted[middle - away]);
			return true;
		}
	}
	return false;
}

/* Draws f so that it divides the rows; *left of them go left and stand first. *left 0: it could not. */
static cop_err draw_split(grower *g, uint32_t *rows, size_t n, cop_tao_linear *f, size_t *left)
{
	cop_tao_work *work = &g->state->work[0];
	float threshold = 0;
	bool found = false;

	*left = 0;
	for (unsigned t = 0; t < TRIES && !found; t++) {
		draw_weights(g, rows, n, work->w);
		cop_err err = cop_tao_linear_set(f, g->state->d, work->w);
		if (err != COP_OK)
			return err;
		for (size_t i = 0; i < n; i++) {
			cop_row x = cop_tao_row(g->state, rows[i]);
			g->margin[i] = cop_tao_dot(g->state, f, &x);
		}
		memcpy(g->sorted, g->margin, n * sizeof *g->sorted);
		qsort(g->sorted, n, sizeof *g->sorted, ascending);
		found = halving(n, g->sorted, &threshold);
	}
	f->bias = -threshold;
	for (size_t i = 0; i < n && found; i++) {
		if (g->margin[i] + f->bias >= 0)
			continue;
		uint32_t row = rows[i];
		float margin = g->margin[i];
		rows[i] = rows[*left];
		g->margin[i] = g->margin[*left];
		rows[*left] = row;
		g->margin[(*left)++] = margin;
	}
	return COP_OK;
}

/* The subtree for rows[0..n), as a child. At most set->depth deep. */
static cop_err grow(grower *g, uint32_t *rows, size_t n, unsigned depth, int32_t *child)
{
	cop_tao_state *state = g->state;
	cop_tao_linear f = { 0 };
	size_t left = 0;
	cop_err err = COP_OK;
	uint32_t l = 0;

	if (depth < state->set->depth && n >= 2 && state->nodes < state->node_room)
		err = draw_split(g, rows, n, &f, &left);
	if (err == COP_OK && left == 0) {
		err = add_leaf(state, &g->fresh, depth, &l);
		*child = ~(int32_t)l;
		for (size_t i = 0; i < n; i++)
			state->leaf_of[rows[i]] = l;
	}
	if (err != COP_OK || left == 0) {
		cop_tao_linear_fini(&f);
		return err;
	}
	cop_tao_node *node = &state->node[state->nodes];
	*child = (int32_t)state->nodes++;
	*node = (cop_tao_node){ .first = (uint32_t)state->leaves, .depth = depth, .drawn = true, .f = f };
	err = grow(g, rows, left, depth + 1, &node->child[0]);
	node->middle = (uint32_t)state->leaves;
	if (err == COP_OK)
		err = grow(g, rows + left, n - left, depth + 1, &node->child[1]);
	node->last = (uint32_t)state->leaves;
	return err;
}

cop_err cop_tao_start_random(cop_tao_state *state, cop_rng *rng)
{
	size_t full = ((size_t)1 << state->set->depth) - 1;
	grower g = { .state = state,
		.rng = rng,
		.rows = cop_mem_alloc(state->n, sizeof *g.rows),
		.margin = cop_mem_alloc(state->n, sizeof *g.margin),
		.sorted = cop_mem_alloc(state->n, sizeof *g.sorted) };
	cop_err err = COP_ENOMEM;
	int32_t root = 0;

	if (g.rows != NULL && g.margin != NULL && g.sorted != NULL)
		err = make_room(state, full < state->n ? full : state->n - 1);
	if (err == COP_OK)
		err = fresh_leaf(state, &g.fresh);
	if (err == COP_OK) {
		for (size_t i = 0; i < state->n; i++)
			g.rows[i] = (uint32_t)i;
		err = grow(&g, g.rows, state->n, 0, &root);
	}
	cop_tao_leaf_fini(&g.fresh);
	cop_mem_free(g.rows);
	cop_mem_free(g.margin);
	cop_mem_free(g.sorted);
	return err;
}

/* ---- given ---- */

typedef struct copier {
	cop_tao_state *state;
	const cop_tree *start;
	const cop_tree_parts *parts;
	bool leaves;        /* those of the start are of use */
	float *w, *out;     /* d, K */
	const float *zeros; /* d */
	cop_tao_leaf fresh;
} copier;

static cop_err copy_vector(copier *c, const cop_tree_vectors *v, size_t r, cop_tao_linear *f)
{
	for (size_t e = v->start[r]; e < v->start[r + 1]; e++)
		c->w[v->index[e]] = v->weight[e];
	cop_err err = cop_tao_linear_set(f, c->state->d, c->w);
	for (size_t e = v->start[r]; e < v->start[r + 1]; e++)
		c->w[v->index[e]] = 0;
	f->bias = v->bias[r];
	return err;
}

static cop_err copy_constant(copier *c, size_t at, cop_tao_leaf *leaf)
{
	cop_row row = { .d = c->state->d, .dense = c->zeros };
	uint32_t choice = 0;

	cop_tree_leaf_outputs(c->start, at, &row, c->out);
	for (uint32_t k = 1; k < c->state->outputs; k++)
		if (c->state->sample->task == COP_TASK_COSTS ? c->out[k] < c->out[choice] : c->out[k] > c->out[choice])
			choice = k;
	return cop_tao_leaf_set_constant(c->state, leaf, c->out, choice);
}

static cop_err copy_rows(copier *c, size_t from, size_t rows, cop_tao_leaf *leaf)
{
	const cop_tree_vectors *v = &c->parts->rows;
	size_t first = v->start[from], entries = v->start[from + rows] - first;

	leaf->rows = rows;
	leaf->bias = cop_mem_alloc(rows, sizeof *leaf->bias);
	leaf->output = cop_mem_alloc(rows, sizeof *leaf->output);
	leaf->start = cop_mem_alloc(rows + 1, sizeof *leaf->start);
	leaf->index = cop_mem_alloc(entries, sizeof *leaf->index);
	leaf->v = cop_mem_alloc(entries, sizeof *leaf->v);
	if (leaf->bias == NULL || leaf->output == NULL || leaf->start == NULL || leaf->index == NULL || leaf->v == NULL)
		return COP_ENOMEM;
	memcpy(leaf->bias, v->bias + from, rows * sizeof *leaf->bias);
	memcpy(leaf->output, c->parts->output + from, rows * sizeof *leaf->output);
	memcpy(leaf->index, v->index + first, entries * sizeof *leaf->index);
	memcpy(leaf->v, v->weight + first, entries * sizeof *leaf->v);
	for (size_t r = 0; r <= rows; r++)
		leaf->start[r] = v->start[from + r] - first;
	for (size_t e = 0; e < entries; e++)
		leaf->norm += fabs((double)leaf->v[e]);
	return COP_OK;
}

static cop_err copy_leaf(copier *c, size_t at, unsigned depth, uint32_t *out)
{
	size_t from = c->parts->leaf[at], rows = c->parts->leaf[at + 1] - from;
	size_t entries = c->parts->rows.start[from + rows] - c->parts->rows.start[from];

	/* Linear leaves of values and costs have a row for every output here. */
	if (!c->leaves || (entries > 0 && (c->state->set->leaves == COP_TAO_CONSTANT ||
	                                          (c->parts->link == COP_TREE_VALUES && rows != c->state->outputs))))
		return add_leaf(c->state, &c->fresh, depth, out);
	cop_tao_leaf *leaf = &c->state->leaf[c->state->leaves];
	leaf->depth = depth;
	*out = (uint32_t)c->state->leaves++;
	if (entries == 0)
		return copy_constant(c, at, leaf);
	cop_err err = copy_rows(c, from, rows, leaf);
	if (err == COP_OK && c->state->sample->rows->sparse)
		err = cop_tao_turned_new(c->state->d, rows, leaf->start, leaf->index, leaf->v, &leaf->turned);
	return err;
}

/* At most COP_TREE_MAX_DEPTH deep. */
static cop_err copy(copier *c, int32_t from, unsigned depth, int32_t *child)
{
	cop_tao_state *state = c->state;
	cop_err err;

	if (from < 0) {
		uint32_t l = 0;
		err = copy_leaf(c, (size_t)~from, depth, &l);
		*child = ~(int32_t)l;
		return err;
	}
	cop_tao_node *node = &state->node[state->nodes];
	*child = (int32_t)state->nodes++;
	node->first = (uint32_t)state->leaves;
	node->depth = depth;
	err = copy_vector(c, &c->parts->nodes, (size_t)from, &node->f);
	if (err == COP_OK)
		err = copy(c, c->parts->left[from], depth + 1, &node->child[0]);
	node->middle = (uint32_t)state->leaves;
	if (err == COP_OK)
		err = copy(c, c->parts->right[from], depth + 1, &node->child[1]);
	node->last = (uint32_t)state->leaves;
	return err;
}

static void route_all(cop_tao_state *state, int32_t root)
{
	for (size_t i = 0; i < state->n; i++) {
		cop_row x = cop_tao_row(state, i);
		state->leaf_of[i] = cop_tao_walk(state, root, &x);
	}
}

cop_err cop_tao_start_given(cop_tao_state *state, const cop_tree *start)
{
	const cop_tree_parts *parts = cop_tree_view(start);
	int32_t root = parts->nodes.count > 0 ? 0 : ~0;

	if (parts->d != state->d || parts->outputs != state->outputs || parts->facets.count > 0)
		return COP_ESHAPE;
	float *zeros = cop_mem_alloc(state->d, sizeof *zeros);
	copier c = { .state = state,
		.start = start,
		.parts = parts,
		.leaves = (parts->link == COP_TREE_VALUES) == (state->sample->task != COP_TASK_CLASSES),
		.w = cop_mem_alloc(state->d, sizeof *c.w),
		.out = cop_mem_alloc(state->outputs, sizeof *c.out),
		.zeros = zeros };
	cop_err err = COP_ENOMEM;
	if (c.w != NULL && c.out != NULL && zeros != NULL)
		err = make_room(state, parts->nodes.count);
	if (err == COP_OK)
		err = fresh_leaf(state, &c.fresh);
	if (err == COP_OK)
		err = copy(&c, root, 0, &root);
	if (err == COP_OK)
		route_all(state, root);
	cop_tao_leaf_fini(&c.fresh);
	cop_mem_free(c.w);
	cop_mem_free(c.out);
	cop_mem_free(zeros);
	return err;
}

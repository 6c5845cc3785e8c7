/* A node's rows are a stretch of `order`. A split is drawn: a feature, and a threshold between the least and the
 * largest value that the node's rows have of it; of as many draws as are made the one that takes most from the squared
 * error of the played arms' losses is kept. */
#include "train/random_trees.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

#define DRAWS   2.0 /* of splits, times the root of the features */
#define DEEPEST 30
#define STREAM  0x666f7265u /* of the generator, the first tree's */

typedef struct pile {
	double *count, *sum; /* outputs */
} pile;

typedef struct growing {
	const cop_random_trees_sample *s;
	cop_rng rng;
	size_t n, d, draws, least;
	uint32_t *order;
	pile all, left;
	size_t nodes, leaves;
	size_t *start;
	uint32_t *feature;
	float *weight, *bias;
	int32_t *child[2];
} growing;

typedef struct split {
	uint32_t feature;
	float at;
	double value;
} split;

static float value_of(const growing *g, uint32_t row, size_t feature) { return g->s->rows->x[row * g->d + feature]; }

static double worth(const growing *g, const pile *of)
{
	double sum = 0.0;
	for (size_t k = 0; k < g->s->outputs; k++)
		if (of->count[k] > 0.0)
			sum += of->sum[k] * of->sum[k] / of->count[k];
	return sum;
}

static double worth_of_rest(const growing *g)
{
	double sum = 0.0;
	for (size_t k = 0; k < g->s->outputs; k++) {
		double count = g->all.count[k] - g->left.count[k], rest = g->all.sum[k] - g->left.sum[k];
		if (count > 0.5)
			sum += rest * rest / count;
	}
	return sum;
}

static void clear_pile(const growing *g, pile *of)
{
	memset(of->count, 0, g->s->outputs * sizeof *of->count);
	memset(of->sum, 0, g->s->outputs * sizeof *of->sum);
}

static void add(const growing *g, pile *of, uint32_t row)
{
	of->count[g->s->action[row]] += 1.0;
	of->sum[g->s->action[row]] += g->s->loss[row];
}

static void try_split(growing *g, size_t from, size_t to, split *best)
{
	size_t feature = (size_t)cop_rng_below(&g->rng, g->d), left = 0;
	double share = cop_rng_unit(&g->rng);
	float low = value_of(g, g->order[from], feature), high = low;
	for (size_t i = from + 1; i < to; i++) {
		float v = value_of(g, g->order[i], feature);
		low = fminf(low, v);
		high = fmaxf(high, v);
	}
	float at = (float)((double)low + share * ((double)high - (double)low));
	if (!(at > low))
		at = high;
	if (!(low < high))
		return;
	clear_pile(g, &g->left);
	for (size_t i = from; i < to; i++)
		if (value_of(g, g->order[i], feature) < at) {
			add(g, &g->left, g->order[i]);
			left++;
		}
	if (left < g->least || to - from - left < g->least)
		return;
	double value = worth(g, &g->left) + worth_of_rest(g);
	if (value > best->value)
		*best = (split){ (uint32_t)feature, at, value };
}

static bool find_split(growing *g, size_t from, size_t to, split *best)
{
	if (to - from < 2 * g->least)
		return false;
	clear_pile(g, &g->all);
	for (size_t i = from; i < to; i++)
		add(g, &g->all, g->order[i]);
	double before = worth(g, &g->all);
	*best = (split){ .value = before + 1e-9 * (1.0 + before) };
	double none = best->value;
	for (size_t i = 0; i < g->draws; i++)
		try_split(g, from, to, best);
	return best->value > none;
}

static size_t divide(growing *g, size_t from, size_t to, const split *by)
{
	size_t middle = from;
	for (size_t i = from; i < to; i++)
		if (value_of(g, g->order[i], by->feature) < by->at) {
			uint32_t row = g->order[i];
			g->order[i] = g->order[middle];
			g->order[middle++] = row;
		}
	return middle;
}

/* The number that stands for the rows' subtree. */
static int32_t grow(growing *g, size_t from, size_t to, unsigned depth)
{
	split by;
	if (depth >= DEEPEST || !find_split(g, from, to, &by))
		return ~(int32_t)g->leaves++;
	size_t t = g->nodes++, middle = divide(g, from, to, &by);
	g->feature[t] = by.feature;
	g->bias[t] = -by.at;
	g->child[0][t] = grow(g, from, middle, depth + 1);
	g->child[1][t] = grow(g, middle, to, depth + 1);
	return (int32_t)t;
}

static cop_err finish(const growing *g, cop_tree **out)
{
	size_t outputs = g->s->outputs;
	size_t *start = cop_mem_alloc(g->leaves + 1, sizeof *start);
	size_t *first = cop_mem_alloc(g->leaves + 1, sizeof *first);
	uint32_t *output = cop_mem_alloc(g->leaves, sizeof *output);
	float *zero = cop_mem_alloc(g->leaves, sizeof *zero);
	cop_err err = start == NULL || first == NULL || output == NULL || zero == NULL ? COP_ENOMEM : COP_OK;
	for (size_t l = 0; err == COP_OK && l <= g->leaves; l++)
		first[l] = l;
	const cop_tree_parts parts = {
		.d = g->d,
		.outputs = outputs,
		.nodes = { g->nodes, g->start, g->feature, g->weight, g->bias },
		.left = g->child[0],
		.right = g->child[1],
		.rows = { .count = g->leaves, .start = start, .bias = zero },
		.leaf = first,
		.output = output,
	};
	if (err == COP_OK)
		err = cop_tree_new(&parts, out);
	cop_mem_free(start);
	cop_mem_free(first);
	cop_mem_free(output);
	cop_mem_free(zero);
	return err;
}

static bool make_room(growing *g)
{
	size_t most = g->n / g->least + 1, outputs = g->s->outputs;
	g->order = cop_mem_alloc(g->n, sizeof *g->order);
	g->all.count = cop_mem_alloc(outputs, sizeof *g->all.count);
	g->all.sum = cop_mem_alloc(outputs, sizeof *g->all.sum);
	g->left.count = cop_mem_alloc(outputs, sizeof *g->left.count);
	g->left.sum = cop_mem_alloc(outputs, sizeof *g->left.sum);
	g->start = cop_mem_alloc(most + 1, sizeof *g->start);
	g->feature = cop_mem_alloc(most, sizeof *g->feature);
	g->weight = cop_mem_alloc(most, sizeof *g->weight);
	g->bias = cop_mem_alloc(most, sizeof *g->bias);
	for (size_t i = 0; i < 2; i++)
		g->child[i] = cop_mem_alloc(most, sizeof *g->child[i]);
	if (g->order == NULL || g->all.count == NULL || g->all.sum == NULL || g->left.count == NULL ||
	        g->left.sum == NULL || g->start == NULL || g->feature == NULL || g->weight == NULL || g->bias == NULL ||
	        g->child[0] == NULL || g->child[1] == NULL)
		return false;
	for (size_t i = 0; i < most; i++) {
		g->start[i] = i;
		g->weight[i] = 1.0f;
	}
	g->start[most] = most;
	return true;
}

static void growing_fini(growing *g)
{
	void *const arrays[] = { g->order, g->all.count, g->all.sum, g->left.count, g->left.sum, g->start, g->feature,
		g->weight, g->bias, g->child[0], g->child[1] };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
}

cop_err cop_random_trees_grow(
        const cop_random_trees_settings *set, const cop_random_trees_sample *sample, size_t number, cop_tree **out)
{
	growing g = { .s = sample, .n = sample->rows->n, .d = sample->rows->d, .least = set->least };
	*out = NULL;
	cop_rng_init(&g.rng, set->seed, STREAM + number);
	g.draws = (size_t)ceil(DRAWS * sqrt((double)g.d));
	cop_err err = make_room(&g) ? COP_OK : COP_ENOMEM;
	for (size_t i = 0; err == COP_OK && i < g.n; i++)
		g.order[i] = (uint32_t)i;
	if (err == COP_OK) {
		(void)grow(&g, 0, g.n, 0);
		g.start[g.nodes] = g.nodes;
		err = finish(&g, out);
	}
	growing_fini(&g);
	return err;
}

/* ---- several ranks ---- */

typedef struct round_trees {
	cop_tree **tree;
	size_t count;
} round_trees;

static cop_err take_tree(void *context, cop_cursor *cursor)
{
	round_trees *r = context;
	if (cop_cursor_left(cursor) == 0)
		return COP_OK; /* it had none to grow */
	uint32_t i = cop_cursor_u32(cursor);
	if (i >= r->count || r->tree[i] != NULL)
		return COP_EFORMAT;
	cop_err err = cop_tree_take(cursor, &r->tree[i]);
	return err == COP_OK && r->tree[i] == NULL ? COP_EFORMAT : err;
}

cop_err cop_random_trees_round(const cop_random_trees_settings *set, const cop_random_trees_sample *sample,
        const cop_ranks *ranks, size_t first, cop_tree **tree, size_t *count)
{
	size_t left = set->trees - first, all = ranks == NULL ? 1 : ranks->count, own = ranks == NULL ? 0 : ranks->rank;
	round_trees r = { .tree = tree, .count = all < left ? all : left };
	cop_bytes bytes;
	cop_err err = COP_OK;
	*count = r.count;
	for (size_t i = 0; i < r.count; i++)
		tree[i] = NULL;
	if (own < r.count)
		err = cop_random_trees_grow(set, sample, first + own, &tree[own]);
	if (ranks == NULL)
		return err;
	cop_bytes_init(&bytes);
	if (err == COP_OK && own < r.count) {
		cop_bytes_put_u32(&bytes, (uint32_t)own);
		cop_tree_put(tree[own], &bytes);
	}
	err = cop_ranks_exchange(ranks, err, &bytes, take_tree, &r);
	cop_bytes_fini(&bytes);
	for (size_t i = 0; i < r.count && err == COP_OK; i++)
		err = tree[i] == NULL ? COP_EFORMAT : COP_OK;
	for (size_t i = 0; i < r.count && err != COP_OK; i++) {
		cop_tree_free(tree[i]);
		tree[i] = NULL;
	}
	return err;
}

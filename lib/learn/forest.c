#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "learn/forest_parts.h"
#include "tree/tree_build.h"

#define MEMORY        ((size_t)40 << 20) /* of the leaves, about; arms decide how many fit */
#define GROWN         4                  /* times as much, of forests that were given further arms */
#define FEWEST_LEAVES 16
#define TOGETHER      8 /* trees walked side by side */
#define START         2.0f
#define QUICK         0.02f /* DECAY of the quick values, and of the steady ones */
#define STEADY        1.0f
#define PRIOR         0.5f
#define SURE          1e-5f /* least doubt: evidence stops at 1e5, so that leaves follow what changes */

static size_t bytes_of_leaf(const cop_forest_settings *s)
{
	size_t of_arm = 5 * sizeof(float) + sizeof(cop_forest_sum) + sizeof(cop_forest_right);
	size_t own = 2 * sizeof(cop_forest_node) + sizeof(cop_forest_edge);
	return s->arms * of_arm + own;
}

size_t cop_forest_trees(const cop_forest_settings *settings)
{
	size_t most = MEMORY / FEWEST_LEAVES / bytes_of_leaf(settings);
	return settings->trees < most ? settings->trees : most;
}

static size_t room_of(const cop_forest_settings *settings, size_t trees)
{
	size_t most = MEMORY / trees / bytes_of_leaf(settings);
	return most < COP_FOREST_LEAVES ? most : COP_FOREST_LEAVES;
}

size_t cop_forest_parts_room(const cop_forest *f) { return room_of(&f->set, f->set.trees); }

/* Places of a table that is at most half full. */
static size_t table_of(size_t entries)
{
	size_t places = 16;
	while (places < 2 * entries)
		places *= 2;
	return places;
}

double cop_forest_footprint(const cop_forest_settings *settings)
{
	size_t trees = cop_forest_trees(settings);
	if (trees == 0)
		return 0.0;
	double leaves = (double)trees * (double)room_of(settings, trees);
	double places = (double)table_of(settings->entries) + (double)table_of(trees * COP_FOREST_DEPTH);
	return leaves * (double)bytes_of_leaf(settings) + cop_forest_rows_footprint(settings, trees, (size_t)leaves) +
	       2.0 * sizeof(double) * (double)settings->arms + places * sizeof(cop_forest_place);
}

static bool allocate_leaves(cop_forest *f)
{
	const size_t trees = f->set.trees, rows = trees * f->held, arms = f->set.arms;
	f->node = cop_mem_reserve(trees * cop_forest_nodes(f), sizeof *f->node);
	f->before = cop_mem_reserve(2 * trees * (f->held - 1) * arms, sizeof *f->before);
	f->value = cop_mem_reserve(3 * rows * arms, sizeof *f->value);
	f->edge = cop_mem_reserve(rows, sizeof *f->edge);
	f->sum = cop_mem_reserve(rows * arms, sizeof *f->sum);
	f->right = cop_mem_reserve(rows * arms, sizeof *f->right);
	return f->node != NULL && f->before != NULL && f->value != NULL && f->edge != NULL && f->sum != NULL &&
	       f->right != NULL;
}

static void free_leaves(cop_forest *f)
{
	cop_mem_free(f->node);
	cop_mem_free(f->before);
	cop_mem_free(f->value);
	cop_mem_free(f->edge);
	cop_mem_free(f->sum);
	cop_mem_free(f->right);
	f->node = NULL;
	f->before = f->value = NULL;
	f->edge = NULL;
	f->sum = NULL;
	f->right = NULL;
}

cop_err cop_forest_parts_hold(cop_forest *f, size_t leaves)
{
	if (leaves > COP_FOREST_LEAVES || leaves * f->set.trees > GROWN * MEMORY / bytes_of_leaf(&f->set))
		return COP_ESHAPE;
	free_leaves(f);
	f->held = leaves;
	f->nodes = 2 * leaves - 1;
	return allocate_leaves(f) && cop_forest_parts_rows_hold(&f->rows, f->set.trees * leaves) ? COP_OK : COP_ENOMEM;
}

static bool allocate(cop_forest *f)
{
	size_t trees = f->set.trees;
	size_t arms = f->set.arms;
	f->leaves = cop_mem_alloc(trees, sizeof *f->leaves);
	f->depth = cop_mem_alloc(trees, sizeof *f->depth);
	f->end = cop_mem_alloc(trees, sizeof *f->end);
	f->sums = cop_mem_alloc(2 * arms, sizeof *f->sums);
	f->place.at = cop_mem_alloc(f->place.size = table_of(f->set.entries), sizeof *f->place.at);
	f->credit.at = cop_mem_alloc(f->credit.size = table_of(trees * COP_FOREST_DEPTH), sizeof *f->credit.at);
	f->gate.n = cop_mem_alloc(arms, sizeof *f->gate.n);
	f->gate.loss = cop_mem_alloc(arms, sizeof *f->gate.loss);
	f->credited = cop_mem_alloc(trees * COP_FOREST_DEPTH, sizeof *f->credited);
	return cop_forest_rows_init(&f->rows, &f->set, trees * f->held) && f->leaves != NULL && f->depth != NULL &&
	       f->end != NULL && f->sums != NULL && f->place.at != NULL && f->credit.at != NULL &&
	       f->credited != NULL && f->gate.n != NULL && f->gate.loss != NULL && allocate_leaves(f);
}

cop_err cop_forest_new(const cop_forest_settings *settings, cop_rng *rng, cop_forest **out)
{
	*out = NULL;
	if (settings->inputs < 2 || settings->inputs > (size_t)1 << 30 || settings->arms == 0)
		return COP_EINVAL;
	size_t trees = cop_forest_trees(settings);
	if (trees == 0)
		return COP_EINVAL;
	cop_forest *f = cop_mem_alloc(1, sizeof *f);
	if (f == NULL)
		return COP_ENOMEM;
	f->set = *settings;
	f->set.trees = trees;
	f->room = f->held = cop_forest_parts_room(f);
	f->nodes = 2 * f->held - 1;
	if (!allocate(f)) {
		cop_forest_free(f);
		return COP_ENOMEM;
	}
	cop_rng_init(&f->rng, cop_rng_u64(rng), 1);
	cop_stacking_begin(&f->stack, 2);
	for (size_t m = 0; m < trees; m++) {
		f->leaves[m] = 1;
		f->node[m * cop_forest_nodes(f)] = cop_forest_leaf(0, 0);
		cop_forest_begin_leaf(f, m, 0);
		cop_forest_rows_begin(&f->rows, m);
		memset(cop_forest_quick(f, m), 0, 2 * settings->arms * sizeof(float));
		for (size_t k = 0; k < settings->arms; k++)
			cop_forest_doubts(f, m)[k] = 1.0f;
	}
	*out = f;
	return COP_OK;
}

void cop_forest_free(cop_forest *f)
{
	if (f == NULL)
		return;
	cop_mem_free(f->leaves);
	cop_mem_free(f->depth);
	free_leaves(f);
	cop_mem_free(f->end);
	cop_mem_free(f->sums);
	cop_mem_free(f->place.at);
	cop_mem_free(f->credit.at);
	cop_mem_free(f->credited);
	cop_mem_free(f->gate.n);
	cop_mem_free(f->gate.loss);
	cop_forest_rows_fini(&f->rows);
	cop_mem_free(f);
}

/* The place of an index: its own, or the free one where it belongs. */
static cop_forest_place *find(const cop_forest_table *table, uint32_t index)
{
	size_t i = (index * 2654435761u >> 7) & (table->size - 1);
	while (table->at[i].stamp == table->stamp && table->at[i].index != index)
		i = (i + 1) & (table->size - 1);
	return &table->at[i];
}

static void empty(cop_forest_table *table)
{
	if (++table->stamp != 0)
		return;
	memset(table->at, 0, table->size * sizeof *table->at);
	table->stamp = 1;
}

static void look_up(cop_forest *f, const cop_row *x)
{
	COP_ASSERT(x->d == f->set.inputs && (x->dense != NULL || x->nnz <= f->set.entries));
	if (x->dense != NULL)
		return;
	empty(&f->place);
	for (size_t i = 0; i < x->nnz; i++)
		*find(&f->place, x->index[i]) =
		        (cop_forest_place){ .index = x->index[i], .stamp = f->place.stamp, .value = x->value[i] };
}

float cop_forest_value(const cop_forest *f, const cop_row *x, uint32_t feature)
{
	if (x->dense != NULL)
		return x->dense[feature];
	const cop_forest_place *place = find(&f->place, feature);
	return place->stamp == f->place.stamp ? place->value : 0.0f;
}

/* `count` trees from tree m on, side by side, so that none waits for another's memory. */
static inline void walk_together(cop_forest *f, size_t m, size_t count, const float *x)
{
	const cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
	size_t nodes = cop_forest_nodes(f);
	uint32_t at[TOGETHER] = { 0 };
	uint32_t depth = 0;
	for (size_t i = 0; i < count; i++)
		depth = f->depth[m + i] > depth ? f->depth[m + i] : depth;
	for (; depth > 0; depth--)
		for (size_t i = 0; i < count; i++) {
			const cop_forest_node *n = &node[i * nodes + at[i]];
			at[i] = n->child + (x[n->feature] >= n->threshold);
		}
	memcpy(&f->end[m], at, count * sizeof *at);
}

void cop_forest_walk(cop_forest *f, const cop_row *x)
{
	size_t trees = f->set.trees;
	size_t m = 0;
	look_up(f, x);
	if (x->dense != NULL) {
		for (; m + TOGETHER <= trees; m += TOGETHER)
			walk_together(f, m, TOGETHER, x->dense);
		walk_together(f, m, trees - m, x->dense);
		return;
	}
	for (; m < trees; m++) {
		const cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
		uint32_t at = 0;
		while (node[at].child != at)
			at = node[at].child + (cop_forest_value(f, x, node[at].feature) >= node[at].threshold);
		f->end[m] = at;
	}
}

static void add(size_t n, const float *restrict x, float *restrict sum)
{
#pragma omp simd
	for (size_t k = 0; k < n; k++)
		sum[k] += x[k];
}

void cop_forest_predict(cop_forest *f, const cop_row *x, float *loss)
{
	size_t arms = f->set.arms;
	cop_forest_walk(f, x);
	memset(f->sums, 0, 2 * arms * sizeof *f->sums);
	for (size_t m = 0; m < f->set.trees; m++)
		add(2 * arms, cop_forest_quick(f, cop_forest_row_of(f, m)), f->sums);
	float quick = (float)f->stack.weight[0] / (float)f->set.trees;
	float steady = (float)f->stack.weight[1] / (float)f->set.trees;
	for (size_t k = 0; k < arms; k++)
		loss[k] = PRIOR + quick * f->sums[k] + steady * f->sums[arms + k];
}

void cop_forest_means(const cop_forest *f, size_t arm, double *quick, double *steady)
{
	*quick = (double)f->sums[arm] / (double)f->set.trees;
	*steady = (double)f->sums[f->set.arms + arm] / (double)f->set.trees;
}

void cop_forest_doubt(const cop_forest *f, float *doubt)
{
	size_t arms = f->set.arms;
	memset(doubt, 0, arms * sizeof *doubt);
	for (size_t m = 0; m < f->set.trees; m++)
		add(arms, cop_forest_doubts(f, cop_forest_row_of(f, m)), doubt);
	float share = 1.0f / (float)f->set.trees;
	for (size_t k = 0; k < arms; k++)
		doubt[k] = sqrtf(share * doubt[k]);
}

/* START / (1 + DECAY n), n = 1 / doubt - 1. */
static float rate(float doubt, float decay) { return START * doubt / (doubt + decay * (1.0f - doubt)); }

/* Over the leaves where the row is: of the values of an arm and of their rates. */
typedef struct means {
	float quick, steady, quick_rate, steady_rate;
} means;

static means means_of(const cop_forest *f, size_t arm)
{
	size_t arms = f->set.arms;
	means sum = { 0 };
	for (size_t m = 0; m < f->set.trees; m++) {
		size_t row = cop_forest_row_of(f, m);
		float doubt = cop_forest_doubts(f, row)[arm];
		sum.quick += cop_forest_quick(f, row)[arm];
		sum.steady += cop_forest_steady(f, row)[arm];
		sum.quick_rate += rate(doubt, QUICK);
		sum.steady_rate += rate(doubt, STEADY);
		__builtin_prefetch(&f->edge[row]);
		__builtin_prefetch(&f->edge[row].seen);
		__builtin_prefetch(&f->sum[row * arms + arm]);
		__builtin_prefetch(&f->right[row * arms + arm]);
	}
	float share = 1.0f / (float)f->set.trees;
	return (means){ share * sum.quick, share * sum.steady, share * sum.quick_rate, share * sum.steady_rate };
}

void cop_forest_learn(cop_forest *f, const cop_row *x, size_t arm, double loss, bool again)
{
	size_t arms = f->set.arms;
	size_t trees = f->set.trees;
	COP_ASSERT(arm < arms);
	if (!again)
		cop_forest_walk(f, x);
	const means mean = means_of(f, arm);
	const float away = (float)loss - PRIOR;
	const float quick = (away - mean.quick) / (1.0f + mean.quick_rate);
	const float steady = (away - mean.steady) / (1.0f + mean.steady_rate);
	cop_forest_gate_learn(&f->gate, arm, loss,
	        (double)PRIOR + f->stack.weight[0] * (double)mean.quick + f->stack.weight[1] * (double)mean.steady);
	cop_stacking_settle(&f->stack, (const double[]){ (double)mean.quick, (double)mean.steady }, (double)away);
	cop_forest_rows_keep(f, x, arm, (float)loss);
	for (size_t m = 0; m < trees; m++) {
		size_t row = cop_forest_row_of(f, m);
		float *doubt = &cop_forest_doubts(f, row)[arm];
		float *u = &cop_forest_quick(f, row)[arm];
		float *v = &cop_forest_steady(f, row)[arm];
		*u = cop_forest_moved(*u, quick * rate(*doubt, QUICK));
		*v = cop_forest_moved(*v, steady * rate(*doubt, STEADY));
		*doubt = fmaxf(*doubt / (1.0f + *doubt), SURE);
		cop_forest_watch(f, m, x, arm, (float)loss);
	}
}

/* Arm k's value at a node: of its leaf, or from before it divided. Nodes 2 i - 1 and 2 i came when leaf i was made. */
static float value_at(const cop_forest *f, size_t m, uint32_t at, size_t k)
{
	size_t arms = f->set.arms;
	const cop_forest_node *node = &f->node[m * cop_forest_nodes(f) + at];
	bool leaf = node->child == at;
	const float *value = leaf ? cop_forest_quick(f, cop_forest_row(f, m, node->leaf))
	                          : cop_forest_before(f, m, (node->child + 1) / 2);
	return (float)f->stack.weight[0] * value[k] + (float)f->stack.weight[1] * value[arms + k];
}

static cop_forest_place *credited(cop_forest *f, uint32_t feature)
{
	cop_forest_place *place = find(&f->credit, feature);
	if (place->stamp != f->credit.stamp) {
		*place = (cop_forest_place){ .index = feature, .stamp = f->credit.stamp };
		f->credited[f->credits++] = (uint32_t)(place - f->credit.at);
	}
	return place;
}

/* The heaviest of the credited features, descending. */
static void keep_heaviest(cop_forest *f, const cop_row *x, cop_explained_expert *expert)
{
	for (size_t i = 0; i < f->credits; i++) {
		const cop_forest_place *place = &f->credit.at[f->credited[i]];
		expert->linear += (double)place->value;
		size_t at = expert->count < COP_EXPLANATION_LINEAR ? expert->count : COP_EXPLANATION_LINEAR - 1;
		cop_explained_feature *kept = expert->features;
		if (expert->count == COP_EXPLANATION_LINEAR && fabsf(place->value) <= fabsf(kept[at].contribution))
			continue;
		for (; at > 0 && fabsf(kept[at - 1].contribution) < fabsf(place->value); at--)
			kept[at] = kept[at - 1];
		kept[at] = (cop_explained_feature){ .index = place->index,
			.value = cop_forest_value(f, x, place->index),
			.contribution = place->value };
		if (expert->count < COP_EXPLANATION_LINEAR)
			expert->count++;
	}
}

void cop_forest_explain(cop_forest *f, const cop_row *x, size_t arm, cop_explained_expert *expert)
{
	float share = 1.0f / (float)f->set.trees;
	cop_forest_walk(f, x);
	empty(&f->credit);
	f->credits = 0;
	for (size_t m = 0; m < f->set.trees; m++) {
		const cop_forest_node *node = &f->node[m * cop_forest_nodes(f)];
		for (uint32_t at = 0; node[at].child != at;) {
			uint32_t feature = node[at].feature;
			uint32_t next = node[at].child + (cop_forest_value(f, x, feature) >= node[at].threshold);
			credited(f, feature)->value += share * (value_at(f, m, next, arm) - value_at(f, m, at, arm));
			at = next;
		}
	}
	expert->count = 0;
	expert->linear = 0.0;
	keep_heaviest(f, x, expert);
}

size_t cop_forest_count(const cop_forest *f) { return f->set.trees; }

unsigned cop_forest_deepest(const cop_forest *f)
{
	uint32_t deepest = 0;
	for (size_t m = 0; m < f->set.trees; m++)
		deepest = f->depth[m] > deepest ? f->depth[m] : deepest;
	return deepest;
}

void cop_forest_splits(const cop_forest *f, uint32_t *splits)
{
	memset(splits, 0, (f->set.inputs - 1) * sizeof *splits);
	for (size_t m = 0; m < f->set.trees; m++)
		for (size_t i = 0; i + 1 < 2 * (size_t)f->leaves[m]; i++) {
			const cop_forest_node *node = &f->node[m * cop_forest_nodes(f) + i];
			splits[node->feature] += node->child != i;
		}
}

/* Its nodes and leaves, as numbers of the build; parents stand before their children. */
static void build_tree(const cop_forest *f, size_t m, cop_tree_build *build, int32_t *made, float *values)
{
	const cop_forest_node *node = f->node + m * cop_forest_nodes(f);
	size_t count = 2 * (size_t)f->leaves[m] - 1;
	for (size_t i = 0; i < count; i++) {
		size_t row = cop_forest_row(f, m, node[i].leaf);
		for (size_t k = 0; k < f->set.arms; k++)
			values[k] = -(float)f->stack.weight[0] * cop_forest_quick(f, row)[k] -
			            (float)f->stack.weight[1] * cop_forest_steady(f, row)[k];
		made[i] = node[i].child == i ? cop_tree_build_constant(build, values)
		                             : cop_tree_build_axis(build, node[i].feature, node[i].threshold);
	}
	for (size_t i = 0; i < count; i++)
		if (node[i].child != i)
			cop_tree_build_children(build, made[i], made[node[i].child], made[node[i].child + 1]);
}

cop_err cop_forest_tree(const cop_forest *f, size_t m, cop_tree **out)
{
	cop_tree_build *build = NULL;
	int32_t *made = cop_mem_alloc(cop_forest_nodes(f), sizeof *made);
	float *values = cop_mem_alloc(f->set.arms, sizeof *values);
	*out = NULL;
	cop_err err = made == NULL || values == NULL
	                      ? COP_ENOMEM
	                      : cop_tree_build_new(f->set.inputs - 1, f->set.arms, COP_TREE_VALUES, &build);
	if (err == COP_OK) {
		build_tree(f, m, build, made, values);
		err = cop_tree_build_finish(build, made[0], out);
	}
	cop_tree_build_free(build);
	cop_mem_free(made);
	cop_mem_free(values);
	return err;
}

size_t cop_forest_leaves(const cop_forest *f)
{
	size_t sum = 0;
	for (size_t m = 0; m < f->set.trees; m++)
		sum += f->leaves[m];
	return sum;
}

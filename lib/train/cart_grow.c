/* Nodes are split in depth-first order. A node's rows are gathered once, so that the search of its features runs over
 * contiguous weights, labels and moments; the features are searched in shares, each by any thread, and the best
 * of the threads' bests is a matter of scores and feature numbers alone.
 *
 * A node that is not pure is split even when the best split gains nothing: what is below may gain (pruning removes what
 * does not). */
#include "train/cart_grow.h"

#include <string.h>

#include "base/mem.h"
#include "train/cart_split.h"
#include "train/ordered.h"

#define FIRST_NODES ((size_t)64)
#define WORTH_POOL  ((size_t)1 << 15) /* rows x features of a node, from which on the pool helps */
#define SHARES      ((size_t)4)       /* of the features for each thread */

typedef struct grower {
	const cop_cart_settings *settings;
	const cop_cart_data *data;
	cop_pool *pool;
	cop_rng *rng;
	cop_cart_grown *grown;
	size_t room; /* nodes */
	size_t splits;

	cop_cart_members members; /* of the node at hand, in the arrays below */
	double *weight, *moment, *total, *mean;
	uint32_t *label;
	uint32_t *row; /* sparse: of the node's rows */
	const uint32_t *place;
	double least; /* costs: sum of each row's least */

	bool by_entries; /* sparse rows, all thresholds: features that have an entry in the node */
	cop_ordered_sparse sparse;
	double *threshold_share; /* drawn thresholds: of each place in `candidate`; NULL: all are tried */
	uint32_t *drawn;         /* features in random order, when not all are tried */
	size_t features;         /* to search: numbers into `candidate` */
	const uint32_t *candidate;
	uint32_t *slot; /* sparse and drawn: of each feature, its number in `sparse` plus 1 */
	size_t share;
	cop_cart_searcher *worker;

	uint8_t *goes_right; /* of the node's rows */
	uint32_t *spare;
	uint32_t stack[COP_TREE_MAX_DEPTH + 2];
} grower;

/* --- rows of a node --- */

static void gather_row(grower *g, size_t i, size_t row)
{
	const cop_sample *sample = g->data->sample;
	size_t outputs = sample->outputs;
	double w = g->weight[i];
	if (sample->task == COP_TASK_CLASSES) {
		g->label[i] = sample->label[row];
		g->total[g->label[i]] += w;
		return;
	}
	const float *target = sample->target + row * outputs;
	double least = (double)target[0];
	for (size_t k = 0; k < outputs; k++) {
		g->moment[i * outputs + k] = w * ((double)target[k] - g->data->centre[k]);
		g->total[k] += g->moment[i * outputs + k];
		least = (double)target[k] < least ? (double)target[k] : least;
	}
	g->least += w * least;
}

static void gather(grower *g, const cop_cart_node *node)
{
	size_t n = node->end - node->begin;
	g->place = g->grown->place + node->begin;
	g->members.n = n;
	g->members.total_weight = 0;
	g->least = 0;
	memset(g->total, 0, g->members.outputs * sizeof *g->total);
	for (size_t i = 0; i < n; i++) {
		g->weight[i] = cop_cart_data_weight(g->data, g->place[i]);
		g->members.total_weight += g->weight[i];
		gather_row(g, i, g->data->row[g->place[i]]);
	}
}

static size_t least_total(const grower *g)
{
	size_t least = 0;
	for (size_t k = 1; k < g->members.outputs; k++)
		least = g->total[k] < g->total[least] ? k : least;
	return least;
}

/* No split could gain anything: one class, equal targets, or one choice that is best for every row. */
static bool is_pure(const grower *g)
{
	const cop_sample *sample = g->data->sample;
	size_t outputs = sample->outputs;
	const uint32_t *row = g->data->row;
	size_t choice = least_total(g);
	for (size_t i = 0; i < g->members.n; i++) {
		if (sample->task == COP_TASK_CLASSES) {
			if (g->label[i] != g->label[0])
				return false;
			continue;
		}
		const float *target = sample->target + row[g->place[i]] * outputs;
		const float *first = sample->target + row[g->place[0]] * outputs;
		for (size_t k = 0; k < outputs; k++) {
			if (sample->task == COP_TASK_VALUES ? target[k] != first[k] : target[k] < target[choice])
				return false;
		}
	}
	return true;
}

static double impurity(const grower *g)
{
	const cop_cart_members *m = &g->members;
	double sum = 0;
	if (m->task == COP_TASK_COSTS) {
		sum = g->total[least_total(g)] - g->least;
	} else if (m->task == COP_TASK_CLASSES) {
		for (size_t k = 0; k < m->outputs; k++)
			sum += g->total[k] * (m->total_weight - g->total[k]) / m->total_weight;
	} else {
		for (size_t k = 0; k < m->outputs; k++)
			g->mean[k] = g->total[k] / m->total_weight;
		for (size_t i = 0; i < m->n; i++) {
			const double *moment = g->moment + i * m->outputs;
			double off, weight = m->weight[i], squares = 0;
			for (size_t k = 0; k < m->outputs; k++) {
				off = moment[k] - weight * g->mean[k];
				squares += off * off;
			}
			sum += squares / weight;
		}
	}
	return sum > 0 ? sum : 0;
}

/* --- the search --- */

static void search_feature(grower *g, cop_cart_searcher *searcher, size_t f)
{
	size_t feature = g->candidate != NULL ? g->candidate[f] : f;
	if (g->threshold_share != NULL) {
		cop_cart_split_drawn(searcher, &g->members, g->data, g->place, feature, g->threshold_share[f]);
		return;
	}
	if (g->data->column != NULL) {
		cop_cart_split_dense(searcher, &g->members, &g->data->column[feature], g->place, feature);
		return;
	}
	/* Here `feature` is its number in `sparse`. */
	uint64_t *pair = g->sparse.pair + g->sparse.start[feature];
	size_t count = g->sparse.start[feature + 1] - g->sparse.start[feature];
	uint64_t *sorted = cop_ordered_sort(count, pair, searcher->spare);
	cop_cart_split_sparse(searcher, &g->members, count, sorted, g->sparse.feature[feature]);
}

static cop_err search_share(void *context, size_t task, unsigned worker)
{
	grower *g = context;
	size_t end = (task + 1) * g->share;
	for (size_t f = task * g->share; f < end && f < g->features; f++)
		search_feature(g, &g->worker[worker], f);
	return COP_OK;
}

/* The best split by candidate[0..count) (NULL: by the numbers below count). */
static cop_err search(grower *g, size_t count, const uint32_t *candidate, cop_cart_split *best)
{
	unsigned workers = cop_pool_threads(g->pool);
	bool pooled = workers > 1 && count > 1 && count * g->members.n >= WORTH_POOL;
	for (unsigned w = 0; w < workers; w++)
		g->worker[w].best.feature = SIZE_MAX;
	g->features = count;
	g->candidate = candidate;
	for (size_t f = 0; g->threshold_share != NULL && f < count; f++)
		g->threshold_share[f] = cop_rng_unit(g->rng);
	size_t shares = pooled ? SHARES * workers : 1;
	g->share = (count + shares - 1) / shares;
	if (g->share == 0)
		g->share = 1;
	cop_err err = cop_pool_run(pooled ? g->pool : NULL, (count + g->share - 1) / g->share, search_share, g);
	for (unsigned w = 0; w < workers; w++) {
		if (cop_cart_split_better(&g->worker[w].best, best))
			*best = g->worker[w].best;
	}
	return err;
}

/* The features drawn as numbers in `sparse`; those without an entry in the node are passed over. */
static size_t drawn_slots(const grower *g, size_t from, size_t to, uint32_t *number)
{
	size_t count = 0;
	for (size_t f = from; f < to; f++) {
		if (g->slot[g->drawn[f]] > 0)
			number[count++] = g->slot[g->drawn[f]] - 1;
	}
	return count;
}

/* Features in random order: the first of them together, then one by one until there is a split. */
static cop_err search_drawn(grower *g, cop_cart_split *best)
{
	size_t d = g->data->sample->rows->d;
	size_t first = g->settings->features;
	cop_err err = COP_OK;
	for (size_t f = 0; f < g->sparse.features; f++)
		g->slot[g->sparse.feature[f]] = (uint32_t)(f + 1);
	for (size_t from = 0; err == COP_OK && from < d && best->feature == SIZE_MAX;) {
		size_t to = from == 0 ? first : from + 1;
		for (size_t f = from; f < to; f++) {
			size_t other = f + (size_t)cop_rng_below(g->rng, d - f);
			uint32_t swap = g->drawn[f];
			g->drawn[f] = g->drawn[other];
			g->drawn[other] = swap;
		}
		if (!g->by_entries)
			err = search(g, to - from, g->drawn + from, best);
		else
			err = search(g, drawn_slots(g, from, to, g->slot + d), g->slot + d, best);
		from = to;
	}
	for (size_t f = 0; f < g->sparse.features; f++)
		g->slot[g->sparse.feature[f]] = 0;
	return err;
}

static cop_err find_split(grower *g, cop_cart_split *best)
{
	best->feature = SIZE_MAX;
	if (g->by_entries) {
		for (size_t i = 0; i < g->members.n; i++)
			g->row[i] = g->data->row[g->place[i]];
		cop_ordered_sparse_fill(&g->sparse, g->data->sample->rows, g->members.n, g->row);
	}
	if (g->drawn != NULL)
		return search_drawn(g, best);
	return search(g, g->by_entries ? g->sparse.features : g->data->sample->rows->d, NULL, best);
}

/* --- splitting --- */

/* Which rows go right, and the threshold that was drawn, or stands between those that do and those that do not. */
static float divide(grower *g, const cop_cart_split *split)
{
	const cop_dataset *rows = g->data->sample->rows;
	const cop_cart_column *column = g->data->column;
	float lo = 0, hi = 0;
	bool any_left = false, any_right = false;
	if (column != NULL)
		cop_cart_data_ranks(&column[split->feature], g->members.n, g->place, g->worker[0].rank);
	for (size_t i = 0; i < g->members.n; i++) {
		float x = cop_cart_data_value(rows, g->data->row[g->place[i]], split->feature);
		uint32_t key = column != NULL ? g->worker[0].rank[i] : cop_ordered_key(x);
		g->goes_right[i] = key >= split->first;
		if (g->goes_right[i] != 0) {
			hi = !any_right || x < hi ? x : hi;
			any_right = true;
		} else {
			lo = !any_left || x > lo ? x : lo;
			any_left = true;
		}
	}
	return g->threshold_share != NULL ? cop_ordered_value(split->first) : cop_ordered_between(lo, hi);
}

/* Those that go left first, each side in order; their number. */
static size_t partition(grower *g, const cop_cart_node *node)
{
	uint32_t *place = g->grown->place + node->begin;
	size_t left = 0, right = 0;
	for (size_t i = 0; i < node->end - node->begin; i++) {
		if (g->goes_right[i] != 0)
			g->spare[right++] = place[i];
		else
			place[left++] = place[i];
	}
	memcpy(place + left, g->spare, right * sizeof *place);
	return left;
}

static cop_err reserve_two(grower *g)
{
	cop_cart_grown *grown = g->grown;
	if (grown->count + 2 <= g->room)
		return COP_OK;
	size_t room = g->room == 0 ? FIRST_NODES : 2 * g->room;
	cop_cart_node *moved = cop_mem_resize(grown->node, grown->count, room, sizeof *moved);
	if (moved == NULL)
		return COP_ENOMEM;
	grown->node = moved;
	g->room = room;
	return COP_OK;
}

static uint32_t add_node(grower *g, int32_t parent, size_t begin, size_t end)
{
	cop_cart_node *node = &g->grown->node[g->grown->count];
	unsigned depth = parent < 0 ? 0 : g->grown->node[parent].depth + 1;
	*node = (cop_cart_node){
		.left = -1, .right = -1, .parent = parent, .depth = depth, .begin = begin, .end = end
	};
	return (uint32_t)g->grown->count++;
}

static cop_err split_node(grower *g, uint32_t t, size_t *stacked)
{
	cop_cart_split split;
	cop_err err = find_split(g, &split);
	if (err != COP_OK || split.feature == SIZE_MAX)
		return err;
	err = reserve_two(g);
	if (err != COP_OK)
		return err;
	cop_cart_node *node = &g->grown->node[t];
	node->threshold = divide(g, &split);
	node->feature = (uint32_t)split.feature;
	size_t middle = node->begin + partition(g, node);
	uint32_t left = add_node(g, (int32_t)t, node->begin, middle);
	uint32_t right = add_node(g, (int32_t)t, middle, node->end);
	node->left = (int32_t)left;
	node->right = (int32_t)right;
	g->stack[(*stacked)++] = right;
	g->stack[(*stacked)++] = left;
	g->splits++;
	return COP_OK;
}

static cop_err grow(grower *g, size_t n)
{
	cop_err err = reserve_two(g);
	if (err != COP_OK)
		return err;
	size_t stacked = 0;
	g->stack[stacked++] = add_node(g, -1, 0, n);
	while (err == COP_OK && stacked > 0) {
		uint32_t t = g->stack[--stacked];
		cop_cart_node *node = &g->grown->node[t];
		gather(g, node);
		if (is_pure(g))
			continue;
		node->impurity = impurity(g);
		if (node->depth < g->settings->max_depth && g->splits < COP_TREE_MAX_NODES &&
		        g->members.total_weight >= 2 * g->settings->min_leaf)
			err = split_node(g, t, &stacked);
	}
	return err;
}

/* --- workspaces --- */

static cop_err init_drawn(grower *g)
{
	size_t d = g->data->sample->rows->d;
	if (g->settings->features == 0 || g->settings->features >= d)
		return COP_OK;
	g->drawn = cop_mem_alloc(d, sizeof *g->drawn);
	if (g->drawn == NULL)
		return COP_ENOMEM;
	for (size_t j = 0; j < d; j++)
		g->drawn[j] = (uint32_t)j;
	if (!g->by_entries)
		return COP_OK;
	g->slot = cop_mem_alloc(d + g->settings->features, sizeof *g->slot); /* behind them, those to search */
	return g->slot != NULL ? COP_OK : COP_ENOMEM;
}

static cop_err init_sparse(grower *g, size_t n)
{
	const cop_dataset *rows = g->data->sample->rows;
	g->row = cop_mem_alloc(n, sizeof *g->row);
	if (g->row == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		g->row[i] = g->data->row[g->grown->place[i]];
	return cop_ordered_sparse_init(&g->sparse, rows->d, cop_ordered_entries(rows, n, g->row));
}

static cop_err init_workers(grower *g, size_t n)
{
	unsigned workers = cop_pool_threads(g->pool);
	g->worker = cop_mem_alloc(workers, sizeof *g->worker);
	if (g->worker == NULL)
		return COP_ENOMEM;
	for (unsigned w = 0; w < workers; w++) {
		cop_err err =
		        cop_cart_split_searcher_init(&g->worker[w], n, g->members.outputs, g->data->column == NULL);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

static cop_err init(grower *g, size_t n)
{
	const cop_sample *sample = g->data->sample;
	bool classes = sample->task == COP_TASK_CLASSES;
	g->weight = cop_mem_alloc(n, sizeof *g->weight);
	g->total = cop_mem_alloc(sample->outputs, sizeof *g->total);
	g->mean = cop_mem_alloc(sample->outputs, sizeof *g->mean);
	g->label = cop_mem_alloc(classes ? n : 0, sizeof *g->label);
	g->moment = cop_mem_alloc(classes ? 0 : n, sample->outputs * sizeof *g->moment);
	g->goes_right = cop_mem_alloc(n, sizeof *g->goes_right);
	g->spare = cop_mem_alloc(n, sizeof *g->spare);
	if (g->weight == NULL || g->total == NULL || g->mean == NULL || g->label == NULL || g->moment == NULL ||
	        g->goes_right == NULL || g->spare == NULL)
		return COP_ENOMEM;
	g->members = (cop_cart_members){ .task = sample->task,
		.outputs = sample->outputs,
		.min_leaf = g->settings->min_leaf,
		.weight = g->weight,
		.label = g->label,
		.moment = g->moment,
		.total = g->total };
	cop_err err = init_drawn(g);
	if (err == COP_OK && g->by_entries)
		err = init_sparse(g, n);
	if (err == COP_OK && g->settings->drawn_thresholds) {
		g->threshold_share = cop_mem_alloc(sample->rows->d, sizeof *g->threshold_share);
		err = g->threshold_share != NULL ? COP_OK : COP_ENOMEM;
	}
	return err == COP_OK ? init_workers(g, n) : err;
}

static void fini(grower *g)
{
	for (unsigned w = 0; g->worker != NULL && w < cop_pool_threads(g->pool); w++)
		cop_cart_split_searcher_fini(&g->worker[w]);
	cop_mem_free(g->worker);
	cop_ordered_sparse_fini(&g->sparse);
	cop_mem_free(g->weight);
	cop_mem_free(g->total);
	cop_mem_free(g->mean);
	cop_mem_free(g->label);
	cop_mem_free(g->moment);
	cop_mem_free(g->goes_right);
	cop_mem_free(g->spare);
	cop_mem_free(g->threshold_share);
	cop_mem_free(g->drawn);
	cop_mem_free(g->slot);
	cop_mem_free(g->row);
}

cop_err cop_cart_grow(const cop_cart_settings *settings, const cop_cart_data *data, size_t n, const uint32_t *place,
        cop_pool *pool, cop_rng *rng, cop_cart_grown *grown)
{
	*grown = (cop_cart_grown){ 0 };
	if (place == NULL)
		n = data->n;
	grown->place = cop_mem_alloc(n, sizeof *grown->place);
	if (grown->place == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		grown->place[i] = place != NULL ? place[i] : (uint32_t)i;
	grower g = { .settings = settings, .data = data, .pool = pool, .rng = rng, .grown = grown };
	g.by_entries = data->column == NULL && !settings->drawn_thresholds;
	cop_err err = init(&g, n);
	if (err == COP_OK)
		err = grow(&g, n);
	fini(&g);
	return err;
}

void cop_cart_grow_fini(cop_cart_grown *grown)
{
	cop_mem_free(grown->node);
	cop_mem_free(grown->place);
	*grown = (cop_cart_grown){ 0 };
}

void cop_cart_grow_leaf_values(const cop_cart_data *data, size_t n, const uint32_t *place, double *values)
{
	const cop_sample *sample = data->sample;
	size_t outputs = sample->outputs;
	double weight = 0;
	memset(values, 0, outputs * sizeof *values);
	for (size_t i = 0; i < n; i++) {
		double w = cop_cart_data_weight(data, place[i]);
		size_t row = data->row[place[i]];
		weight += w;
		if (sample->task == COP_TASK_CLASSES) {
			values[sample->label[row]] += w;
			continue;
		}
		for (size_t k = 0; k < outputs; k++)
			values[k] += w * ((double)sample->target[row * outputs + k] - data->centre[k]);
	}
	for (size_t k = 0; k < outputs; k++)
		values[k] = values[k] / weight + data->centre[k];
}

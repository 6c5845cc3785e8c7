/* Every row walks each tree and leaves its label or target at all nodes on its way: classes are counted, values kept as
 * running mean and sum of squared deviations (Welford), turned into the file's unit when all rows are in. */
#include "view/node_counts.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

size_t cop_node_counts_width(const cop_node_counts *census)
{
	return census->classes ? census->outputs : 2 * census->outputs;
}

void cop_node_counts_fini(cop_node_counts *census)
{
	cop_mem_free(census->node_rows);
	cop_mem_free(census->leaf_rows);
	cop_mem_free(census->node_mix);
	cop_mem_free(census->leaf_mix);
	memset(census, 0, sizeof *census);
}

cop_err cop_node_counts_init(cop_node_counts *census, const cop_tree *tree, bool classes)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	size_t node_numbers, leaf_numbers;
	*census = (cop_node_counts){ .nodes = parts->nodes.count,
		.leaves = cop_tree_leaves(tree),
		.outputs = parts->outputs,
		.classes = classes };
	size_t width = cop_node_counts_width(census);
	if (__builtin_mul_overflow(census->nodes, width, &node_numbers) ||
	        __builtin_mul_overflow(census->leaves, width, &leaf_numbers)) {
		cop_node_counts_fini(census);
		return COP_ENOMEM;
	}
	census->node_rows = cop_mem_alloc(census->nodes, sizeof *census->node_rows);
	census->leaf_rows = cop_mem_alloc(census->leaves, sizeof *census->leaf_rows);
	census->node_mix = cop_mem_alloc(node_numbers, sizeof *census->node_mix);
	census->leaf_mix = cop_mem_alloc(leaf_numbers, sizeof *census->leaf_mix);
	if (census->node_rows != NULL && census->leaf_rows != NULL && census->node_mix != NULL &&
	        census->leaf_mix != NULL)
		return COP_OK;
	cop_node_counts_fini(census);
	return COP_ENOMEM;
}

/* ---- taking it ---- */

typedef struct told {
	const uint32_t *label; /* NULL: values */
	const float *target;
} told;

/* One more row at a place: `rows` of it, its mix. */
static void add(const cop_node_counts *census, uint64_t *rows, double *mix, const told *what, size_t i)
{
	++*rows;
	if (what->label != NULL) {
		mix[what->label[i]] += 1.0;
		return;
	}
	for (size_t k = 0; k < census->outputs; k++) {
		double value = (double)what->target[i * census->outputs + k], away = value - mix[2 * k];
		mix[2 * k] += away / (double)*rows;
		mix[2 * k + 1] += away * (value - mix[2 * k]);
	}
}

static void add_row(cop_node_counts *census, const cop_tree *tree, const cop_row *row, const told *what, size_t i)
{
	cop_tree_step steps[COP_TREE_MAX_DEPTH];
	size_t leaf, width = cop_node_counts_width(census), count = cop_tree_path(tree, row, steps, &leaf);
	for (size_t s = 0; s < count; s++)
		add(census, &census->node_rows[steps[s].node], &census->node_mix[steps[s].node * width], what, i);
	add(census, &census->leaf_rows[leaf], &census->leaf_mix[leaf * width], what, i);
}

/* Sums of squares to standard deviations, all to the file's unit. */
static void finish(const cop_encoder *preparation, size_t outputs, size_t places, const uint64_t *rows, double *mix)
{
	double origin = cop_encoder_from_scale(preparation, 0.0);
	double unit = fabs(cop_encoder_from_scale(preparation, 1.0) - origin);
	for (size_t p = 0; p < places; p++)
		for (double *m = &mix[2 * outputs * p], *end = m + 2 * outputs; m < end && rows[p] > 0; m += 2) {
			m[0] = cop_encoder_from_scale(preparation, m[0]);
			m[1] = unit * sqrt(m[1] / (double)rows[p]);
		}
}

static cop_err take(const cop_trained *model, const cop_tree *tree, const cop_dataset *rows, const told *what,
        cop_node_counts *census)
{
	cop_err err = cop_node_counts_init(census, tree, what->label != NULL);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < rows->n; i++) {
		cop_row row;
		cop_dataset_row(rows, i, &row);
		add_row(census, tree, &row, what, i);
	}
	if (!census->classes) {
		finish(model->preparation, census->outputs, census->nodes, census->node_rows, census->node_mix);
		finish(model->preparation, census->outputs, census->leaves, census->leaf_rows, census->leaf_mix);
	}
	return COP_OK;
}

static void free_all(cop_node_counts *census, size_t count)
{
	for (size_t i = 0; census != NULL && i < count; i++)
		cop_node_counts_fini(&census[i]);
	cop_mem_free(census);
}

cop_err cop_trained_take_census(cop_trained *model, const cop_dataset *rows, const uint32_t *label, const float *target)
{
	size_t count = cop_trees_count(model->trees);
	told what = { .label = label, .target = target };
	COP_ASSERT((label == NULL) != (target == NULL) && rows->d == cop_trees_features(model->trees));
	cop_node_counts *census = cop_mem_alloc(count, sizeof *census);
	cop_err err = census == NULL ? COP_ENOMEM : COP_OK;
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = take(model, cop_trees_at(model->trees, i), rows, &what, &census[i]);
	if (err != COP_OK) {
		free_all(census, count);
		return err;
	}
	free_all(model->census, count);
	model->census = census;
	return COP_OK;
}

/* ---- importance ---- */

/* Impurity of a place times its rows: Gini, or the variance summed over the outputs. */
static double impurity(const cop_node_counts *census, uint64_t rows, const double *mix)
{
	double sum = 0.0, n = (double)rows;
	if (rows == 0)
		return 0.0;
	for (size_t k = 0; k < census->outputs; k++)
		sum += census->classes ? mix[k] * (mix[k] / n) : n * mix[2 * k + 1] * mix[2 * k + 1];
	return census->classes ? n - sum : sum;
}

static double child_impurity(const cop_node_counts *census, int32_t child)
{
	size_t place = (size_t)(child >= 0 ? child : ~child), at = place * cop_node_counts_width(census);
	return child >= 0 ? impurity(census, census->node_rows[place], &census->node_mix[at])
	                  : impurity(census, census->leaf_rows[place], &census->leaf_mix[at]);
}

/* A node's fall over its features, a facet's weights times its r. */
static void divide(const cop_tree_parts *parts, size_t node, double fall, const float *feature_sd, double *share)
{
	const bool facets = cop_tree_parts_facets(parts, node) > 0;
	const cop_tree_vectors *v = facets ? &parts->facets : &parts->nodes;
	const size_t from = facets ? parts->facet[node] : node, to = facets ? parts->facet[node + 1] : node + 1;
	double whole = 0.0;
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = from; i < to; i++)
			for (size_t e = v->start[i]; e < v->start[i + 1]; e++) {
				size_t j = v->index[e];
				double part = fabs((double)v->weight[e]) * (facets ? (double)parts->r[i] : 1.0);
				part *= feature_sd != NULL ? (double)feature_sd[j] : 1.0;
				if (pass == 0)
					whole += part;
				else if (whole > 0.0)
					share[j] += fall * part / whole;
			}
}

cop_err cop_trained_importance(const cop_trained *model, const float *feature_sd, double *share)
{
	size_t d = cop_trees_features(model->trees);
	double sum = 0.0;
	if (model->census == NULL)
		return COP_EINVAL;
	for (size_t j = 0; j < d; j++)
		share[j] = 0.0;
	for (size_t i = 0; i < cop_trees_count(model->trees); i++) {
		const cop_node_counts *census = &model->census[i];
		const cop_tree_parts *parts = cop_tree_view(cop_trees_at(model->trees, i));
		double weight = fabs(cop_trees_weight(model->trees, i));
		for (size_t t = 0; t < parts->nodes.count; t++) {
			double fall = child_impurity(census, (int32_t)t) - child_impurity(census, parts->left[t]) -
			              child_impurity(census, parts->right[t]);
			divide(parts, t, weight * fmax(fall, 0.0), feature_sd, share);
		}
	}
	for (size_t j = 0; j < d; j++)
		sum += share[j];
	for (size_t j = 0; j < d; j++)
		share[j] = sum > 0.0 && isfinite(sum) ? share[j] / sum : 0.0;
	return COP_OK;
}

/* ---- its section ---- */

void cop_node_counts_save(const cop_node_counts *census, cop_bytes *bytes)
{
	size_t width = cop_node_counts_width(census);
	cop_bytes_put_u64(bytes, census->nodes);
	cop_bytes_put_u64(bytes, census->leaves);
	cop_bytes_put_u64(bytes, census->outputs);
	cop_bytes_put_u8(bytes, census->classes);
	for (size_t t = 0; t < census->nodes; t++)
		cop_bytes_put_u64(bytes, census->node_rows[t]);
	for (size_t l = 0; l < census->leaves; l++)
		cop_bytes_put_u64(bytes, census->leaf_rows[l]);
	cop_bytes_put_f64s(bytes, census->node_mix, census->nodes * width);
	cop_bytes_put_f64s(bytes, census->leaf_mix, census->leaves * width);
}

/* Counts and deviations are not below 0. */
static bool mix_is_valid(const cop_node_counts *census, size_t places, const double *mix)
{
	for (size_t i = 0, n = places * cop_node_counts_width(census); i < n; i++)
		if (mix[i] < 0.0 && (census->classes || i % 2 == 1))
			return false;
	return true;
}

cop_err cop_node_counts_load(const void *payload, size_t length, const cop_tree *tree, cop_node_counts *census)
{
	cop_cursor cursor;
	size_t places;
	cop_cursor_init(&cursor, payload, length);
	uint64_t nodes = cop_cursor_u64(&cursor), leaves = cop_cursor_u64(&cursor), outputs = cop_cursor_u64(&cursor);
	uint8_t classes = cop_cursor_u8(&cursor);
	const cop_tree_parts *parts = cop_tree_view(tree);
	if (cursor.err != COP_OK || classes > 1 || nodes != parts->nodes.count || leaves != cop_tree_leaves(tree) ||
	        outputs != parts->outputs)
		return COP_EFORMAT;
	size_t width = classes == 1 ? parts->outputs : 2 * parts->outputs; /* below 2^33, and places below 2^21 */
	places = parts->nodes.count + cop_tree_leaves(tree);
	if (cop_cursor_left(&cursor) / sizeof(double) != places * (1 + width) ||
	        cop_cursor_left(&cursor) % sizeof(double) != 0)
		return COP_EFORMAT;
	cop_err err = cop_node_counts_init(census, tree, classes == 1);
	if (err != COP_OK)
		return err;
	for (size_t t = 0; t < census->nodes; t++)
		census->node_rows[t] = cop_cursor_u64(&cursor);
	for (size_t l = 0; l < census->leaves; l++)
		census->leaf_rows[l] = cop_cursor_u64(&cursor);
	cop_cursor_f64s(&cursor, census->node_mix, census->nodes * width);
	cop_cursor_f64s(&cursor, census->leaf_mix, census->leaves * width);
	err = cursor.err;
	if (err == COP_OK && (!mix_is_valid(census, census->nodes, census->node_mix) ||
	                             !mix_is_valid(census, census->leaves, census->leaf_mix)))
		err = COP_EFORMAT;
	if (err != COP_OK)
		cop_node_counts_fini(census);
	return err;
}

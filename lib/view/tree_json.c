/* A node's child is a node's number or a leaf's. Numbers read back exactly as they are stored; only values that are
 * converted to the file's unit differ. */
#include "view/tree_json.h"

#include <math.h>

#include "base/mem.h"
#include "view/view.h"

static void put_names(cop_json_writer *writer, const char *key, size_t count, const char *const *names)
{
	if (names == NULL)
		return;
	cop_json_put_array(writer, key);
	for (size_t i = 0; i < count; i++)
		cop_json_text(writer, names[i]);
	cop_json_end_array(writer);
}

static void put_child(cop_json_writer *writer, const char *side, int32_t child)
{
	cop_json_put_object(writer, side);
	cop_json_put_integer(writer, child >= 0 ? "node" : "leaf", child >= 0 ? child : ~child);
	cop_json_end_object(writer);
}

/* As stored numbers are, exactly; others as they are. */
static void put_scaled(cop_json_writer *writer, float value, double unit)
{
	if (unit == 1.0)
		cop_json_number_float(writer, value);
	else
		cop_json_number(writer, unit * (double)value);
}

/* Vector i as "index" and "weights", or all d of its weights. */
static void put_vector(
        cop_json_writer *writer, const cop_tree_vectors *vectors, size_t i, size_t d, bool all, double unit)
{
	size_t from = vectors->start[i], to = vectors->start[i + 1];
	if (!all) {
		cop_json_put_array(writer, "index");
		for (size_t e = from; e < to; e++)
			cop_json_unsigned(writer, vectors->index[e]);
		cop_json_end_array(writer);
	}
	cop_json_put_array(writer, "weights");
	for (size_t e = from, j = 0; all ? j < d : e < to; j++) {
		bool stored = !all || (e < to && vectors->index[e] == j);
		put_scaled(writer, stored ? vectors->weight[e] : 0.0f, unit);
		e += stored;
	}
	cop_json_end_array(writer);
}

/* ---- census ---- */

/* Numbers first, first + step ... of a mix. */
static void put_part(cop_json_writer *writer, const char *key, const double *mix, size_t first, size_t count)
{
	if (key != NULL)
		cop_json_key(writer, key);
	cop_json_begin_array(writer);
	for (size_t i = 0; i < count; i++)
		cop_json_number(writer, mix[first < 2 ? first + 2 * i : i]);
	cop_json_end_array(writer);
}

#define WHOLE 2 /* in place of 0 (means) and 1 (deviations) */

static void put_node_rows(cop_json_writer *writer, const cop_tree_phrases *words, size_t node)
{
	uint64_t rows;
	const double *mix;
	if (!cop_tree_phrases_census(words, (int32_t)node, &rows, &mix))
		return;
	cop_json_put_unsigned(writer, "rows", rows);
	if (words->census->classes) {
		put_part(writer, "mix", mix, WHOLE, words->census->outputs);
		return;
	}
	put_part(writer, "mean", mix, 0, words->census->outputs);
	put_part(writer, "sd", mix, 1, words->census->outputs);
}

static void put_leaf_mix(cop_json_writer *writer, const cop_tree_phrases *words, const char *key, size_t first)
{
	uint64_t rows;
	const double *mix;
	cop_json_put_array(writer, key);
	for (size_t l = 0; l < words->census->leaves; l++)
		if (cop_tree_phrases_census(words, ~(int32_t)l, &rows, &mix))
			put_part(writer, NULL, mix, first, words->census->outputs);
	cop_json_end_array(writer);
}

static void put_leaf_rows(cop_json_writer *writer, const cop_tree_phrases *words)
{
	if (words->census == NULL)
		return;
	cop_json_put_array(writer, "leaf_rows");
	for (size_t l = 0; l < words->census->leaves; l++)
		cop_json_unsigned(writer, words->census->leaf_rows[l]);
	cop_json_end_array(writer);
	if (words->census->classes) {
		put_leaf_mix(writer, words, "leaf_mix", WHOLE);
		return;
	}
	put_leaf_mix(writer, words, "leaf_mean", 0);
	put_leaf_mix(writer, words, "leaf_sd", 1);
}

/* ---- nodes and leaves ---- */

static void put_test(cop_json_writer *writer, const cop_tree_phrases *words, size_t node, cop_bytes *text)
{
	if (words->preparation == NULL)
		return;
	cop_tree_test test = cop_tree_phrases_test_of(words, node);
	text->length = 0;
	cop_tree_phrases_test(words, &test, true, text);
	if (text->err != COP_OK)
		return;
	cop_json_put_text_length(writer, "test", (const char *)text->data, text->length);
	if (test.kind != COP_TREE_TEST_NUMBER && test.kind != COP_TREE_TEST_CATEGORY)
		return;
	cop_json_put_unsigned(writer, "feature", test.feature);
	if (test.kind == COP_TREE_TEST_NUMBER)
		cop_json_put_number(writer, "threshold", test.threshold);
	cop_json_put_boolean(writer, test.kind == COP_TREE_TEST_NUMBER ? "turned" : "category",
	        test.kind == COP_TREE_TEST_NUMBER ? test.turned : !test.turned);
}

/* bound: inside the polytope <weights, x> + bias is at most so much, whatever the other facets add. */
static void put_facets(cop_json_writer *writer, const cop_tree_phrases *words, size_t node, bool all)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	if (cop_tree_parts_facets(parts, node) == 0)
		return;
	cop_json_put_array(writer, "facets");
	for (size_t k = parts->facet[node]; k < parts->facet[node + 1]; k++) {
		const double most = -(double)parts->nodes.bias[node] / (double)parts->r[k];
		cop_json_begin_object(writer);
		cop_json_key(writer, "r");
		cop_json_number_float(writer, parts->r[k]);
		cop_json_key(writer, "bias");
		cop_json_number_float(writer, parts->facets.bias[k]);
		cop_json_put_number(writer, "bound", most > 0.0 ? most + log(-expm1(-most)) : (double)NAN);
		put_vector(writer, &parts->facets, k, parts->d, all, 1.0);
		cop_json_end_object(writer);
	}
	cop_json_end_array(writer);
}

/* text: room for words, whose error stays in it. */
static void put_node(cop_json_writer *writer, const cop_tree_phrases *words, size_t node, bool all, cop_bytes *text)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	cop_json_begin_object(writer);
	cop_json_put_unsigned(writer, "node", node);
	put_child(writer, "left", parts->left[node]);
	put_child(writer, "right", parts->right[node]);
	cop_json_key(writer, "bias");
	cop_json_number_float(writer, parts->nodes.bias[node]);
	put_vector(writer, &parts->nodes, node, parts->d, all, 1.0);
	put_facets(writer, words, node, all);
	put_test(writer, words, node, text);
	put_node_rows(writer, words, node);
	cop_json_end_object(writer);
}

/* In the file's unit, but exactly as stored where that is the same. */
static void put_value(cop_json_writer *writer, const cop_tree_phrases *words, float value)
{
	double said = cop_tree_phrases_value(words, (double)value);
	if (said == (double)value)
		cop_json_number_float(writer, value);
	else
		cop_json_number(writer, said);
}

static void put_linear(cop_json_writer *writer, const cop_tree_phrases *words, size_t leaf, bool all)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	double unit = cop_tree_phrases_value(words, 1.0) - cop_tree_phrases_value(words, 0.0);
	cop_json_begin_object(writer);
	cop_json_put_array(writer, "rows");
	for (size_t r = parts->leaf[leaf]; r < parts->leaf[leaf + 1]; r++) {
		cop_json_begin_object(writer);
		cop_json_put_unsigned(writer, "output", parts->output[r]);
		cop_json_key(writer, "bias");
		put_value(writer, words, parts->rows.bias[r]);
		put_vector(writer, &parts->rows, r, parts->d, all, unit);
		cop_json_end_object(writer);
	}
	cop_json_end_array(writer);
	cop_json_end_object(writer);
}

static cop_err put_leaves(cop_json_writer *writer, const cop_tree_phrases *words, bool all)
{
	size_t outputs = cop_tree_view(words->tree)->outputs;
	float *values = cop_mem_alloc(outputs, sizeof *values);
	if (values == NULL)
		return COP_ENOMEM;
	cop_json_put_array(writer, "leaves");
	for (size_t l = 0; l < cop_tree_leaves(words->tree); l++) {
		if (!cop_tree_leaf_constant(words->tree, l)) {
			put_linear(writer, words, l, all);
			continue;
		}
		cop_tree_leaf_outputs(words->tree, l, NULL, values);
		cop_json_begin_array(writer);
		for (size_t k = 0; k < outputs; k++)
			put_value(writer, words, values[k]);
		cop_json_end_array(writer);
	}
	cop_json_end_array(writer);
	cop_mem_free(values);
	return COP_OK;
}

cop_err cop_tree_json_members(const cop_tree_phrases *words, bool all_weights, cop_json_writer *writer)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	cop_json_put_unsigned(writer, "features", parts->d);
	cop_json_put_unsigned(writer, "outputs", parts->outputs);
	cop_json_put_unsigned(writer, "depth", cop_tree_depth(words->tree));
	put_names(writer, "feature_names", parts->d, words->features);
	put_names(writer, "output_names", parts->outputs, words->outputs);
	cop_bytes text;
	cop_bytes_init(&text);
	cop_json_put_array(writer, "nodes");
	for (size_t t = 0; t < parts->nodes.count; t++)
		put_node(writer, words, t, all_weights, &text);
	cop_json_end_array(writer);
	cop_err err = text.err;
	cop_bytes_fini(&text);
	if (err == COP_OK)
		err = put_leaves(writer, words, all_weights);
	if (err == COP_OK)
		put_leaf_rows(writer, words);
	return err;
}

cop_err cop_tree_json(const cop_tree_phrases *words, bool all_weights, cop_json_writer *writer)
{
	cop_json_begin_object(writer);
	cop_err err = cop_tree_json_members(words, all_weights, writer);
	if (err == COP_OK)
		cop_json_end_object(writer);
	return err;
}

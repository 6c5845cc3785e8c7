/* A tree becomes the object that view_page.js draws: nodes with their children and tests or heaviest weights, leaves
 * with what they predict, and what rows came by. */
#include "view/view_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define MOST_CLASSES 8 /* of a mix */

cop_err cop_view_draw_init(cop_view_drawing *p, size_t features, size_t outputs)
{
	*p = (cop_view_drawing){ .features = features, .outputs = outputs };
	cop_bytes_init(&p->text);
	p->named = cop_mem_alloc(features, sizeof *p->named);
	p->values = cop_mem_alloc(outputs, sizeof *p->values);
	p->rates = cop_mem_alloc(outputs, sizeof *p->rates);
	return p->named == NULL || p->values == NULL || p->rates == NULL ? COP_ENOMEM : COP_OK;
}

void cop_view_draw_fini(cop_view_drawing *p)
{
	cop_mem_free(p->named);
	cop_mem_free(p->values);
	cop_mem_free(p->rates);
	cop_bytes_fini(&p->text);
}

static void put_text(cop_view_drawing *p, const char *key)
{
	if (p->text.err != COP_OK)
		return;
	if (key != NULL)
		cop_json_key(p->json, key);
	cop_json_text_length(p->json, (const char *)p->text.data, p->text.length);
}

/* Five digits are enough for a picture. */
double cop_view_draw_rounded(double value)
{
	char text[32];
	if (!isfinite(value))
		return 0.0;
	(void)snprintf(text, sizeof text, "%.5g", value);
	return strtod(text, NULL);
}

void cop_view_draw_pair(cop_view_drawing *p, size_t what, double value)
{
	cop_json_begin_array(p->json);
	cop_json_unsigned(p->json, what);
	cop_json_number(p->json, cop_view_draw_rounded(value));
	cop_json_end_array(p->json);
}

/* The commonest of K counts or probabilities. */
static void put_commonest(cop_view_drawing *p, const char *key, const double *of)
{
	uint32_t place[MOST_CLASSES];
	size_t count = cop_tree_phrases_commonest(p->outputs, of, MOST_CLASSES, place);
	cop_json_put_array(p->json, key);
	for (size_t i = 0; i < count; i++)
		cop_view_draw_pair(p, place[i], of[place[i]]);
	cop_json_end_array(p->json);
}

static void put_census(cop_view_drawing *p, const cop_tree_phrases *words, int32_t child)
{
	uint64_t rows;
	const double *mix;
	if (!cop_tree_phrases_census(words, child, &rows, &mix))
		return;
	cop_json_put_unsigned(p->json, "rows", rows);
	if (words->census->classes) {
		put_commonest(p, "c", mix);
		return;
	}
	if (words->census->outputs > 1 || rows == 0)
		return;
	cop_json_put_array(p->json, "s");
	cop_json_number(p->json, cop_view_draw_rounded(mix[0]));
	cop_json_number(p->json, cop_view_draw_rounded(mix[1]));
	cop_json_end_array(p->json);
}

/* The heaviest terms of a vector, and how many others there are. */
static void put_terms(cop_view_drawing *p, const cop_tree_phrases *words, const cop_tree_vectors *vectors, size_t i)
{
	uint32_t place[COP_TREE_PHRASES_MOST];
	size_t from = vectors->start[i], count = vectors->start[i + 1] - from, present = 0;
	for (size_t e = 0; e < count; e++)
		present += vectors->weight[from + e] != 0.0f;
	size_t shown = cop_tree_phrases_heaviest(count, vectors->weight + from, words->top, place);
	cop_json_put_array(p->json, "w");
	for (size_t s = 0; s < shown; s++) {
		size_t j = vectors->index[from + place[s]];
		p->named[j] = 1;
		cop_view_draw_pair(p, j, (double)vectors->weight[from + place[s]]);
	}
	cop_json_end_array(p->json);
	cop_json_put_unsigned(p->json, "m", present - shown);
	cop_json_put_number(p->json, "b", cop_view_draw_rounded((double)vectors->bias[i]));
}

/* f: the heaviest facets; g: how many others there are; a: where inside ends. */
static void put_polytope(cop_view_drawing *p, const cop_tree_phrases *words, size_t node)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	uint32_t place[COP_TREE_PHRASES_MOST];
	const size_t shown = cop_tree_phrases_heaviest_facets(words, node, place);
	for (int outside = 0; outside < 2; outside++) {
		p->text.length = 0;
		cop_tree_phrases_polytope(words, node, outside != 0, &p->text);
		put_text(p, outside != 0 ? "y" : "n");
	}
	cop_json_put_array(p->json, "f");
	for (size_t i = 0; i < shown; i++) {
		cop_json_begin_object(p->json);
		cop_json_put_number(p->json, "r", cop_view_draw_rounded((double)parts->r[place[i]]));
		put_terms(p, words, &parts->facets, place[i]);
		cop_json_end_object(p->json);
	}
	cop_json_end_array(p->json);
	cop_json_put_unsigned(p->json, "g", cop_tree_parts_facets(parts, node) - shown);
	cop_json_put_number(p->json, "a", cop_view_draw_rounded(-(double)parts->nodes.bias[node]));
}

static void put_test(cop_view_drawing *p, const cop_tree_phrases *words, const cop_tree_test *test)
{
	if (test->kind == COP_TREE_TEST_POLYTOPE) {
		put_polytope(p, words, test->node);
		return;
	}
	if (test->kind == COP_TREE_TEST_OBLIQUE) {
		put_terms(p, words, &cop_tree_view(words->tree)->nodes, test->node);
		return;
	}
	for (int holds = 0; holds < 2; holds++) {
		p->text.length = 0;
		cop_tree_phrases_test(words, test, holds != 0, &p->text);
		put_text(p, holds != 0 ? "y" : "n");
	}
}

static void put_node(cop_view_drawing *p, const cop_tree_phrases *words, size_t t)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	cop_tree_test test = cop_tree_phrases_test_of(words, t);
	cop_json_begin_object(p->json);
	cop_json_put_integer(p->json, "l", parts->left[t]);
	cop_json_put_integer(p->json, "r", parts->right[t]);
	put_test(p, words, &test);
	put_census(p, words, (int32_t)t);
	cop_json_end_object(p->json);
}

/* The class it predicts and, of a constant leaf, how likely classes are. */
static void put_class(cop_view_drawing *p, const cop_tree_phrases *words, size_t leaf)
{
	size_t outputs = cop_tree_view(words->tree)->outputs;
	cop_tree_leaf_outputs(words->tree, leaf, NULL, p->values);
	size_t best = cop_tree_leaf_class(words->tree, leaf, NULL);
	cop_json_put_unsigned(p->json, "k", best);
	cop_json_put_number(p->json, "q", cop_view_draw_rounded((double)p->values[best]));
	for (size_t k = 0; k < outputs; k++)
		p->rates[k] = (double)p->values[k];
	put_commonest(p, "d", p->rates);
}

static void put_leaf(cop_view_drawing *p, const cop_tree_phrases *words, size_t leaf)
{
	bool constant = cop_tree_leaf_constant(words->tree, leaf);
	cop_json_begin_object(p->json);
	if (constant && p->classes)
		put_class(p, words, leaf);
	p->text.length = 0;
	cop_tree_phrases_leaf(words, leaf, &p->text);
	if (!constant || !p->classes)
		put_text(p, constant ? "v" : "t");
	put_census(p, words, ~(int32_t)leaf);
	cop_json_end_object(p->json);
}

void cop_view_draw_names(cop_view_drawing *p, const cop_tree_phrases *words)
{
	char key[24];
	cop_json_put_object(p->json, "names");
	for (size_t j = 0; j < p->features; j++) {
		if (p->named[j] == 0)
			continue;
		p->named[j] = 0;
		(void)snprintf(key, sizeof key, "%zu", j);
		p->text.length = 0;
		cop_tree_phrases_feature(words, j, &p->text);
		put_text(p, key);
	}
	cop_json_end_object(p->json);
}

void cop_view_draw_tree(cop_view_drawing *p, const cop_tree_phrases *given, const cop_view_label *label)
{
	cop_tree_phrases words = *given;
	words.mathematical = true;
	cop_json_begin_object(p->json);
	cop_json_put_unsigned(p->json, "i", label->number);
	if (label->name != NULL)
		cop_json_put_text(p->json, "name", label->name);
	cop_json_put_number(p->json, "weight", label->weight);
	cop_json_put_unsigned(p->json, "depth", cop_tree_depth(words.tree));
	cop_json_put_array(p->json, "nodes");
	for (size_t t = 0; t < cop_tree_view(words.tree)->nodes.count; t++)
		put_node(p, &words, t);
	cop_json_end_array(p->json);
	cop_json_put_array(p->json, "leaves");
	for (size_t l = 0; l < cop_tree_leaves(words.tree); l++)
		put_leaf(p, &words, l);
	cop_json_end_array(p->json);
	if (label->own_names)
		cop_view_draw_names(p, given);
	cop_json_end_object(p->json);
}

/* The page is made of its style sheet, the model as JSON in an element that is no script, and a script that draws it.
 * Everything that comes from the model goes through that JSON, in which < is written as an escape, or is escaped for
 * HTML; the script puts texts into the page as texts. The page's policy lets it load nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tree/tree_json.h"
#include "tree/tree_text.h"
#include "tree/view.h"
#include "tree/view_page.h"

#define MOST_PLACES    200000 /* nodes and leaves of a page, but for its first tree */
#define MOST_CLASSES   8      /* of a mix */
#define MOST_IMPORTANT 16
#define MOST_TEXT      ((size_t)64 << 10) /* for readers without scripts */

typedef struct page {
	const cop_trained *model;
	cop_view_scope scope;
	uint8_t *named; /* d: its name is needed */
	float *values;  /* K */
	double *rates;  /* K */
	cop_bytes text; /* words on their way into the JSON */
	cop_json_writer *json;
} page;

/* ---- the data ---- */

static void put_text(page *p, const char *key)
{
	if (p->text.err != COP_OK)
		return;
	if (key != NULL)
		cop_json_key(p->json, key);
	cop_json_text_length(p->json, (const char *)p->text.data, p->text.length);
}

/* Five digits are plenty for a picture. */
static double rounded(double value)
{
	char text[32];
	if (!isfinite(value))
		return 0.0;
	(void)snprintf(text, sizeof text, "%.5g", value);
	return strtod(text, NULL);
}

static void put_pair(page *p, size_t what, double value)
{
	cop_json_begin_array(p->json);
	cop_json_unsigned(p->json, what);
	cop_json_number(p->json, rounded(value));
	cop_json_end_array(p->json);
}

/* The commonest of K counts or probabilities. */
static void put_commonest(page *p, const char *key, const double *of)
{
	uint32_t place[MOST_CLASSES];
	size_t count = cop_tree_commonest(cop_trees_outputs(p->model->trees), of, MOST_CLASSES, place);
	cop_json_key(p->json, key);
	cop_json_begin_array(p->json);
	for (size_t i = 0; i < count; i++)
		put_pair(p, place[i], of[place[i]]);
	cop_json_end_array(p->json);
}

static void put_census(page *p, const cop_tree_words *words, int32_t child)
{
	uint64_t rows;
	const double *mix;
	if (!cop_tree_words_census(words, child, &rows, &mix))
		return;
	cop_json_put_unsigned(p->json, "rows", rows);
	if (words->census->classes) {
		put_commonest(p, "c", mix);
		return;
	}
	if (words->census->outputs > 1 || rows == 0)
		return;
	cop_json_key(p->json, "s");
	cop_json_begin_array(p->json);
	cop_json_number(p->json, rounded(mix[0]));
	cop_json_number(p->json, rounded(mix[1]));
	cop_json_end_array(p->json);
}

static void put_test(page *p, const cop_tree_words *words, const cop_tree_test *test)
{
	const cop_tree_vectors *nodes = &cop_tree_view(words->tree)->nodes;
	uint32_t place[COP_TREE_WORDS_MOST];
	size_t from = nodes->start[test->node], count = nodes->start[test->node + 1] - from, present = 0;
	if (test->kind != COP_TREE_TEST_OBLIQUE) {
		for (int holds = 0; holds < 2; holds++) {
			p->text.length = 0;
			cop_tree_words_test(words, test, holds != 0, &p->text);
			put_text(p, holds != 0 ? "y" : "n");
		}
		return;
	}
	for (size_t e = 0; e < count; e++)
		present += nodes->weight[from + e] != 0.0f;
	size_t shown = cop_tree_heaviest(count, nodes->weight + from, words->top, place);
	cop_json_key(p->json, "w");
	cop_json_begin_array(p->json);
	for (size_t i = 0; i < shown; i++) {
		size_t j = nodes->index[from + place[i]];
		p->named[j] = 1;
		put_pair(p, j, (double)nodes->weight[from + place[i]]);
	}
	cop_json_end_array(p->json);
	cop_json_put_unsigned(p->json, "m", present - shown);
	cop_json_put_number(p->json, "b", rounded((double)nodes->bias[test->node]));
}

static void put_node(page *p, const cop_tree_words *words, size_t t)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	cop_tree_test test = cop_tree_test_of(words, t);
	cop_json_begin_object(p->json);
	cop_json_key(p->json, "l");
	cop_json_integer(p->json, parts->left[t]);
	cop_json_key(p->json, "r");
	cop_json_integer(p->json, parts->right[t]);
	put_test(p, words, &test);
	put_census(p, words, (int32_t)t);
	cop_json_end_object(p->json);
}

/* The class it predicts and, of a constant leaf, how likely classes are. */
static void put_class(page *p, const cop_tree_words *words, size_t leaf)
{
	size_t outputs = cop_tree_view(words->tree)->outputs;
	cop_tree_leaf_outputs(words->tree, leaf, NULL, p->values);
	size_t best = cop_tree_leaf_class(words->tree, leaf, NULL);
	cop_json_put_unsigned(p->json, "k", best);
	cop_json_put_number(p->json, "q", rounded((double)p->values[best]));
	for (size_t k = 0; k < outputs; k++)
		p->rates[k] = (double)p->values[k];
	put_commonest(p, "d", p->rates);
}

static void put_leaf(page *p, const cop_tree_words *words, size_t leaf)
{
	bool constant = cop_tree_leaf_constant(words->tree, leaf);
	bool classes = cop_preparation_classes(p->model->preparation) > 0;
	cop_json_begin_object(p->json);
	if (constant && classes)
		put_class(p, words, leaf);
	p->text.length = 0;
	cop_tree_words_leaf(words, leaf, &p->text);
	if (!constant || !classes)
		put_text(p, constant ? "v" : "t");
	put_census(p, words, ~(int32_t)leaf);
	cop_json_end_object(p->json);
}

static void put_tree(page *p, size_t i)
{
	cop_tree_words words = cop_tree_words_of(p->model, i, p->scope.top);
	words.mathematical = true;
	cop_json_begin_object(p->json);
	cop_json_put_unsigned(p->json, "i", i);
	cop_json_put_number(p->json, "weight", cop_trees_weight(p->model->trees, i));
	cop_json_put_unsigned(p->json, "depth", cop_tree_depth(words.tree));
	cop_json_key(p->json, "nodes");
	cop_json_begin_array(p->json);
	for (size_t t = 0; t < cop_tree_view(words.tree)->nodes.count; t++)
		put_node(p, &words, t);
	cop_json_end_array(p->json);
	cop_json_key(p->json, "leaves");
	cop_json_begin_array(p->json);
	for (size_t l = 0; l < cop_tree_leaves(words.tree); l++)
		put_leaf(p, &words, l);
	cop_json_end_array(p->json);
	cop_json_end_object(p->json);
}

/* How many trees fit; at least one. */
static size_t trees_that_fit(const page *p)
{
	size_t places = 0, i = p->scope.from;
	for (; i < p->scope.to; i++) {
		places += 2 * cop_tree_leaves(cop_trees_at(p->model->trees, i));
		if (i > p->scope.from && places > MOST_PLACES)
			break;
	}
	return i - p->scope.from;
}

static cop_err put_importance(page *p)
{
	uint32_t place[MOST_IMPORTANT];
	size_t d = cop_trees_features(p->model->trees);
	if (p->model->census == NULL)
		return COP_OK;
	double *share = cop_mem_alloc(d, sizeof *share);
	cop_err err = share == NULL ? COP_ENOMEM : cop_trained_importance(p->model, NULL, share);
	size_t count = err == COP_OK ? cop_tree_commonest(d, share, MOST_IMPORTANT, place) : 0;
	cop_json_key(p->json, "importance");
	cop_json_begin_array(p->json);
	for (size_t i = 0; i < count; i++) {
		put_pair(p, place[i], share[place[i]]);
		p->named[place[i]] = 1;
	}
	cop_json_end_array(p->json);
	cop_mem_free(share);
	return err;
}

static void put_names(page *p)
{
	char key[24];
	const cop_preparation *preparation = p->model->preparation;
	cop_json_key(p->json, "names");
	cop_json_begin_object(p->json);
	for (size_t j = 0; j < cop_trees_features(p->model->trees); j++) {
		if (p->named[j] == 0)
			continue;
		(void)snprintf(key, sizeof key, "%zu", j);
		p->text.length = 0;
		cop_tree_words_clean(cop_preparation_feature(preparation, j), &p->text);
		put_text(p, key);
	}
	cop_json_end_object(p->json);
}

static void put_classes(page *p)
{
	const cop_preparation *preparation = p->model->preparation;
	cop_tree_words words = { .preparation = preparation };
	if (cop_preparation_classes(preparation) == 0)
		return;
	cop_json_key(p->json, "classes");
	cop_json_begin_array(p->json);
	for (size_t k = 0; k < cop_preparation_classes(preparation); k++) {
		p->text.length = 0;
		cop_tree_words_output(&words, k, &p->text);
		put_text(p, NULL);
	}
	cop_json_end_array(p->json);
}

static cop_err put_data(page *p, size_t trees)
{
	cop_json_begin_object(p->json);
	cop_json_put_unsigned(p->json, "outputs", cop_trees_outputs(p->model->trees));
	cop_json_key(p->json, "part");
	cop_json_boolean(p->json, cop_trees_how(p->model->trees) == COP_TREES_SUM);
	put_classes(p);
	cop_json_key(p->json, "trees");
	cop_json_begin_array(p->json);
	for (size_t i = 0; i < trees && p->text.err == COP_OK; i++)
		put_tree(p, p->scope.from + i);
	cop_json_end_array(p->json);
	cop_err err = put_importance(p);
	if (err != COP_OK)
		return err;
	put_names(p);
	cop_json_end_object(p->json);
	return p->text.err;
}

/* ---- HTML ---- */

static void put_escaped(const char *text, size_t length, cop_bytes *out)
{
	for (size_t i = 0; i < length; i++) {
		const char *entity = text[i] == '<'   ? "&lt;"
		                     : text[i] == '>' ? "&gt;"
		                     : text[i] == '&' ? "&amp;"
		                     : text[i] == '"' ? "&quot;"
		                                      : NULL;
		if (entity != NULL)
			cop_bytes_put(out, entity, strlen(entity));
		else
			cop_bytes_put(out, &text[i], 1);
	}
}

static void put_html(cop_bytes *out, const char *html) { cop_bytes_put(out, html, strlen(html)); }

/* A model's text, with what could steer the reader made visible. */
static void put_words(page *p, const char *text, cop_bytes *out)
{
	p->text.length = 0;
	cop_tree_words_clean(text, &p->text);
	if (p->text.err == COP_OK)
		put_escaped((const char *)p->text.data, p->text.length, out);
}

static void put_head(page *p, cop_bytes *out)
{
	put_html(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	              "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	              "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	put_words(p, p->scope.title, out);
	put_html(out, "</title>\n<style>\n");
	cop_bytes_put(out, cop_view_page_css, cop_view_page_css_length);
	put_html(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
	put_words(p, p->scope.title, out);
	put_html(out, "</h1>\n<p class=\"soft\">");
	size_t classes = cop_preparation_classes(p->model->preparation), count = cop_trees_count(p->model->trees);
	put_words(p, p->model->learner, out);
	put_html(out, ": ");
	put_words(p, cop_preparation_target(p->model->preparation), out);
	if (classes > 0)
		cop_tree_words_put(out, ", one of %zu classes,", classes);
	cop_tree_words_put(out, " from %zu features; %zu tree%s, %zu parameters</p>\n</header>\n",
	        cop_trees_features(p->model->trees), count, count == 1 ? "" : "s",
	        cop_trees_parameters(p->model->trees));
}

/* The same as text, when it is not too long. */
static void put_without_scripts(page *p, cop_bytes *out)
{
	size_t before = p->text.length = 0;
	for (size_t i = p->scope.from; i < p->scope.to && p->text.length < MOST_TEXT; i++) {
		cop_tree_words words = cop_tree_words_of(p->model, i, p->scope.top);
		before = p->text.length;
		if (cop_tree_leaves(words.tree) <= MOST_TEXT / 64)
			cop_tree_text(&words, &p->text);
	}
	put_html(out, "<noscript>\n<p>The picture needs scripts, which are off.</p>\n<pre>");
	if (p->text.err == COP_OK)
		put_escaped((const char *)p->text.data, p->text.length < MOST_TEXT ? p->text.length : before, out);
	put_html(out, "</pre>\n</noscript>\n");
}

static void put_about(page *p, cop_bytes *out)
{
	put_html(out, "<details>\n<summary>About this model</summary>\n<dl>\n");
	p->text.length = 0;
	cop_view_summary(p->model, &p->scope, "", &p->text);
	if (p->text.err != COP_OK)
		return;
	for (size_t from = 0, i = 0; i < p->text.length; i++) {
		if (p->text.data[i] != '\n')
			continue;
		const char *line = (const char *)p->text.data + from, *colon = memchr(line, ':', i - from);
		size_t key = colon == NULL ? 0 : (size_t)(colon - line);
		put_html(out, "<dt>");
		put_escaped(line, key, out);
		put_html(out, "</dt><dd>");
		put_escaped(line + key + (key > 0), i - from - key - (key > 0), out);
		put_html(out, "</dd>\n");
		from = i + 1;
	}
	put_html(out, "</dl>\n<div id=\"importance\"></div>\n</details>\n");
}

static void put_body(page *p, size_t trees, cop_bytes *out)
{
	put_html(out, "<main>\n<div class=\"bar\">\n"
	              "<label id=\"pick\"><span>Tree</span> <select id=\"tree\"></select></label>\n"
	              "<button type=\"button\" id=\"open\">Open all</button>\n"
	              "<button type=\"button\" id=\"close\">Close</button>\n"
	              "<button type=\"button\" id=\"layout\">As outline</button>\n"
	              "<button type=\"button\" class=\"icon\" id=\"out\" aria-label=\"Smaller\">−</button>\n"
	              "<span id=\"zoom\">100 %</span>\n"
	              "<button type=\"button\" class=\"icon\" id=\"in\" aria-label=\"Larger\">+</button>\n"
	              "<button type=\"button\" id=\"fit\">Fit</button>\n</div>\n");
	if (trees < p->scope.to - p->scope.from)
		cop_tree_words_put(out, "<p>The first %zu of %zu trees are on this page.</p>\n", trees,
		        p->scope.to - p->scope.from);
	put_html(out, "<ul id=\"legend\" class=\"legend\"></ul>\n<div class=\"stage\">\n<div id=\"scroll\"></div>\n"
	              "<section id=\"detail\" aria-label=\"What is chosen\" aria-live=\"polite\"></section>\n</div>\n"
	              "<p id=\"status\" role=\"status\" class=\"soft\"></p>\n"
	              "<p class=\"soft keys\">Arrow keys: up and down go through the tree, right opens, left closes or "
	              "goes to the parent; * opens everything below. Drag to move the picture.</p>\n");
	if (p->scope.sums)
		put_html(out,
		        "<p class=\"soft\">Sums are over prepared (scaled) features; splits of one feature are in "
		        "the file’s own units.</p>\n");
	put_without_scripts(p, out);
	put_about(p, out);
	put_html(out, "</main>\n<script type=\"application/json\" id=\"data\">");
}

/* JSON whose only < are inside strings. */
static void put_inert(const char *json, size_t length, cop_bytes *out)
{
	for (size_t from = 0; from < length;) {
		const char *angle = memchr(json + from, '<', length - from);
		size_t to = angle == NULL ? length : (size_t)(angle - json);
		cop_bytes_put(out, json + from, to - from);
		if (angle != NULL)
			put_html(out, "\\u003c");
		from = to + 1;
	}
}

static cop_err put_page(page *p, cop_bytes *out)
{
	const char *json;
	size_t length, trees = trees_that_fit(p);
	cop_err err = put_data(p, trees);
	if (err == COP_OK)
		err = cop_json_writer_finish(p->json, &json, &length);
	if (err != COP_OK)
		return err;
	put_head(p, out);
	put_body(p, trees, out);
	put_inert(json, length, out);
	put_html(out, "</script>\n<script>\n");
	cop_bytes_put(out, cop_view_page_js, cop_view_page_js_length);
	put_html(out, "</script>\n</body>\n</html>\n");
	return p->text.err != COP_OK ? p->text.err : out->err;
}

cop_err cop_view_html(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out)
{
	page p = { .model = model };
	cop_err err = cop_view_begin(model, settings, &p.scope);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&p.text);
	p.named = cop_mem_alloc(cop_trees_features(model->trees), sizeof *p.named);
	p.values = cop_mem_alloc(cop_trees_outputs(model->trees), sizeof *p.values);
	p.rates = cop_mem_alloc(cop_trees_outputs(model->trees), sizeof *p.rates);
	err = p.named == NULL || p.values == NULL || p.rates == NULL ? COP_ENOMEM
	                                                             : cop_json_writer_new(COP_JSON_COMPACT, &p.json);
	if (err == COP_OK)
		err = put_page(&p, out);
	cop_json_writer_free(p.json);
	cop_mem_free(p.named);
	cop_mem_free(p.values);
	cop_mem_free(p.rates);
	cop_bytes_fini(&p.text);
	return err;
}

/* The page is made of its style sheet, the model as JSON in an element that is no script, and a script that draws it.
 * Everything that comes from the model goes through that JSON, in which < is written as an escape, or is escaped for
 * HTML; the script puts texts into the page as texts. The page's policy lets it load nothing. */
#include <string.h>

#include "base/mem.h"
#include "view/tree_text.h"
#include "view/view.h"
#include "view/view_draw.h"
#include "view/view_frame.h"

#define MOST_PLACES    200000 /* nodes and leaves of a page, but for its first tree */
#define MOST_IMPORTANT 16
#define MOST_TEXT      ((size_t)64 << 10) /* for readers without scripts */

typedef struct page {
	const cop_trained *model;
	cop_view_scope scope;
	cop_view_drawing drawing;
	cop_bytes text; /* words on their way into the JSON, or the page */
	cop_json_writer *json;
} page;

/* ---- the data ---- */

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
	size_t count = err == COP_OK ? cop_tree_phrases_commonest(d, share, MOST_IMPORTANT, place) : 0;
	cop_json_put_array(p->json, "importance");
	for (size_t i = 0; i < count; i++) {
		cop_view_draw_pair(&p->drawing, place[i], share[place[i]]);
		p->drawing.named[place[i]] = 1;
	}
	cop_json_end_array(p->json);
	cop_mem_free(share);
	return err;
}

static void put_classes(page *p)
{
	const cop_encoder *preparation = p->model->preparation;
	cop_tree_phrases words = { .preparation = preparation };
	if (cop_encoder_classes(preparation) == 0)
		return;
	cop_json_put_array(p->json, "classes");
	for (size_t k = 0; k < cop_encoder_classes(preparation); k++) {
		p->text.length = 0;
		cop_tree_phrases_output(&words, k, &p->text);
		cop_json_text_length(p->json, (const char *)p->text.data, p->text.length);
	}
	cop_json_end_array(p->json);
}

static cop_err put_data(page *p, size_t trees)
{
	cop_json_begin_object(p->json);
	cop_json_put_unsigned(p->json, "outputs", cop_trees_outputs(p->model->trees));
	cop_json_put_boolean(p->json, "part", cop_trees_adds(p->model->trees));
	put_classes(p);
	cop_json_put_array(p->json, "trees");
	for (size_t i = p->scope.from; i < p->scope.from + trees && p->drawing.text.err == COP_OK; i++) {
		const cop_tree_phrases words = cop_tree_phrases_of(p->model, i, p->scope.top);
		const cop_view_label label = { .number = i, .weight = cop_trees_weight(p->model->trees, i) };
		cop_view_draw_tree(&p->drawing, &words, &label);
	}
	cop_json_end_array(p->json);
	cop_err err = put_importance(p);
	if (err != COP_OK)
		return err;
	const cop_tree_phrases words = { .preparation = p->model->preparation };
	cop_view_draw_names(&p->drawing, &words);
	cop_json_end_object(p->json);
	return p->drawing.text.err != COP_OK ? p->drawing.text.err : p->text.err;
}

/* ---- HTML ---- */

static void put_html(cop_bytes *out, const char *html) { cop_bytes_put(out, html, strlen(html)); }

static void put_head(page *p, cop_bytes *out)
{
	cop_view_frame_head(p->scope.title, out);
	put_html(out, "<p class=\"soft\">");
	size_t classes = cop_encoder_classes(p->model->preparation), count = cop_trees_count(p->model->trees);
	cop_view_frame_words(p->model->learner, out);
	put_html(out, ": ");
	cop_view_frame_words(cop_encoder_target(p->model->preparation), out);
	if (classes > 0)
		cop_tree_phrases_put(out, ", one of %zu classes,", classes);
	cop_tree_phrases_put(out, " from %zu features; %zu tree%s, %zu parameters</p>\n</header>\n",
	        cop_trees_features(p->model->trees), count, count == 1 ? "" : "s",
	        cop_trees_parameters(p->model->trees));
}

/* The same as text, when it is not too long. */
static void put_without_scripts(page *p, cop_bytes *out)
{
	size_t before = p->text.length = 0;
	for (size_t i = p->scope.from; i < p->scope.to && p->text.length < MOST_TEXT; i++) {
		cop_tree_phrases words = cop_tree_phrases_of(p->model, i, p->scope.top);
		before = p->text.length;
		if (cop_tree_leaves(words.tree) <= MOST_TEXT / 64)
			cop_tree_text(&words, &p->text);
	}
	put_html(out, "<noscript>\n<p>The picture needs scripts, which are off.</p>\n<pre>");
	if (p->text.err == COP_OK)
		cop_view_frame_escaped(
		        (const char *)p->text.data, p->text.length < MOST_TEXT ? p->text.length : before, out);
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
		cop_view_frame_escaped(line, key, out);
		put_html(out, "</dt><dd>");
		cop_view_frame_escaped(line + key + (key > 0), i - from - key - (key > 0), out);
		put_html(out, "</dd>\n");
		from = i + 1;
	}
	put_html(out, "</dl>\n<div id=\"importance\"></div>\n</details>\n");
}

static void put_body(page *p, size_t trees, cop_bytes *out)
{
	put_html(out, "<main>\n");
	cop_view_frame_bar(out);
	if (trees < p->scope.to - p->scope.from)
		cop_tree_phrases_put(out, "<p>The first %zu of %zu trees are on this page.</p>\n", trees,
		        p->scope.to - p->scope.from);
	cop_view_frame_stage(out);
	if (p->scope.sums)
		put_html(out,
		        "<p class=\"soft\">Sums are over prepared (scaled) features; splits of one feature are in "
		        "the file’s own units.</p>\n");
	put_without_scripts(p, out);
	put_about(p, out);
	put_html(out, "</main>\n");
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
	cop_view_frame_scripts(json, length, out);
	put_html(out, "</body>\n</html>\n");
	return p->text.err != COP_OK ? p->text.err : out->err;
}

cop_err cop_view_html(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out)
{
	page p = { .model = model };
	cop_err err = cop_view_begin(model, settings, &p.scope);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&p.text);
	err = cop_view_draw_init(&p.drawing, cop_trees_features(model->trees), cop_trees_outputs(model->trees));
	p.drawing.classes = cop_encoder_classes(model->preparation) > 0;
	if (err == COP_OK)
		err = cop_json_writer_new(COP_JSON_COMPACT, &p.json);
	p.drawing.json = p.json;
	if (err == COP_OK)
		err = put_page(&p, out);
	cop_json_writer_free(p.json);
	cop_view_draw_fini(&p.drawing);
	cop_bytes_fini(&p.text);
	return err;
}

/* A model's section is HTML that needs no script; trees are objects for the script of trained models' pages
 * (lib/view/view_page.js), one list for all models. Values of leaves are such that the largest is the best arm. */
#include "online/model_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "online/model_page_trees.h"
#include "learn/anatomy.h"
#include "view/view_frame.h"

#define MOST_ARMS  24 /* of a linear term */
#define USUAL_TOP  8
#define MOST_SPLIT 12 /* features of a forest */
#define NAME_ROOM  (2 * COP_MODEL_PAGE_NAME_ROOM + 8)

/* ---- begin and end ---- */

cop_err cop_model_page_begin(cop_model_page *page)
{
	cop_bytes_init(&page->sections);
	cop_bytes_init(&page->text);
	page->top = page->top == 0 ? USUAL_TOP : page->top;
	page->trees = page->places = 0;
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &page->json);
	if (err != COP_OK)
		return err;
	cop_json_begin_object(page->json);
	cop_json_put_unsigned(page->json, "outputs", 1);
	cop_json_put_boolean(page->json, "part", false);
	cop_json_put_array(page->json, "trees");
	return COP_OK;
}

void cop_model_page_fini(cop_model_page *page)
{
	cop_bytes_fini(&page->sections);
	cop_bytes_fini(&page->text);
	cop_json_writer_free(page->json);
}

static void put(cop_bytes *out, const char *html) { cop_bytes_put(out, html, strlen(html)); }

static void put_stage(cop_model_page *page, cop_bytes *out)
{
	put(out, "<section>\n<h2>Trees</h2>\n<p class=\"soft\">Sums are over standardised features. A leaf of a model "
	         "with "
	         "arms names the arm that it favours most, and by how much.</p>\n");
	cop_view_frame_bar(out);
	cop_view_frame_stage(out);
	put(out, "<noscript>\n<p>The picture needs scripts, which are off.</p>\n<pre>");
	cop_view_frame_escaped((const char *)page->text.data, page->text.length, out);
	put(out, "</pre>\n</noscript>\n</section>\n");
}

cop_err cop_model_page_put(cop_model_page *page, const char *title, const char *about, cop_bytes *out)
{
	const char *json;
	size_t length;
	cop_json_end_array(page->json);
	cop_json_put_object(page->json, "names");
	cop_json_end_object(page->json);
	cop_json_end_object(page->json);
	cop_err err = cop_json_writer_finish(page->json, &json, &length);
	if (err != COP_OK)
		return err;
	cop_view_frame_head(title, out);
	put(out, "<p class=\"soft\">");
	cop_view_frame_words(about, out);
	put(out, "</p>\n</header>\n<main>\n");
	cop_bytes_put(out, page->sections.data, page->sections.length);
	if (page->trees > 0)
		put_stage(page, out);
	put(out, "</main>\n");
	if (page->trees > 0)
		cop_view_frame_scripts(json, length, out);
	put(out, "</body>\n</html>\n");
	err = page->sections.err != COP_OK ? page->sections.err : page->text.err;
	return err != COP_OK ? err : out->err;
}

/* ---- tables ---- */

/* Left or right of the middle by its sign. */
static void put_meter(double share, bool is_signed, cop_bytes *out)
{
	double width = (is_signed ? 50.0 : 100.0) * fmin(fabs(share), 1.0);
	double left = !is_signed ? 0.0 : share < 0.0 ? 50.0 - width : 50.0;
	cop_tree_phrases_put(out,
	        "<td class=\"b\"><span class=\"meter\"><b class=\"%s\" "
	        "style=\"left:%.1f%%;width:%.1f%%\"></b></span></td>",
	        share < 0.0 ? "down" : "up", left, width);
}

static void put_row(const char *name, double share, bool is_signed, double value, cop_bytes *out)
{
	put(out, "<tr><td>");
	cop_view_frame_words(name, out);
	put(out, "</td>");
	put_meter(share, is_signed, out);
	cop_tree_phrases_put(out, "<td class=\"n\">%.4g</td></tr>\n", value);
}

static void put_fact(const char *key, const char *value, cop_bytes *out)
{
	put(out, "<dt>");
	cop_view_frame_words(key, out);
	put(out, "</dt><dd>");
	cop_view_frame_words(value, out);
	put(out, "</dd>\n");
}

static void put_facts(cop_model *model, const cop_model_page_names *names, cop_bytes *out)
{
	const cop_learner_settings *s = &cop_model_get_settings(model)->learner;
	const cop_model_counters *c = cop_model_get_counters(model);
	char text[160];
	put(out, "<dl>\n");
	put_fact("learner", s->learner, out);
	if (s->features > 0)
		(void)snprintf(text, sizeof text, "%zu", s->features);
	else if (names->places == NULL)
		(void)snprintf(text, sizeof text, "sparse, 2^%u places", s->bits);
	else
		(void)snprintf(text, sizeof text, "sparse, 2^%u places, %zu names kept, %" PRIu64 " given up", s->bits,
		        cop_place_names_count(names->places), cop_place_names_given_up(names->places));
	put_fact("features", text, out);
	if (s->arms > 0) {
		(void)snprintf(text, sizeof text, "%zu", s->arms);
		put_fact("arms", text, out);
	}
	if (s->policy[0] != '\0')
		put_fact("policy", s->policy, out);
	(void)snprintf(text, sizeof text, "%" PRIu64 ", %" PRIu64 " learned from", c->decisions, c->learned);
	put_fact("decisions", text, out);
	if (c->learned > 0) {
		(void)snprintf(text, sizeof text, "%.6g", c->loss_sum / (double)c->learned);
		put_fact("mean loss", text, out);
	}
	put(out, "</dl>\n");
}

/* ---- experts ---- */

static void put_kind(const cop_anatomy_part *part, cop_bytes *out)
{
	if (part->resting)
		put(out, "resting");
	else if (part->forest != NULL)
		cop_tree_phrases_put(
		        out, "%zu trees, %zu leaves", cop_forest_count(part->forest), cop_forest_leaves(part->forest));
	else if (part->trees > 0)
		cop_tree_phrases_put(out, "%zu tree%s%s", part->trees, part->trees == 1 ? "" : "s",
		        part->linear.weights != NULL ? " and a linear term" : "");
	else if (part->refit || part->fitted != NULL)
		put(out, "trees of a batch fit");
	else if (part->linear.inputs > part->linear.plain)
		put(out, "linear, with products");
	else
		put(out, "linear");
}

static void put_experts(const cop_anatomy_part *parts, size_t count, cop_bytes *out)
{
	double most = 0.0;
	for (size_t i = 0; i < count; i++)
		most = fmax(most, fabs(parts[i].weight));
	put(out, "<h3>Experts and their weights in the mixture</h3>\n<div class=\"box wide\"><table><tbody>\n");
	for (size_t i = 0; i < count; i++) {
		cop_tree_phrases_put(out, "<tr%s><td class=\"k\">", parts[i].resting ? " class=\"soft\"" : "");
		cop_view_frame_words(parts[i].name, out);
		put(out, "</td><td>");
		put_kind(&parts[i], out);
		put(out, "</td>");
		put_meter(most > 0.0 ? parts[i].weight / most : 0.0, true, out);
		cop_tree_phrases_put(out, "<td class=\"n\">%.4f</td></tr>\n", parts[i].weight);
	}
	put(out, "</tbody></table></div>\n");
}

/* ---- linear terms ---- */

static const char *unit_text(cop_anatomy_unit unit)
{
	static const char *const texts[] = {
		[COP_ANATOMY_LOSS] = "What a standardised feature adds to the predicted loss: below 0 speaks for it.",
		[COP_ANATOMY_LOGIT] =
		        "What a standardised feature adds to the log odds of a low loss: above 0 speaks for it.",
		[COP_ANATOMY_VALUE] = "What a standardised feature adds to the value, as a share of its range.",
	};
	return texts[unit];
}

static double weight_of(const cop_anatomy_linear *l, size_t i, size_t k)
{
	double scale = i >= l->plain ? (double)l->product_scale : 1.0;
	return scale * (double)l->weights[i * l->step + k * l->jump];
}

/* The heaviest of an output, by size; how many, and how many there are beside them. */
static size_t find_heaviest(
        const cop_anatomy_linear *l, size_t k, size_t most, size_t input[COP_TREE_PHRASES_MOST], size_t *others)
{
	size_t count = 0, present = 0;
	for (size_t i = 0; i < l->inputs; i++) {
		double size = fabs(weight_of(l, i, k));
		present += size > 0.0;
		if (!(size > (count == most ? fabs(weight_of(l, input[most - 1], k)) : 0.0)))
			continue;
		size_t at = count < most ? count++ : most - 1;
		for (; at > 0 && fabs(weight_of(l, input[at - 1], k)) < size; at--)
			input[at] = input[at - 1];
		input[at] = i;
	}
	*others = present - count;
	return count;
}

typedef struct linear_view {
	const cop_model_page *page;
	const cop_learner *learner;
	const cop_model_page_names *names;
	const cop_anatomy_linear *linear;
} linear_view;

static void put_output(const linear_view *v, size_t k, const char *heading, cop_bytes *out)
{
	size_t input[COP_TREE_PHRASES_MOST], others;
	size_t count = find_heaviest(v->linear, k, v->page->top, input, &others);
	put(out, "<div class=\"box\">");
	if (heading[0] != '\0') {
		put(out, "<h4>");
		cop_view_frame_words(heading, out);
		put(out, "</h4>");
	}
	put(out, "<table><tbody>\n");
	double most = count > 0 ? fabs(weight_of(v->linear, input[0], k)) : 1.0;
	for (size_t i = 0; i < count; i++) {
		char name[NAME_ROOM];
		double w = weight_of(v->linear, input[i], k);
		cop_model_page_names_input(v->names, v->learner, input[i], name, sizeof name);
		put_row(name, w / most, true, w, out);
	}
	put(out, "</tbody></table>");
	if (count == 0)
		put(out, "<p class=\"soft\">nothing learned</p>");
	if (others > 0)
		cop_tree_phrases_put(out, "<p class=\"soft\">%zu lighter ones are left out</p>", others);
	put(out, "</div>\n");
}

static void put_linear(const linear_view *v, const cop_anatomy_part *part, cop_bytes *out)
{
	size_t outputs = v->linear->outputs, shown = outputs < MOST_ARMS ? outputs : MOST_ARMS;
	put(out, "<h3>Linear term");
	put(out, part->linear.inputs > part->linear.plain ? " and products of " : " of ");
	cop_view_frame_words(part->name, out);
	cop_tree_phrases_put(out, "</h3>\n<p class=\"soft\">%s</p>\n<div class=\"grid\">\n", unit_text(part->unit));
	for (size_t k = 0; k < shown; k++) {
		char heading[NAME_ROOM] = "";
		if (outputs > 1)
			cop_model_page_names_arm(v->names, k, heading, sizeof heading);
		put_output(v, k, heading, out);
	}
	put(out, "</div>\n");
	if (shown < outputs)
		cop_tree_phrases_put(out, "<p class=\"soft\">%zu more arms are left out</p>\n", outputs - shown);
}

/* ---- forests ---- */

static cop_err put_forest(const linear_view *v, const cop_anatomy_part *part, cop_bytes *out)
{
	size_t d = v->names->contexts;
	uint32_t place[MOST_SPLIT];
	uint32_t *splits = cop_mem_alloc(d, sizeof *splits);
	double *share = cop_mem_alloc(d, sizeof *share);
	double sum = 0.0;
	cop_err err = splits == NULL || share == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK) {
		size_t used = 0;
		cop_forest_splits(part->forest, splits);
		for (size_t j = 0; j < d; j++) {
			share[j] = (double)splits[j];
			sum += share[j];
			used += splits[j] > 0;
		}
		size_t count = cop_tree_phrases_commonest(d, share, MOST_SPLIT, place);
		cop_tree_phrases_put(out,
		        "<h3>Forest</h3>\n<p class=\"soft\">%zu trees, %zu leaves, the deepest at %u; features that "
		        "split "
		        "most, and how often</p>\n<div class=\"box wide\"><table><tbody>\n",
		        cop_forest_count(part->forest), cop_forest_leaves(part->forest),
		        cop_forest_deepest(part->forest));
		for (size_t i = 0; i < count; i++) {
			char name[COP_MODEL_PAGE_NAME_ROOM];
			(void)cop_model_page_names_feature(v->names, place[i], name, sizeof name);
			put_row(name, share[place[i]] / share[place[0]], false, share[place[i]], out);
		}
		put(out, "</tbody></table>");
		if (used > count)
			cop_tree_phrases_put(out, "<p class=\"soft\">%zu more features are left out</p>", used - count);
		put(out, sum > 0.0 ? "</div>\n" : "<p class=\"soft\">no split yet</p></div>\n");
	}
	cop_mem_free(splits);
	cop_mem_free(share);
	return err;
}

cop_err cop_model_page_model(
        cop_model_page *page, const char *name, cop_model *model, const cop_model_page_names *names)
{
	cop_anatomy_part parts[COP_ANATOMY_PARTS];
	const cop_learner *learner = cop_model_learner(model);
	cop_bytes *out = &page->sections;
	cop_err err = COP_OK;
	size_t count = cop_learner_anatomy(learner, parts);
	put(out, "<section>\n<h2>");
	cop_view_frame_words(name != NULL ? name : "Model", out);
	put(out, "</h2>\n");
	put_facts(model, names, out);
	if (count > 1)
		put_experts(parts, count, out);
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		const linear_view v = { page, learner, names, &parts[i].linear };
		if (parts[i].linear.weights != NULL)
			put_linear(&v, &parts[i], out);
		if (parts[i].forest != NULL)
			err = put_forest(&v, &parts[i], out);
	}
	put(out, "</section>\n");
	return err == COP_OK ? cop_model_page_trees_draw(page, name, model, names) : err;
}

cop_err cop_model_page_saved(cop_model_page *page, const char *name, const cop_model_page_given *given,
        const void *data, size_t length, cop_diag *diag)
{
	cop_model *model;
	cop_model_page_names names = { .given = given };
	cop_err err = cop_model_open(data, length, &model, diag);
	if (err == COP_OK)
		err = cop_model_page_names_read(&names, &cop_model_get_settings(model)->learner, data, length, diag);
	if (err == COP_OK)
		err = cop_model_page_names_check(&names, &cop_model_get_settings(model)->learner, diag);
	if (err == COP_OK) {
		err = cop_model_page_model(page, name, model, &names);
		if (err == COP_ENOTFOUND)
			cop_diag_message(diag, "no tree %" PRIu64 ", the model has %zu, counted from 0",
			        page->only_tree, cop_learner_trees(cop_model_learner(model)));
		else if (err != COP_OK)
			cop_diag_message(diag, "%s", cop_err_text(err));
	}
	cop_model_page_names_fini(&names);
	cop_model_free(model);
	return err;
}

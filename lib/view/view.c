/* Each format is a row of a table. The others of these functions are what the formats share: default settings and
 * the lines of a summary. */
#include "view/view.h"

#include <string.h>

#include "view/tree_phrases.h"

#define USUAL_TOP 4

static const cop_view views[] = {
	{ "text", "indented text", cop_view_text },
	{ "rules", "one if-then rule for each leaf", cop_view_rules },
	{ "json", "everything, for programs", cop_view_json },
	{ "dot", "for Graphviz", cop_view_dot },
	{ "html", "a page that needs nothing else, for keyboard, mouse and touch", cop_view_html },
	{ "c", "C99 source of a function that predicts", cop_view_c },
};

const cop_view *cop_view_at(size_t i) { return i < sizeof views / sizeof *views ? &views[i] : NULL; }

const cop_view *cop_view_find(const char *name)
{
	for (size_t i = 0; cop_view_at(i) != NULL; i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

/* Is there a sum of several features? */
static bool has_sums(const cop_tree *tree)
{
	const cop_tree_parts *parts = cop_tree_view(tree);
	if (parts->facets.count > 0)
		return true;
	for (size_t t = 0; t < parts->nodes.count; t++)
		if (parts->nodes.start[t + 1] - parts->nodes.start[t] > 1)
			return true;
	return !cop_tree_constant_leaves(tree);
}

cop_err cop_view_begin(const cop_trained *model, const cop_view_settings *settings, cop_view_scope *scope)
{
	size_t count = cop_trees_count(model->trees);
	bool all = settings->tree == COP_VIEW_ALL;
	*scope = (cop_view_scope){ .from = all ? 0 : settings->tree,
		.to = all ? count : settings->tree + 1,
		.top = settings->top == 0 ? USUAL_TOP : settings->top,
		.title = settings->title == NULL ? "model" : settings->title };
	if (!all && settings->tree >= count)
		return COP_ENOTFOUND;
	if (scope->top > COP_TREE_PHRASES_MOST)
		return COP_EINVAL;
	for (size_t i = scope->from; i < scope->to && !scope->sums; i++)
		scope->sums = has_sums(cop_trees_at(model->trees, i));
	return COP_OK;
}

static void put_line(const char *prefix, const char *key, const char *text, cop_bytes *out)
{
	cop_tree_phrases_put(out, "%s%s: ", prefix, key);
	cop_tree_phrases_clean(text, out);
	cop_tree_phrases_put(out, "\n");
}

/* What the sum starts from, in the file's unit. */
static void put_base(const cop_trained *model, const char *prefix, cop_bytes *out)
{
	cop_tree_phrases_put(out, "%sbase:", prefix);
	for (size_t k = 0; k < cop_trees_outputs(model->trees); k++) {
		double base = cop_trees_base(model->trees)[k];
		bool values = cop_encoder_classes(model->preparation) == 0;
		cop_tree_phrases_put(out, " ");
		cop_tree_phrases_number(values ? cop_encoder_from_scale(model->preparation, base) : base, out);
	}
	cop_tree_phrases_put(out, "\n");
}

void cop_view_summary(const cop_trained *model, const cop_view_scope *scope, const char *prefix, cop_bytes *out)
{
	static const char *const rules[COP_TREES_RULES] = { "mean", "vote", "sum", "latent", "softmax" };
	const cop_encoder *preparation = model->preparation;
	size_t count = cop_trees_count(model->trees), classes = cop_encoder_classes(preparation);
	put_line(prefix, "model", scope->title, out);
	put_line(prefix, "learner", model->learner, out);
	if (model->settings[0] != '\0')
		put_line(prefix, "settings", model->settings, out);
	cop_tree_phrases_put(out, "%spredicts: ", prefix);
	cop_tree_phrases_clean(cop_encoder_target(preparation), out);
	if (classes > 0)
		cop_tree_phrases_put(out, ", one of %zu classes", classes);
	else if (cop_trees_outputs(model->trees) > 1)
		cop_tree_phrases_put(out, ", %zu values", cop_trees_outputs(model->trees));
	cop_tree_phrases_put(out, ", from %zu features\n", cop_trees_features(model->trees));
	cop_tree_phrases_put(out, "%strees: %zu", prefix, count);
	if (count > 1)
		cop_tree_phrases_put(out, ", whose weighted %s is predicted", rules[cop_trees_how(model->trees)]);
	if (cop_trees_latent(model->trees) != NULL)
		cop_tree_phrases_put(
		        out, ", the splits of a latent tree, which predicts by how far a row reaches its nodes");
	cop_tree_phrases_put(out, "; %zu parameters\n", cop_trees_parameters(model->trees));
	size_t facets = 0;
	for (size_t i = scope->from; i < scope->to; i++)
		facets += cop_tree_facets(cop_trees_at(model->trees, i));
	if (facets > 0)
		cop_tree_phrases_put(out, "%sfacets: %zu, of which s(z) = ln(1 + e^z) is summed up\n", prefix, facets);
	if (cop_trees_adds(model->trees))
		put_base(model, prefix, out);
	if (scope->sums)
		cop_tree_phrases_put(out,
		        "%sunits: sums are over prepared (scaled) features; single features are as in the file\n",
		        prefix);
}

/* At most OF_EACH trees of a part are drawn. The first tree of a page is always drawn; a later one only if the page
 * stays within MOST_PLACES nodes and leaves. */
#include "online/model_page_trees.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "learn/anatomy.h"
#include "learn/refit.h"
#include "view/tree_text.h"

#define OF_EACH     2      /* trees of a part */
#define MOST_PLACES 100000 /* nodes and leaves of a page, but for its first tree */
#define MOST_TEXT   ((size_t)64 << 10)
#define TOP         4 /* heaviest features of a node */
#define ARM_ROOM    256

typedef struct drawer {
	cop_model_page *page;
	const char *model; /* NULL: it has no name */
	const cop_learner *learner;
	const cop_model_page_names *names;
	cop_model_page_name_list features, candidates;
	const char **arms;
	char (*arm_texts)[ARM_ROOM];
	size_t outputs;
} drawer;

static cop_err name_arms(drawer *w)
{
	w->arms = cop_mem_alloc(w->outputs, sizeof *w->arms);
	w->arm_texts = cop_mem_alloc(w->outputs, sizeof *w->arm_texts);
	if (w->arms == NULL || w->arm_texts == NULL)
		return COP_ENOMEM;
	for (size_t k = 0; k < w->outputs; k++) {
		cop_model_page_names_arm(w->names, k, w->arm_texts[k], ARM_ROOM);
		w->arms[k] = w->arm_texts[k];
	}
	return COP_OK;
}

static void drawer_fini(drawer *w)
{
	cop_model_page_names_list_free(&w->features);
	cop_model_page_names_list_free(&w->candidates);
	cop_mem_free(w->arms);
	cop_mem_free(w->arm_texts);
}

/* The names of the features of trees that look at d of them. */
static cop_err know_features(drawer *w, size_t d)
{
	if (w->features.name != NULL && w->features.count == d)
		return COP_OK;
	cop_model_page_names_list_free(&w->features);
	return cop_model_page_names_list(w->names, 0, d, &w->features);
}

/* Names of a tree's outputs: arms, or, where leaves are linear in the candidate, its features and the constant. */
static cop_err know_outputs(drawer *w, size_t outputs, const char *const **out)
{
	*out = w->arms;
	if (outputs == w->outputs)
		return COP_OK;
	cop_model_page_names_list_free(&w->candidates);
	cop_err err = cop_model_page_names_list(w->names, w->names->contexts, outputs, &w->candidates);
	if (err == COP_OK)
		w->candidates.name[outputs - 1] = "constant";
	*out = w->candidates.name;
	return err;
}

static cop_err draw(drawer *w, const cop_tree *tree, const char *part, size_t number)
{
	char name[160];
	cop_view_drawing drawing;
	cop_model_page *page = w->page;
	size_t places = 2 * cop_tree_leaves(tree);
	if (page->trees > 0 && page->places + places > MOST_PLACES)
		return COP_OK;
	const cop_tree_parts *parts = cop_tree_view(tree);
	cop_tree_phrases words = { .tree = tree, .features = w->features.name, .top = TOP };
	cop_err err = know_outputs(w, parts->outputs, &words.outputs);
	if (err != COP_OK)
		return err;
	(void)snprintf(name, sizeof name, "%s%s%s %zu", w->model != NULL ? w->model : "", w->model != NULL ? ": " : "",
	        part, number);
	err = cop_view_draw_init(&drawing, parts->d, parts->outputs);
	drawing.json = page->json;
	const cop_view_label label = { .number = number, .name = name, .weight = 1.0, .own_names = true };
	if (err == COP_OK) {
		cop_view_draw_tree(&drawing, &words, &label);
		err = drawing.text.err;
	}
	cop_view_draw_fini(&drawing);
	if (page->text.length < MOST_TEXT && cop_tree_leaves(tree) <= MOST_TEXT / 256) {
		cop_tree_phrases_put(&page->text, "%s\n", name);
		cop_tree_text(&words, &page->text);
	}
	page->trees++;
	page->places += places;
	return err;
}

/* Without the weights of places whose features are not known: those are as they were drawn at the start. */
static cop_err draw_oblique(drawer *w, cop_oblique_tree *oblique, const char *part, size_t number)
{
	cop_tree *tree = NULL;
	cop_err err = know_features(w, cop_oblique_tree_features(oblique));
	if (err == COP_OK && w->names->places != NULL && w->names->given[COP_MODEL_PAGE_FEATURES].count == 0)
		for (size_t t = 0; t < cop_oblique_tree_nodes(oblique); t++)
			for (size_t j = 0; j < w->features.count; j++)
				if (w->features.known[j] == 0)
					cop_oblique_tree_weights(oblique, t)[j] = 0.0F;
	if (err == COP_OK)
		err = cop_tree_from_oblique(oblique, COP_TREE_VALUES, &tree);
	if (err == COP_OK)
		err = draw(w, tree, part, number);
	cop_tree_free(tree);
	return err;
}

static cop_err draw_obliques(drawer *w, const cop_anatomy_part *part)
{
	uint64_t only = w->page->only_tree;
	cop_err err = COP_OK;
	for (size_t m = 0; m < part->trees && err == COP_OK; m++) {
		cop_oblique_tree *oblique;
		if (only == UINT64_MAX ? m >= OF_EACH : part->first_tree + m != only)
			continue;
		err = cop_learner_tree(w->learner, part->first_tree + m, &oblique);
		if (err != COP_OK)
			return err;
		err = draw_oblique(w, oblique, part->name, part->first_tree + m);
		cop_oblique_tree_free(oblique);
	}
	return err;
}

static cop_err draw_forest(drawer *w, const cop_anatomy_part *part)
{
	cop_err err = know_features(w, w->names->contexts);
	for (size_t m = 0; m < cop_forest_count(part->forest) && m < OF_EACH && err == COP_OK; m++) {
		cop_tree *tree;
		err = cop_forest_tree(part->forest, m, &tree);
		if (err != COP_OK)
			return err;
		err = draw(w, tree, part->name, m);
		cop_tree_free(tree);
	}
	return err;
}

/* A tree whose leaves predict losses as one whose leaves' largest value is the best arm's. */
static cop_err turn_round(const cop_tree *tree, cop_tree **out)
{
	cop_tree_parts parts = *cop_tree_view(tree);
	size_t rows = parts.rows.count, entries = parts.rows.start[rows];
	float *bias = cop_mem_alloc(rows, sizeof *bias), *weight = cop_mem_alloc(entries, sizeof *weight);
	cop_err err = bias == NULL || weight == NULL ? COP_ENOMEM : COP_OK;
	for (size_t r = 0; err == COP_OK && r < rows; r++)
		bias[r] = -parts.rows.bias[r];
	for (size_t i = 0; err == COP_OK && i < entries; i++)
		weight[i] = -parts.rows.weight[i];
	parts.rows.bias = bias;
	parts.rows.weight = weight;
	if (err == COP_OK)
		err = cop_tree_new(&parts, out);
	cop_mem_free(bias);
	cop_mem_free(weight);
	return err;
}

static cop_err draw_refit(drawer *w, const cop_anatomy_part *part)
{
	const cop_trees *trees =
	        part->fitted != NULL ? part->fitted : cop_refit_trees(cop_learner_refitted(w->learner));
	cop_err err = trees == NULL ? COP_OK : know_features(w, cop_trees_features(trees));
	for (size_t m = 0; trees != NULL && m < cop_trees_count(trees) && m < OF_EACH && err == COP_OK; m++) {
		cop_tree *turned = NULL;
		if (part->unit != COP_ANATOMY_VALUE)
			err = turn_round(cop_trees_at(trees, m), &turned);
		if (err == COP_OK)
			err = draw(w, turned != NULL ? turned : cop_trees_at(trees, m), part->name, m);
		cop_tree_free(turned);
	}
	return err;
}

static cop_err draw_part(drawer *w, const cop_anatomy_part *part)
{
	bool any = w->page->only_tree == UINT64_MAX;
	cop_err err = draw_obliques(w, part);
	if (err == COP_OK && any && part->forest != NULL)
		err = draw_forest(w, part);
	if (err == COP_OK && any && (part->refit || part->fitted != NULL))
		err = draw_refit(w, part);
	return err;
}

cop_err cop_model_page_trees_draw(
        cop_model_page *page, const char *name, cop_model *model, const cop_model_page_names *names)
{
	const cop_model_settings *set = cop_model_get_settings(model);
	cop_anatomy_part parts[COP_ANATOMY_PARTS];
	drawer w = { .page = page,
		.model = name,
		.learner = cop_model_learner(model),
		.names = names,
		.outputs = set->learner.arms > 0 ? set->learner.arms : 1 };
	size_t count = cop_learner_anatomy(w.learner, parts);
	if (page->only_tree != UINT64_MAX && page->only_tree >= cop_learner_trees(w.learner))
		return COP_ENOTFOUND;
	cop_err err = name_arms(&w);
	for (size_t i = 0; i < count && err == COP_OK && page->trees < COP_MODEL_PAGE_TREES; i++)
		err = draw_part(&w, &parts[i]);
	drawer_fini(&w);
	return err;
}

/* What a model is and has done comes from its settings and counters; how much each expert counts from its explanation
 * of a row of zeros. */
#include "inspect_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "online/model_page.h"
#include "online/model.h"
#include "view/tree_json.h"
#include "view/tree_text.h"

#define TOP_WEIGHTS 4 /* of a node, in text */
#define NAME_ROOM   256

static cop_err fail(cop_err err, cop_diag *diag)
{
	cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

/* ---- one line or member each ---- */

static void show_text(const cop_inspect_view *v, const char *key, const char *text)
{
	if (v->json == NULL) {
		(void)fprintf(v->out, "  %-18s %s\n", key, text);
		return;
	}
	cop_json_put_text(v->json, key, text);
}

static void show_whole(const cop_inspect_view *v, const char *key, uint64_t whole)
{
	if (v->json == NULL) {
		(void)fprintf(v->out, "  %-18s %" PRIu64 "\n", key, whole);
		return;
	}
	cop_json_put_unsigned(v->json, key, whole);
}

static void show_number(const cop_inspect_view *v, const char *key, double number)
{
	if (v->json == NULL) {
		(void)fprintf(v->out, "  %-18s %.6g\n", key, number);
		return;
	}
	cop_json_key(v->json, key);
	cop_json_number(v->json, number);
}

static void show_range(const cop_inspect_view *v, const char *key, double low, double high)
{
	if (v->json == NULL) {
		(void)fprintf(v->out, "  %-18s %.6g to %.6g\n", key, low, high);
		return;
	}
	cop_json_put_array(v->json, key);
	cop_json_number(v->json, low);
	cop_json_number(v->json, high);
	cop_json_end_array(v->json);
}

/* Chosen ones; those that take part are listed with their weights. */
static void show_choice(const cop_inspect_view *v, unsigned experts)
{
	const char *between = "";
	if (v->json == NULL) {
		(void)fprintf(v->out, "  %-18s ", "chosen_experts");
	} else {
		cop_json_put_array(v->json, "chosen_experts");
	}
	for (size_t i = 0; cop_learner_expert_names[i] != NULL; i++) {
		if ((experts >> i & 1u) == 0)
			continue;
		if (v->json == NULL)
			(void)fprintf(v->out, "%s%s", between, cop_learner_expert_names[i]);
		else
			cop_json_text(v->json, cop_learner_expert_names[i]);
		between = ", ";
	}
	if (v->json == NULL)
		(void)fputc('\n', v->out);
	else
		cop_json_end_array(v->json);
}

/* Nothing where no arm has one. */
static void show_shares(const cop_inspect_view *v, const char *key, const cop_arm_shares *shares)
{
	if (shares->count == 0)
		return;
	if (v->json == NULL)
		(void)fprintf(v->out, "  %-18s", key);
	else
		cop_json_key(v->json, key);
	if (v->json != NULL)
		cop_json_begin_array(v->json);
	for (size_t i = 0; i < shares->count; i++) {
		if (v->json == NULL) {
			(void)fprintf(v->out, " %" PRIu32 "=%.6g", shares->arm[i], shares->share[i]);
			continue;
		}
		cop_json_begin_object(v->json);
		cop_json_put_unsigned(v->json, "arm", shares->arm[i]);
		cop_json_key(v->json, "share");
		cop_json_number(v->json, shares->share[i]);
		cop_json_end_object(v->json);
	}
	if (v->json == NULL)
		(void)fputc('\n', v->out);
	else
		cop_json_end_array(v->json);
}

static void show_exploration(const cop_inspect_view *v, const cop_learner_settings *s)
{
	if (s->exploration.first > 0)
		show_whole(v, "explore_first", s->exploration.first);
	if (strcmp(s->policy, "epsilon") != 0) {
		show_number(v, "gamma", s->exploration.gamma);
		return;
	}
	show_number(v, "epsilon", s->exploration.epsilon);
	show_number(v, "epsilon_decay", s->exploration.epsilon_decay);
	show_number(v, "epsilon_floor", s->exploration.epsilon_floor);
}

static void show_arm_settings(const cop_inspect_view *v, const cop_learner_settings *s)
{
	if (s->arms > 0) {
		show_whole(v, "arms", s->arms);
	} else {
		show_whole(v, "max_candidates", s->max_candidates);
		show_whole(v, "candidate_features", s->candidate_features);
	}
	show_text(v, "policy", s->policy);
	show_exploration(v, s);
	show_number(v, "least_propensity", s->exploration.shares.least_propensity);
	show_shares(v, "share_min", &s->exploration.shares.min);
	show_shares(v, "share_max", &s->exploration.shares.max);
	const cop_learner_class *class = cop_learner_find(s->learner);
	if (class->experts || class->candidates)
		show_number(v, "optimism", s->exploration.optimism);
	if (class->experts && s->experts != 0)
		show_choice(v, s->experts);
}

static void show_settings(const cop_inspect_view *v, const cop_model_settings *m)
{
	static const char *const rules[] = { "earliest", "last", "sum", "first" };
	const cop_learner_settings *s = &m->learner;
	show_text(v, "learner", s->learner);
	show_whole(v, "features", s->features);
	if (s->features == 0) {
		show_whole(v, "bits", s->bits);
		show_whole(v, "max_nonzeros", s->max_nonzeros);
	}
	if (cop_learner_find(s->learner)->fixed) {
		if (s->arms > 0)
			show_whole(v, "arms", s->arms);
	} else if (s->policy[0] != '\0') {
		show_arm_settings(v, s);
	} else {
		show_range(v, "value_range", m->value_low, m->value_high);
		show_number(v, "delta", s->delta);
		if (s->delta_decay > 0.0) {
			show_number(v, "delta_decay", s->delta_decay);
			show_number(v, "delta_floor", s->delta_floor);
		}
		show_text(v, "feedback", cop_value_feedback_words[s->feedback]);
	}
	if (!cop_learner_find(s->learner)->fixed) {
		show_whole(v, "height", s->height);
		show_number(v, "learning_rate", s->learning_rate);
		show_whole(v, "seed", s->seed);
	}
	show_number(v, "reward_window", m->reward_window);
	if (m->has_default_loss)
		show_number(v, "default_loss", m->default_loss);
	show_text(v, "reward", rules[m->reward]);
	show_range(v, "loss_range", m->loss_low, m->loss_high);
}

/* Words stand beside the other counters, without their common name. */
static void show_counters(const cop_inspect_view *v, cop_model *model)
{
	const cop_model_counters *c = cop_model_get_counters(model);
	show_whole(v, "rev", cop_model_learner(model)->rev);
	show_whole(v, "pending", cop_model_pending(model));
	for (size_t r = 0; r < COP_MODEL_COUNTERS; r++) {
		const cop_model_counter *row = &cop_model_counters_table[r];
		if (row->key != NULL && row->kind == COP_MODEL_COUNTER_WHOLE)
			show_whole(v, row->key, cop_model_counters_whole(c, row, 0));
		for (size_t i = 0; i < row->count; i++)
			show_whole(v, row->words[i], cop_model_counters_whole(c, row, i));
	}
	if (c->learned > 0)
		show_number(v, "mean_loss", c->loss_sum / (double)c->learned);
}

/* What a sparse model keeps of its features' names. */
static void show_names(const cop_inspect_view *v)
{
	const cop_place_names *n = v->named->places;
	if (n == NULL)
		return;
	if (v->json == NULL) {
		(void)fprintf(v->out, "  %-18s %zu, %zu bytes, %" PRIu64 " given up\n", "names",
		        cop_place_names_count(n), cop_place_names_used(n), cop_place_names_given_up(n));
		return;
	}
	cop_json_put_object(v->json, "names");
	show_whole(v, "kept", cop_place_names_count(n));
	show_whole(v, "bytes", cop_place_names_used(n));
	show_whole(v, "given_up", cop_place_names_given_up(n));
	cop_json_end_object(v->json);
}

static cop_err show_experts(const cop_inspect_view *v, cop_model *model, cop_diag *diag)
{
	const cop_learner_settings *s = &cop_model_get_settings(model)->learner;
	bool ranks = cop_model_learner(model)->class->candidates;
	float *zeros = cop_mem_alloc(s->features + s->candidate_features, sizeof *zeros);
	if (zeros == NULL)
		return fail(COP_ENOMEM, diag);
	static const uint32_t none[1] = { 0 };
	cop_row row = { .d = cop_learner_dimension(s), .value = zeros, .index = none };
	if (s->features != 0)
		row = (cop_row){ .d = row.d, .dense = zeros };
	cop_row candidate = row;
	candidate.d = cop_learner_candidate_dimension(s);
	cop_model_context nothing = { .x = &row, .candidate = ranks ? &candidate : NULL, .candidates = ranks };
	cop_decision decision;
	const cop_explanation *e;
	cop_err err = cop_model_explain_context(model, &nothing, &decision, &e);
	if (err != COP_OK) {
		cop_mem_free(zeros);
		return fail(err, diag);
	}
	if (v->json != NULL)
		cop_json_put_array(v->json, "experts");
	for (size_t i = 0; i < e->expert_count; i++) {
		const cop_explained_expert *expert = &e->experts[i];
		if (v->json == NULL) {
			(void)fprintf(v->out, "  %-18s %s: weight %.6f", i == 0 ? "experts" : "", expert->name,
			        expert->weight);
			if (expert->trees > 0) /* that can be shown */
				(void)fprintf(v->out, ", %zu tree%s", expert->trees, expert->trees == 1 ? "" : "s");
			if (expert->resting)
				(void)fputs(", resting", v->out);
			(void)fputc('\n', v->out);
			continue;
		}
		cop_json_begin_object(v->json);
		show_text(v, "name", expert->name);
		show_number(v, "weight", expert->weight);
		show_whole(v, "trees", expert->trees);
		if (expert->resting)
			cop_json_put_boolean(v->json, "resting", true);
		cop_json_end_object(v->json);
	}
	if (v->json != NULL)
		cop_json_end_array(v->json);
	cop_mem_free(zeros);
	return COP_OK;
}

/* ---- trees ---- */

/* Names for the outputs of a tree. NULL when memory is short. */
static const char **arm_names(
        const cop_model_page_names *named, const cop_oblique_tree *tree, char (**spare)[NAME_ROOM])
{
	size_t arms = cop_oblique_tree_outputs(tree);
	const char **names = cop_mem_alloc(arms, sizeof *names);
	*spare = cop_mem_alloc(arms, sizeof **spare);
	if (names == NULL || *spare == NULL) {
		cop_mem_free(names);
		cop_mem_free(*spare);
		*spare = NULL;
		return NULL;
	}
	for (size_t k = 0; k < arms; k++) {
		cop_model_page_names_arm(named, k, (*spare)[k], sizeof **spare);
		names[k] = (*spare)[k];
	}
	return names;
}

static bool knows_places(const cop_inspect_view *v)
{
	return v->named->places != NULL && v->given[COP_MODEL_PAGE_FEATURES].count == 0;
}

/* The weights of places that no known feature has are as they were drawn at the start: they are left out. */
static void drop_unknown(cop_oblique_tree *tree, const uint8_t *known)
{
	for (size_t t = 0; t < cop_oblique_tree_nodes(tree); t++)
		for (size_t j = 0; j < cop_oblique_tree_features(tree); j++)
			if (known[j] == 0)
				cop_oblique_tree_weights(tree, t)[j] = 0.0F;
}

static cop_err show_tree_text(const cop_inspect_view *v, cop_tree_phrases *words, bool arms)
{
	cop_bytes text;
	cop_bytes_init(&text);
	if (knows_places(v))
		(void)fprintf(v->out, "  (of the weights, those of features that come often)\n");
	if (arms)
		(void)fputs("  (leaves: the arm that the leaf favours most, and by how much, as a logit)\n", v->out);
	cop_tree_text(words, &text);
	cop_err err = text.err;
	if (err == COP_OK)
		(void)fwrite(text.data, 1, text.length, v->out);
	cop_bytes_fini(&text);
	return err;
}

/* With its features' names. Outputs of an arms' tree are logits of 1 - loss: the largest one is the best. */
static cop_err show_whole_tree(
        const cop_inspect_view *v, cop_oblique_tree *oblique, const char *const *features, bool arms)
{
	char(*spare)[NAME_ROOM] = NULL;
	const char **outputs = NULL;
	cop_tree *tree = NULL;
	cop_err err = COP_OK;
	if (arms && v->json == NULL) {
		outputs = arm_names(v->named, oblique, &spare);
		err = outputs == NULL ? COP_ENOMEM : COP_OK;
	}
	if (err == COP_OK)
		err = cop_tree_from_oblique(oblique, COP_TREE_VALUES, &tree);
	cop_tree_phrases words = { .tree = tree, .features = features, .outputs = outputs, .top = TOP_WEIGHTS };
	if (err == COP_OK)
		err = v->json == NULL ? show_tree_text(v, &words, arms) : cop_tree_json(&words, true, v->json);
	cop_tree_free(tree);
	cop_mem_free(outputs);
	cop_mem_free(spare);
	return err;
}

/* One tree: its shape, and with `whole` its nodes and leaves. arms: leaf values are logits of arms, so the text shows
 * the best one. */
static cop_err show_tree(
        const cop_inspect_view *view, size_t number, cop_oblique_tree *tree, bool arms, bool whole, cop_diag *diag)
{
	if (view->json == NULL)
		(void)fprintf(view->out, "  tree %-13zu %zu nodes, %zu leaves, depth %u\n", number,
		        cop_oblique_tree_nodes(tree), cop_oblique_tree_leaves(tree), cop_oblique_tree_depth(tree));
	if (view->json != NULL && !whole) {
		cop_json_begin_object(view->json);
		show_whole(view, "tree", number);
		show_whole(view, "nodes", cop_oblique_tree_nodes(tree));
		show_whole(view, "leaves", cop_oblique_tree_leaves(tree));
		show_whole(view, "depth", cop_oblique_tree_depth(tree));
		cop_json_end_object(view->json);
	}
	if (!whole)
		return COP_OK;
	size_t d = cop_oblique_tree_features(tree);
	const cop_model_page_names *names = view->named;
	cop_model_page_name_list list;
	cop_err err = cop_model_page_names_list(names, 0, d, &list);
	if (err == COP_OK && view->json == NULL && knows_places(view))
		drop_unknown(tree, list.known);
	if (err == COP_OK)
		err = show_whole_tree(view, tree, list.name, arms);
	cop_model_page_names_list_free(&list);
	return err == COP_OK ? COP_OK : fail(err, diag);
}

static cop_err show_trees(const cop_inspect_view *v, cop_model *model, cop_diag *diag)
{
	const cop_learner *learner = cop_model_learner(model);
	size_t count = cop_learner_trees(learner);
	if (v->tree < COP_INSPECT_NO_TREE && v->tree >= count) {
		cop_diag_message(diag, "no tree %" PRIu64 ", the model has %zu, counted from 0", v->tree, count);
		return COP_ENOTFOUND;
	}
	if (v->json != NULL)
		cop_json_put_array(v->json, "trees");
	cop_err err = COP_OK;
	for (size_t m = 0; m < count && err == COP_OK; m++) {
		bool whole = v->tree == m || v->tree == COP_INSPECT_ALL_TREES;
		if (!whole && v->tree != COP_INSPECT_NO_TREE)
			continue;
		cop_oblique_tree *tree;
		err = cop_learner_tree(learner, m, &tree);
		if (err != COP_OK)
			return fail(err, diag);
		err = show_tree(v, m, tree, cop_model_get_settings(model)->learner.arms > 0, whole, diag);
		cop_oblique_tree_free(tree);
	}
	if (err == COP_OK && v->json != NULL)
		cop_json_end_array(v->json);
	return err;
}

cop_err cop_inspect_model(
        const cop_inspect_view *given, const char *name, const void *data, size_t length, cop_diag *diag)
{
	cop_model *model;
	cop_model_page_names names = { .given = given->given };
	cop_inspect_view own = *given;
	const cop_inspect_view *view = &own;
	if (given->page != NULL)
		return cop_model_page_saved(given->page, name, given->given, data, length, diag);
	cop_err err = cop_model_open(data, length, &model, diag);
	if (err == COP_OK)
		err = cop_model_page_names_read(&names, &cop_model_get_settings(model)->learner, data, length, diag);
	if (err == COP_OK)
		err = cop_model_page_names_check(&names, &cop_model_get_settings(model)->learner, diag);
	own.named = &names;
	if (err == COP_OK) {
		if (view->json != NULL)
			cop_json_begin_object(view->json);
		else
			(void)fprintf(view->out, "\nmodel %s\n", name != NULL ? name : "");
		if (view->json != NULL && name != NULL)
			show_text(view, "name", name);
		show_settings(view, cop_model_get_settings(model));
		show_counters(view, model);
		show_names(view);
		err = show_experts(view, model, diag);
	}
	if (err == COP_OK)
		err = show_trees(view, model, diag);
	if (err == COP_OK && view->json != NULL)
		cop_json_end_object(view->json);
	cop_model_page_names_fini(&names);
	cop_model_free(model);
	return err;
}

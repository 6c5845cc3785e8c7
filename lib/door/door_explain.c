/* An explanation as JSON, with the keys of the daemon's `explain` (docs/reference/protocol.md). */
#include <math.h>
#include <stdio.h>

#include "door/door_events.h"
#include "learn/feature_text.h"

#define NAME_ROOM    COP_PLACE_NAMES_ROOM
#define PRODUCT_ROOM (2 * NAME_ROOM + 8)

typedef struct telling {
	coppice_model *model;
	cop_json_writer *json;
	const cop_explanation *explanation;
	const cop_event_id *id; /* NULL: a context's */
	cop_decision decision;
	bool kept;
	cop_row x, candidate; /* the explained action's */
} telling;

/* ---- names of features ---- */

/* "x3" or the feature's name; "c3" of a candidate, whose names are the context's where it has as many features. */
static void name_feature(const void *source, size_t index, bool candidate, char *out, size_t size)
{
	const telling *t = source;
	const cop_door_rows *rows = &t->model->rows;
	size_t d = candidate ? rows->candidate_features : rows->features;
	if (d > 0 && rows->space != NULL && index < d && cop_feature_space_dimension(rows->space) == d)
		(void)snprintf(out, size, "%s", cop_feature_space_column(rows->space, index));
	else if (rows->features > 0 ||
	         cop_place_names_text(cop_feature_space_names(rows->space), index, out, size) == 0)
		(void)snprintf(out, size, candidate ? "c%zu" : "x%zu", index);
}

/* ---- the parts ---- */

static void put_features(const telling *t, const cop_explained_feature *features, size_t count)
{
	char name[PRODUCT_ROOM];
	const cop_feature_names names = { name_feature, t, NAME_ROOM };
	const cop_row *const rows[] = { &t->x, &t->candidate };
	cop_json_key(t->json, "features");
	cop_json_begin_array(t->json);
	for (size_t i = 0; i < count; i++) {
		cop_feature_text(
		        cop_model_learner(t->model->model), features[i].index, &names, rows, name, sizeof name);
		cop_json_begin_object(t->json);
		cop_json_key(t->json, "feature");
		cop_json_text(t->json, name);
		cop_json_put_unsigned(t->json, "index", features[i].index);
		cop_json_put_number(t->json, "value", (double)features[i].value);
		cop_json_put_number(t->json, "weight", (double)features[i].weight);
		cop_json_put_number(t->json, "contribution", (double)features[i].contribution);
		cop_json_end_object(t->json);
	}
	cop_json_end_array(t->json);
}

static void put_tree(const telling *t, const cop_explained_tree *tree)
{
	cop_json_begin_object(t->json);
	cop_json_put_unsigned(t->json, "leaf", tree->leaf);
	cop_json_put_number(t->json, "value", (double)tree->value);
	cop_json_key(t->json, "path");
	cop_json_begin_array(t->json);
	for (size_t i = 0; i < tree->depth; i++) {
		const cop_explained_node *node = &t->explanation->nodes[tree->first_node + i];
		cop_json_begin_object(t->json);
		cop_json_put_unsigned(t->json, "node", node->node);
		cop_json_put_number(t->json, "margin", (double)node->margin);
		cop_json_key(t->json, "right");
		cop_json_boolean(t->json, node->margin >= 0.0f);
		put_features(t, node->features, node->count);
		cop_json_end_object(t->json);
	}
	cop_json_end_array(t->json);
	cop_json_end_object(t->json);
}

/* Losses are stacked around 1/2: prediction = 1/2 + the experts' contributions; values are their plain sum. */
static void put_expert(const telling *t, const cop_explained_expert *expert)
{
	double zero = coppice_model_actions(t->model) == COPPICE_VALUES ? 0.0 : 0.5;
	cop_json_begin_object(t->json);
	cop_json_key(t->json, "name");
	cop_json_text(t->json, expert->name);
	if (expert->resting) {
		cop_json_key(t->json, "resting");
		cop_json_boolean(t->json, true);
	}
	cop_json_put_number(t->json, "weight", expert->weight);
	cop_json_put_number(t->json, "prediction", expert->prediction);
	cop_json_put_number(t->json, "contribution", expert->weight * (expert->prediction - zero));
	cop_json_put_number(t->json, "linear", expert->linear);
	put_features(t, expert->features, expert->count);
	cop_json_key(t->json, "trees");
	cop_json_begin_array(t->json);
	for (size_t i = 0; i < expert->trees; i++)
		put_tree(t, &t->explanation->trees[expert->first_tree + i]);
	cop_json_end_array(t->json);
	cop_json_end_object(t->json);
}

static void put_action(const telling *t)
{
	const cop_model *model = t->model->model;
	if (coppice_model_actions(t->model) == COPPICE_VALUES) {
		cop_json_put_number(t->json, "y", cop_model_value(model, t->decision.y));
		if (t->id != NULL && cop_model_get_settings(model)->learner.feedback == COP_VALUE_BINS)
			cop_json_put_number(t->json, "p", cop_model_density(model, &t->decision));
		cop_json_put_number(t->json, "prediction", cop_model_value(model, t->explanation->prediction));
		return;
	}
	cop_json_put_unsigned(t->json, "a", t->decision.arm);
	cop_json_put_number(t->json, "p", t->decision.p);
	cop_json_key(t->json, "greedy");
	cop_json_boolean(t->json, t->decision.greedy);
	cop_json_put_number(t->json, "prediction", t->explanation->prediction);
}

static void put_id(const telling *t)
{
	uint64_t number = 0;
	cop_json_key(t->json, "id");
	if (t->id->kind == COP_EVENT_ID_UNSIGNED) {
		for (size_t i = 8; i-- > 0;)
			number = number << 8 | t->id->bytes[i];
		cop_json_unsigned(t->json, number);
	} else {
		cop_json_text_length(t->json, (const char *)t->id->bytes, t->id->length);
	}
}

static void put_all(const telling *t)
{
	const cop_explanation *e = t->explanation;
	cop_json_begin_object(t->json);
	if (t->id != NULL)
		put_id(t);
	cop_json_put_unsigned(t->json, "rev", e->rev);
	cop_json_key(t->json, "state");
	cop_json_text(t->json, t->kept ? "decision" : "current");
	put_action(t);
	if (e->score_count > 0) {
		cop_json_key(t->json, "candidates");
		cop_json_begin_array(t->json);
		for (size_t i = 0; i < e->score_count; i++)
			cop_json_number_float(t->json, e->scores[i]);
		cop_json_end_array(t->json);
	}
	cop_json_key(t->json, "experts");
	cop_json_begin_array(t->json);
	for (size_t i = 0; i < e->expert_count; i++)
		put_expert(t, &e->experts[i]);
	cop_json_end_array(t->json);
	cop_json_end_object(t->json);
}

/* In place of the text that the model gave out last. */
static cop_err write_text(telling *t, const char **json)
{
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &t->json);
	if (err != COP_OK)
		return err;
	put_all(t);
	err = cop_json_writer_finish(t->json, json, NULL);
	if (err != COP_OK) {
		cop_json_writer_free(t->json);
		return err;
	}
	cop_json_writer_free(t->model->json);
	t->model->json = t->json;
	return COP_OK;
}

COP_DOOR_EXPORT coppice_err coppice_model_explain(coppice_model *model, coppice_id id, const char **json)
{
	cop_diag diag = { .message = "" };
	cop_event_id own;
	telling t = { .model = model, .id = &own };
	*json = NULL;
	cop_err err = cop_door_events_id(&id, &own, &diag);
	if (err == COP_OK)
		err = cop_model_explain(model->model, &own, &t.decision, &t.explanation, &t.kept);
	if (err == COP_OK)
		err = cop_model_waiting_rows(model->model, &own, &t.x, &t.candidate);
	if (err == COP_OK)
		err = write_text(&t, json);
	else if (err == COP_ENOTFOUND)
		cop_diag_message(&diag, "id: no decision of this id waits");
	return cop_door_error_report(err, &diag, &model->message);
}

COP_DOOR_EXPORT coppice_err coppice_model_explain_row(coppice_model *model, const coppice_row *x,
        const unsigned char *mask, const coppice_candidates *candidates, const char **json)
{
	cop_diag diag = { .message = "" };
	cop_door_context read;
	telling t = { .model = model };
	*json = NULL;
	cop_err err = cop_door_events_context(model, x, mask, candidates, &read, &diag);
	if (err == COP_OK) {
		err = cop_model_explain_context(model->model, &read.context, &t.decision, &t.explanation);
		if (err == COP_EINVAL)
			cop_diag_message(&diag, "mask: expected one that leaves an action eligible");
	}
	if (err == COP_OK) {
		t.x = read.x;
		if (candidates != NULL)
			t.candidate = read.context.candidate[t.decision.arm];
		err = write_text(&t, json);
	}
	return cop_door_error_report(err, &diag, &model->message);
}

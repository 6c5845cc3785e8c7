/* A feature's index means, by the learner: a place of the context, one of the context and candidate together, or a
 * product of two. A name is sought in this order: the configured or saved names, the names kept of hashed places, then
 * x3 or c3. A prediction is the sum of the experts' contributions, around 1/2 for losses of arms and around 0 for
 * values. Of a decision that the policy did not make there is no `greedy`, which would be a choice of its own. */
#include "daemon/report/explain_body.h"

#include <stdio.h>

#include "learn/feature_text.h"
#include "wire/wire_context.h"
#include "wire/wire_put.h"

#define NAME_ROOM    COP_PLACE_NAMES_ROOM
#define PRODUCT_ROOM (2 * NAME_ROOM + 8)

/* Of a hashed place. */
static bool name_place(const cop_explain_body *body, size_t place, char *out, size_t size)
{
	if (cop_model_slot_place_name(body->served, place, out, size))
		return true;
	if (body->past == NULL)
		return false;
	bool found = cop_place_names_text(body->past->later, place, out, size) > 0;
	body->past->came_later |= found;
	body->past->unknown |= !found;
	return found;
}

/* "x3" or its name; "c3" of a candidate or its name. */
static void name_feature(const void *source, size_t index, bool candidate, char *out, size_t size)
{
	const cop_explain_body *body = source;
	const cop_model_slot *served = body->served;
	const char *name =
	        candidate ? cop_model_slot_candidate_name(served, index) : cop_model_slot_feature_name(served, index);
	if (name != NULL)
		(void)snprintf(out, size, "%s", name);
	else if (served->shape.features != 0 || !name_place(body, index, out, size))
		(void)snprintf(out, size, candidate ? "c%zu" : "x%zu", index);
}

static void put_name(const cop_explain_body *body, uint32_t index, cop_bytes *out)
{
	char name[PRODUCT_ROOM];
	const cop_feature_names names = { name_feature, body, NAME_ROOM };
	const cop_row *const rows[] = { &body->x, &body->candidate };
	cop_feature_text(cop_model_learner(body->served->model), index, &names, rows, name, sizeof name);
	cop_wire_put_key_text(out, "feature", name);
}

static void put_features(
        const cop_explain_body *body, const cop_explained_feature *features, size_t count, cop_bytes *out)
{
	cop_wire_put_text(out, "features");
	cop_wire_put_array(out, count);
	for (size_t i = 0; i < count; i++) {
		size_t map = cop_wire_put_map_open(out);
		put_name(body, features[i].index, out);
		cop_wire_put_key_unsigned(out, "index", features[i].index);
		cop_wire_put_key_double(out, "value", (double)features[i].value);
		cop_wire_put_key_double(out, "weight", (double)features[i].weight);
		cop_wire_put_key_double(out, "contribution", (double)features[i].contribution);
		cop_wire_put_map_close(out, map);
	}
}

static void put_node(const cop_explain_body *body, const cop_explained_node *node, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "node", node->node);
	cop_wire_put_key_double(out, "margin", (double)node->margin);
	cop_wire_put_key_bool(out, "right", node->margin >= 0.0f);
	put_features(body, node->features, node->count, out);
	cop_wire_put_map_close(out, map);
}

static void put_tree(const cop_explain_body *body, const cop_explained_tree *tree, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_unsigned(out, "leaf", tree->leaf);
	cop_wire_put_key_double(out, "value", (double)tree->value);
	cop_wire_put_text(out, "path");
	cop_wire_put_array(out, tree->depth);
	for (size_t i = 0; i < tree->depth; i++)
		put_node(body, &body->explanation->nodes[tree->first_node + i], out);
	cop_wire_put_map_close(out, map);
}

/* Arms' losses are stacked around 1/2: prediction = 1/2 + the experts' contributions; values are their plain sum. */
static double contribution(const cop_model_slot *served, const cop_explained_expert *expert)
{
	double zero = cop_learner_plays_values(&served->config->set.learner) ? 0.0 : 0.5;
	return expert->weight * (expert->prediction - zero);
}

static void put_expert(const cop_explain_body *body, const cop_explained_expert *expert, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "name", expert->name);
	if (expert->resting)
		cop_wire_put_key_bool(out, "resting", true);
	cop_wire_put_key_double(out, "weight", expert->weight);
	cop_wire_put_key_double(out, "prediction", expert->prediction);
	cop_wire_put_key_double(out, "contribution", contribution(body->served, expert));
	cop_wire_put_key_double(out, "linear", expert->linear);
	put_features(body, expert->features, expert->count, out);
	cop_wire_put_text(out, "trees");
	cop_wire_put_array(out, expert->trees);
	for (size_t i = 0; i < expert->trees; i++)
		put_tree(body, &body->explanation->trees[expert->first_tree + i], out);
	cop_wire_put_map_close(out, map);
}

/* Of a decision; of a context alone nothing was drawn. */
static bool has_density(const cop_explain_body *body)
{
	const cop_config_model *config = body->served->config;
	return body->id != NULL && cop_config_model_is(config, COP_SETTING_OF_VALUE) &&
	       config->set.learner.feedback == COP_VALUE_BINS;
}

static void put_action(const cop_explain_body *body, cop_bytes *out)
{
	const cop_model_slot *served = body->served;
	if (cop_learner_plays_values(&served->config->set.learner)) {
		cop_wire_put_key_double(out, "y", cop_model_value(served->model, body->decision.y));
		if (has_density(body))
			cop_wire_put_key_double(out, "p", cop_model_density(served->model, &body->decision));
		cop_wire_put_key_double(
		        out, "prediction", cop_model_value(served->model, body->explanation->prediction));
		return;
	}
	cop_wire_put_key_unsigned(out, "a", body->decision.arm);
	if (body->decision.arm < served->config->arm_name_list.count)
		cop_wire_put_key_text(out, "arm", served->config->arm_name_list.items[body->decision.arm]);
	else if (body->arm != NULL)
		cop_wire_put_key_string(out, "arm", body->arm, body->arm_length);
	cop_wire_put_key_double(out, "p", body->decision.p);
	if (body->eligible > 0)
		cop_wire_put_key_unsigned(out, "eligible", body->eligible);
	if (body->by == COP_WIRE_BY_POLICY) {
		cop_wire_put_key_bool(out, "greedy", body->decision.greedy);
		if (body->decision.limit != COP_WIRE_LIMIT_NONE)
			cop_wire_put_key_text(
			        out, "limit", cop_wire_split_limit_text((cop_wire_limit)body->decision.limit));
	} else {
		cop_wire_put_key_text(out, "by", cop_wire_split_maker_text(body->by));
		cop_wire_put_key_bool(out, "agrees", body->decision.greedy);
		cop_wire_put_key_double(out, "own_p", body->own_p);
	}
	cop_wire_put_key_double(out, "prediction", body->explanation->prediction);
}

static bool note_maker(void *context, const cop_event_id *id, const cop_model_waiting *waiting)
{
	cop_explain_body *body = context;
	(void)id;
	body->by = waiting->by;
	body->own_p = waiting->own_p;
	body->eligible = waiting->eligible;
	return true;
}

cop_err cop_explain_body_of_waiting(cop_explain_body *body, const cop_event_id *id)
{
	const cop_model_slot *slot = body->served;
	body->id = id;
	cop_err err = cop_model_explain(slot->model, id, &body->decision, &body->explanation, &body->kept);
	if (err == COP_OK)
		err = cop_model_waiting_rows(slot->model, id, &body->x, &body->candidate);
	(void)cop_model_visit_one(slot->model, id, note_maker, body);
	const cop_played_name *played =
	        slot->shape.max_candidates == 0 ? NULL : cop_played_names_find(slot->played, id);
	if (err == COP_OK && played != NULL) {
		body->arm = played->name;
		body->arm_length = played->length;
	}
	return err;
}

void cop_explain_body_put_keys(const cop_explain_body *body, cop_bytes *out)
{
	const cop_explanation *e = body->explanation;
	if (body->id != NULL) {
		cop_wire_put_text(out, "id");
		cop_wire_id_put(out, body->id);
	}
	cop_wire_put_key_text(out, "model", body->served->name);
	cop_wire_put_key_unsigned(out, "rev", e->rev);
	cop_wire_put_key_text(out, "state", body->kept ? "decision" : "current");
	put_action(body, out);
	if (e->score_count > 0) {
		cop_wire_put_text(out, "candidates");
		cop_wire_put_array(out, e->score_count);
		for (size_t i = 0; i < e->score_count; i++)
			cop_wire_put_double(out, (double)e->scores[i]);
	}
	cop_wire_put_text(out, "experts");
	cop_wire_put_array(out, e->expert_count);
	for (size_t i = 0; i < e->expert_count; i++)
		put_expert(body, &e->experts[i], out);
}

void cop_explain_body_put(const cop_explain_body *body, cop_bytes *out)
{
	size_t map = cop_wire_put_map_open(out);
	cop_explain_body_put_keys(body, out);
	cop_wire_seq_put(out, body->seq);
	cop_wire_put_map_close(out, map);
}

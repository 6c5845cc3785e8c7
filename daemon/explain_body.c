#include "daemon/explain_body.h"

#include <stdio.h>

#include "online/ranking.h"
#include "wire/wire_context.h"
#include "wire/wire_put.h"

#define NUMBER_ROOM  24
#define PRODUCT_ROOM 600 /* two names of 256 bytes */

/* "x3" or its name, "c1" of a candidate or its name, "x3*c1" of both; "product" of hashed ones. */
static void put_joint_name(const cop_served *served, const cop_ranking_feature *f, cop_bytes *out)
{
	const char *name = f->has_feature ? cop_served_feature_name(served, f->feature) : NULL;
	char x[300] = "";
	char c[300] = "";
	char whole[620];
	if (name != NULL)
		(void)snprintf(x, sizeof x, "%s", name);
	else if (f->has_feature)
		(void)snprintf(x, sizeof x, "x%zu", f->feature);
	if (f->has_candidate_feature && (name = cop_served_candidate_name(served, f->candidate_feature)) != NULL)
		(void)snprintf(c, sizeof c, "%s", name);
	else if (f->has_candidate_feature)
		(void)snprintf(c, sizeof c, "c%zu", f->candidate_feature);
	bool both = f->has_feature && f->has_candidate_feature;
	bool neither = !f->has_feature && !f->has_candidate_feature;
	(void)snprintf(whole, sizeof whole, "%s%s%s", x, both ? "*" : "", c);
	cop_wire_put_text(out, f->constant ? "constant" : neither ? "product" : whole);
}

/* "x3" or its name, or "constant". */
static const char *name_feature(const cop_served *served, size_t index, char number[NUMBER_ROOM])
{
	const char *name = cop_served_feature_name(served, index);
	if (index == cop_learner_dimension(&cop_model_get_settings(served->model)->learner))
		return "constant";
	if (name != NULL)
		return name;
	(void)snprintf(number, NUMBER_ROOM, "x%zu", index);
	return number;
}

/* "x3", or "x3*x7" of a product. */
static void put_plain_name(const cop_served *served, size_t index, cop_bytes *out)
{
	char first[NUMBER_ROOM], second[NUMBER_ROOM];
	char whole[PRODUCT_ROOM];
	size_t i, j;
	if (!cop_learner_product(cop_model_learner(served->model), index, &i, &j)) {
		cop_wire_put_text(out, name_feature(served, index, first));
		return;
	}
	(void)snprintf(whole, sizeof whole, "%s*%s", name_feature(served, i, first), name_feature(served, j, second));
	cop_wire_put_text(out, whole);
}

static void put_name(const cop_served *served, uint32_t index, cop_bytes *out)
{
	cop_wire_put_text(out, "feature");
	if (served->shape.max_candidates > 0) {
		cop_ranking_feature f;
		cop_ranking_describe(cop_model_learner(served->model), index, &f);
		put_joint_name(served, &f, out);
	} else {
		put_plain_name(served, index, out);
	}
}

static void put_features(const cop_served *served, const cop_explained_feature *features, size_t count, cop_bytes *out)
{
	cop_wire_put_text(out, "features");
	cop_wire_put_array(out, count);
	for (size_t i = 0; i < count; i++) {
		cop_wire_put_map(out, 5);
		put_name(served, features[i].index, out);
		cop_wire_put_key_unsigned(out, "index", features[i].index);
		cop_wire_put_key_double(out, "value", (double)features[i].value);
		cop_wire_put_key_double(out, "weight", (double)features[i].weight);
		cop_wire_put_key_double(out, "contribution", (double)features[i].contribution);
	}
}

static void put_tree(const cop_served *served, const cop_explanation *e, const cop_explained_tree *tree, cop_bytes *out)
{
	cop_wire_put_map(out, 3);
	cop_wire_put_key_unsigned(out, "leaf", tree->leaf);
	cop_wire_put_key_double(out, "value", (double)tree->value);
	cop_wire_put_text(out, "path");
	cop_wire_put_array(out, tree->depth);
	for (size_t i = 0; i < tree->depth; i++) {
		const cop_explained_node *node = &e->nodes[tree->first_node + i];
		cop_wire_put_map(out, 4);
		cop_wire_put_key_unsigned(out, "node", node->node);
		cop_wire_put_key_double(out, "margin", (double)node->margin);
		cop_wire_put_key_bool(out, "right", node->margin >= 0.0f);
		put_features(served, node->features, node->count, out);
	}
}

/* Arms' losses are stacked around 1/2: prediction = 1/2 + the experts' contributions; values are their plain sum. */
static double contribution(const cop_served *served, const cop_explained_expert *expert)
{
	double zero = served->config->learner == COP_LEARNER_VALUE ? 0.0 : 0.5;
	return expert->weight * (expert->prediction - zero);
}

static void put_expert(
        const cop_served *served, const cop_explanation *e, const cop_explained_expert *expert, cop_bytes *out)
{
	cop_wire_put_map(out, expert->resting ? 8 : 7);
	cop_wire_put_key_text(out, "name", expert->name);
	if (expert->resting)
		cop_wire_put_key_bool(out, "resting", true);
	cop_wire_put_key_double(out, "weight", expert->weight);
	cop_wire_put_key_double(out, "prediction", expert->prediction);
	cop_wire_put_key_double(out, "contribution", contribution(served, expert));
	cop_wire_put_key_double(out, "linear", expert->linear);
	put_features(served, expert->features, expert->count, out);
	cop_wire_put_text(out, "trees");
	cop_wire_put_array(out, expert->trees);
	for (size_t i = 0; i < expert->trees; i++)
		put_tree(served, e, &e->trees[expert->first_tree + i], out);
}

static void put_action(const cop_explain_body *body, cop_bytes *out)
{
	const cop_served *served = body->served;
	if (served->config->learner == COP_LEARNER_VALUE) {
		cop_wire_put_key_double(out, "y", cop_model_value(served->model, body->decision.y));
		cop_wire_put_key_double(
		        out, "prediction", cop_model_value(served->model, body->explanation->prediction));
		return;
	}
	cop_wire_put_key_unsigned(out, "a", body->decision.arm);
	if (body->decision.arm < served->config->arm_name_list.count)
		cop_wire_put_key_text(out, "arm", served->config->arm_name_list.items[body->decision.arm]);
	cop_wire_put_key_double(out, "p", body->decision.p);
	cop_wire_put_key_bool(out, "greedy", body->decision.greedy);
	cop_wire_put_key_double(out, "prediction", body->explanation->prediction);
}

void cop_explain_body_put(const cop_explain_body *body, cop_bytes *out)
{
	const cop_explanation *e = body->explanation;
	bool value = body->served->config->learner == COP_LEARNER_VALUE;
	bool named = !value && body->decision.arm < body->served->config->arm_name_list.count;
	size_t keys = 4 + (size_t)(body->id != NULL) + (size_t)(body->seq->length > 0) + (value ? 2 : 4) +
	              (size_t)named + (size_t)(e->score_count > 0);
	cop_wire_put_map(out, keys);
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
		put_expert(body->served, e, &e->experts[i], out);
	cop_wire_seq_put(out, body->seq);
}

/* Weights are over standardised features, so that their changes can be compared with each other. Of each part the terms
 * that changed most are shown, of all its outputs together; nothing is said of what did not change. */
#include "diff_terms.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/anatomy.h"
#include "view/tree_phrases.h"

#define MOST      64
#define NAME_ROOM (2 * COP_MODEL_PAGE_NAME_ROOM + 8)

typedef struct term {
	size_t input, output;
	double old, new;
} term;

typedef struct sides {
	const cop_diff_pair *pair;
	cop_anatomy_part old[COP_ANATOMY_PARTS], new[COP_ANATOMY_PARTS];
	size_t old_count, new_count;
	cop_bytes *out;
	cop_json_writer *json;
} sides;

/* The older model's part of that name; NULL: it has none. */
static const cop_anatomy_part *older(const sides *s, const char *name)
{
	for (size_t i = 0; i < s->old_count; i++)
		if (strcmp(s->old[i].name, name) == 0)
			return &s->old[i];
	return NULL;
}

/* ---- experts ---- */

static void put_experts(const sides *s)
{
	if (s->json != NULL)
		cop_json_put_array(s->json, "experts");
	for (size_t i = 0; i < s->new_count && s->new_count > 1; i++) {
		const cop_anatomy_part *now = &s->new[i], *was = older(s, now->name);
		double before = was == NULL ? 0.0 : was->weight;
		if (s->json != NULL) {
			cop_json_begin_object(s->json);
			cop_json_put_text(s->json, "expert", now->name);
			cop_json_put_number(s->json, "old", before);
			cop_json_put_number(s->json, "new", now->weight);
			cop_json_end_object(s->json);
		} else if (fabs(now->weight - before) >= 0.0005) {
			cop_tree_phrases_put(s->out, "  %s counts %s: weight %.3f -> %.3f%s\n", now->name,
			        fabs(now->weight) > fabs(before) ? "more" : "less", before, now->weight,
			        now->resting ? " (it rests)" : "");
		}
	}
	if (s->json != NULL)
		cop_json_end_array(s->json);
}

/* ---- linear terms ---- */

static double weight_of(const cop_anatomy_linear *l, size_t i, size_t k)
{
	double scale = i >= l->plain ? (double)l->product_scale : 1.0;
	return scale * (double)l->weights[i * l->step + k * l->jump];
}

/* The most changed first; how many. */
static size_t find_changed(const cop_anatomy_linear *old, const cop_anatomy_linear *new, size_t most, term out[MOST])
{
	size_t count = 0;
	for (size_t k = 0; k < new->outputs; k++)
		for (size_t i = 0; i < new->inputs; i++) {
			term t = { i, k, weight_of(old, i, k), weight_of(new, i, k) };
			double change = fabs(t.new - t.old);
			if (!(change > (count == most ? fabs(out[most - 1].new - out[most - 1].old) : 0.0)))
				continue;
			size_t at = count < most ? count++ : most - 1;
			for (; at > 0 && fabs(out[at - 1].new - out[at - 1].old) < change; at--)
				out[at] = out[at - 1];
			out[at] = t;
		}
	return count;
}

/* What the weight means for its arm, or the value, and whether more than before. */
static const char *verdict(cop_anatomy_unit unit, const term *t)
{
	bool good = unit == COP_ANATOMY_LOSS ? t->new < 0.0 : t->new > 0.0;
	bool turned = t->old * t->new<0.0, more = fabs(t->new)> fabs(t->old);
	if (unit == COP_ANATOMY_VALUE)
		return turned ? (good ? "now raises it" : "now lowers it")
		       : more ? (good ? "raises it more" : "lowers it more")
		              : (good ? "raises it less" : "lowers it less");
	return turned ? (good ? "now speaks for it" : "now speaks against it")
	       : more ? (good ? "speaks more for it" : "speaks more against it")
	              : (good ? "speaks less for it" : "speaks less against it");
}

static void put_term(const sides *s, const cop_anatomy_part *part, const term *t)
{
	char name[NAME_ROOM], arm[COP_MODEL_PAGE_NAME_ROOM] = "";
	bool arms = cop_model_get_settings(s->pair->new)->learner.arms > 0;
	cop_model_page_names_input(s->pair->name, cop_model_learner(s->pair->new), t->input, name, sizeof name);
	if (arms)
		cop_model_page_names_arm(s->pair->name, t->output, arm, sizeof arm);
	if (s->json == NULL) {
		cop_tree_phrases_put(s->out, "  %s%s%s: %s %s, %.4g -> %.4g\n", part->name, arms ? ", " : "", arm, name,
		        verdict(part->unit, t), t->old, t->new);
		return;
	}
	cop_json_begin_object(s->json);
	cop_json_put_text(s->json, "expert", part->name);
	if (arms) {
		cop_json_put_unsigned(s->json, "a", t->output);
		cop_json_put_text(s->json, "arm", arm);
	}
	cop_json_put_text(s->json, "feature", name);
	cop_json_put_number(s->json, "old", t->old);
	cop_json_put_number(s->json, "new", t->new);
	cop_json_put_text(s->json, "verdict", verdict(part->unit, t));
	cop_json_end_object(s->json);
}

static void put_linear(const sides *s)
{
	if (s->json != NULL)
		cop_json_put_array(s->json, "terms");
	for (size_t i = 0; i < s->new_count; i++) {
		const cop_anatomy_part *now = &s->new[i], *was = older(s, now->name);
		term changed[MOST];
		if (was == NULL || now->linear.weights == NULL || was->linear.weights == NULL ||
		        was->linear.inputs != now->linear.inputs || was->linear.outputs != now->linear.outputs)
			continue;
		size_t most = s->pair->top < MOST ? s->pair->top : MOST;
		size_t count = find_changed(&was->linear, &now->linear, most, changed);
		for (size_t t = 0; t < count; t++)
			put_term(s, now, &changed[t]);
	}
	if (s->json != NULL)
		cop_json_end_array(s->json);
}

/* ---- forests ---- */

static void put_split(const sides *s, size_t feature, uint32_t old, uint32_t new)
{
	char name[COP_MODEL_PAGE_NAME_ROOM];
	(void)cop_model_page_names_feature(s->pair->name, feature, name, sizeof name);
	if (s->json == NULL) {
		cop_tree_phrases_put(s->out, "  forest: splits %s on %s, %u -> %u\n", new > old ? "more" : "less", name,
		        (unsigned)old, (unsigned)new);
		return;
	}
	cop_json_begin_object(s->json);
	cop_json_put_text(s->json, "feature", name);
	cop_json_put_unsigned(s->json, "old", old);
	cop_json_put_unsigned(s->json, "new", new);
	cop_json_end_object(s->json);
}

/* Features by how much more or less they split. */
static void put_splits(const sides *s, const uint32_t *old, const uint32_t *new, double *change, size_t d)
{
	uint32_t place[MOST];
	for (size_t j = 0; j < d; j++)
		change[j] = fabs((double)new[j] - (double)old[j]);
	size_t most = s->pair->top < COP_TREE_PHRASES_MOST ? s->pair->top : COP_TREE_PHRASES_MOST;
	size_t count = cop_tree_phrases_commonest(d, change, most < MOST ? most : MOST, place);
	for (size_t i = 0; i < count; i++)
		if (old[place[i]] != new[place[i]])
			put_split(s, place[i], old[place[i]], new[place[i]]);
}

static cop_err put_forest(const sides *s, const cop_forest *old, const cop_forest *new)
{
	size_t d = s->pair->name->contexts;
	uint32_t *before = cop_mem_alloc(d, sizeof *before), *now = cop_mem_alloc(d, sizeof *now);
	double *change = cop_mem_alloc(d, sizeof *change);
	bool room = before != NULL && now != NULL && change != NULL;
	if (s->json == NULL && cop_forest_leaves(old) != cop_forest_leaves(new))
		cop_tree_phrases_put(s->out, "  forest: %zu leaves -> %zu in %zu trees\n", cop_forest_leaves(old),
		        cop_forest_leaves(new), cop_forest_count(new));
	if (room) {
		cop_forest_splits(old, before);
		cop_forest_splits(new, now);
		put_splits(s, before, now, change, d);
	}
	cop_mem_free(before);
	cop_mem_free(now);
	cop_mem_free(change);
	return room ? COP_OK : COP_ENOMEM;
}

static cop_err put_forests(const sides *s)
{
	cop_err err = COP_OK;
	if (s->json != NULL)
		cop_json_put_array(s->json, "splits");
	for (size_t i = 0; i < s->new_count && err == COP_OK; i++) {
		const cop_anatomy_part *was = older(s, s->new[i].name);
		if (was != NULL && was->forest != NULL && s->new[i].forest != NULL)
			err = put_forest(s, was->forest, s->new[i].forest);
	}
	if (s->json != NULL)
		cop_json_end_array(s->json);
	return err;
}

cop_err cop_diff_terms_put(const cop_diff_pair *pair, cop_bytes *out, cop_json_writer *json)
{
	sides s = { .pair = pair, .out = out, .json = json };
	s.old_count = cop_learner_anatomy(cop_model_learner(pair->old), s.old);
	s.new_count = cop_learner_anatomy(cop_model_learner(pair->new), s.new);
	put_experts(&s);
	put_linear(&s);
	cop_err err = put_forests(&s);
	return err == COP_OK && out != NULL ? out->err : err;
}

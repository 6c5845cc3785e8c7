/* What a journal records of its models: the model set of a segment's header, or of a configuration's record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "journal_verb.h"
#include "wire/wire_code.h"
#include "wire/wire_models.h"
#include "wire/wire_named.h"

/* False: what is damaged or foreign shows none. */
static bool open_set(cop_wire_models *set, const uint8_t *model_set, size_t length)
{
	return length > 0 && cop_wire_models_open(set, model_set, length, NULL) == COP_OK;
}

void cop_journal_verb_json_models(cop_json_writer *json, const uint8_t *model_set, size_t length)
{
	cop_wire_models set;
	cop_wire_model model;
	if (!open_set(&set, model_set, length))
		return;
	cop_json_put_array(json, "models");
	while (cop_wire_models_next(&set, &model, NULL) == COP_OK)
		cop_json_text_length(json, model.name, model.name_length);
	cop_json_end_array(json);
	if (set.left_out > 0)
		cop_json_put_unsigned(json, "models_left_out", set.left_out);
}

void cop_journal_verb_model_names(const uint8_t *model_set, size_t length, char *out, size_t size)
{
	cop_wire_models set;
	cop_wire_model model;
	char name[3 * COP_WIRE_MODEL_NAME + 1];
	size_t used = 0;
	(void)snprintf(out, size, "-");
	if (!open_set(&set, model_set, length))
		return;
	while (used + 1 < size && cop_wire_models_next(&set, &model, NULL) == COP_OK) {
		cop_wire_text_clean(name, sizeof name, model.name, model.name_length);
		int more = snprintf(out + used, size - used, "%s%s", used == 0 ? "" : ",", name);
		used += more < 0 ? 0 : (size_t)more;
	}
	if (set.left_out > 0 && used < size)
		(void)snprintf(out + used, size - used, ",+%" PRIu64, set.left_out);
}

bool cop_journal_verb_find_model(
        const uint8_t *model_set, size_t length, const char *name, size_t name_length, cop_wire_model *out)
{
	cop_wire_models set;
	if (!open_set(&set, model_set, length))
		return false;
	while (cop_wire_models_next(&set, out, NULL) == COP_OK)
		if (out->name_length == name_length && memcmp(out->name, name, name_length) == 0)
			return true;
	return false;
}

/* " of click, revenue", as far as they fit. */
static void name_losses(const cop_wire_model *m, char *out, size_t size)
{
	cop_named_losses losses;
	if (m->named.count == 0)
		return;
	cop_wire_models_losses(m, &losses);
	int used = snprintf(out, size, " of ");
	cop_wire_named_list(&losses.weights, out + used, size - (size_t)used);
}

void cop_journal_verb_model_text(const cop_wire_model *m, char *out, size_t size)
{
	char learner[3 * COP_WIRE_MODEL_NAME + 1], context[80], action[120], of[40] = "", ending[64] = "",
	                                                                     named[200] = "";
	cop_wire_text_clean(learner, sizeof learner, m->learner, m->learner_length);
	if (m->features != 0)
		(void)snprintf(context, sizeof context, "%zu features", m->features);
	else
		(void)snprintf(context, sizeof context, "%u bits of names", m->bits);
	if (m->candidate_features != 0)
		(void)snprintf(of, sizeof of, " of %zu features", m->candidate_features);
	if (m->arms != 0)
		(void)snprintf(action, sizeof action, "%zu arms", m->arms);
	else if (m->max_candidates != 0)
		(void)snprintf(action, sizeof action, "up to %zu candidates%s", m->max_candidates, of);
	else
		(void)snprintf(action, sizeof action, "values %g to %g, %u loss%s", m->value_range[0],
		        m->value_range[1], m->losses, m->losses == 1 ? "" : "es");
	if (m->has_default_loss)
		(void)snprintf(ending, sizeof ending, ", else loss %g", m->default_loss);
	name_losses(m, named, sizeof named);
	(void)snprintf(out, size, "%s, %s, %s, loss %g to %g%s, %s reward within %g s%s", learner, context, action,
	        m->loss_range[0], m->loss_range[1], named, cop_wire_models_reward_text(m->reward), m->reward_window,
	        ending);
}

static void put_range(cop_json_writer *json, const char *key, const double range[2])
{
	cop_json_put_array(json, key);
	cop_json_number(json, range[0]);
	cop_json_number(json, range[1]);
	cop_json_end_array(json);
}

/* {NAME: {weight, range}} */
static void put_named(cop_json_writer *json, const cop_wire_model *m)
{
	cop_named_losses losses;
	cop_wire_models_losses(m, &losses);
	cop_json_put_object(json, "named");
	for (size_t i = 0; i < losses.weights.count; i++) {
		const double range[2] = { losses.ranges.low[i], losses.ranges.high[i] };
		cop_json_put_object(json, losses.weights.name[i]);
		cop_json_put_number(json, "weight", losses.weights.weight[i]);
		put_range(json, "range", range);
		cop_json_end_object(json);
	}
	cop_json_end_object(json);
}

void cop_journal_verb_json_model(cop_json_writer *json, const cop_wire_model *m)
{
	cop_json_put_text_length(json, "learner", m->learner, m->learner_length);
	if (m->features != 0) {
		cop_json_put_unsigned(json, "features", m->features);
	} else {
		cop_json_put_unsigned(json, "bits", m->bits);
		cop_json_put_unsigned(json, "max_nonzeros", m->max_nonzeros);
	}
	if (m->arms != 0) {
		cop_json_put_unsigned(json, "arms", m->arms);
	} else if (m->max_candidates != 0) {
		cop_json_put_unsigned(json, "max_candidates", m->max_candidates);
		if (m->candidate_features != 0)
			cop_json_put_unsigned(json, "candidate_features", m->candidate_features);
	} else {
		put_range(json, "value_range", m->value_range);
		cop_json_key(json, "delta");
		cop_json_number(json, m->delta);
	}
	cop_json_put_unsigned(json, "losses", m->losses);
	put_range(json, "loss_range", m->loss_range);
	cop_json_put_text(json, "reward", cop_wire_models_reward_text(m->reward));
	cop_json_key(json, "reward_window");
	cop_json_number(json, m->reward_window);
	if (m->has_default_loss) {
		cop_json_key(json, "default_loss");
		cop_json_number(json, m->default_loss);
	}
	if (m->named.count > 0)
		put_named(json, m);
}

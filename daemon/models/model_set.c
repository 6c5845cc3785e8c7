/* A pure translation of settings into the terms of the wire: without notes nothing depends on a model's state, so the
 * set of a configuration is always the same bytes. What does not fit into a journal header is counted and left out. */
#include "daemon/models/model_set.h"

#include <string.h>

#include "base/mem.h"
#include "store/journal_segment.h"
#include "wire/wire_models.h"

static cop_wire_reward reward_of(cop_reward_rule rule)
{
	switch (rule) {
	case COP_REWARD_LAST:
		return COP_WIRE_REWARD_LAST;
	case COP_REWARD_SUM:
		return COP_WIRE_REWARD_SUM;
	case COP_REWARD_FIRST:
		return COP_WIRE_REWARD_FIRST;
	case COP_REWARD_EARLIEST:
		break;
	}
	return COP_WIRE_REWARD_EARLIEST;
}

static cop_wire_model describe(const cop_config_model *config)
{
	const cop_model_settings *s = &config->set;
	const cop_learner_settings *l = &s->learner;
	return (cop_wire_model){
		.name = config->stored,
		.name_length = strlen(config->stored),
		.learner = l->learner,
		.learner_length = strlen(l->learner),
		.features = l->features,
		.bits = l->bits,
		.max_nonzeros = l->max_nonzeros,
		.arms = l->arms,
		.max_candidates = cop_config_model_is(config, COP_SETTING_OF_RANK) ? l->max_candidates : 0,
		.candidate_features = l->candidate_features,
		.losses = (uint32_t)cop_learner_losses(l),
		.loss_range = { s->loss_low, s->loss_high },
		.value_range = { s->value_low, s->value_high },
		.delta = l->delta,
		.reward = reward_of(s->reward),
		.reward_window = s->reward_window,
		.has_default_loss = s->has_default_loss,
		.default_loss = s->default_loss,
		.named = { .put = s->losses.weights.count > 0 ? &s->losses : NULL },
	};
}

static bool listed(const char *const *names, const char *name)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static void note(const cop_config_model *config, const cop_model_set_notes *notes, cop_wire_model *model)
{
	const cop_model_slot *slot = cop_model_table_find_stored(notes->models, config->stored, strlen(config->stored));
	model->anew = listed(notes->reset, config->name);
	model->apart = notes->apart || model->anew;
	model->has_began = slot != NULL && slot->has_began;
	model->began = model->has_began ? slot->began : 0;
}

size_t cop_model_set_put(const cop_config *config, const cop_model_set_notes *notes, cop_bytes *bytes)
{
	size_t count = config->model_count;
	cop_wire_model *models = cop_mem_alloc(count, sizeof *models);
	if (models == NULL) {
		bytes->err = COP_ENOMEM;
		return count;
	}
	for (size_t i = 0; i < count; i++)
		models[i] = describe(&config->models[i]);
	for (size_t i = 0; i < count && notes != NULL; i++)
		note(&config->models[i], notes, &models[i]);
	size_t put = cop_wire_models_put(bytes, models, count, COP_JOURNAL_MODEL_SET_MAX);
	cop_mem_free(models);
	return count - put;
}

/* A pure translation of settings into the terms of the wire: nothing here depends on a model's state, so the set of a
 * configuration is always the same bytes. What does not fit into a journal header is counted and left out. */
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
	const char *learner = cop_config_learner_text(config->learner);
	bool values = config->learner == COP_LEARNER_VALUE;
	return (cop_wire_model){
		.name = config->name,
		.name_length = strlen(config->name),
		.learner = learner,
		.learner_length = strlen(learner),
		.features = config->features,
		.bits = config->bits,
		.max_nonzeros = config->max_nonzeros,
		.arms = config->arms,
		.max_candidates = config->learner == COP_LEARNER_RANK ? config->max_candidates : 0,
		.candidate_features = config->candidate_features,
		.losses = values && config->feedback == COP_FEEDBACK_TWO ? 2 : 1,
		.loss_range = { config->loss_range[0], config->loss_range[1] },
		.value_range = { config->value_range[0], config->value_range[1] },
		.delta = config->delta,
		.reward = reward_of(config->reward),
		.reward_window = 1e-6 * (double)config->reward_window,
		.has_default_loss = config->default_loss.given,
		.default_loss = config->default_loss.value,
	};
}

size_t cop_model_set_put(const cop_config *config, cop_bytes *bytes)
{
	size_t count = config->model_count;
	cop_wire_model *models = cop_mem_alloc(count, sizeof *models);
	if (models == NULL) {
		bytes->err = COP_ENOMEM;
		return count;
	}
	for (size_t i = 0; i < count; i++)
		models[i] = describe(&config->models[i]);
	size_t put = cop_wire_models_put(bytes, models, count, COP_JOURNAL_MODEL_SET_MAX);
	cop_mem_free(models);
	return count - put;
}

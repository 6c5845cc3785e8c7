/* A pure translation: each setting of the library comes from one of the configuration; what the configuration leaves
 * open keeps the library's default. */
#include "daemon/config/config_model.h"

#include <stdio.h>

void cop_config_model_settings(const cop_config_model *config, cop_model_settings *settings)
{
	cop_model_settings_init(settings);
	cop_learner_settings *l = &settings->learner;
	(void)snprintf(l->learner, sizeof l->learner, "%s", cop_config_learner_text(config->learner));
	l->features = config->features;
	l->bits = config->bits;
	l->max_nonzeros = config->max_nonzeros;
	l->arms = config->arms;
	l->candidate_features = config->candidate_features;
	l->max_candidates = config->max_candidates;
	if (config->policy != COP_POLICY_NONE)
		(void)snprintf(l->policy, sizeof l->policy, "%s", cop_config_policy_text(config->policy));
	l->exploration = (cop_policy_settings){
		.epsilon = config->epsilon,
		.epsilon_decay = config->epsilon_decay,
		.epsilon_floor = config->epsilon_floor,
		.gamma = config->gamma,
		.optimism = config->optimism,
		.shares = { config->least_propensity, config->share_min, config->share_max },
	};
	l->experts = config->experts;
	l->height = config->height;
	l->trees = config->trees;
	l->learning_rate = config->learning_rate;
	l->literal = !config->shared_bias;
	l->delta = config->delta;
	l->delta_decay = config->delta_decay;
	l->delta_floor = config->delta_floor;
	l->feedback = (cop_value_feedback)config->feedback;
	l->seed = config->seed;
	settings->reward_window = 1e-6 * (double)config->reward_window;
	settings->has_default_loss = config->default_loss.given;
	settings->default_loss = config->default_loss.value;
	settings->reward = config->reward;
	settings->loss_low = config->loss_range[0];
	settings->loss_high = config->loss_range[1];
	settings->value_low = config->value_range[0];
	settings->value_high = config->value_range[1];
	settings->pending_max = config->pending_max;
	settings->pending_bytes = config->pending_bytes;
	settings->explain_keep = config->explain_keep;
}

/* A learner is found by its name here and nowhere else. */
#include "learn/learner.h"

const cop_learner_class *const cop_learner_table[] = { &cop_learner_ensemble, &cop_learner_dgt, &cop_learner_value,
	&cop_learner_rank, &cop_learner_trained, &cop_learner_trained_value, &cop_learner_ridge, NULL };

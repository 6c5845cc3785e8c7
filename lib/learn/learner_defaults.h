/* learn/learner_defaults.h: what a learner's settings are where the caller leaves them at "the default".
 *
 * The table in learner_defaults.c is the one place of these figures: configurations, the command line and the
 * reference take them from here. Pure functions. */
#ifndef COP_LEARN_LEARNER_DEFAULTS_H
#define COP_LEARN_LEARNER_DEFAULTS_H

#include "learn/learner.h"

/* Fills in what is at "the default", by the learner, the policy, and whether contexts are sparse. What the learner does
 * not have stays as it is, as do the settings of a learner that is not known. */
void cop_learner_defaults_fill(cop_learner_settings *settings);

#endif

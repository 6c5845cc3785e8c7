/* learn/footprint.h: how much memory a model takes before it is made, so that a configuration can be refused.
 *
 * Bytes of the learner's weights, statistics and optimiser states and of the explanations that are kept; what waits for
 * feedback comes on top (cop_model_settings has its bounds). Within a few per cent for all but the smallest. A double,
 * since settings may ask for more than any machine has. Pure function; any thread. */
#ifndef COP_LEARN_FOOTPRINT_H
#define COP_LEARN_FOOTPRINT_H

#include "learn/learner.h"

/* settings: valid and complete, as in a living learner (nothing at "the default"). */
double cop_footprint(const cop_learner_settings *settings, size_t explain_keep);

#endif

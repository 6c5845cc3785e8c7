/* online/model_gain.h: what is counted of the policy's gain, for model_events.c alone: beside a control group by
 * online/control.h and online/constant_arms.h, else, in models of arms, by online/arm_gains.h. */
#ifndef COP_ONLINE_MODEL_GAIN_H
#define COP_ONLINE_MODEL_GAIN_H

#include "online/model_state.h"

/* A decision that begins to wait; split: NULL, there is no control group. */
uint8_t cop_model_gain_cluster(
        const cop_model *model, const cop_model_context *context, const cop_control_split *split);
void cop_model_gain_note(cop_model *model, const cop_control_split *split, double now);
/* It was learned of, with that loss in [0, 1], and is not another system's. */
void cop_model_gain_count(cop_model *model, const cop_pending_entry *entry, double loss);

#endif

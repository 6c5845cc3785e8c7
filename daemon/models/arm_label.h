/* daemon/models/arm_label.h: the labels of an arm's sample in the metrics: model and arm, under its name where it has
 * one, else its number. The loop's thread. */
#ifndef COP_DAEMON_MODELS_ARM_LABEL_H
#define COP_DAEMON_MODELS_ARM_LABEL_H

#include "daemon/common/exposition.h"
#include "daemon/models/model_table.h"

#define COP_ARM_LABEL_ROOM (COP_CONFIG_NAME_MAX + 40 + COP_CONFIG_LISTED_NAME * COP_EXPOSITION_ESCAPED + 1)

void cop_arm_label(const cop_model_slot *slot, size_t arm, char out[COP_ARM_LABEL_ROOM]);

#endif

/* daemon/models/control_body.h: the control group, and what the policy gains over it and over each arm, for status,
 * metrics and log.
 *
 * Losses are in the model's loss_range. The loop's thread. */
#ifndef COP_DAEMON_MODELS_CONTROL_BODY_H
#define COP_DAEMON_MODELS_CONTROL_BODY_H

#include "base/bytes.h"
#include "daemon/common/log.h"
#include "daemon/models/model_table.h"

/* Key `holdout` and its map, of a model that has or had a control group; key `arm_gains`, of one of arms that decides
 * and has none. */
void cop_control_body_status(const cop_model_slot *slot, cop_bytes *out);
/* Families of metrics, with samples of such models alone. COP_ENOMEM in the bytes' err. */
void cop_control_body_metrics(const cop_model_table *models, cop_bytes *out);
/* Logs what is known since the last look: that the policy is better, that it is worse, that units are not split as
 * promised; each once, until it is no longer so. */
void cop_control_body_look(cop_model_slot *slot, cop_log *log);

#endif

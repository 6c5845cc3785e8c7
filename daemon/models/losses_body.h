/* daemon/models/losses_body.h: what a model's named losses come to, for status and metrics.
 *
 * Each in its own units (online/named_accounts.h). The loop's thread. */
#ifndef COP_DAEMON_MODELS_LOSSES_BODY_H
#define COP_DAEMON_MODELS_LOSSES_BODY_H

#include "base/bytes.h"
#include "daemon/models/model_table.h"

/* Key `losses` and an array of maps, of a model whose losses have names. */
void cop_losses_body_status(const cop_model_slot *slot, cop_bytes *out);
/* Families of metrics, with samples of such models alone. */
void cop_losses_body_metrics(const cop_model_table *models, cop_bytes *out);

#endif

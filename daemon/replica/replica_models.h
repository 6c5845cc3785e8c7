/* daemon/replica/replica_models.h: whether two instances serve the same models. No state: any thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_MODELS_H
#define COP_DAEMON_REPLICA_REPLICA_MODELS_H

#include "daemon/config/config.h"

/* Whether the configuration serves the models of this set (wire/wire_models.h), no others, in the same shape; more arms
 * or features than the set has are allowed. Else why has what differs. */
bool cop_replica_models_fit(const cop_config *config, const void *set, size_t length, char *why, size_t room);

#endif

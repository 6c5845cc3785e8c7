/* daemon/models/model_set.h: the configured models as journals name them (wire/wire_models.h). Any thread. */
#ifndef COP_DAEMON_MODELS_MODEL_SET_H
#define COP_DAEMON_MODELS_MODEL_SET_H

#include "base/bytes.h"
#include "daemon/config/config.h"

/* Appends all of them, as far as a segment's header has room; how many were left out. Failure: bytes->err. */
size_t cop_model_set_put(const cop_config *config, cop_bytes *bytes);

#endif

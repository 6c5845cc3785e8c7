/* daemon/models/listed_names.h: the names that files give to a model's arms, features and candidates, as records of the
 * configuration have them, so that a decision is explained by the names of its time.
 *
 * A MessagePack map of models, by stored name, each a map of option (arm_names ...) to an array of texts. A model
 * without names is not in it. No state: any thread. */
#ifndef COP_DAEMON_MODELS_LISTED_NAMES_H
#define COP_DAEMON_MODELS_LISTED_NAMES_H

#include "daemon/models/model_table.h"

#define COP_LISTED_NAMES_MOST ((size_t)4 << 20) /* bytes */

/* Appends the map of the models that are served, or nil, if that is longer than COP_LISTED_NAMES_MOST. Failure:
 * bytes->err. */
void cop_listed_names_put(const cop_model_table *set, cop_bytes *bytes);
/* The model's names become those that the map has under the stored name. COP_EFORMAT, COP_ENOMEM: it has none, as far
 * as is known. */
COP_CHECK cop_err cop_listed_names_take(const void *data, size_t length, const char *stored, cop_config_model *model);
/* Whether it has any. */
bool cop_listed_names_has(const cop_config_model *model);

#endif

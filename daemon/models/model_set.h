/* daemon/models/model_set.h: the configured models as journals name them (wire/wire_models.h). Any thread. */
#ifndef COP_DAEMON_MODELS_MODEL_SET_H
#define COP_DAEMON_MODELS_MODEL_SET_H

#include "base/bytes.h"
#include "daemon/models/model_table.h"

/* What a record of the configuration has of models beside, for whoever learns them again from the journal. */
typedef struct cop_model_set_notes {
	const cop_model_table *models; /* that began, or not, as saved ones */
	bool apart;                    /* they hold what no record has */
	const char *const *reset;      /* names of models that were begun anew, NULL-terminated; NULL: none */
} cop_model_set_notes;

/* Appends all of them, as far as a segment's header has room; how many were left out. notes: NULL is none. Failure:
 * bytes->err. */
size_t cop_model_set_put(const cop_config *config, const cop_model_set_notes *notes, cop_bytes *bytes);

#endif

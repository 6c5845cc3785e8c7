/* daemon/durable/past_find.h: the decision that a question about the past is of, in whatever life of its model, and the
 * configuration of then.
 *
 * A model that was begun anew live has another name in the journal, NAME#LIFE (daemon/config/live.h). Whoever asks for
 * NAME asks for all lives; NAME#LIFE is one, NAME#0 the first. Files are read alone. One thread. */
#ifndef COP_DAEMON_DURABLE_PAST_FIND_H
#define COP_DAEMON_DURABLE_PAST_FIND_H

#include "daemon/config/config.h"
#include "daemon/durable/past.h"

typedef struct cop_past_found {
	cop_event_id id;
	uint64_t sequence; /* 0: there is none */
	double time;
	char stored[COP_CONFIG_NAME_MAX + 1]; /* the model's name in the journal then */
} cop_past_found;

/* Whether a model of that name in the journal is the one that is asked for. */
bool cop_past_find_is_of(const char *asked, const char *stored, size_t length);
/* The question's decision. COP_ENOTFOUND: the journal has none. Else errors of its reader; all with *diag. */
COP_CHECK cop_err cop_past_find_decision(
        const char *folder, const cop_past_question *question, cop_past_found *out, cop_diag *diag);
/* The configuration in force at the decision, as the journal tells it, with its model in that life alone. Caller frees
 * with cop_past_find_free_config. COP_ENOTFOUND: the journal no longer has it; else it cannot be read, with *diag. */
COP_CHECK cop_err cop_past_find_config(
        const char *folder, const cop_past_found *found, cop_config **out, size_t *models, cop_diag *diag);
/* models: as given out. */
void cop_past_find_free_config(cop_config *config, size_t models);

#endif

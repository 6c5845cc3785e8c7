/* daemon/durable/past_names.h: what arms and features were called when a decision of the past was made.
 *
 * Names that files give stand in the checkpoint before the decision and in later records of the configuration
 * (daemon/models/listed_names.h); those that contexts bring of hashed places in checkpoints alone. One thread. */
#ifndef COP_DAEMON_DURABLE_PAST_NAMES_H
#define COP_DAEMON_DURABLE_PAST_NAMES_H

#include "daemon/models/model_table.h"
#include "events/place_names.h"
#include "store/journal_segment.h"

typedef struct cop_past_names {
	cop_config_model *model;  /* whose names are those of then; NULL: not begun */
	cop_config_list today[3]; /* its own, set aside */
	bool known;               /* those of then were told */
	cop_place_names *later;   /* of the first checkpoint behind the decision, owned; NULL: there is none */
} cop_past_names;

/* The model of that stored name has no names until it is told of; config is kept. */
void cop_past_names_begin(cop_past_names *names, cop_config *config, const char *stored);
/* From here on these count; data NULL: it is not known which. COP_ENOMEM. */
COP_CHECK cop_err cop_past_names_hear(cop_past_names *names, const void *data, size_t length);
/* The same of a record, if it is of a configuration. */
COP_CHECK cop_err cop_past_names_hear_record(cop_past_names *names, const cop_journal_record *raw);
/* If none are known, the model has its own again. */
void cop_past_names_end(cop_past_names *names);
/* Whether the names that the model has are its own, for want of others. */
bool cop_past_names_are_today(const cop_past_names *names, const cop_config_model *model);
/* Names of places in the state after the decision of that record. COP_ENOMEM, COP_EIO, with *diag. */
COP_CHECK cop_err cop_past_names_find_later(
        cop_past_names *names, const char *state_dir, uint64_t sequence, cop_diag *diag);
void cop_past_names_fini(cop_past_names *names);

#endif

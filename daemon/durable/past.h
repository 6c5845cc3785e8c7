/* daemon/durable/past.h: a model as it was when it had just made a decision of the past: the newest checkpoint from
 * before it, and the journal's records from there to the decision's.
 *
 * Files are read and nothing is changed, so a daemon may serve from the same folder meanwhile. One thread. */
#ifndef COP_DAEMON_DURABLE_PAST_H
#define COP_DAEMON_DURABLE_PAST_H

#include "daemon/durable/past_names.h"

typedef struct cop_past_question {
	const char *model; /* in whatever life, or NAME#LIFE (past_find.h) */
	const char *id;    /* a text, or, where no decision has that, a whole number */
	double at;         /* unix seconds: the last decision of this id until then; infinite: the last one */
	uint64_t record;   /* the decision of this record, whatever its id; 0: it is looked for */
} cop_past_question;

typedef struct cop_past {
	cop_config *config; /* borrowed: what was given, or: */
	cop_config *then;   /* that of an earlier life, or of a model that is not served any more; NULL: not wanted */
	size_t models_then;
	cop_model_table models;
	char stored[COP_CONFIG_NAME_MAX + 1]; /* the model's name in the journal */
	cop_model_slot *slot; /* the model asked for, in which the decision waits, explained as when it was made */
	cop_event_id id;      /* of the decision, */
	uint64_t sequence;    /* its record, */
	double time;          /* and its time, unix seconds */
	cop_past_names names; /* what its arms and features were called */
} cop_past;

/* config: kept, set to keep explanations, to the life that is asked for, and to the names of then. COP_ENOTFOUND:
 * no such model or decision, or what the model was like then is no longer known. Else as cop_recovery_run; all
 * with *diag. Finish with close, also after an error. */
COP_CHECK cop_err cop_past_open(cop_past *past, cop_config *config, const cop_past_question *question, cop_diag *diag);
void cop_past_close(cop_past *past);

/* "2026-11-27T10:52:01Z", or unix seconds. False: it is neither. */
bool cop_past_time(const char *text, double *out);

#endif

/* daemon/models/apprentice_body.h: what an apprentice has found out, for status, log and metrics. The loop's thread. */
#ifndef COP_DAEMON_MODELS_APPRENTICE_BODY_H
#define COP_DAEMON_MODELS_APPRENTICE_BODY_H

#include "base/bytes.h"
#include "daemon/common/counters.h"
#include "daemon/models/model_table.h"

#define COP_APPRENTICE_TEXT 320

extern const cop_counter cop_apprentice_body_counters[]; /* of a cop_apprentice_summary */

/* Key `apprentice` and its map, of a model that is or was one; returns the number of pairs put. */
void cop_apprentice_body_status(const cop_model_slot *slot, cop_bytes *out);
/* "observed=120 agreement=0.8 ..." */
void cop_apprentice_body_text(const cop_model *model, char out[COP_APPRENTICE_TEXT]);
/* Families of metrics; from the process' begin on, as cop_model_slot_begin has it. */
void cop_apprentice_body_metrics(const cop_model_table *models, cop_bytes *out);

#endif

/* online/model_positions.h: events of event logs that a model has taken in already. Thread rule as of the model. */
#ifndef COP_ONLINE_MODEL_POSITIONS_H
#define COP_ONLINE_MODEL_POSITIONS_H

#include "online/model.h"
#include "online/positions.h"

/* Whether the model has taken the event that stood there, which is counted then; without a source it has not. Else
 * there is room to note it. COP_EFULL, COP_ENOMEM (online/positions.h). */
COP_CHECK cop_err cop_model_positions_check(cop_model *model, const cop_wire_position *at, bool *passed);
/* The event that stood there was taken; nothing without a source. It was checked. */
void cop_model_positions_note(cop_model *model, const cop_wire_position *at);
/* The same of a journal's record. COP_EFULL, COP_ENOMEM. */
COP_CHECK cop_err cop_model_positions_apply(cop_model *model, const cop_wire_position *at);
const cop_positions *cop_model_positions(const cop_model *model);
/* As of a model that has read no log: of a copy that goes another way. */
void cop_model_positions_clear(cop_model *model);
/* The decision that waits under the id, by which an event that was taken is answered; changes nothing. */
bool cop_model_positions_decision(cop_model *model, const cop_event_id *id, cop_decision *out);

#endif

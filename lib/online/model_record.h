/* online/model_record.h: a model's events as journal records, and the way back: what a record reports is done to the
 * model again, without a draw and without a rule. Thread rule as of the model. */
#ifndef COP_ONLINE_MODEL_RECORD_H
#define COP_ONLINE_MODEL_RECORD_H

#include "online/model.h"
#include "wire/wire_record.h"

/* Fills in a decision's record but for the model's name and the time: what the model just decided for the context, and
 * what ended thereby. Rows, candidates and mask are borrowed of the context, settled of the model until its next event.
 */
void cop_model_record_decision(
        cop_model *model, const cop_model_context *context, const cop_decision *decision, cop_wire_record *record);
/* Fills in settled, of any other event that just happened, and joined, of a feedback that has its context. Borrowed
 * until the model's next event. */
void cop_model_record_ended(const cop_model *model, cop_wire_record *record);
cop_wire_result cop_model_record_result(cop_feedback_result result);
cop_wire_maker cop_model_record_maker(cop_control_by by);

/* Does to the model what a record of its own reports (types decision, feedback, expiry, activation, unheard, merge;
 * others change nothing). The same records on the same state give the state that the recorded events gave, byte for
 * byte. COP_EINVAL: the record does not fit the model's state: the decision is not one of this model's or waits
 * already, or one that is ended or joined does not wait; what does fit of its endings was done. COP_ENOMEM,
 * COP_EDIVERGED. */
COP_CHECK cop_err cop_model_apply(cop_model *model, cop_wire_record_type type, const cop_wire_record *record);

#endif

/* online/model_record.h: what a journal says of a model's events. Any thread. */
#ifndef COP_ONLINE_MODEL_RECORD_H
#define COP_ONLINE_MODEL_RECORD_H

#include "online/model.h"
#include "wire/wire_record.h"

/* Fills in all of a decision's record but the model's name, the time and the number of evicted ones: what the model
 * just decided for the context. Rows, candidates and mask are borrowed of the context. */
void cop_model_record_decision(
        cop_model *model, const cop_model_context *context, const cop_decision *decision, cop_wire_record *record);

#endif

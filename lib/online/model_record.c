#include "online/model_record.h"

#include <string.h>

_Static_assert(COP_WIRE_RECORD_PREDICTIONS == COP_LEARNER_EXPERTS, "the journal has room for all predictions");

void cop_model_record_decision(
        cop_model *model, const cop_model_context *context, const cop_decision *decision, cop_wire_record *record)
{
	const cop_learner *learner = cop_model_learner(model);
	record->id = *context->id;
	record->x = *context->x;
	record->has_x = true;
	record->candidate = context->candidate;
	record->candidates = context->candidates;
	record->mask = context->mask;
	record->arms = context->candidates > 0 ? context->candidates : learner->settings.arms;
	record->values = learner->class->values;
	record->a = decision->arm;
	record->p = decision->p;
	record->density = learner->class == &cop_learner_bins;
	record->greedy = decision->greedy;
	record->y = decision->y;
	record->u = decision->u;
	record->rev = decision->rev;
	record->defer = context->defer;
	record->predictions = (unsigned)cop_learner_predictions(learner);
	memcpy(record->prediction, decision->prediction, sizeof record->prediction);
}

/* tests/unit/online/replay_fixture.h: what one model did, done to another by its records. */
#ifndef COP_TESTS_ONLINE_REPLAY_FIXTURE_H
#define COP_TESTS_ONLINE_REPLAY_FIXTURE_H

#include "online/model_record.h"

/* Applies the record of the decision that `live` has just made to another model. live == model: of one that was never
 * made, and that ended nothing. own_p: it was an existing system's; NULL: a model's own. */
static inline cop_err model_replay(cop_model *live, cop_model *model, const cop_model_context *context, double now,
        const cop_decision *decision, const double *own_p)
{
	cop_wire_record record = { .time = now, .observed = own_p != NULL, .own_p = own_p != NULL ? *own_p : 0.0 };
	cop_model_record_decision(live, context, decision, &record);
	if (live == model)
		record.settled = (cop_wire_settled){ .count = 0 };
	return cop_model_apply(model, COP_WIRE_RECORD_DECISION, &record);
}

/* Of the windows that `live` has just ended. */
static inline cop_err model_replay_expiry(const cop_model *live, cop_model *model, double now)
{
	cop_wire_record record = { .time = now };
	cop_model_record_ended(live, &record);
	return cop_model_apply(model, COP_WIRE_RECORD_EXPIRY, &record);
}

#endif

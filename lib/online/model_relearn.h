/* online/model_relearn.h: records of a model's journal, taken by a model that also shows what it would have decided,
 * and that may have other settings than the one that made them.
 *
 * Decisions are followed as they were made. With the settings that the journal's model had, the state is that of
 * cop_model_apply (online/model_record.h), byte for byte, whatever `own` is. Thread rule as of the model. */
#ifndef COP_ONLINE_MODEL_RELEARN_H
#define COP_ONLINE_MODEL_RELEARN_H

#include "online/model.h"
#include "wire/wire_record.h"

typedef struct cop_model_relearning {
	bool own; /* what decisions are learned with (predictions, revision) is this model's, not as recorded */
	/* Windows, default loss and reward rule are this model's: what records report of endings is not looked at, and
	 * feedback is taken as if it had just come. */
	bool rules;
	/* What the model would have done at a decision's context, before it follows it; the view is borrowed. Not of
	 * values without a density. NULL: not asked for. */
	void (*see)(void *context, const cop_policy_view *view);
	void *context;
	cop_feedback_result result; /* out: of a feedback, by `rules` */
} cop_model_relearning;

/* Does to the model what a record of its own, or of a model of the same rows and actions, reports (types as
 * cop_model_apply). Errors of cop_model_apply; by `rules` also those of feedback. What fitted was done. */
COP_CHECK cop_err cop_model_relearn(
        cop_model *model, cop_wire_record_type type, const cop_wire_record *record, cop_model_relearning *how);

#endif

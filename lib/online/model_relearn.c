/* Records as they are go the way of recovery. By the model's own rules a record is the event that it reports: windows
 * that are over end first, then the decision is followed and waits, or the feedback comes. */
#include "online/model_relearn.h"

#include "online/model_positions.h"
#include "online/model_record.h"
#include "online/model_state.h"

static cop_err feedback_with_context(cop_model *model, const cop_wire_record *r, cop_feedback_result *result)
{
	const cop_model_played played = { &r->x, r->candidate, r->a, r->p };
	cop_model_answered answered = { &r->x, r->a, r->p, r->loss[0], true, r->own_p, r->greedy };
	if (r->candidates > 0)
		return cop_model_feedback_played(model, &r->id, &played, r->loss[0], r->time, result);
	if (r->observed)
		return cop_model_observe_answered(model, &r->id, &answered, r->time, result);
	return cop_model_feedback_full(model, &r->id, &r->x, r->a, r->p, r->loss, r->losses, r->time, result);
}

/* Whose id waits still was asked for again: it got its first decision. */
static cop_err decide(cop_model *model, const cop_wire_record *r, const cop_model_relearning *how)
{
	cop_pending_entry entry;
	cop_wire_record bare = *r;
	bare.settled = (cop_wire_settled){ .count = 0 };
	return cop_model_find(model, &r->id, &entry) ? COP_OK : cop_model_state_apply_decision(model, &bare, how);
}

static cop_err by_rules(
        cop_model *model, cop_wire_record_type type, const cop_wire_record *r, cop_model_relearning *how)
{
	if (type != COP_WIRE_RECORD_UNHEARD)
		(void)cop_model_expire(model, r->time, SIZE_MAX);
	switch (type) {
	case COP_WIRE_RECORD_DECISION:
		return decide(model, r, how);
	case COP_WIRE_RECORD_FEEDBACK:
		cop_wire_named_find(&r->named, &model->set.losses.weights, &model->told);
		if (r->has_x && !r->joined)
			return feedback_with_context(model, r, &how->result);
		return cop_model_feedback(model, &r->id, r->loss, r->losses, r->time, &how->result);
	case COP_WIRE_RECORD_ACTIVATION:
		cop_model_activate(model, &r->id, r->time, &how->result);
		break;
	case COP_WIRE_RECORD_UNHEARD:
		(void)cop_model_unheard(model, &r->id, NULL);
		break;
	case COP_WIRE_RECORD_EXPIRY:
	case COP_WIRE_RECORD_CONFIG:
	case COP_WIRE_RECORD_PROMOTION:
	case COP_WIRE_RECORD_FORGOTTEN:
	case COP_WIRE_RECORD_POSITION:
		break;
	case COP_WIRE_RECORD_MERGE: /* a learner that has no sums goes without */
		return cop_learner_sums(model->learner) == NULL ? COP_OK : cop_model_apply(model, type, r);
	}
	return COP_OK;
}

cop_err cop_model_relearn(
        cop_model *model, cop_wire_record_type type, const cop_wire_record *record, cop_model_relearning *how)
{
	if (how->rules) {
		cop_err err = by_rules(model, type, record, how);
		return err == COP_OK ? cop_model_positions_apply(model, &record->from) : err;
	}
	if (type == COP_WIRE_RECORD_MERGE && cop_learner_sums(model->learner) == NULL)
		return COP_OK; /* relearned by another learner */
	if (type != COP_WIRE_RECORD_DECISION)
		return cop_model_apply(model, type, record);
	cop_model_begin(model);
	cop_err err = cop_model_state_apply_decision(model, record, how);
	if (err == COP_OK)
		err = cop_model_positions_apply(model, &record->from);
	return err == COP_OK && model->ended.missing > 0 ? COP_EINVAL : err;
}

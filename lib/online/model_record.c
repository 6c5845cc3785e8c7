/* A record lists every waiting decision that its event ended. So applying it looks each one up by its id and does what
 * the record reports, in the order of the event itself: windows that were over end first; a decision is followed and
 * waits; only what gave way to it ends after the learners went along. */
#include "online/model_record.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "learn/sums.h"
#include "online/model_positions.h"
#include "online/model_state.h"

_Static_assert(COP_WIRE_RECORD_PREDICTIONS == COP_LEARNER_EXPERTS, "the journal has room for all predictions");
_Static_assert(COP_WIRE_RECORD_ANY_ARM == COP_MODEL_ANY_ARM, "the journal reports what the model takes");

_Static_assert(COP_WIRE_LIMIT_MIN == (int)COP_SHARES_LIMIT_MIN && COP_WIRE_LIMIT_MAX == (int)COP_SHARES_LIMIT_MAX &&
                       COP_WIRE_LIMIT_LEAST == (int)COP_SHARES_LIMIT_LEAST && COP_WIRE_LIMITS == (int)COP_SHARES_LIMITS,
        "the journal numbers limits as decisions do");

/* ---- from an event ---- */

void cop_model_record_ended(const cop_model *model, cop_wire_record *record)
{
	record->settled = (cop_wire_settled){
		.items = model->ended.items.data,
		.length = model->ended.items.length,
		.count = model->ended.count,
		.lost = model->ended.items.err != COP_OK,
	};
	record->joined = record->has_x && model->ended.joined;
}

static void record_maker(const cop_model_maker *maker, cop_wire_record *record)
{
	const cop_control_split *split = &maker->split_by;
	record->split = maker->split;
	if (!maker->split)
		return;
	record->split_by = (cop_wire_split){ split->terms.share, split->terms.baseline, split->terms.allowance,
		split->place, split->by == COP_CONTROL_KEPT };
	record->observed = split->by != COP_CONTROL_POLICY;
	record->own_p = record->observed ? maker->own_p : 0.0;
}

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
	record->limit = (cop_wire_limit)decision->limit;
	record->greedy = decision->greedy;
	record->y = decision->y;
	record->u = decision->u;
	record->rev = decision->rev;
	record->defer = context->defer;
	record->owner = context->owner;
	if (context->unit != NULL)
		record->unit = *context->unit;
	record_maker(&model->made_by, record);
	record->predictions = (unsigned)cop_learner_predictions(learner);
	memcpy(record->prediction, decision->prediction, sizeof record->prediction);
	cop_model_record_ended(model, record);
	record->joined = false;
}

cop_wire_result cop_model_record_result(cop_feedback_result result)
{
	static const cop_wire_result results[COP_FEEDBACK_RESULTS] = {
		[COP_FEEDBACK_APPLIED] = COP_WIRE_APPLIED,
		[COP_FEEDBACK_RECORDED] = COP_WIRE_RECORDED,
		[COP_FEEDBACK_DUPLICATE] = COP_WIRE_DUPLICATE,
		[COP_FEEDBACK_LATE] = COP_WIRE_LATE,
		[COP_FEEDBACK_UNKNOWN] = COP_WIRE_UNKNOWN,
	};
	return results[result];
}

cop_wire_maker cop_model_record_maker(cop_control_by by)
{
	static const cop_wire_maker makers[COP_CONTROL_MAKERS] = {
		[COP_CONTROL_POLICY] = COP_WIRE_BY_POLICY,
		[COP_CONTROL_HELD] = COP_WIRE_BY_HOLDOUT,
		[COP_CONTROL_KEPT] = COP_WIRE_BY_CONSERVATIVE,
	};
	return makers[by];
}

/* ---- back to the model ---- */

static cop_feedback_result result_of(const cop_wire_record *r)
{
	size_t result = 0;
	while (result + 1 < COP_FEEDBACK_RESULTS && cop_model_record_result((cop_feedback_result)result) != r->result)
		result++;
	return (cop_feedback_result)result;
}

void cop_model_settle_all(cop_model *model, const cop_wire_settled *settled, bool gave_way, double now)
{
	cop_wire_settled rest = *settled;
	cop_wire_settlement is;
	cop_pending_entry entry;
	size_t losses = cop_learner_losses(&model->set.learner);
	while (cop_wire_settled_next(&rest, &is)) {
		if (cop_wire_settled_gave_way(is.outcome) != gave_way)
			continue;
		if ((is.losses == 0 || is.losses == losses) && cop_model_find(model, &is.id, &entry))
			cop_model_settle(model, &entry, &is, now);
		else
			model->ended.missing++;
	}
}

/* Whether the model could have made that decision; a mask is not looked at. */
static bool is_own(const cop_model *model, const cop_model_context *context, const cop_decision *decision)
{
	if (model->learner->class->values)
		return isfinite(decision->y) && decision->u >= -1 && decision->u <= 1;
	const cop_candidates unmasked = { context->candidates, context->candidate, NULL };
	return cop_learner_can_decide(model->learner, &unmasked) &&
	       decision->arm < cop_model_state_arms(model, context) && decision->p > 0.0 && decision->p <= 1.0;
}

/* The serving learner moves as by the decision; one with another in its shadow follows it, since the shadow asks for
 * what the serving one would have done, and so does one that is to be seen. */
static void go_along(cop_model *model, const cop_model_context *context, cop_decision *decision,
        const cop_model_relearning *how, double *own_p)
{
	const cop_candidates set = cop_model_candidates(context);
	const bool values = model->learner->class->values;
	cop_decision followed = *decision;
	cop_policy_view view;
	if (how != NULL && how->own)
		decision->rev = model->learner->rev;
	bool follows = how != NULL ? model->learner->class->view != NULL : model->shadow.learner != NULL && !values;
	if (!follows) {
		cop_learner_advance(model->learner, context->x, &set);
		return;
	}
	cop_err err = cop_learner_follow(model->learner, context->x, &set, &followed, &view);
	COP_ASSERT(err == COP_OK); /* the model fits the context */
	if (how != NULL && how->own && !values) {
		memcpy(decision->prediction, followed.prediction, sizeof decision->prediction);
		decision->greedy = followed.greedy;
		*own_p = fmin(view.p[decision->arm], 1.0);
	}
	if (how != NULL && how->see != NULL)
		how->see(how->context, &view);
}

#define NO_PREDICTION 0.5f /* what an expert that knows nothing predicts */

/* As many as the learner's experts now are; a record of another version, with other experts, tells nothing of these. */
static void get_predictions(const cop_model *model, const cop_wire_record *r, float *out)
{
	size_t predictions = cop_learner_predictions(model->learner);
	memcpy(out, r->prediction, sizeof r->prediction);
	for (size_t i = 0; i < predictions && r->predictions != predictions; i++)
		out[i] = NO_PREDICTION;
}

cop_err cop_model_state_apply_decision(cop_model *model, const cop_wire_record *r, const cop_model_relearning *how)
{
	const cop_model_context context = {
		.id = &r->id,
		.x = &r->x,
		.candidate = r->candidate,
		.candidates = r->candidates,
		.mask = r->mask,
		.owner = r->owner,
		.defer = r->defer,
		.unit = r->unit.kind != 0 ? &r->unit : NULL,
	};
	cop_pending_entry entry;
	cop_decision decision = {
		.arm = r->a,
		.greedy = r->greedy,
		.limit = (uint8_t)r->limit,
		.u = r->u,
		.p = r->values ? 1.0 : r->p,
		.y = r->y,
		.rev = r->rev,
	};
	get_predictions(model, r, decision.prediction);
	const cop_wire_split *by = &r->split_by;
	const cop_control_split split = { { by->share, by->baseline, by->allowance }, by->place,
		!r->observed ? COP_CONTROL_POLICY
		: by->kept   ? COP_CONTROL_KEPT
		             : COP_CONTROL_HELD };
	bool observable = !model->learner->class->values && r->own_p >= 0.0 && r->own_p <= 1.0;
	bool splits = !model->learner->class->values && by->place < COP_CONTROL_PLACES &&
	              by->baseline >= COP_CONTROL_CALLER && by->baseline <= UINT32_MAX;
	bool fits = is_own(model, &context, &decision) && (observable || !r->observed) && (splits || !r->split) &&
	            ((model->shadow.learner == NULL && how == NULL) || cop_model_fits(model, &context));
	if (!fits)
		return COP_EINVAL;
	cop_err err = cop_model_reserve(model, &context, r->observed);
	if (err != COP_OK)
		return err;
	cop_model_settle_all(model, &r->settled, false, r->time);
	if (cop_model_find(model, &r->id, &entry))
		return COP_EINVAL;
	double own_p = r->own_p;
	go_along(model, &context, &decision, how, &own_p);
	cop_model_await(model, &context, r->time, &decision, r->observed ? &own_p : NULL, r->split ? &split : NULL,
	        &r->settled);
	return COP_OK;
}

/* Of a decision that was not known here, or was another one. */
static cop_err apply_foreign(cop_model *model, const cop_wire_record *r, const double *scaled)
{
	const cop_model_played played = { &r->x, r->candidate, r->a, r->p };
	cop_model_answered answered = { &r->x, r->a, r->p, r->loss[0], true, r->own_p, r->greedy };
	cop_err err = cop_model_take_foreign(model, &played, scaled, r->observed ? &answered : NULL);
	if (err == COP_OK && cop_pending_recall(model->pending, &r->id) == COP_RECENT_IDS_NOT)
		cop_pending_remember(model->pending, &r->id, COP_RECENT_IDS_ANSWERED, r->time);
	return err;
}

/* A one-point model of values cannot have learned from it: the perturbation is not in the message. */
static bool can_learn_foreign(const cop_model *model, const cop_wire_record *r)
{
	if (model->learner->class->candidates)
		return r->candidates == 1;
	return r->candidates == 0 && (!model->learner->class->values || r->losses == 2);
}

static cop_err apply_feedback(cop_model *model, const cop_wire_record *r)
{
	double scaled[2] = { 0.0, 0.0 };
	cop_pending_entry entry;
	const cop_feedback_result result = result_of(r);
	bool accepted = result == COP_FEEDBACK_APPLIED || result == COP_FEEDBACK_RECORDED;
	cop_err err = cop_model_scale(model, r->loss, r->losses, scaled);
	if (err != COP_OK)
		return err;
	cop_wire_named_find(&r->named, &model->set.losses.weights, &model->told);
	cop_model_settle_all(model, &r->settled, false, r->time);
	if (accepted && (r->joined || !r->has_x))
		err = cop_model_find(model, &r->id, &entry) ? cop_model_join(model, &entry, scaled, result, r->time)
		                                            : COP_EINVAL;
	else if (accepted)
		err = can_learn_foreign(model, r) ? apply_foreign(model, r, scaled) : COP_EINVAL;
	return cop_model_count_result(model, err, r->time, &result);
}

static cop_err apply_activation(cop_model *model, const cop_wire_record *r)
{
	cop_pending_entry entry;
	cop_model_settle_all(model, &r->settled, false, r->time);
	if (r->result == COP_WIRE_APPLIED) {
		if (!cop_model_find(model, &r->id, &entry))
			return COP_EINVAL;
		cop_pending_activate(model->pending, &entry, r->time);
	}
	cop_model_forget_old(model, r->time);
	return COP_OK;
}

static cop_err apply_expiry(cop_model *model, const cop_wire_record *r)
{
	cop_model_settle_all(model, &r->settled, false, r->time);
	cop_model_settle_all(model, &r->settled, true, r->time);
	cop_model_forget_old(model, r->time);
	return COP_OK;
}

/* Of what was erased nothing is done; other decisions that it ended end all the same. */
static void apply_forgotten(cop_model *model, const cop_wire_record *r)
{
	if (r->settled.count == 0)
		return;
	cop_model_settle_all(model, &r->settled, false, r->time);
	cop_model_settle_all(model, &r->settled, true, r->time);
	cop_model_forget_old(model, r->time);
}

/* A record without sums is of the model's own life. */
static cop_err apply_merge(cop_model *model, const cop_wire_record *r)
{
	const cop_summary summary = { r->part, r->life, r->count, r->at, r->sums, r->sums_length };
	cop_sums *sums = cop_learner_sums(model->learner);
	if (sums == NULL || r->life == 0)
		return COP_EINVAL;
	if (r->sums != NULL)
		return cop_learner_merge(model->learner, &summary);
	sums->life = r->life;
	return COP_OK;
}

cop_err cop_model_apply(cop_model *model, cop_wire_record_type type, const cop_wire_record *record)
{
	cop_err err = COP_OK;
	cop_model_begin(model);
	switch (type) {
	case COP_WIRE_RECORD_DECISION:
		err = cop_model_state_apply_decision(model, record, NULL);
		break;
	case COP_WIRE_RECORD_FEEDBACK:
		err = apply_feedback(model, record);
		break;
	case COP_WIRE_RECORD_EXPIRY:
		err = apply_expiry(model, record);
		break;
	case COP_WIRE_RECORD_ACTIVATION:
		err = apply_activation(model, record);
		break;
	case COP_WIRE_RECORD_UNHEARD:
		return cop_model_unheard(model, &record->id, NULL) ? COP_OK : COP_EINVAL;
	case COP_WIRE_RECORD_FORGOTTEN:
		apply_forgotten(model, record);
		break;
	case COP_WIRE_RECORD_MERGE:
		err = apply_merge(model, record);
		break;
	case COP_WIRE_RECORD_POSITION:
	case COP_WIRE_RECORD_CONFIG:
	case COP_WIRE_RECORD_PROMOTION:
		break;
	}
	if (err == COP_OK)
		err = cop_model_positions_apply(model, &record->from);
	return err == COP_OK && model->ended.missing > 0 ? COP_EINVAL : err;
}

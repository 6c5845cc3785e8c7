/* One event is decoded, done by the model, recorded, and answered, in that order. A message that is refused has changed
 * nothing and has no record; what was done has one, and the answer waits for it (`sequence`). An answer that repeats a
 * decision waits for the newest record, behind which the first answer may still be. While the journal is broken
 * contexts are decided, and feedback is refused. */
#include "daemon/serve/event.h"

#include <math.h>
#include <string.h>

#include "online/model_positions.h"
#include "online/model_record.h"
#include "wire/wire_context.h"
#include "wire/wire_feedback.h"
#include "wire/wire_items.h"
#include "wire/wire_reply.h"

static void note_source(cop_model_stream *stream, const cop_wire_source *source)
{
	if (source->name != NULL && source->has_n)
		(void)cop_sequence_gaps_note(&stream->gaps, source->name, source->length, source->n);
}

static cop_model_context model_context(const cop_event_scope *scope, const cop_wire_context *wire)
{
	return (cop_model_context){
		.id = &wire->id,
		.x = &wire->x,
		.candidate = wire->candidate,
		.candidates = wire->candidates,
		.mask = wire->has_mask ? wire->mask : NULL,
		.owner = scope->owner,
		.owner_most = scope->owner_most,
		.defer = wire->defer,
		.unit = wire->unit.kind != 0 ? &wire->unit : NULL,
		.caller = { wire->caller ? wire->a : 0, wire->caller ? wire->p : 0.0 },
	};
}

/* Of a new decision: what it was drawn from. */
static const double *last_probabilities(const cop_event_scope *scope, const cop_wire_context *wire, bool by_baseline)
{
	cop_model *model = scope->served->model;
	if (!by_baseline)
		return cop_learner_last_policy(cop_model_learner(model)).p;
	const cop_model_context context = model_context(scope, wire);
	cop_model_held_probabilities(model, &context, scope->served->held_probability);
	return scope->served->held_probability;
}

static void put_action(const cop_event_scope *scope, const cop_wire_context *context, const cop_decision *decision,
        bool repeated, cop_bytes *out)
{
	const cop_model_slot *served = scope->served;
	const cop_model_settings *settings = cop_model_get_settings(served->model);
	cop_wire_action action = {
		.id = context->id,
		.value = cop_model_learner(served->model)->class->values,
		.a = decision->arm,
		.p = decision->p,
		.greedy = decision->greedy,
		.rev = decision->rev,
		.by = context->observed || scope->follows
		              ? COP_WIRE_BY_POLICY
		              : cop_model_record_maker(cop_model_made_by(served->model)->split_by.by),
		.limit = (cop_wire_limit)decision->limit,
		.repeated = repeated,
		.durable = !scope->follows && (scope->journal == NULL || !cop_journaler_broken(scope->journal)),
		.seq = context->seq,
	};
	if (context->order && served->order != NULL) {
		cop_model_context again = model_context(scope, context);
		if (cop_model_order(served->model, &again, served->order, &action.order_count) == COP_OK)
			action.order = served->order;
	}
	if (context->probabilities && !action.value && !repeated && !context->observed) { /* else it drew from none */
		action.probability = last_probabilities(scope, context, action.by != COP_WIRE_BY_POLICY);
		action.probability_count = context->arms;
	}
	if (!action.value && decision->arm < served->config->arm_name_list.count) {
		action.arm = served->config->arm_name_list.items[decision->arm];
		action.arm_length = strlen(action.arm);
	} else if (cop_wire_context_name(context, decision->arm, &action.arm, &action.arm_length) && !repeated &&
	           served->shape.max_candidates > 0) {
		cop_played_names_put(served->played, &context->id, action.arm, action.arm_length);
	}
	if (action.value) {
		action.y = cop_model_value(served->model, decision->y);
		action.density = settings->learner.feedback == COP_VALUE_BINS;
		action.p = cop_model_density(served->model, decision);
		action.probes = (unsigned)cop_learner_losses(&settings->learner);
		for (unsigned i = 0; i < action.probes; i++)
			action.probe[i] = cop_model_value(served->model, decision->probe[i]);
	}
	cop_wire_reply_action_put(out, &action);
}

static cop_wire_record record_of(const cop_event_scope *scope, const cop_event_id *id)
{
	return (cop_wire_record){
		.model = scope->served->stored,
		.model_length = strlen(scope->served->stored),
		.time = scope->now,
		.id = *id,
	};
}

static void record_decision(cop_event_scope *scope, const cop_wire_context *wire, const cop_model_observed *made)
{
	const cop_model_context context = model_context(scope, wire);
	cop_wire_record record = record_of(scope, &wire->id);
	record.observed = wire->observed;
	record.own_p = made->own_p;
	record.from = wire->from;
	if (scope->served->shape.max_candidates > 0)
		(void)cop_wire_context_name(wire, made->decision.arm, &record.played, &record.played_length);
	cop_model_record_decision(scope->served->model, &context, &made->decision, &record);
	scope->sequence = cop_journaler_put(scope->journal, COP_WIRE_RECORD_DECISION, &record);
}

/* Whether an event log brought this event before. */
static cop_err check_position(
        const cop_event_scope *scope, const cop_wire_position *from, bool *passed, cop_wire_fault *fault)
{
	cop_err err = cop_model_positions_check(scope->served->model, from, passed);
	if (err == COP_EFULL)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "from: the model knows positions of %d partitions, and has no room for another one; expected "
		        "one of those",
		        COP_POSITIONS_MOST);
	if (err != COP_OK)
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "from: %s", cop_err_text(err));
	return err;
}

/* What was taken before may still be on its way to the disk. */
static void wait_for_newest(cop_event_scope *scope)
{
	if (scope->journal != NULL)
		scope->sequence = cop_journaler_next(scope->journal) - 1;
}

/* Of an event that has no record of its own. */
static void record_position(cop_event_scope *scope, const cop_wire_position *from)
{
	cop_wire_record record = record_of(scope, &(cop_event_id){ 0 });
	record.from = *from;
	scope->sequence = cop_journaler_put(scope->journal, COP_WIRE_RECORD_POSITION, &record);
}

static cop_err repeat_decision(
        cop_event_scope *scope, const cop_wire_context *wire, cop_bytes *out, cop_wire_fault *fault)
{
	cop_decision decision;
	wait_for_newest(scope);
	if (cop_model_positions_decision(scope->served->model, &wire->id, &decision))
		put_action(scope, wire, &decision, true, out);
	else if (!scope->actions_alone)
		cop_wire_reply_repeat_put(out, &wire->id, false, &wire->seq);
	if (out->err != COP_OK)
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "decide: %s", cop_err_text(out->err));
	return out->err;
}

/* By the model, or, where the context tells of it, by the system that it is an apprentice of. */
static cop_err decide(
        const cop_event_scope *scope, const cop_wire_context *wire, cop_model_observed *made, bool *repeated)
{
	cop_model *model = scope->served->model;
	const cop_model_context context = model_context(scope, wire);
	*made = (cop_model_observed){ .decision = { .arm = wire->a, .p = wire->p } };
	return wire->observed ? cop_model_observe(model, &context, scope->now, made, repeated)
	                      : cop_model_decide(model, &context, scope->now, &made->decision, repeated);
}

/* A baseline's propensities say nothing of the policy's. */
static void count_played(cop_model_slot *served, const cop_decision *decision, bool by_baseline)
{
	if (decision->arm < served->counted_arms)
		(by_baseline ? served->arm_baseline : served->arm_decisions)[decision->arm]++;
	if (!by_baseline && decision->p > 0.0 && !cop_model_learner(served->model)->class->values) {
		double weight = 1.0 / decision->p;
		if (served->least_p == 0.0 || decision->p < served->least_p)
			served->least_p = decision->p;
		served->weighed++;
		served->weights += weight;
		served->weights_squared += weight * weight;
	}
}

/* Nothing is drawn and nothing waits: the model is to stay what its leader's records lead to. */
static cop_err decide_best(cop_event_scope *scope, cop_wire_context *wire, cop_bytes *out, cop_wire_fault *fault)
{
	const cop_explanation *explanation;
	cop_decision decision;
	cop_model *model = scope->served->model;
	if (cop_model_learner(model)->class->values || wire->observed)
		return cop_wire_fault_set(fault, COP_WIRE_NOT_LEADER, "decide: expected at the instance that leads");
	wire->order = wire->probabilities = false;
	const cop_model_context context = model_context(scope, wire);
	cop_err err = cop_model_explain_context(model, &context, &decision, &explanation);
	if (err == COP_OK) {
		put_action(scope, wire, &decision, false, out);
		err = out->err;
	}
	if (err != COP_OK)
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "decide: %s", cop_err_text(err));
	return err;
}

cop_err cop_event_decide(cop_event_scope *scope, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault)
{
	cop_model_slot *served = scope->served;
	cop_wire_context wire;
	cop_err err = cop_wire_context_decode(body, length, &served->shape, &served->workspace, &wire, fault);
	if (err != COP_OK)
		return err;
	if (wire.order && wire.probabilities) /* both are views of one policy, at different times */
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST, "order and probabilities: expected one of them");
	if (scope->follows)
		return decide_best(scope, &wire, out, fault);
	if (!scope->noted)
		note_source(&served->contexts, &wire.source);
	err = cop_partition_check(scope->partition, served->name, &wire.id, &wire.unit, fault);
	if (err != COP_OK)
		return err;
	cop_model_observed made;
	bool repeated, passed;
	err = check_position(scope, &wire.from, &passed, fault);
	if (err != COP_OK || passed)
		return err != COP_OK ? err : repeat_decision(scope, &wire, out, fault);
	err = decide(scope, &wire, &made, &repeated);
	if (err != COP_OK) {
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "decide: %s", cop_err_text(err));
		return err;
	}
	cop_refit_state_watch(&served->refit, served->model); /* what gave way may have been learned */
	cop_model_positions_note(served->model, &wire.from);
	if (!repeated)
		count_played(served, &made.decision,
		        !wire.observed && cop_model_made_by(served->model)->split_by.by != COP_CONTROL_POLICY);
	if (!repeated)
		record_decision(scope, &wire, &made);
	else if (wire.from.source != NULL)
		record_position(scope, &wire.from);
	else /* the first answer may still be on its way to the disk */
		wait_for_newest(scope);
	put_action(scope, &wire, &made.decision, repeated, out);
	if (out->err != COP_OK)
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "decide: %s", cop_err_text(out->err));
	return out->err;
}

cop_err cop_event_check(cop_event_scope *scope, const void *body, size_t length, cop_wire_fault *fault)
{
	cop_model_slot *served = scope->served;
	cop_wire_context wire;
	cop_err err = cop_wire_context_decode(body, length, &served->shape, &served->workspace, &wire, fault);
	if (err == COP_OK)
		note_source(&served->contexts, &wire.source);
	return err;
}

size_t cop_event_unheard(cop_event_scope *scope, double decided, const void *body, size_t length)
{
	cop_wire_items items;
	const void *item;
	size_t size;
	size_t marked = 0;
	if (cop_wire_items_stream(&items, body, length, NULL) != COP_OK)
		return 0;
	while (cop_wire_items_next(&items, &item, &size)) {
		cop_wire_action action;
		if (cop_wire_reply_action_decode(item, size, &action, NULL) != COP_OK || action.repeated ||
		        !cop_model_unheard(scope->served->model, &action.id, &decided))
			continue;
		cop_wire_record record = record_of(scope, &action.id);
		scope->sequence = cop_journaler_put(scope->journal, COP_WIRE_RECORD_UNHEARD, &record);
		marked++;
	}
	scope->served->unheard_decisions += marked;
	return marked;
}

static cop_err refused(const cop_model_slot *served, cop_err err, cop_wire_fault *fault)
{
	const cop_model_settings *s = cop_model_get_settings(served->model);
	switch (err) {
	case COP_EINVAL:
		(void)cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS, "loss: expected %s from %g to %g",
		        served->shape.losses == 2 ? "two numbers" : "a number", s->loss_low, s->loss_high);
		break;
	case COP_ENONFINITE:
		(void)cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS, "loss: expected a finite number");
		break;
	case COP_EDIVERGED:
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "loss: its update would diverge and was not made");
		break;
	default:
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "feedback: %s", cop_err_text(err));
	}
	return err;
}

/* With a broken journal nothing more is taken in that would have to be acknowledged. */
static cop_err check_journal(const cop_event_scope *scope, cop_wire_fault *fault)
{
	if (scope->journal == NULL || !cop_journaler_broken(scope->journal))
		return COP_OK;
	(void)cop_wire_fault_set(fault, COP_WIRE_NOT_DURABLE,
	        "not taken in: the journal cannot be written; expected to be sent again later");
	return COP_EIO;
}

/* The answer waits for this record. Without one, as when memory is short, it would not be lasting. */
static cop_err put_record(
        cop_event_scope *scope, cop_wire_record_type type, const cop_wire_record *record, cop_wire_fault *fault)
{
	scope->sequence = cop_journaler_put(scope->journal, type, record);
	return scope->sequence != 0 ? COP_OK : check_journal(scope, fault);
}

/* The action's place; a candidate's may be left out. */
static uint32_t placed(const cop_wire_feedback *feedback)
{
	return feedback->has_c && !feedback->has_a ? COP_MODEL_ANY_ARM : (uint32_t)feedback->a;
}

/* What became of a feedback. */
typedef struct joined {
	cop_feedback_result result;
	cop_model_answered answered; /* an apprentice's, when it is self-contained */
} joined;

static cop_err record_feedback(
        cop_event_scope *scope, const cop_wire_feedback *feedback, const joined *j, cop_wire_fault *fault)
{
	cop_wire_record record = record_of(scope, &feedback->id);
	uint8_t room[COP_WIRE_NAMED_ROOM];
	if (feedback->named.told != 0)
		cop_wire_named_encode(&scope->served->shape.named->weights, &feedback->named, room, &record.named);
	record.x = feedback->x;
	record.has_x = feedback->has_x;
	record.candidate = &feedback->candidate;
	record.candidates = feedback->has_x && feedback->has_c ? 1 : 0;
	if (feedback->has_x)
		record.unit = feedback->unit;
	record.from = feedback->from;
	record.a = placed(feedback);
	record.p = feedback->has_p ? feedback->p : 1.0;
	record.losses = feedback->losses;
	memcpy(record.loss, feedback->loss, sizeof record.loss);
	record.result = cop_model_record_result(j->result);
	record.observed = j->answered.observed;
	record.own_p = j->answered.own_p;
	record.greedy = j->answered.agrees;
	cop_model_record_ended(scope->served->model, &record);
	return put_record(scope, COP_WIRE_RECORD_FEEDBACK, &record, fault);
}

/* Feedback that brings its context and action along. */
static cop_err join_sent(const cop_event_scope *scope, const cop_wire_feedback *feedback, joined *j)
{
	cop_model *model = scope->served->model;
	cop_feedback_result *result = &j->result;
	const cop_model_played played = { &feedback->x, &feedback->candidate, placed(feedback), feedback->p };
	if (scope->served->shape.max_candidates > 0)
		return cop_model_feedback_played(model, &feedback->id, &played, feedback->loss[0], scope->now, result);
	if (scope->served->shape.apprentice)
		return cop_model_observe_answered(model, &feedback->id, &j->answered, scope->now, result);
	return cop_model_feedback_full(model, &feedback->id, &feedback->x, (uint32_t)feedback->a, feedback->p,
	        feedback->loss, feedback->losses, scope->now, result);
}

/* Probes whose distance hangs on the revision that decided, which such feedback does not tell. */
static bool decays(const cop_model_slot *served)
{
	return cop_model_get_settings(served->model)->learner.delta_decay > 0.0;
}

/* What a weighted sum has beyond loss_range is what rounding added. */
static void take_named(const cop_model_slot *served, cop_wire_feedback *feedback)
{
	const cop_model_settings *s = cop_model_get_settings(served->model);
	bool named = served->shape.named != NULL;
	if (named)
		feedback->loss[0] = fmin(fmax(feedback->loss[0], s->loss_low), s->loss_high);
	cop_model_tell_losses(served->model, named ? &feedback->named : NULL);
}

static cop_err repeat_feedback(cop_event_scope *scope, const cop_wire_feedback *feedback, cop_bytes *out)
{
	wait_for_newest(scope);
	if (out != NULL)
		cop_wire_reply_repeat_put(out, &feedback->id, true, &feedback->seq);
	return COP_OK;
}

cop_err cop_event_feedback(
        cop_event_scope *scope, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault)
{
	cop_model_slot *served = scope->served;
	cop_wire_feedback feedback;
	joined j;
	cop_err err = cop_wire_feedback_decode(body, length, &served->shape, &served->workspace, &feedback, fault);
	if (err == COP_OK)
		err = check_journal(scope, fault);
	if (err != COP_OK)
		return err;
	note_source(&served->feedback, &feedback.source);
	if (feedback.has_x) /* else the decision alone tells whose it is */
		err = cop_partition_check(scope->partition, served->name, &feedback.id, &feedback.unit, fault);
	if (err != COP_OK)
		return err;
	if (feedback.has_x && cop_wire_features_has_values(&served->shape) && feedback.losses == 1)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "x: a one-point value model cannot learn from self-contained feedback");
	if (feedback.has_x && decays(served))
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "x: with delta_decay a model cannot learn from self-contained feedback");
	bool passed;
	err = check_position(scope, &feedback.from, &passed, fault);
	if (err != COP_OK || passed)
		return err != COP_OK ? err : repeat_feedback(scope, &feedback, out);
	take_named(served, &feedback);
	j.answered = (cop_model_answered){
		.x = &feedback.x, .arm = (uint32_t)feedback.a, .p = feedback.p, .loss = feedback.loss[0]
	};
	err = feedback.has_x ? join_sent(scope, &feedback, &j)
	                     : cop_model_feedback(served->model, &feedback.id, feedback.loss, feedback.losses,
	                               scope->now, &j.result);
	if (err != COP_OK)
		return refused(served, err, fault);
	cop_refit_state_watch(&served->refit, served->model);
	cop_model_positions_note(served->model, &feedback.from);
	err = record_feedback(scope, &feedback, &j, fault);
	if (err == COP_OK && out != NULL)
		cop_wire_reply_result_put(out, &feedback.id, cop_model_record_result(j.result), &feedback.seq);
	return err;
}

static cop_err read_activation(
        const void *body, size_t length, cop_event_id *id, cop_wire_seq *seq, cop_wire_fault *fault)
{
	static const char *const names[] = { "id", "seq" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	seq->length = 0;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 2, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		err = which == 0 ? cop_wire_read_id(&cursor, id, fault) : cop_wire_read_seq(&cursor, seq, fault);
	return err == COP_EEND ? cop_wire_keys_need(&keys, 1u) : err;
}

cop_err cop_event_activate(
        cop_event_scope *scope, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault)
{
	cop_event_id id;
	cop_wire_seq seq;
	cop_feedback_result result;
	cop_err err = read_activation(body, length, &id, &seq, fault);
	if (err == COP_OK)
		err = check_journal(scope, fault);
	if (err != COP_OK)
		return err;
	cop_model_activate(scope->served->model, &id, scope->now, &result);
	cop_wire_record record = record_of(scope, &id);
	record.result = cop_model_record_result(result);
	cop_model_record_ended(scope->served->model, &record);
	err = put_record(scope, COP_WIRE_RECORD_ACTIVATION, &record, fault);
	if (err == COP_OK)
		cop_wire_reply_result_put(out, &id, cop_model_record_result(result), &seq);
	return err;
}

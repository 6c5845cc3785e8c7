/* Events of include/coppice.h, each one call of lib/online. What does not fit is refused before that call; the latest
 * time moves when the event has happened. */
#include <math.h>

#include "door/door_events.h"

static const coppice_result results[COP_FEEDBACK_RESULTS] = {
	[COP_FEEDBACK_APPLIED] = COPPICE_APPLIED,
	[COP_FEEDBACK_RECORDED] = COPPICE_RECORDED,
	[COP_FEEDBACK_DUPLICATE] = COPPICE_DUPLICATE,
	[COP_FEEDBACK_LATE] = COPPICE_LATE,
	[COP_FEEDBACK_UNKNOWN] = COPPICE_UNKNOWN,
};

static cop_err refuse(cop_diag *diag, const char *what)
{
	cop_diag_message(diag, "%s", what);
	return COP_EINVAL;
}

cop_err cop_door_events_id(const coppice_id *id, cop_event_id *out, cop_diag *diag)
{
	bool text = id->kind == COPPICE_ID_TEXT;
	if (id->kind == COPPICE_ID_NUMBER) {
		cop_event_id_from_unsigned(out, id->number);
		return COP_OK;
	}
	if ((text || id->kind == COPPICE_ID_BYTES) && id->bytes != NULL &&
	        cop_event_id_from_bytes(out, text ? COP_EVENT_ID_STRING : COP_EVENT_ID_BINARY, id->bytes, id->length))
		return COP_OK;
	return refuse(diag, "id: expected a number, or a text or bytes of length 1 to 64");
}

cop_err cop_door_events_time(const coppice_model *model, double now, double *out, cop_diag *diag)
{
	*out = model->timed ? fmax(now, model->now) : now;
	if (isfinite(now))
		return COP_OK;
	cop_diag_message(diag, "now: expected a finite number of seconds");
	return COP_ENONFINITE;
}

/* The event has happened. */
static void pass_time(coppice_model *model, double now)
{
	model->now = now;
	model->timed = true;
}

/* ---- decisions ---- */

cop_err cop_door_events_context(coppice_model *model, const coppice_row *x, const unsigned char *mask,
        const coppice_candidates *candidates, cop_door_context *out, cop_diag *diag)
{
	cop_door_rows *rows = &model->rows;
	bool ranks = rows->max_candidates > 0;
	if (ranks != (candidates != NULL))
		return refuse(diag, ranks ? "the model decides about candidates, expected some"
		                          : "the model has no candidates, expected none");
	if (mask != NULL && rows->arms == 0)
		return refuse(diag, "mask: the model has no arms, expected NULL");
	cop_err err = cop_door_rows_context(rows, x, &out->x, diag);
	if (err == COP_OK && ranks)
		err = cop_door_rows_candidates(rows, candidates, diag);
	if (err != COP_OK)
		return err;
	out->context = (cop_model_context){ .x = &out->x };
	if (ranks) {
		out->context.candidate = rows->candidate;
		out->context.candidates = candidates->count;
		out->context.mask = cop_door_rows_mask(rows, candidates->mask, candidates->count);
	} else {
		out->context.mask = cop_door_rows_mask(rows, mask, rows->arms);
	}
	return COP_OK;
}

static void put_decision(const coppice_model *model, const cop_decision *d, bool repeated, coppice_decision *out)
{
	const cop_model_settings *set = cop_model_get_settings(model->model);
	*out = (coppice_decision){ .repeated = repeated, .p = d->p, .rev = d->rev };
	if (coppice_model_actions(model) != COPPICE_VALUES) {
		out->action = d->arm;
		out->greedy = d->greedy;
		return;
	}
	if (set->learner.feedback == COP_VALUE_BINS)
		out->p = cop_model_density(model->model, d);
	out->value = cop_model_value(model->model, d->y);
	for (size_t i = 0; i < cop_learner_losses(&set->learner); i++)
		out->probe[i] = cop_model_value(model->model, d->probe[i]);
}

/* What a context asks for beside its rows. */
typedef struct asked {
	const coppice_id *id;
	const coppice_row *x;
	const unsigned char *mask;
	const coppice_candidates *candidates;
	double now;
} asked;

static coppice_err decide(coppice_model *model, const asked *a, coppice_decision *out)
{
	cop_diag diag = { .message = "" };
	cop_door_context context;
	cop_event_id id;
	cop_decision decision;
	bool repeated = false;
	double now;
	cop_err err = cop_door_events_id(a->id, &id, &diag);
	if (err == COP_OK)
		err = cop_door_events_time(model, a->now, &now, &diag);
	if (err == COP_OK)
		err = cop_door_events_context(model, a->x, a->mask, a->candidates, &context, &diag);
	if (err == COP_OK) {
		context.context.id = &id;
		err = cop_model_decide(model->model, &context.context, now, &decision, &repeated);
		if (err == COP_EINVAL)
			err = refuse(&diag, "mask: expected one that leaves an action eligible");
	}
	if (err == COP_OK) {
		pass_time(model, now);
		put_decision(model, &decision, repeated, out);
	}
	return cop_door_error_report(err, &diag, &model->message);
}

COP_DOOR_EXPORT coppice_err coppice_model_decide(coppice_model *model, coppice_id id, const coppice_row *x,
        const unsigned char *mask, double now, coppice_decision *out)
{
	const asked a = { &id, x, mask, NULL, now };
	return decide(model, &a, out);
}

COP_DOOR_EXPORT coppice_err coppice_model_rank(coppice_model *model, coppice_id id, const coppice_row *x,
        const coppice_candidates *candidates, double now, coppice_decision *out)
{
	const asked a = { &id, x, NULL, candidates, now };
	return decide(model, &a, out);
}

COP_DOOR_EXPORT coppice_err coppice_model_order(coppice_model *model, const coppice_row *x,
        const coppice_candidates *candidates, uint32_t *order, size_t *count)
{
	cop_diag diag = { .message = "" };
	cop_door_context context;
	cop_err err = cop_door_events_context(model, x, NULL, candidates, &context, &diag);
	if (err == COP_OK) {
		err = cop_model_order(model->model, &context.context, order, count);
		if (err == COP_EINVAL)
			err = refuse(&diag, "mask: expected one that leaves a candidate eligible");
	}
	return cop_door_error_report(err, &diag, &model->message);
}

/* ---- losses ---- */

static cop_err refuse_loss(const coppice_model *model, cop_err err, size_t count, cop_diag *diag)
{
	const cop_model_settings *set = cop_model_get_settings(model->model);
	size_t wanted = cop_learner_losses(&set->learner);
	if (err == COP_ENONFINITE)
		cop_diag_message(diag, "loss: expected a finite number");
	else if (err == COP_EINVAL && count != wanted)
		cop_diag_message(diag, "loss: the model takes %zu numbers, expected them", wanted);
	else if (err == COP_EINVAL)
		cop_diag_message(diag, "loss: expected a number from %g to %g", set->loss_low, set->loss_high);
	return err;
}

static coppice_err feedback(coppice_model *model, const coppice_id *from, const double *loss, size_t count, double when,
        coppice_result *result)
{
	cop_diag diag = { .message = "" };
	cop_event_id id;
	cop_feedback_result became = COP_FEEDBACK_UNKNOWN;
	double now;
	cop_err err = cop_door_events_id(from, &id, &diag);
	if (err == COP_OK)
		err = cop_door_events_time(model, when, &now, &diag);
	if (err == COP_OK) {
		err = cop_model_feedback(model->model, &id, loss, count, now, &became);
		err = refuse_loss(model, err, count, &diag);
	}
	if (err == COP_OK)
		pass_time(model, now);
	if (err == COP_OK && result != NULL)
		*result = results[became];
	return cop_door_error_report(err, &diag, &model->message);
}

COP_DOOR_EXPORT coppice_err coppice_model_feedback(
        coppice_model *model, coppice_id id, double loss, double now, coppice_result *result)
{
	return feedback(model, &id, &loss, 1, now, result);
}

COP_DOOR_EXPORT coppice_err coppice_model_feedback_two(
        coppice_model *model, coppice_id id, const double loss[2], double now, coppice_result *result)
{
	return feedback(model, &id, loss, 2, now, result);
}

COP_DOOR_EXPORT const char *coppice_result_text(coppice_result result)
{
	return cop_feedback_result_text((cop_feedback_result)result);
}

/* An event of values is refused: its density is not part of it. */
static cop_err check_logged(const coppice_model *model, const coppice_logged *event, cop_diag *diag)
{
	size_t actions = event->candidates != NULL ? event->candidates->count : model->rows.arms;
	const unsigned char *mask = event->candidates != NULL ? event->candidates->mask : event->mask;
	if (coppice_model_actions(model) == COPPICE_VALUES)
		return refuse(diag, "the model's actions are values, expected one of arms or candidates");
	if (event->action >= actions || (mask != NULL && mask[event->action] == 0))
		return refuse(diag, "action: expected an eligible arm or candidate");
	if (!(event->p > 0.0 && event->p <= 1.0))
		return refuse(diag, "p: expected a propensity above 0, at most 1");
	return COP_OK;
}

COP_DOOR_EXPORT coppice_err coppice_model_learn(coppice_model *model, const coppice_logged *event)
{
	cop_diag diag = { .message = "" };
	cop_door_context read;
	cop_policy_view view;
	cop_err err = check_logged(model, event, &diag);
	if (err == COP_OK)
		err = cop_door_events_context(model, event->x, event->mask, event->candidates, &read, &diag);
	if (err == COP_OK) {
		const cop_model_logged logged = {
			.x = read.context.x,
			.mask = read.context.mask,
			.arm = event->action,
			.p = event->p,
			.loss = event->loss,
			.learn = true,
			.candidate = read.context.candidate,
			.candidates = read.context.candidates,
		};
		err = refuse_loss(model, cop_model_take_logged(model->model, &logged, &view), 1, &diag);
	}
	return cop_door_error_report(err, &diag, &model->message);
}

COP_DOOR_EXPORT size_t coppice_model_expire(coppice_model *model, double now)
{
	cop_diag diag;
	double at;
	if (cop_door_events_time(model, now, &at, &diag) != COP_OK)
		return 0;
	pass_time(model, at);
	return cop_model_expire(model->model, at, SIZE_MAX);
}

#include "daemon/event.h"

#include <string.h>

#include "wire/wire_context.h"
#include "wire/wire_feedback.h"
#include "wire/wire_reply.h"

static void note_source(cop_served_stream *stream, const cop_wire_source *source)
{
	if (source->name != NULL && source->has_n)
		(void)cop_gaps_note(&stream->gaps, source->name, source->length, source->n);
}

static void put_action(
        const cop_served *served, const cop_wire_context *context, const cop_decision *decision, cop_bytes *out)
{
	const cop_model_settings *settings = cop_model_get_settings(served->model);
	cop_wire_action action = {
		.id = context->id,
		.value = served->config->learner == COP_LEARNER_VALUE,
		.a = decision->arm,
		.p = decision->p,
		.greedy = decision->greedy,
		.rev = decision->rev,
		.durable = true,
		.seq = context->seq,
	};
	if (action.value) {
		action.y = cop_model_value(served->model, decision->y);
		action.probes = settings->learner.one_point ? 1 : 2;
		for (unsigned i = 0; i < action.probes; i++)
			action.probe[i] = cop_model_value(served->model, decision->probe[i]);
	}
	cop_wire_action_put(out, &action);
}

cop_err cop_event_decide(
        cop_served *served, const void *body, size_t length, double now, cop_bytes *out, cop_wire_fault *fault)
{
	cop_wire_context context;
	cop_err err = cop_wire_context_decode(body, length, &served->shape, &served->workspace, &context, fault);
	if (err != COP_OK)
		return err;
	note_source(&served->contexts, &context.source);
	if (context.defer)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "defer: this version begins every reward window at decide");
	cop_decision decision;
	bool repeated;
	err = cop_model_decide(served->model, &context.id, &context.x, context.has_mask ? context.mask : NULL, now,
	        &decision, &repeated);
	if (err != COP_OK) {
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "decide: %s", cop_err_text(err));
		return err;
	}
	put_action(served, &context, &decision, out);
	if (out->err != COP_OK)
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "decide: %s", cop_err_text(out->err));
	return out->err;
}

static cop_wire_result wire_result(cop_feedback_result result)
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

static cop_err refused(const cop_served *served, cop_err err, cop_wire_fault *fault)
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
		(void)cop_wire_fault_set(fault, COP_WIRE_BAD_LOSS, "loss: its update would diverge and was not made");
		break;
	default:
		(void)cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "feedback: %s", cop_err_text(err));
	}
	return err;
}

cop_err cop_event_feedback(
        cop_served *served, const void *body, size_t length, double now, cop_bytes *out, cop_wire_fault *fault)
{
	cop_wire_feedback feedback;
	cop_feedback_result result;
	cop_err err = cop_wire_feedback_decode(body, length, &served->shape, &served->workspace, &feedback, fault);
	if (err != COP_OK)
		return err;
	note_source(&served->feedback, &feedback.source);
	if (feedback.has_x && !feedback.has_a && feedback.losses == 1)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "x: a one-point value model cannot learn from self-contained feedback");
	if (feedback.has_x)
		err = cop_model_feedback_full(served->model, &feedback.id, &feedback.x, (uint32_t)feedback.a,
		        feedback.p, feedback.loss, feedback.losses, now, &result);
	else
		err = cop_model_feedback(served->model, &feedback.id, feedback.loss, feedback.losses, now, &result);
	if (err != COP_OK)
		return refused(served, err, fault);
	if (out != NULL)
		cop_wire_result_put(out, &feedback.id, wire_result(result), &feedback.seq);
	return COP_OK;
}

/* A map is opened by the caller; what is put here are pairs of it, so that publishers add theirs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clients/c/coppice_client_private.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

/* ---- reasons ---- */

coppice_client_err cop_client_fail(coppice_client_err err, coppice_message *message, const char *format, ...)
{
	va_list values;
	if (message == NULL)
		return err;
	va_start(values, format);
	(void)vsnprintf(message->text, sizeof message->text, format, values);
	va_end(values);
	return err;
}

coppice_client_err cop_client_failed(cop_err err, const cop_diag *diag, coppice_message *message)
{
	if (err == COP_OK)
		return COPPICE_CLIENT_OK;
	coppice_client_err out = err == COP_EEND      ? COPPICE_CLIENT_ETIMEOUT
	                         : err == COP_ENOMEM  ? COPPICE_CLIENT_ENOMEM
	                         : err == COP_EFORMAT ? COPPICE_CLIENT_EFORMAT
	                         : err == COP_EINVAL  ? COPPICE_CLIENT_EINVAL
	                                              : COPPICE_CLIENT_EIO;
	if (message != NULL)
		cop_diag_text(diag, message->text, sizeof message->text);
	return out;
}

coppice_client_err cop_client_fail_refused(const cop_bytes *body, coppice_message *message)
{
	cop_wire_fault fault;
	cop_event_id id;
	cop_wire_seq seq;
	if (cop_wire_reply_error_decode(body->data, body->length, &fault, &id, &seq, NULL) != COP_OK)
		return cop_client_fail(COPPICE_CLIENT_EFORMAT, message, "an error whose text cannot be read");
	return cop_client_fail(
	        COPPICE_CLIENT_EREFUSED, message, "%s: %s", cop_wire_code_text(fault.code), fault.message);
}

/* ---- to the daemon ---- */

coppice_client_err cop_client_check_model(const char *model, coppice_message *message)
{
	return strlen(model) <= 64 ? COPPICE_CLIENT_OK
	                           : cop_client_fail(COPPICE_CLIENT_EINVAL, message,
	                                     "model: of more than 64 characters, expected a model's name");
}

static coppice_client_err put_named_id(
        cop_bytes *bytes, const char *name, const coppice_id *id, coppice_message *message)
{
	cop_event_id to;
	cop_event_id_kind kind = id->kind == COPPICE_ID_TEXT ? COP_EVENT_ID_STRING : COP_EVENT_ID_BINARY;
	if (id->kind == COPPICE_ID_NUMBER)
		cop_event_id_from_unsigned(&to, id->number);
	else if (id->bytes == NULL || !cop_event_id_from_bytes(&to, kind, id->bytes, id->length))
		return cop_client_fail(COPPICE_CLIENT_EINVAL, message, "%s: of %zu bytes, expected 1 to %d", name,
		        id->length, COP_EVENT_ID_MAX);
	cop_wire_put_text(bytes, name);
	cop_wire_id_put(bytes, &to);
	return COPPICE_CLIENT_OK;
}

coppice_client_err cop_client_put_id(cop_bytes *bytes, const coppice_id *id, coppice_message *message)
{
	return put_named_id(bytes, "id", id, message);
}

static void put_row(cop_bytes *bytes, const coppice_row *x)
{
	if (x->place == NULL && x->name == NULL) {
		cop_wire_put_packed(bytes, x->value, x->count);
		return;
	}
	cop_wire_put_map(bytes, x->count);
	for (size_t i = 0; i < x->count; i++) {
		if (x->name != NULL)
			cop_wire_put_string(bytes, x->name[i], strlen(x->name[i]));
		else
			cop_wire_put_unsigned(bytes, x->place[i]);
		cop_wire_put_float(bytes, x->value[i]);
	}
}

static void put_texts(cop_bytes *bytes, const char *key, const char *const *text, size_t count)
{
	cop_wire_put_text(bytes, key);
	cop_wire_put_array(bytes, count);
	for (size_t i = 0; i < count; i++)
		cop_wire_put_text(bytes, text[i]);
}

coppice_client_err cop_client_put_context(
        cop_bytes *bytes, const coppice_client_context *context, coppice_message *message)
{
	if (context->x.value == NULL && context->x.count > 0)
		return cop_client_fail(COPPICE_CLIENT_EINVAL, message, "x: no values, expected a row");
	if (context->mask != NULL && context->eligible != NULL)
		return cop_client_fail(COPPICE_CLIENT_EINVAL, message, "mask and eligible: expected one of them");
	cop_wire_put_text(bytes, "x");
	put_row(bytes, &context->x);
	if (context->candidate != NULL) {
		cop_wire_put_text(bytes, "c");
		cop_wire_put_array(bytes, context->candidates);
		for (size_t i = 0; i < context->candidates; i++)
			put_row(bytes, &context->candidate[i]);
	}
	if (context->mask != NULL) {
		cop_wire_put_text(bytes, "mask");
		cop_wire_put_array(bytes, context->masked);
		for (size_t i = 0; i < context->masked; i++)
			cop_wire_put_bool(bytes, context->mask[i] != 0);
	}
	if (context->names != NULL)
		put_texts(bytes, "names", context->names, context->candidates);
	if (context->eligible != NULL)
		put_texts(bytes, "mask", context->eligible, context->eligible_count);
	if (context->caller != NULL) {
		cop_wire_put_key_unsigned(bytes, "a", *context->caller);
		cop_wire_put_key_double(bytes, "p", context->caller_p > 0.0 ? context->caller_p : 1.0);
	}
	if (context->defer != 0)
		cop_wire_put_key_bool(bytes, "defer", true);
	return context->unit != NULL ? put_named_id(bytes, "unit", context->unit, message) : COPPICE_CLIENT_OK;
}

void cop_client_put_losses(cop_bytes *bytes, const double *loss, size_t count)
{
	cop_wire_put_text(bytes, "loss");
	if (count > 1)
		cop_wire_put_array(bytes, count);
	for (size_t i = 0; i < count; i++)
		cop_wire_put_double(bytes, loss[i]);
}

coppice_client_err cop_client_put_named(
        cop_bytes *bytes, const coppice_loss *loss, size_t count, coppice_message *message)
{
	for (size_t i = 0; i < count; i++)
		if (loss == NULL || loss[i].name == NULL)
			return cop_client_fail(
			        COPPICE_CLIENT_EINVAL, message, "losses: no name, expected one for each");
	cop_wire_put_text(bytes, "losses");
	cop_wire_put_map(bytes, count);
	for (size_t i = 0; i < count; i++)
		cop_wire_put_key_double(bytes, loss[i].name, loss[i].value);
	return COPPICE_CLIENT_OK;
}

/* ---- and back ---- */

static void give_id(const cop_event_id *from, coppice_id *id, uint8_t *kept)
{
	memcpy(kept, from->bytes, from->length);
	*id = (coppice_id){ .kind = COPPICE_ID_NUMBER };
	if (from->kind == COP_EVENT_ID_UNSIGNED || from->kind == COP_EVENT_ID_NEGATIVE) {
		memcpy(&id->number, from->bytes, sizeof id->number);
		return;
	}
	id->kind = from->kind == COP_EVENT_ID_STRING ? COPPICE_ID_TEXT : COPPICE_ID_BYTES;
	id->bytes = kept;
	id->length = from->length;
}

coppice_client_err cop_client_get_action(
        const void *body, size_t length, coppice_id *id, uint8_t *kept, coppice_action *out, coppice_message *message)
{
	cop_wire_action action;
	cop_wire_fault fault;
	if (cop_wire_reply_action_decode(body, length, &action, &fault) != COP_OK)
		return cop_client_fail(COPPICE_CLIENT_EFORMAT, message, "the action cannot be read: %s", fault.message);
	*out = (coppice_action){
		.action = (uint32_t)action.a,
		.greedy = action.greedy,
		.held = action.by == COP_WIRE_BY_HOLDOUT,
		.kept = action.by == COP_WIRE_BY_CONSERVATIVE,
		.repeated = action.repeated,
		.durable = action.durable,
		.p = action.value && !action.density ? 1.0 : action.p,
		.value = action.y,
		.probe = { action.probe[0], action.probe[1] },
		.rev = action.rev,
		.limit = action.limit == COP_WIRE_LIMIT_NONE ? NULL : cop_wire_split_limit_text(action.limit),
	};
	if (action.arm != NULL && action.arm_length < sizeof out->arm)
		memcpy(out->arm, action.arm, action.arm_length); /* its end is there: all is zero */
	if (id != NULL && kept != NULL)
		give_id(&action.id, id, kept);
	return COPPICE_CLIENT_OK;
}

coppice_client_err cop_client_get_result(const cop_bytes *body, coppice_result *out, coppice_message *message)
{
	static const coppice_result results[COP_WIRE_RESULT_COUNT] = {
		[COP_WIRE_APPLIED] = COPPICE_APPLIED,
		[COP_WIRE_RECORDED] = COPPICE_RECORDED,
		[COP_WIRE_DUPLICATE] = COPPICE_DUPLICATE,
		[COP_WIRE_LATE] = COPPICE_LATE,
		[COP_WIRE_UNKNOWN] = COPPICE_UNKNOWN,
	};
	cop_event_id id;
	cop_wire_result result;
	cop_wire_seq seq;
	cop_wire_fault fault;
	if (cop_wire_reply_result_decode(body->data, body->length, &id, &result, &seq, &fault) != COP_OK)
		return cop_client_fail(COPPICE_CLIENT_EFORMAT, message, "the result cannot be read: %s", fault.message);
	if (out != NULL)
		*out = results[result];
	return COPPICE_CLIENT_OK;
}

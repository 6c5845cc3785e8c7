/* The configuration that models are learned again by is read from the file, as a start would read it, and must be the
 * one that is served: what the journal records of it, and of what it names, is only that. */
#include "daemon/forget_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/reload.h"
#include "daemon/replica/replica_renew.h"
#include "daemon/report/forget_body.h"
#include "wire/wire_context.h"

static cop_err copy_config(void *context, cop_config **out, cop_diag *diag)
{
	cop_server *server = context;
	cop_wire_fault fault = { .message = "" };
	cop_config_changes changes = { 0 };
	cop_err err = cop_reload_read(server, &server->config->live, out, &fault); /* the folder may be ahead */
	if (err != COP_OK) {
		cop_diag_message(diag, "%s", fault.message);
		return err;
	}
	err = cop_config_diff(server->config, *out, &changes);
	if (err == COP_OK && changes.count > 0) {
		cop_diag_message(diag,
		        "the configuration file was changed since it was read (%.200s); expected a reload",
		        changes.items[0].text);
		err = COP_EINVAL;
	}
	cop_config_changes_free(&changes);
	if (err != COP_OK) {
		cop_config_free(*out);
		*out = NULL;
	}
	return err;
}

static void moved(void *context, cop_model_slot *was, cop_model_slot *now)
{
	cop_refits *refits = &((cop_server *)context)->refits;
	if (cop_refits_is_loading(refits)) /* into a learner that goes */
		cop_refits_forget(refits, was);
	cop_refits_move(refits, was, now);
}

static void stop_refit(void *context, const cop_model_slot *slot)
{
	cop_server *server = context;
	if (server->refits.running == slot)
		cop_log_line(server->log, COP_LOG_EVENT(refit_stopped), "model=%s", slot->name);
	cop_refits_forget(&server->refits, slot);
}

static bool is_read(void *context)
{
	const cop_server *server = context;
	return server->refits.process.side.pid != 0 || server->past.process.pid != 0;
}

static bool renew(void *context, double now, cop_forget_report *report)
{
	cop_replica *replica = &((cop_server *)context)->replica;
	return !replica->enabled ||
	       cop_replica_renew_turn(&replica->leader, now, &report->followers, &report->followers_left);
}

void cop_forget_server_open(cop_server *server)
{
	const cop_forgetting_hooks hooks = { copy_config, moved, stop_refit, is_read, renew, server };
	cop_forgetting_init(&server->forgetting, &server->durable, &hooks);
}

typedef struct asked {
	cop_event_id id, unit;
	uint64_t order; /* 0: not asked for */
	cop_wire_seq seq;
} asked;

static cop_err read_order(cop_wire_cursor *cursor, uint64_t *order, cop_wire_fault *fault)
{
	cop_err err = cop_wire_cursor_unsigned(cursor, order);
	if (err == COP_OK && *order == 0)
		err = COP_EINVAL;
	return err == COP_OK ? COP_OK
	                     : cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, cursor, "order", "an order's number");
}

static cop_err decode(const void *body, size_t length, asked *out, cop_wire_fault *fault)
{
	static const char *const names[] = { "id", "unit", "seq", "order" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 4, fault);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK) {
		if (which == 2)
			err = cop_wire_read_seq(&cursor, &out->seq, fault);
		else if (which == 3)
			err = read_order(&cursor, &out->order, fault);
		else
			err = cop_wire_keys_read_id(&cursor, names[which], which == 0 ? &out->id : &out->unit, fault);
	}
	if (err != COP_EEND)
		return err;
	if ((out->id.kind != 0) + (out->unit.kind != 0) + (out->order != 0) != 1)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "forget: expected one of unit, whom decisions were for, id, a decision's, and order, that was "
		        "given");
	return COP_OK;
}

cop_err cop_forget_server_order(cop_server *server, const cop_model_slot *model, const void *body, size_t length,
        bool *ordered, cop_wire_fault *fault)
{
	cop_bytes *out = &server->serving.reply;
	asked a = { .seq = { 0 } };
	cop_diag why = { 0 };
	cop_err err = decode(body, length, &a, fault);
	if (err != COP_OK)
		return err;
	*ordered = a.order == 0;
	if (a.order > server->forgetting.last_number)
		return cop_wire_fault_set(fault, COP_WIRE_BAD_REQUEST,
		        "forget: no order of this number was given; expected at most %" PRIu64,
		        server->forgetting.last_number);
	if (a.order != 0) {
		cop_forget_body_order(&server->forgetting, a.order, &a.seq, out);
		return COP_OK;
	}
	cop_forget_order order = { .by_id = a.id.kind != 0, .whom = a.id.kind != 0 ? a.id : a.unit };
	if (model != NULL)
		(void)snprintf(order.model, sizeof order.model, "%s", model->name);
	err = cop_forgetting_add(&server->forgetting, &order, &why);
	if (err != COP_OK)
		return cop_wire_fault_set(fault, COP_WIRE_INTERNAL, "forget: the order cannot be kept: %.200s",
		        why.message[0] != '\0' ? why.message : cop_err_text(err));
	cop_forget_body_order(&server->forgetting, order.number, &a.seq, out);
	return COP_OK;
}

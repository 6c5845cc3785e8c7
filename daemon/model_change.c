/* An order is put into a copy of the live changes, and file and copy are read together, as a start would. Only when that is
 * right, all it changes is this model, and what is to come has been made, the copy is written to the state folder; then,
 * between two events, it takes effect. From the writing to the taking effect a kill leaves the new configuration with a
 * state and records of the old one, which a start brings to the new one (model_table.h). Of a model that is removed or begun
 * anew a start would pass those records over: these two are made, written and take effect between the same two events, and
 * so is one that was parked. */
#include "daemon/model_change.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/change_order.h"
#include "daemon/common/job.h"
#include "daemon/reload.h"
#include "daemon/request.h"

struct cop_model_change {
	cop_job job;
	cop_server *server;
	const char *state_dir; /* the server's, which does not change */
	cop_change_order order;
	/* The thread's until the job is done. */
	cop_live_changes live;
	cop_config *next;
	cop_config_changes changes;
	cop_model_exchange exchange;
	bool written; /* live */
	cop_err err;
	cop_wire_fault fault;
};

static void change_free(cop_model_change *change)
{
	if (change == NULL)
		return;
	cop_job_finish(&change->job);
	cop_model_exchange_drop(&change->exchange);
	cop_config_changes_free(&change->changes);
	cop_live_free(&change->live);
	cop_config_free(change->next);
	cop_change_order_fini(&change->order);
	cop_mem_free(change);
}

/* ---- beside the loop ---- */

static cop_err write_live(cop_model_change *change)
{
	cop_diag why = { 0 };
	cop_err err = cop_live_write(change->state_dir, &change->live, &why);
	change->written = err == COP_OK;
	return err == COP_OK ? COP_OK : cop_reload_fault(err, &why, &change->fault);
}

/* Of the server it reads which models are parked, which only a change could change. */
static void make(void *context)
{
	cop_model_change *change = context;
	cop_server *server = change->server;
	cop_model_exchange_make(
	        &change->exchange, &server->durable.models, change->next, &change->changes, server->log);
	change->err = cop_change_order_judge(&change->order, &change->changes, &change->fault);
	if (change->err == COP_OK)
		change->err = write_live(change);
}

/* ---- between two events ---- */

/* What is ready takes effect. */
static cop_err apply(cop_server *server, cop_model_change *change)
{
	const cop_diag none = { 0 };
	cop_err err = cop_change_order_judge(&change->order, &change->changes, &change->fault);
	if (err == COP_OK && !change->written)
		err = write_live(change);
	if (err != COP_OK)
		return err;
	err = cop_reload_apply(server, change->next, &change->changes, &change->exchange);
	return err == COP_OK ? COP_OK : cop_reload_fault(err, &none, &change->fault);
}

/* After an error what is served stands in the state folder again. */
static cop_err conclude(cop_server *server, cop_model_change *change, cop_err err)
{
	if (err == COP_OK)
		err = apply(server, change);
	if (err != COP_OK && change->written)
		(void)!cop_live_write(change->state_dir, &server->config->live, NULL);
	return err;
}

static cop_err make_ready(cop_server *server, cop_model_change *change)
{
	const cop_diag none = { 0 };
	cop_err err =
	        cop_model_exchange_ready(&change->exchange, &server->durable.models, change->next, &change->changes);
	return err == COP_OK ? COP_OK : cop_reload_fault(err, &none, &change->fault);
}

/* All of it, on the loop. */
static cop_err make_now(cop_server *server, cop_model_change *change)
{
	cop_diag why = { 0 };
	cop_err err = cop_reload_prepare(server, change->next, &change->changes, &change->exchange, &why);
	if (err != COP_OK)
		err = cop_reload_fault(err, &why, &change->fault);
	return conclude(server, change, err);
}

static void tell(cop_server *server, const char *model, const char *deed, cop_err err)
{
	cop_log_line(server->log, err == COP_OK ? COP_LOG_NOTICE : COP_LOG_ERROR, "model_change",
	        "model=%s do=%s result=%s", model, deed, err == COP_OK ? "ok" : "refused");
}

static void end(cop_server *server)
{
	cop_model_change *change = server->change;
	cop_bytes *out = &server->serving.reply;
	cop_job_finish(&change->job);
	cop_err err = change->err == COP_OK ? make_ready(server, change) : change->err;
	err = conclude(server, change, err);
	tell(server, change->order.name, cop_change_order_deed(&change->order), err);
	cop_bytes_clear(out);
	if (err == COP_OK)
		cop_reload_put(&change->changes, &change->order.seq, out);
	cop_request_answer(server, err, &change->fault);
	server->change = NULL;
	change_free(change);
}

void cop_model_change_turn(cop_server *server)
{
	if (server->change != NULL && !cop_job_is_busy(&server->change->job))
		end(server);
}

void cop_model_change_finish(cop_server *server)
{
	if (server->change != NULL)
		end(server);
}

void cop_model_change_drop(cop_server *server)
{
	change_free(server->change);
	server->change = NULL;
}

/* ---- the order ---- */

cop_err cop_model_change_check(const cop_server *server, const char *verb, cop_wire_fault *fault)
{
	if (server->change == NULL)
		return COP_OK;
	return cop_wire_fault_set(fault, COP_WIRE_BUSY,
	        "%s: the model %s is being changed; expected to be sent again when that is answered", verb,
	        server->change->order.name);
}

/* The file by itself is good: what is wrong comes of the order. */
static void blame_order(cop_model_change *change)
{
	static const char before[] = "configuration: ";
	const cop_change_order *o = &change->order;
	cop_wire_fault *fault = &change->fault;
	char text[sizeof fault->message];
	if (strncmp(fault->message, before, sizeof before - 1) != 0)
		return;
	(void)snprintf(text, sizeof text, "%s", fault->message + sizeof before - 1);
	(void)cop_wire_fault_set(fault, fault->code, "%s %s: the configuration would be wrong: %.200s",
	        cop_change_order_deed(o), o->name, text);
}

static const cop_parked *find_parked(const cop_server *server, const cop_model_change *change)
{
	const cop_config_model *next = cop_config_find(change->next, change->order.name, strlen(change->order.name));
	return next == NULL ? NULL : cop_model_table_find_parked(&server->durable.models, next->stored, false);
}

static cop_err read_order(cop_server *server, cop_model_change *change)
{
	static const cop_live_changes none;
	cop_config *file = NULL;
	cop_wire_fault *fault = &change->fault;
	cop_err err = cop_reload_read(server, &none, &file, fault);
	if (err == COP_OK && cop_live_copy(&server->config->live, &change->live) != COP_OK)
		err = cop_change_order_refuse_memory(fault);
	if (err == COP_OK)
		err = cop_change_order_edit(&change->order, file, &change->live, fault);
	if (err == COP_OK)
		err = cop_reload_read(server, &change->live, &change->next, fault);
	if (err != COP_OK && file != NULL)
		blame_order(change);
	if (err == COP_OK) {
		change->order.again = find_parked(server, change) != NULL;
		err = cop_reload_compare(server, change->next, &change->changes);
		if (err != COP_OK)
			err = cop_change_order_refuse_memory(fault);
	}
	cop_config_free(file);
	return err == COP_OK ? cop_change_order_judge(&change->order, &change->changes, fault) : err;
}

/* A model ends by it, at least in this life; or what is parked comes back, of which somebody may be forgotten meanwhile. */
static bool is_at_once(cop_server *server, const cop_model_change *change)
{
	const char *name = change->order.name;
	return cop_config_changes_has(&change->changes, COP_CHANGE_REMOVES, name) ||
	       cop_config_changes_has(&change->changes, COP_CHANGE_RENEWS, name) || find_parked(server, change) != NULL;
}

/* The rest is left to the thread. */
static cop_err carry_out(cop_server *server, cop_model_change *change, bool *later)
{
	if (is_at_once(server, change))
		return make_now(server, change);
	cop_err err =
	        cop_model_exchange_begin(&change->exchange, &server->durable.models, change->next, &change->changes);
	if (err == COP_OK)
		err = cop_job_start(&change->job, make, change);
	*later = err == COP_OK;
	return err == COP_OK ? COP_OK : cop_reload_fault(err, &(cop_diag){ 0 }, &change->fault);
}

/* Its change is the server's where it is for later. */
static cop_err order(cop_server *server, cop_model_change *change, const void *body, size_t length, bool *later)
{
	cop_err err = cop_change_order_decode(body, length, &change->order, &change->fault);
	if (err == COP_OK)
		err = cop_model_change_check(server, "model", &change->fault);
	if (err == COP_OK)
		err = cop_change_order_check(&change->order, server->config, &change->fault);
	if (err == COP_OK)
		err = read_order(server, change);
	return err == COP_OK ? carry_out(server, change, later) : err;
}

cop_err cop_model_change_order(cop_server *server, const char *name, size_t name_length, const void *body,
        size_t length, bool *later, cop_bytes *out, cop_wire_fault *fault)
{
	*later = false;
	if (name_length == 0 || name_length > COP_CONFIG_NAME_MAX)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "model: expected a name of 1 to %d bytes", COP_CONFIG_NAME_MAX);
	cop_model_change *change = cop_mem_alloc(1, sizeof *change);
	if (change == NULL)
		return cop_change_order_refuse_memory(fault);
	change->server = server;
	change->state_dir = server->config->state_dir;
	cop_wire_text_clean(change->order.name, sizeof change->order.name, name, name_length);
	cop_err err = order(server, change, body, length, later);
	if (*later) {
		server->change = change;
		return COP_OK;
	}
	tell(server, change->order.name, cop_change_order_deed(&change->order), err);
	if (err == COP_OK)
		cop_reload_put(&change->changes, &change->order.seq, out);
	*fault = change->fault;
	change_free(change);
	return err;
}

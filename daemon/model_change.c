/* An order is put into a copy of the live changes, and file and copy are read together, as a start would. Only when
 * that is right, all it changes is this model, and what is to come has been made, the copy is written to the state
 * folder; then, between two events, it takes effect. From the writing to the taking effect a kill leaves the new
 * configuration with a state and records of the old one, which a start brings to the new one (model_table.h). Of a
 * model that is removed or begun anew a start would pass those records over: so there are none, for it is served no
 * longer from the order on, and a checkpoint of what it is then comes before the writing. A reload goes the same way,
 * but that it writes nothing. */
#include "daemon/model_change.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/change_order.h"
#include "daemon/common/job.h"
#include "daemon/common/step_back.h"
#include "daemon/durable/healing.h"
#include "daemon/reload.h"
#include "daemon/request.h"

#define NICE         10  /* of the thread; where the processors are busy it takes longer, and decisions wait less */
#define LOOK_SECONDS 1.0 /* between looks at the file of live changes */

/* What is waited for. */
typedef enum stage {
	MAKING,  /* the thread makes what is to come, and what is removed, and writes the live changes if nothing is */
	DUE,     /* another checkpoint is being written, and one is to come behind it */
	SAVING,  /* a checkpoint of what is removed is being written */
	WRITING, /* the thread writes the live changes */
} stage;

struct cop_model_change {
	cop_job job;
	cop_server *server;
	const char *state_dir;  /* the server's, which does not change */
	bool reload;            /* of the file's changes; else the order's */
	bool asked;             /* somebody waits for the answer: cop_request_answer */
	cop_change_order order; /* of a reload: only its seq */
	stage stage;
	uint64_t checkpoints; /* that had been written before that one */
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

static bool has(const cop_model_change *change, cop_config_change_of of)
{
	for (size_t i = 0; i < change->changes.count; i++)
		if (change->changes.items[i].of == of && change->changes.items[i].kind == COP_CHANGE_APPLIED)
			return true;
	return false;
}

static cop_err fault_by(cop_model_change *change, cop_err err, const cop_diag *why)
{
	return cop_reload_fault(change->reload ? "reload" : "model", err, why, &change->fault);
}

/* ---- beside the loop ---- */

static cop_err write_live(cop_model_change *change)
{
	cop_diag why = { 0 };
	if (change->reload)
		return COP_OK;
	cop_err err = cop_live_write(change->state_dir, &change->live, &why);
	change->written = err == COP_OK;
	return err == COP_OK ? COP_OK : fault_by(change, err, &why);
}

static cop_err judge(cop_model_change *change)
{
	return change->reload ? COP_OK : cop_change_order_judge(&change->order, &change->changes, &change->fault);
}

/* Of the server it reads what stays as it is while a change is under way. */
static void make(void *context)
{
	cop_model_change *change = context;
	cop_step_back_thread(NICE);
	cop_model_exchange_make(&change->exchange, change->next, &change->changes, change->server->log);
	change->err = judge(change);
	if (change->err == COP_OK && !has(change, COP_CHANGE_REMOVES))
		change->err = write_live(change);
}

static void write_beside(void *context)
{
	cop_model_change *change = context;
	change->err = write_live(change);
}

/* ---- the checkpoint before a model is removed ---- */

static cop_err fault_of(cop_model_change *change, cop_err err)
{
	return err == COP_OK ? COP_OK : fault_by(change, err, &(cop_diag){ 0 });
}

static cop_err begin_saving(cop_model_change *change)
{
	cop_durability *durable = &change->server->durable;
	cop_diag why = { 0 };
	cop_err err = cop_durability_begin_checkpoint(durable, &why);
	change->stage = err == COP_EEXIST ? DUE : SAVING;
	change->checkpoints = durable->checkpoint.written;
	return err == COP_OK || err == COP_EEXIST ? COP_OK : fault_by(change, err, &why);
}

/* The thread goes on where a checkpoint has what is removed. */
static cop_err end_saving(cop_model_change *change)
{
	const cop_checkpoint *checkpoint = &change->server->durable.checkpoint;
	if (checkpoint->written == change->checkpoints)
		return fault_by(change, COP_EIO, &checkpoint->why);
	change->stage = WRITING;
	return fault_of(change, cop_job_start(&change->job, write_beside, change));
}

/* ---- between two events ---- */

/* What is ready takes effect. */
static cop_err apply(cop_server *server, cop_model_change *change)
{
	cop_err err = fault_of(change, cop_model_exchange_ready(&change->exchange, change->next, &change->changes));
	if (err == COP_OK)
		err = judge(change);
	if (err == COP_OK)
		err = fault_of(change, cop_reload_apply(server, change->next, &change->changes, &change->exchange));
	return err;
}

static void tell(cop_server *server, const cop_model_change *change, cop_err err)
{
	if (change->reload)
		cop_reload_tell_end(server, &change->changes, err);
	else
		cop_log_line(server->log,
		        err == COP_OK ? COP_LOG_EVENT(model_change) : COP_LOG_EVENT_WORSE(model_change),
		        "model=%s do=%s result=%s", change->order.name, cop_change_order_deed(&change->order),
		        err == COP_OK ? "ok" : "refused");
}

/* After an error what is served stands in the state folder again. */
static void end(cop_server *server, cop_err err)
{
	cop_model_change *change = server->change;
	cop_bytes *out = &server->serving.reply;
	if (err == COP_OK)
		err = apply(server, change);
	if (err != COP_OK && change->written)
		(void)!cop_live_write(change->state_dir, &server->config->live, NULL);
	tell(server, change, err);
	cop_bytes_clear(out);
	if (err == COP_OK)
		cop_reload_put(&change->changes, &change->order.seq, out);
	if (change->asked)
		cop_request_answer(server, err, &change->fault);
	server->change = NULL;
	change_free(change);
}

/* The stage is over: on to the next one, or to the end. */
static void go_on(cop_server *server)
{
	cop_model_change *change = server->change;
	cop_err err = change->err;
	bool ends = change->stage == WRITING || !has(change, COP_CHANGE_REMOVES);
	if (change->stage == MAKING && err == COP_OK)
		err = fault_of(change, cop_model_exchange_made(&change->exchange));
	if (err == COP_OK && !ends)
		err = change->stage == SAVING ? end_saving(change) : begin_saving(change);
	if (err != COP_OK || ends)
		end(server, err);
}

/* On which thread the stage goes on: its own, or that of the checkpoint, whose end the loop takes in. */
static bool is_under_way(const cop_server *server)
{
	return server->change->job.started ? cop_job_is_busy(&server->change->job)
	                                   : server->durable.checkpoint.job.started;
}

void cop_model_change_turn(cop_server *server)
{
	if (server->change == NULL || is_under_way(server))
		return;
	cop_job_finish(&server->change->job);
	go_on(server);
}

/* Of what nobody replaces meanwhile, in a folder that is ours: a follower has its changes from its leader. */
static bool is_lost(cop_server *server)
{
	cop_durability *durable = &server->durable;
	cop_diag why = { 0 };
	return server->change == NULL && !durable->follows && server->config->live.count > 0 &&
	       cop_healing_stands(durable) && !cop_live_is_there(server->config->state_dir) &&
	       cop_state_lock_check(&durable->lock, &why) == COP_OK;
}

void cop_model_change_look(cop_server *server, double now)
{
	cop_diag why = { 0 };
	if (now < server->next_live_look)
		return;
	server->next_live_look = now + LOOK_SECONDS;
	if (!is_lost(server))
		return;
	cop_err err = cop_live_write(server->config->state_dir, &server->config->live, &why);
	if (err == COP_OK || !server->live_lost)
		cop_log_line(server->log, err == COP_OK ? COP_LOG_EVENT(live_lost) : COP_LOG_EVENT_WORSE(live_lost),
		        "written=%s reason=\"%s\"", err == COP_OK ? "yes" : "no", why.message);
	server->live_lost = err != COP_OK;
}

void cop_model_change_finish(cop_server *server)
{
	while (server->change != NULL) {
		cop_job_finish(&server->change->job);
		cop_durability_finish_checkpoint(&server->durable);
		go_on(server);
	}
}

void cop_model_change_drop(cop_server *server)
{
	change_free(server->change);
	server->change = NULL;
}

bool cop_model_change_holds(const cop_server *server)
{
	return server->change != NULL && cop_model_exchange_holds(&server->change->exchange);
}

/* ---- the order ---- */

cop_err cop_model_change_check(const cop_server *server, const char *verb, cop_wire_fault *fault)
{
	if (server->change == NULL)
		return COP_OK;
	if (server->change->reload)
		return cop_wire_fault_set(fault, COP_WIRE_BUSY,
		        "%s: the configuration is being reloaded; expected to be sent again when that is done", verb);
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

/* What is under way for models that leave ends. */
static void end_refits(cop_server *server)
{
	const cop_model_table *models = &server->durable.models;
	for (size_t i = 0; i < models->leaving_count; i++)
		cop_refits_forget(&server->refits, models->leaving[i].slot);
}

/* The rest is left to the thread; the change is the server's then. */
static cop_err carry_out(cop_server *server, cop_model_change *change, bool *later)
{
	cop_err err =
	        cop_model_exchange_begin(&change->exchange, &server->durable.models, change->next, &change->changes);
	end_refits(server);
	if (err == COP_OK)
		err = cop_job_start(&change->job, make, change);
	*later = err == COP_OK;
	if (*later)
		server->change = change;
	return fault_of(change, err);
}

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
        size_t length, bool *later, cop_wire_fault *fault)
{
	*later = false;
	if (name_length == 0 || name_length > COP_CONFIG_NAME_MAX)
		return cop_wire_fault_set(
		        fault, COP_WIRE_BAD_REQUEST, "model: expected a name of 1 to %d bytes", COP_CONFIG_NAME_MAX);
	cop_model_change *change = cop_mem_alloc(1, sizeof *change);
	if (change == NULL)
		return cop_change_order_refuse_memory(fault);
	change->server = server;
	change->asked = true;
	change->state_dir = server->config->state_dir;
	cop_wire_text_clean(change->order.name, sizeof change->order.name, name, name_length);
	cop_err err = order(server, change, body, length, later);
	if (*later)
		return COP_OK;
	tell(server, change, err);
	*fault = change->fault;
	change_free(change);
	return err;
}

/* ---- the reload ---- */

/* Whether it goes by changes of models that take time. */
static bool takes_time(const cop_model_change *change)
{
	return has(change, COP_CHANGE_ADDS) || has(change, COP_CHANGE_RENEWS) || has(change, COP_CHANGE_GROWS) ||
	       has(change, COP_CHANGE_REMOVES);
}

static cop_err reload(cop_server *server, cop_model_change *change, bool *later)
{
	cop_err err = cop_reload_read(server, NULL, &change->next, &change->fault);
	if (err == COP_OK)
		err = fault_of(change, cop_reload_compare(server, change->next, &change->changes));
	if (err == COP_OK && takes_time(change))
		return carry_out(server, change, later);
	if (err == COP_OK)
		err = fault_of(change, cop_model_exchange_begin(&change->exchange, &server->durable.models,
		                               change->next, &change->changes));
	return err == COP_OK ? apply(server, change) : err;
}

cop_err cop_model_change_reload(
        cop_server *server, const cop_wire_seq *seq, bool *later, cop_bytes *out, cop_wire_fault *fault)
{
	static const cop_wire_seq none;
	*later = false;
	if (server->durable.follows) /* whose models are the leader's */
		return cop_reload(server, seq == NULL ? &none : seq, out, fault);
	cop_model_change *change = cop_mem_alloc(1, sizeof *change);
	if (change == NULL)
		return cop_change_order_refuse_memory(fault);
	change->server = server;
	change->reload = true;
	change->asked = seq != NULL;
	if (seq != NULL)
		change->order.seq = *seq;
	cop_reload_tell_begin();
	cop_err err = reload(server, change, later);
	if (*later)
		return COP_OK;
	tell(server, change, err);
	if (err == COP_OK)
		cop_reload_put(&change->changes, &change->order.seq, out);
	*fault = change->fault;
	change_free(change);
	return err;
}

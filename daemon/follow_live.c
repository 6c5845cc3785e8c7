/* As an order `model` does it, but at once, for whoever follows answers nobody meanwhile: file and changes are read
 * together, what is to come is made, the changes are written to the state folder behind a synced journal, and take
 * effect. */
#include "daemon/follow_live.h"

#include <stdio.h>

#include "daemon/reload.h"
#include "daemon/replica/replica_models.h"

static cop_err reload(void *context)
{
	cop_server *server = context;
	cop_wire_fault fault;
	cop_wire_seq none = { 0 };
	cop_bytes_clear(&server->serving.reply);
	return cop_reload(server, &none, &server->serving.reply, &fault);
}

/* The file with the changes over it; both are the caller's, also after an error. */
static cop_err read_change(
        cop_server *server, cop_replica_text text, cop_live_changes *live, cop_config **next, char *why, size_t room)
{
	cop_diag diag = { 0 };
	cop_wire_fault fault = { .message = "" };
	*next = NULL;
	cop_err err = cop_live_parse(text.text, text.length, "live", live, &diag);
	if (err == COP_OK) {
		err = cop_reload_read(server, live, next, &fault);
		(void)snprintf(why, room, "%s", fault.message);
	} else {
		cop_diag_text(&diag, why, room);
	}
	return err;
}

static bool fits(void *context, cop_replica_text text, const cop_replica_text *set, char *why, size_t room)
{
	cop_live_changes live = { 0 };
	cop_config *next;
	bool fit = read_change(context, text, &live, &next, why, room) == COP_OK &&
	           cop_replica_models_fit(next, set->text, set->length, why, room);
	cop_config_free(next);
	cop_live_free(&live);
	return fit;
}

/* With the models made, on the loop. */
static cop_err serve(cop_server *server, cop_config *next, const cop_live_changes *live, cop_diag *diag)
{
	cop_config_changes changes = { 0 };
	cop_model_exchange exchange = { 0 };
	cop_journaler *journal = server->durable.journal;
	cop_err err = cop_reload_compare(server, next, &changes);
	if (err == COP_OK)
		err = cop_reload_prepare(server, next, &changes, &exchange, diag);
	if (err == COP_OK && journal != NULL) /* a start passes records of models over that are gone by then */
		err = cop_journaler_flush(journal, diag);
	if (err == COP_OK)
		err = cop_live_write(server->config->state_dir, live, diag);
	if (err == COP_OK)
		err = cop_reload_apply(server, next, &changes, &exchange);
	cop_model_exchange_drop(&exchange);
	cop_config_changes_free(&changes);
	return err;
}

static cop_err change(void *context, cop_replica_text text, bool serves, char *why, size_t room)
{
	cop_server *server = context;
	cop_live_changes live = { 0 };
	cop_config *next;
	cop_diag diag = { 0 };
	cop_err err = read_change(server, text, &live, &next, why, room);
	if (err == COP_OK) {
		err = serves ? serve(server, next, &live, &diag)
		             : cop_live_write(server->config->state_dir, &live, &diag);
		if (err != COP_OK && diag.message[0] == '\0')
			cop_diag_message(&diag, "%s", cop_err_text(err));
		if (err != COP_OK)
			cop_diag_text(&diag, why, room);
		else
			cop_log_line(server->log, COP_LOG_EVENT(replica_live), "models=%zu", live.count);
	}
	cop_config_free(next);
	cop_live_free(&live);
	return err;
}

cop_replica_hooks cop_follow_live_hooks(cop_server *server)
{
	return (cop_replica_hooks){ .reload = reload, .fits = fits, .change = change, .context = server };
}

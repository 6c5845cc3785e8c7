/* Order of healing: the state folder is ours again, then the journal is written again, then a checkpoint holds what no
 * record does. Where the journal's file is gone the checkpoint comes first, for it is all that holds what was lost. */
#include "daemon/durable/healing.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/common/clock.h"

#define LOOK_SECONDS   1.0  /* between looks at files and the clock */
#define HEAL_SECONDS   1.0  /* between attempts to go on with a broken journal */
#define PLAINT_SECONDS 60.0 /* between lines that report that they fail */

bool cop_healing_stands(const cop_server *server)
{
	return server->journal == NULL || !cop_journaler_broken(server->journal);
}

void cop_healing_broke(cop_server *server, const cop_diag *why)
{
	server->broken_told = true;
	(void)snprintf(server->broken_reason, sizeof server->broken_reason, "%.159s", why->message);
	cop_log_line(server->log, COP_LOG_ERROR, "journal_broken", "reason=\"%s\"", why->message);
	server->next_heal = cop_journaler_gone(server->journal) ? 0.0 : cop_clock_monotonic() + HEAL_SECONDS;
	server->next_plaint = cop_clock_monotonic() + PLAINT_SECONDS;
}

static void still_broken(cop_server *server, const char *event, const cop_diag *why)
{
	double now = cop_clock_monotonic();
	if (now < server->next_plaint)
		return;
	cop_log_line(server->log, COP_LOG_ERROR, event, "reason=\"%s\"", why->message);
	server->next_plaint = now + PLAINT_SECONDS;
}

/* In that order: the models alone have what was lost. */
static cop_err begin_anew(cop_server *server, cop_err lost, cop_diag *why)
{
	if (lost == COP_EFORMAT) /* what a failed sync was to keep */
		cop_log_line(server->log, COP_LOG_ERROR, "journal_unreadable", "reason=\"%s\"", why->message);
	cop_err err = cop_server_checkpoint(server, why);
	return err == COP_OK ? cop_journaler_begin_anew(server->journal, why) : err;
}

/* A new segment holds what was missing, and a checkpoint what happened since. */
static void heal(cop_server *server)
{
	cop_diag why = { 0 };
	server->next_heal = cop_clock_monotonic() + HEAL_SECONDS;
	cop_err err = cop_state_lock_renew(&server->lock, &why);
	if (err == COP_OK) {
		err = cop_journaler_heal(server->journal, &why);
		if (err == COP_EFORMAT || err == COP_ENOTFOUND)
			err = begin_anew(server, err, &why);
	}
	if (err == COP_OK && (cop_server_checkpoint(server, &why) != COP_OK || !cop_healing_stands(server))) {
		cop_journaler_doubt(server->journal);
		err = COP_EIO;
	}
	if (err != COP_OK) {
		still_broken(server, "journal_still_broken", &why);
		return;
	}
	cop_server_record_config(server);
	server->broken_told = false;
	cop_log_line(server->log, COP_LOG_NOTICE, "journal_healed", "sequence=%" PRIu64,
	        cop_journaler_next(server->journal));
}

/* Without a journal only checkpoints are in the folder. */
static void renew_state(cop_server *server)
{
	cop_diag why = { 0 };
	cop_err err = cop_state_lock_check(&server->lock, &why);
	if (err == COP_OK)
		return;
	cop_log_line(server->log, COP_LOG_ERROR, "state_lost", "reason=\"%s\"", why.message);
	if (cop_state_lock_renew(&server->lock, &why) == COP_OK)
		server->next_checkpoint = 0.0; /* now */
	else
		still_broken(server, "state_still_lost", &why);
}

/* Nothing is to be acknowledged on a file that is not there. */
static void look_at_files(cop_server *server)
{
	cop_diag why = { 0 };
	if (server->journal == NULL) {
		renew_state(server);
		return;
	}
	if (cop_journaler_broken(server->journal))
		return;
	bool stands = cop_journaler_check(server->journal, &why);
	if (stands && cop_state_lock_check(&server->lock, &why) == COP_OK)
		return;
	if (stands)
		cop_journaler_doubt(server->journal);
	cop_healing_broke(server, &why);
}

static void look_at_clock(cop_server *server)
{
	double ahead = server->clock.ahead;
	if (cop_event_clock_look(&server->clock, server->time, 1e-6 * (double)server->config->clock_tolerance))
		cop_log_line(server->log, COP_LOG_NOTICE, "clock_believed", "was_ahead=%.0f", ahead);
}

void cop_healing_turn(cop_server *server, double now)
{
	if (now >= server->next_look) {
		server->next_look = now + LOOK_SECONDS;
		look_at_files(server);
		look_at_clock(server);
	}
	if (!cop_healing_stands(server) && now >= server->next_heal)
		heal(server);
}

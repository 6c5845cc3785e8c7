/* Order of healing: the state folder is ours again, then the journal is written again, then a checkpoint holds what no
 * record does. Where the journal's file is gone the checkpoint comes first, for it is all that holds what was lost. */
#include "daemon/durable/healing.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/common/clock.h"

#define LOOK_SECONDS      1.0  /* between looks at files and the clock */
#define HEAL_SECONDS      1.0  /* between attempts to go on with a broken journal */
#define COMPLAINT_SECONDS 60.0 /* between lines that report that they fail */

bool cop_healing_stands(const cop_durability *durable)
{
	return durable->journal == NULL || !cop_journaler_broken(durable->journal);
}

void cop_healing_broke(cop_durability *durable, const cop_diag *why)
{
	durable->broken_logged = true;
	(void)snprintf(durable->broken_reason, sizeof durable->broken_reason, "%.159s", why->message);
	cop_log_line(durable->log, COP_LOG_EVENT(journal_broken), "reason=\"%s\"", why->message);
	durable->next_heal = cop_journaler_gone(durable->journal) ? 0.0 : cop_clock_monotonic() + HEAL_SECONDS;
	durable->next_complaint = cop_clock_monotonic() + COMPLAINT_SECONDS;
}

void cop_healing_commit(cop_durability *durable)
{
	cop_diag why = { 0 };
	if (durable->journal != NULL && !cop_journaler_commit(durable->journal, &why))
		cop_healing_broke(durable, &why);
	if (cop_healing_stands(durable) || durable->broken_logged)
		return;
	cop_diag_message(&why, "no memory for records"); /* broken while records were put */
	cop_healing_broke(durable, &why);
	durable->next_heal = 0.0; /* nothing to wait for: it may be there again */
}

static void still_broken(cop_durability *durable, cop_log_event event, const cop_diag *why)
{
	double now = cop_clock_monotonic();
	if (now < durable->next_complaint)
		return;
	cop_log_line(durable->log, event, "reason=\"%s\"", why->message);
	durable->next_complaint = now + COMPLAINT_SECONDS;
}

/* In that order: the models alone have what was lost. */
static cop_err begin_anew(cop_durability *durable, cop_err lost, cop_diag *why)
{
	if (lost == COP_EFORMAT) /* what a failed sync was to keep */
		cop_log_line(durable->log, COP_LOG_EVENT(journal_unreadable), "reason=\"%s\"", why->message);
	cop_err err = cop_durability_checkpoint(durable, why);
	return err == COP_OK ? cop_journaler_begin_anew(durable->journal, why) : err;
}

/* A new segment holds what was missing, and a checkpoint what happened since. */
static void heal(cop_durability *durable)
{
	cop_diag why = { 0 };
	durable->next_heal = cop_clock_monotonic() + HEAL_SECONDS;
	cop_err err = cop_state_lock_renew(&durable->lock, &why);
	if (err == COP_OK) {
		err = cop_journaler_heal(durable->journal, &why);
		if (err == COP_EFORMAT || err == COP_ENOTFOUND)
			err = begin_anew(durable, err, &why);
	}
	if (err == COP_OK && (cop_durability_checkpoint(durable, &why) != COP_OK || !cop_healing_stands(durable))) {
		cop_journaler_rebreak(durable->journal);
		err = COP_EIO;
	}
	if (err != COP_OK) {
		still_broken(durable, COP_LOG_EVENT(journal_still_broken), &why);
		return;
	}
	cop_durability_record_apart(durable, cop_journaler_take_lost(durable->journal), NULL);
	durable->broken_logged = false;
	cop_log_line(
	        durable->log, COP_LOG_EVENT(journal_healed), "sequence=%" PRIu64, cop_journaler_next(durable->journal));
}

/* Without a journal only checkpoints are in the folder. */
static void renew_state(cop_durability *durable)
{
	cop_diag why = { 0 };
	cop_err err = cop_state_lock_check(&durable->lock, &why);
	if (err == COP_OK)
		return;
	cop_log_line(durable->log, COP_LOG_EVENT(state_lost), "reason=\"%s\"", why.message);
	if (cop_state_lock_renew(&durable->lock, &why) == COP_OK)
		durable->next_checkpoint = 0.0; /* now */
	else
		still_broken(durable, COP_LOG_EVENT(state_still_lost), &why);
}

/* Nothing is to be acknowledged on a file that is not there. */
static void look_at_files(cop_durability *durable)
{
	cop_diag why = { 0 };
	if (durable->journal == NULL) {
		renew_state(durable);
		return;
	}
	if (cop_journaler_broken(durable->journal))
		return;
	bool stands = cop_journaler_check(durable->journal, &why);
	if (stands && cop_state_lock_check(&durable->lock, &why) == COP_OK)
		return;
	if (stands)
		cop_journaler_rebreak(durable->journal);
	cop_healing_broke(durable, &why);
}

static void look_at_clock(cop_durability *durable)
{
	double ahead = durable->clock.ahead;
	if (cop_event_clock_look(&durable->clock, durable->time, 1e-6 * (double)durable->config->clock_tolerance))
		cop_log_line(durable->log, COP_LOG_EVENT(clock_believed), "was_ahead=%.0f", ahead);
}

void cop_healing_turn(cop_durability *durable, double now)
{
	if (now >= durable->next_look) {
		durable->next_look = now + LOOK_SECONDS;
		look_at_files(durable);
		look_at_clock(durable);
	}
	if (!cop_healing_stands(durable) && now >= durable->next_heal)
		heal(durable);
}

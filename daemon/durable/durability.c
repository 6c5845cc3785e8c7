/* A checkpoint is of a moment between two events: what the journal holds by then is flushed, the models are serialised,
 * and a thread writes the file. When it is on disk, segments and challengers go that nothing needs any more. A start
 * goes the other way: the newest checkpoint, then the journal's records after it. */
#include "daemon/durable/durability.h"

#include <stdio.h>

#include "daemon/common/clock.h"
#include "daemon/durable/challenger.h"
#include "daemon/durable/healing.h"
#include "daemon/durable/promotion.h"
#include "daemon/durable/recovery.h"
#include "daemon/models/listed_names.h"
#include "daemon/models/model_set.h"
#include "store/state_dir.h"

void cop_durability_init(cop_durability *durable, cop_config *config, cop_log *log)
{
	*durable = (cop_durability){
		.config = config, .log = log, .time = cop_clock_real(), .follows = cop_config_follows(config)
	};
	cop_checkpoint_init(&durable->checkpoint, config->state_dir);
	durable->checkpoint.live = config->replica_given ? &config->live : NULL;
	cop_state_lock_init(&durable->lock, config->state_dir);
}

cop_err cop_durability_lock(cop_durability *durable, cop_diag *diag)
{
	return cop_state_lock_open(&durable->lock, diag);
}

void cop_durability_record_apart(cop_durability *durable, bool all, const char *const *names)
{
	const cop_model_set_notes notes = { .models = &durable->models, .apart = all, .reset = names };
	if (durable->follows) {
		cop_journaler_set_models(durable->journal, durable->config);
		return;
	}
	cop_bytes text, models, live, listed;
	cop_bytes_init(&listed);
	cop_bytes_init(&text);
	cop_bytes_init(&models);
	cop_bytes_init(&live);
	cop_config_print(durable->config, &text);
	size_t left_out = cop_model_set_put(durable->config, &notes, &models);
	cop_listed_names_put(&durable->models, &listed);
	cop_wire_record record = {
		.time = durable->time,
		.text = (const char *)text.data,
		.text_length = text.length,
		.models = models.data,
		.models_length = models.length,
		.listed = listed.data,
		.listed_length = listed.length,
	};
	if (durable->config->replica_given && durable->config->live.count > 0) { /* followers change theirs by it */
		cop_live_put_text(&durable->config->live, &live);
		record.live = (const char *)live.data;
		record.live_length = live.length;
	}
	if (text.err == COP_OK && models.err == COP_OK && live.err == COP_OK && listed.err == COP_OK)
		(void)cop_journaler_put(durable->journal, COP_WIRE_RECORD_CONFIG, &record);
	if (left_out > 0 && models.err == COP_OK)
		cop_log_line(durable->log, COP_LOG_EVENT(journal_models), "left_out=%zu", left_out);
	cop_journaler_set_models(durable->journal, durable->config);
	cop_bytes_fini(&text);
	cop_bytes_fini(&models);
	cop_bytes_fini(&live);
	cop_bytes_fini(&listed);
}

void cop_durability_record_config(cop_durability *durable) { cop_durability_record_apart(durable, false, NULL); }

/* ---- what is kept ---- */

/* Without a journal older checkpoints lead to nothing. */
static cop_checkpoint_keeping keeping_of(const cop_durability *durable)
{
	return (cop_checkpoint_keeping){
		.newest = durable->config->checkpoint_keep,
		.older = durable->journal != NULL ? durable->config->checkpoint_older : 0,
		.first = cop_journal_retention_first(&durable->retention),
	};
}

/* The first record that recovery may need. */
static uint64_t first_needed(const cop_durability *durable)
{
	return cop_checkpoint_kept_needs(&durable->checkpoint.kept, durable->config->checkpoint_keep);
}

static bool is_needed(const void *context, uint64_t number)
{
	return cop_refit_state_needs((const cop_refit_state *)context, number);
}

/* The first record that may ever be replayed, from a checkpoint or from the journal's beginning. */
static uint64_t first_replayed(const cop_durability *durable)
{
	uint64_t needed = first_needed(durable);
	uint64_t first = durable->journal == NULL ? needed : cop_journal_retention_first(&durable->retention);
	return first < needed ? first : needed;
}

/* Challengers go that no checkpoint and no record in the journal needs, and marks that no window needs. */
static void tidy_challengers(cop_durability *durable)
{
	uint64_t from = first_replayed(durable);
	for (size_t i = 0; i < durable->models.count; i++) {
		cop_model_slot *slot = durable->models.items[i];
		cop_refit_state *s = &slot->refit;
		uint64_t decisions = cop_model_get_counters(slot->model)->decisions;
		cop_diag why = { 0 };
		cop_challenger_pruned pruned = { 0 };
		if (slot->config->refit.enabled && durable->journal != NULL)
			cop_refit_state_mark(
			        s, cop_journaler_next(durable->journal), decisions, slot->config->refit.window);
		cop_refit_state_release(s, from);
		if (s->controller.number == 0 || slot->refit.running)
			continue;
		if (cop_challenger_prune(durable->config->state_dir, slot->stored, slot->config->refit.keep, is_needed,
		            s, &pruned, &why) != COP_OK)
			cop_log_line(
			        durable->log, COP_LOG_EVENT(challenger_prune_failed), "reason=\"%s\"", why.message);
		s->held = pruned.held;
		cop_promotion_look(slot, durable->config->state_dir);
	}
}

/* Bytes of challengers that are there only because the journal's old segments need them. */
static uint64_t held_bytes(const cop_durability *durable)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < durable->models.count; i++)
		bytes += durable->models.items[i]->refit.held;
	return bytes;
}

/* The first journal record that a refit's window may hold; UINT64_MAX: none is wanted. */
static uint64_t window_of_refits(const cop_durability *durable)
{
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < durable->models.count; i++) {
		const cop_model_slot *slot = durable->models.items[i];
		if (!slot->config->refit.enabled)
			continue;
		uint64_t from = cop_refit_state_window(
		        &slot->refit, cop_model_get_counters(slot->model)->decisions, slot->config->refit.window);
		first = from < first ? from : first;
	}
	return first;
}

/* ---- checkpoints ---- */

static cop_checkpoint_mark mark_of(const cop_durability *durable)
{
	return (cop_checkpoint_mark){
		.time = durable->time,
		.journal_next = durable->journal != NULL ? cop_journaler_next(durable->journal) : durable->journal_end,
		.journal_base = durable->journal != NULL ? cop_journaler_base(durable->journal) : 0,
		.epoch = durable->journal != NULL ? cop_journaler_epoch(durable->journal)
		                                  : durable->checkpoint.mark.epoch,
		.forgot = durable->forgot,
	};
}

/* The older checkpoints that the journal is cut back to. */
static void tell_states(cop_durability *durable)
{
	const cop_checkpoint_kept *kept = &durable->checkpoint.kept;
	cop_journal_retention *retention = &durable->retention;
	retention->states = 0;
	for (size_t i = durable->config->checkpoint_keep;
	        i < kept->count && retention->states < COP_CHECKPOINT_OLDER_MAX; i++)
		retention->state[retention->states++] = kept->next[i];
}

static void checkpoint_written(cop_durability *durable)
{
	char folder[4096];
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_JOURNAL, durable->config->state_dir);
	durable->retention.spare_age = durable->clock.ahead > 0.0;
	durable->retention.beside = held_bytes(durable);
	if (durable->journal != NULL && !durable->held && !cop_job_is_busy(&durable->retention.job)) {
		tell_states(durable);
		cop_journal_retention_start(&durable->retention, folder, durable->config, first_needed(durable),
		        window_of_refits(durable), durable->log);
	}
	tidy_challengers(durable);
}

static cop_err start_checkpoint(cop_durability *durable, cop_diag *diag)
{
	if (durable->journal != NULL && cop_healing_stands(durable)) {
		cop_diag why = { 0 };
		if (cop_journaler_flush(durable->journal, &why) != COP_OK)
			cop_healing_broke(durable, &why); /* the checkpoint is the better for it */
	}
	cop_checkpoint_mark mark = mark_of(durable);
	cop_err err = cop_checkpoint_start(&durable->checkpoint, &durable->models, &mark, durable->log);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

cop_err cop_durability_checkpoint(cop_durability *durable, cop_diag *diag)
{
	const cop_checkpoint_keeping keep = keeping_of(durable);
	(void)!cop_checkpoint_finish(&durable->checkpoint, &keep, true, durable->log, NULL); /* one that is under way */
	cop_err err = start_checkpoint(durable, diag);
	if (err == COP_OK)
		err = cop_checkpoint_finish(&durable->checkpoint, &keep, true, durable->log, diag);
	if (err == COP_OK)
		checkpoint_written(durable);
	return err;
}

cop_err cop_durability_begin_checkpoint(cop_durability *durable, cop_diag *diag)
{
	return durable->checkpoint.job.started ? COP_EEXIST : start_checkpoint(durable, diag);
}

static void take_checkpoint(cop_durability *durable, bool wait)
{
	const cop_checkpoint_keeping keep = keeping_of(durable);
	if (cop_checkpoint_finish(&durable->checkpoint, &keep, wait, durable->log, NULL) == COP_OK)
		checkpoint_written(durable);
	cop_checkpoint_tidy(&durable->checkpoint, &keep, durable->log);
}

void cop_durability_finish_checkpoint(cop_durability *durable) { take_checkpoint(durable, true); }

void cop_durability_turn(cop_durability *durable, double now)
{
	take_checkpoint(durable, false);
	if (now >= durable->next_checkpoint) {
		(void)!start_checkpoint(durable, NULL); /* logged and counted; tried again next time */
		durable->next_checkpoint = now + 1e-6 * (double)durable->config->checkpoint_every;
	}
	cop_healing_turn(durable, now);
}

/* ---- the start ---- */

/* Event time goes on from the newest record's. */
static void start_clock(cop_durability *durable, const cop_durability_options *options, double newest)
{
	double tolerance = options->trust_clock ? 0.0 : 1e-6 * (double)durable->config->clock_tolerance;
	cop_event_clock_start(&durable->clock, newest, tolerance);
	durable->time = cop_event_clock_now(&durable->clock);
	if (durable->clock.ahead > 0.0)
		cop_log_line(durable->log, COP_LOG_EVENT(clock_ahead),
		        "seconds=%.0f tolerance=%.0f reason=\"the clock is far ahead of the newest record; no reward "
		        "window ends by it until it is set right, or clock_tolerance raised and reloaded, or a start "
		        "with --trust-clock\"",
		        durable->clock.ahead, tolerance);
}

static cop_err begin_journal(cop_durability *durable, const char *folder, uint64_t next, cop_diag *diag)
{
	cop_diag why = { 0 };
	durable->journal_end = next;
	if (!durable->config->journal_enabled)
		return COP_OK;
	cop_err err = cop_journaler_open(folder, durable->config, next, &durable->journal, &why);
	const uint64_t epoch = durable->checkpoint.mark.epoch; /* where the journal is gone, it goes on from there */
	if (err == COP_OK && !cop_journaler_broken(durable->journal) && epoch > cop_journaler_epoch(durable->journal))
		err = cop_journaler_begin_epoch(durable->journal, epoch, &why);
	if (err == COP_OK)
		cop_journal_retention_look(&durable->retention, folder);
	if (err == COP_OK && cop_journaler_broken(durable->journal))
		cop_healing_broke(durable, &why);
	else if (err != COP_OK)
		*diag = why;
	return err;
}

/* What was replayed, reset or set aside need not be so again. Replaying can be repeated, so that a disk without room
 * for the checkpoint is no reason not to serve; the others would be undone. */
static cop_err checkpoint_start(cop_durability *durable, bool must, cop_diag *diag)
{
	cop_diag why = { 0 };
	cop_err err = cop_healing_stands(durable) || must ? cop_durability_checkpoint(durable, &why) : COP_OK;
	if (err == COP_EFULL && !must)
		return COP_OK; /* logged; the next one is due as ever */
	if (err != COP_OK)
		*diag = why;
	return err;
}

/* Whether the models hold what came while no journal was written. */
static bool has_more(const cop_durability *durable)
{
	return durable->checkpoint.sequence != 0 && durable->checkpoint.mark.journal_base == 0;
}

/* changed: the models are not what the newest checkpoint holds. */
static cop_err open_journal(
        cop_durability *durable, const cop_durability_options *options, cop_http *http, bool changed, cop_diag *diag)
{
	char folder[4096];
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_JOURNAL, durable->config->state_dir);
	if (options->checkpoint_only) {
		char aside[4200];
		cop_err err = cop_recovery_set_aside(folder, aside, sizeof aside, diag);
		if (err != COP_OK)
			return err;
		cop_log_line(durable->log, COP_LOG_EVENT(journal_set_aside), "to=\"%s\"", aside);
	}
	cop_recovery recovery = {
		.state_dir = durable->config->state_dir,
		.folder = folder,
		.reset = options->reset,
		.http = http,
		.salvaged = options->salvaged,
		.aside = options->checkpoint_only,
		.log = durable->log,
	};
	cop_err err = cop_recovery_run(&recovery, &durable->models, &durable->checkpoint.mark, diag);
	if (err == COP_OK && !durable->follows)
		err = cop_model_table_complete(&durable->models, diag);
	if (err != COP_OK)
		return err;
	start_clock(durable, options, recovery.time);
	err = begin_journal(durable, folder, recovery.next, diag);
	if (err != COP_OK)
		return err;
	if (!durable->follows) /* over what was saved and replayed; a follower's settings are its leader's */
		cop_model_table_reconfigure(&durable->models, durable->config, durable->log);
	cop_durability_record_apart(durable, has_more(durable) || options->salvaged, options->reset);
	bool must = options->checkpoint_only || options->reset[0] != NULL;
	return changed || must || recovery.applied > 0 ? checkpoint_start(durable, must, diag) : COP_OK;
}

cop_err cop_durability_open(
        cop_durability *durable, const cop_durability_options *options, cop_http *http, cop_diag *diag)
{
	size_t begun = 0;
	cop_err err = cop_model_table_init(&durable->models, durable->config, diag);
	if (err == COP_OK)
		err = cop_checkpoint_restore(
		        &durable->checkpoint, &durable->models, durable->config, options->reset, durable->log, diag);
	durable->forgot = durable->checkpoint.mark.forgot;
	if (err == COP_OK)
		err = cop_model_table_start_from(&durable->models, durable->log, &begun, diag);
	return err == COP_OK ? open_journal(durable, options, http, begun > 0, diag) : err;
}

void cop_durability_close(cop_durability *durable)
{
	cop_journal_retention_end(&durable->retention);
	(void)!cop_journaler_close(durable->journal, NULL); /* flushed by the last checkpoint, or broken and logged */
	cop_checkpoint_fini(&durable->checkpoint);
	cop_model_table_fini(&durable->models);
	cop_state_lock_close(&durable->lock);
}

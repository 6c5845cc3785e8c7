/* The controller of each model decides (refit/refit_controller.h); here is what it decides about: the worker process,
 * files of challengers, records of promotions. One refit is under way at a time, that of `running`. */
#include "daemon/refit/refits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/common/refit_program.h"
#include "daemon/durable/challenger.h"
#include "daemon/durable/healing.h"
#include "daemon/durable/promotion.h"
#include "daemon/refit/refit_memory.h"
#include "learn/footprint.h"
#include "online/model_shadow.h"

#define LOOK_SECONDS   0.1
#define MEMORY_SECONDS 2.0 /* between two looks for free memory */

void cop_refits_init(cop_refits *refits, cop_durability *durable)
{
	const char *state_dir = durable->config->state_dir;
	*refits = (cop_refits){ .durable = durable };
	cop_worker_process_init(&refits->process);
	char folder[PATH_MAX];
	const char *absolute = realpath(state_dir, folder);
	(void)snprintf(refits->state_dir, sizeof refits->state_dir, "%s", absolute == NULL ? state_dir : absolute);
}

/* What the refit under way, or at its end, took of a processor. */
static void note_spent(cop_refits *refits, double seconds)
{
	refits->running->refit.controller.spent = seconds;
	refits->running->refit.spent_total += seconds;
}

static void set_running(cop_refits *refits, cop_model_slot *slot)
{
	if (refits->running != NULL)
		refits->running->refit.running = false;
	if (slot != NULL)
		slot->refit.running = true;
	refits->running = slot;
}

/* Nothing is waited for but a killed process. */
static void abandon(cop_refits *refits)
{
	if (refits->process.side.pid != 0)
		note_spent(refits, cop_worker_process_stop(&refits->process));
	cop_challenger_load_release(&refits->load);
	set_running(refits, NULL);
}

void cop_refits_stop(cop_refits *refits)
{
	abandon(refits);
	cop_challenger_load_end(&refits->load);
}

void cop_refits_forget(cop_refits *refits, const cop_model_slot *slot)
{
	if (refits->running == slot)
		abandon(refits);
	if (refits->next == slot)
		refits->next = NULL;
}

void cop_refits_move(cop_refits *refits, const cop_model_slot *from, cop_model_slot *to)
{
	if (refits->running == from)
		set_running(refits, to);
	if (refits->next == from)
		refits->next = to;
}

int cop_refits_fd(const cop_refits *refits) { return refits->process.side.fd; }

static bool journal_stands(const cop_refits *r)
{
	return r->durable->journal != NULL && cop_healing_stands(r->durable);
}

static uint64_t learned_of(const cop_model_slot *slot) { return cop_model_get_counters(slot->model)->learned; }

static uint64_t fresh_of(const cop_model_slot *slot)
{
	return cop_refit_controller_fresh(&slot->refit.controller, learned_of(slot));
}

static cop_refit_controller_settings rule_of(const cop_model_slot *slot)
{
	const cop_config_refit *c = &slot->config->refit;
	return (cop_refit_controller_settings){
		.window = c->window, .least_feedback = c->least_feedback, .every = 1e-6 * (double)c->every
	};
}

/* ---- what is due ---- */

double cop_refits_rested(const cop_refits *r)
{
	double rested = 0.0;
	for (size_t i = 0; i < r->durable->models.count; i++) {
		const cop_refit_controller *c = &r->durable->models.items[i]->refit.controller;
		rested = fmax(rested, cop_refit_rested(c->began, c->spent, r->durable->config->refit_cpu_share));
	}
	return rested;
}

/* Whether a refit of the model, whose refits are on, is due. */
static cop_refit_due due(const cop_refits *r, const cop_model_slot *slot, double now)
{
	const cop_refit_controller_settings rule = rule_of(slot);
	const cop_refit_controller_times times = { r->durable->time, now, cop_refits_rested(r) };
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(slot->model, &roles);
	return cop_refit_controller_due(&slot->refit.controller, &rule, &roles, &times);
}

/* Of one that begins. */
static const char *reason_of(cop_refit_due is, const cop_config_refit *config)
{
	return is == COP_REFIT_ASKED   ? "asked"
	       : is == COP_REFIT_DRIFT ? "drift"
	       : config->every > 0     ? "schedule"
	                               : "feedback";
}

/* Whether there is memory for the model's refit, which is due: what it may take is then in refits.memory. */
static bool has_room(cop_refits *r, cop_model_slot *slot, double now)
{
	uint64_t given = slot->config->refit.memory;
	r->memory = given > 0 ? given : cop_refit_memory_of(cop_refit_memory_free(""));
	slot->refit.crowded = r->memory == 0;
	if (slot->refit.crowded)
		r->next_look = now + MEMORY_SECONDS;
	return !slot->refit.crowded;
}

/* ---- beginning ---- */

static void fill_job(const cop_refits *r, const cop_model_slot *slot, uint64_t number, cop_worker_job *job)
{
	const cop_config_refit *c = &slot->config->refit;
	*job = (cop_worker_job){
		.version = COP_VERSION,
		.state_dir = r->state_dir,
		.model = slot->stored,
		.parent = (int)getpid(),
		.number = number,
		.durable = cop_journaler_durable(r->durable->journal),
		.after = slot->refit.controller.after,
		.seed = slot->config->set.learner.seed + number,
		.idle = c->idle,
		.nice = c->nice,
		.window = c->window,
		.height = c->height,
		.memory = r->memory,
		.holdout = c->holdout,
		.margin = c->margin,
		.risk = c->risk,
		.alpha = c->alpha.given ? c->alpha.value : -1.0,
		.method = c->method,
	};
}

/* Of a refit that began, whether or not its worker did. */
static void note_end(cop_refits *r, cop_model_slot *slot, const cop_worker_line *end, double now)
{
	cop_refit_state *s = &slot->refit;
	bool bad = cop_worker_outcome_bad(end->outcome);
	s->has_last = true;
	s->last = *end;
	s->last_time = cop_clock_real();
	s->last_seconds = now - r->began;
	s->outcomes[end->outcome]++;
	cop_refit_history_end(&s->history, end, s->last_time, s->last_seconds);
	cop_promotion_look(slot, r->state_dir);
	cop_refit_controller_end(&s->controller, !bad, end->learned, now);
	cop_log_line(r->durable->log, bad ? COP_LOG_EVENT_WORSE(refit_ended) : COP_LOG_EVENT(refit_ended),
	        "model=%s outcome=%s number=%" PRIu64 " seconds=%.3f processor=%.3f reason=\"%s\"", slot->name,
	        cop_worker_outcome_text(end->outcome), end->number, s->last_seconds, end->spent, end->text);
}

static cop_err choose_number(const cop_refits *r, const cop_model_slot *slot, uint64_t *number, cop_diag *diag)
{
	cop_err err = cop_challenger_newest(r->state_dir, slot->stored, number, diag);
	uint64_t highest = slot->refit.controller.number;
	*number = 1 + (*number > highest ? *number : highest);
	return err;
}

/* The worker's program and words before its arguments: itself, or its launcher's. text: a copy of the launcher. */
static cop_err find_programs(const cop_refits *r, char *text, char program[COP_REFIT_PROGRAM_ROOM],
        char worker[COP_REFIT_PROGRAM_ROOM], char **argv, unsigned *words, cop_diag *diag)
{
	*words = 0;
	if (r->durable->config->refit_launcher == NULL)
		return cop_refit_program_find(COP_REFIT_ALONE, program, diag);
	cop_err err = cop_refit_program_find(COP_REFIT_BY_MPI, worker, diag);
	return err == COP_OK ? cop_refit_program_launcher(text, program, argv, words, diag) : err;
}

static cop_err start(cop_refits *r, const cop_worker_job *job, double now, double seconds, cop_diag *diag)
{
	char room[COP_WORKER_ROOM + COP_REFIT_PROGRAM_ROOM + sizeof r->state_dir];
	char program[COP_REFIT_PROGRAM_ROOM], worker[COP_REFIT_PROGRAM_ROOM] = COP_REFIT_ALONE;
	char *argv[COP_REFIT_LAUNCHER_MOST + COP_WORKER_ARGUMENTS];
	const char *launcher = r->durable->config->refit_launcher;
	char *text = cop_mem_strdup(launcher == NULL ? "" : launcher);
	unsigned words = 0;
	cop_err err = text == NULL ? COP_ENOMEM : find_programs(r, text, program, worker, argv, &words, diag);
	if (err == COP_OK) {
		cop_worker_arguments(job, worker, room, sizeof room, argv + words);
		err = cop_worker_process_start(&r->process, program, argv, now, seconds, diag);
	}
	cop_mem_free(text);
	return err;
}

static void begin(cop_refits *r, cop_model_slot *slot, cop_refit_due is, double now)
{
	cop_worker_job job;
	cop_diag diag = { 0 };
	uint64_t number;
	cop_refit_controller_begin(&slot->refit.controller, r->learned, r->durable->time);
	r->began = now;
	r->next = NULL;
	cop_err err = choose_number(r, slot, &number, &diag);
	if (err == COP_OK) {
		fill_job(r, slot, number, &job);
		err = start(r, &job, now, 1e-6 * (double)slot->config->refit.time_limit, &diag);
	}
	if (err != COP_OK) {
		cop_worker_line end = { .result = true, .outcome = COP_WORKER_FAILED };
		cop_diag_text(&diag, end.text, sizeof end.text);
		note_end(r, slot, &end, now);
		return;
	}
	slot->refit.controller.number = number; /* whatever becomes of it */
	set_running(r, slot);
	cop_log_line(r->durable->log, COP_LOG_EVENT(refit_started),
	        "model=%s why=%s number=%" PRIu64 " pid=%d feedback=%" PRIu64 " memory=%" PRIu64, slot->name,
	        reason_of(is, &slot->config->refit), number, (int)r->process.side.pid, fresh_of(slot), r->memory);
}

/* ---- its end ---- */

static void refuse(cop_worker_line *end, const cop_diag *why)
{
	end->outcome = COP_WORKER_REFUSED;
	cop_diag_text(why, end->text, sizeof end->text);
}

static void conclude(cop_refits *r, cop_worker_line *end, double now)
{
	cop_model_slot *slot = r->running;
	set_running(r, NULL);
	note_end(r, slot, end, now);
}

/* About as many as the serving learner's state: not more than its memory, nor than all that the last checkpoint held.
 */
static size_t state_bytes(const cop_refits *r, const cop_learner *learner)
{
	double most = cop_footprint(&learner->settings, 0);
	double all = 1.25 * (double)r->durable->checkpoint.bytes;
	double bytes = r->durable->checkpoint.bytes > 0 && all < most ? all : most;
	return bytes < (double)SIZE_MAX ? (size_t)bytes : 0;
}

static void begin_loading(cop_refits *r, double now)
{
	const cop_learner *learner = cop_model_learner(r->running->model);
	if (cop_challenger_load_begin(&r->load, r->state_dir, r->running->stored, r->end.number, &learner->settings,
	            state_bytes(r, learner)) == COP_OK)
		return;
	const cop_diag why = { .message = "no thread to read the challenger with" };
	refuse(&r->end, &why);
	conclude(r, &r->end, now);
}

static void take_challenger(cop_refits *r, double now)
{
	const cop_promotion s = { .durable = r->durable, .slot = r->running, .by = "refit", .load = &r->load };
	cop_diag why = r->load.why;
	cop_err err = r->load.err;
	if (err == COP_OK)
		err = cop_promotion_do(&s, COP_WIRE_PROMOTION_CHALLENGE, r->end.number, NULL, &why);
	cop_challenger_load_release(&r->load);
	if (err != COP_OK)
		refuse(&r->end, &why);
	conclude(r, &r->end, now);
}

/* ---- evidence ---- */

static void decide(cop_refits *r, cop_model_slot *slot)
{
	const cop_config_refit *c = &slot->config->refit;
	if (r->durable->held || !c->enabled || (c->promote != COP_PROMOTE_EVIDENCE && c->promote != COP_PROMOTE_BOUND))
		return;
	const cop_refit_controller_settings rule = rule_of(slot);
	cop_promotion_test_roles roles;
	cop_model_shadow_roles(slot->model, &roles);
	cop_refit_step step = cop_refit_controller_step(&slot->refit.controller, &rule, &roles);
	if (step == COP_REFIT_STAY || !cop_healing_stands(r->durable))
		return;
	const cop_promotion s = { .durable = r->durable,
		.slot = slot,
		.by = roles.verdict == COP_PROMOTION_TEST_OPEN ? "window" : "evidence" };
	cop_diag diag = { 0 };
	cop_err err = COP_OK;
	if (step != COP_REFIT_RETIRE)
		err = cop_promotion_do(&s,
		        step == COP_REFIT_ROLLBACK ? COP_WIRE_PROMOTION_ROLLBACK : COP_WIRE_PROMOTION_PROMOTE, 0, NULL,
		        &diag);
	if (err == COP_OK && step != COP_REFIT_PROMOTE)
		err = cop_promotion_do(&s, COP_WIRE_PROMOTION_RETIRE, 0, NULL, &diag);
	if (err != COP_OK)
		cop_log_line(r->durable->log, COP_LOG_EVENT(promotion_failed), "model=%s reason=\"%s\"", slot->name,
		        diag.message);
}

/* ---- turns ---- */

static void attend(cop_refits *r, double now)
{
	if (!r->running->config->refit.enabled) {
		cop_log_line(r->durable->log, COP_LOG_EVENT(refit_stopped), "model=%s", r->running->name);
		abandon(r);
	} else if (cop_refits_is_loading(r)) {
		if (!r->durable->held && cop_challenger_load_is_ready(&r->load))
			take_challenger(r, now);
	} else if (cop_worker_process_take(&r->process, now, &r->end) == COP_OK) {
		note_spent(r, r->end.spent);
		if (r->end.outcome == COP_WORKER_MADE)
			begin_loading(r, now);
		else
			conclude(r, &r->end, now);
	} else {
		r->running->refit.controller.spent =
		        now - r->began; /* at most, in case that a checkpoint is the last one */
	}
}

/* A worker reads what is synced, so that must be all that made the refit due. */
static bool is_synced(cop_refits *r, const cop_model_slot *slot, double now)
{
	if (r->next != slot) {
		r->next = slot;
		r->wanted = cop_journaler_next(r->durable->journal) - 1;
		r->learned = learned_of(slot);
		if (r->durable->config->journal_sync == COP_SYNC_NEVER)
			r->durable->next_checkpoint = now; /* which syncs */
	}
	return cop_journaler_durable(r->durable->journal) >= r->wanted;
}

static void begin_due(cop_refits *r, double now)
{
	if (!journal_stands(r) || r->durable->held)
		return;
	for (size_t i = 0; i < r->durable->models.count; i++) {
		cop_model_slot *slot = r->durable->models.items[i];
		if (!slot->config->refit.enabled)
			continue;
		cop_refit_due is = due(r, slot, now);
		if (!cop_refit_begins(is) || !has_room(r, slot, now))
			continue;
		if (is_synced(r, slot, now))
			begin(r, slot, is, now);
		return;
	}
}

void cop_refits_turn(cop_refits *r, double now)
{
	for (size_t i = 0; i < r->durable->models.count; i++)
		if (r->durable->models.items[i]->refit.controller.current != 0)
			decide(r, r->durable->models.items[i]);
	if (now < r->next_look)
		return;
	r->next_look = now + LOOK_SECONDS;
	if (r->running != NULL)
		attend(r, now);
	else
		begin_due(r, now);
}

void cop_refits_announce(const cop_refits *r)
{
	for (size_t i = 0; i < r->durable->models.count; i++) {
		cop_model_slot *slot = r->durable->models.items[i];
		cop_config_refit_off off = slot->config->refit.off;
		cop_promotion_look(slot, r->state_dir);
		if (off == COP_REFIT_OFF_PROGRAM || off == COP_REFIT_OFF_MEMORY)
			cop_log_line(r->durable->log, COP_LOG_EVENT(refits_off), "model=%s why=\"%s\"", slot->name,
			        cop_config_refit_off_text(off));
	}
}

const char *cop_refits_answer_text(cop_refits_answer answer)
{
	static const char *const texts[COP_REFITS_ANSWERS] = { "queued", "running", "nothing", "off" };
	return texts[answer];
}

cop_refits_answer cop_refits_ask(cop_refits *r, cop_model_slot *slot)
{
	if (!slot->config->refit.enabled || r->durable->journal == NULL)
		return COP_REFITS_OFF;
	if (r->running == slot)
		return COP_REFITS_RUNNING;
	if (fresh_of(slot) == 0)
		return COP_REFITS_NOTHING;
	slot->refit.controller.asked = true;
	r->next_look = 0.0;
	return COP_REFITS_QUEUED;
}

bool cop_refits_is_loading(const cop_refits *refits) { return refits->running != NULL && refits->load.held; }

const char *cop_refits_why_text(const cop_refits *r, const cop_model_slot *slot)
{
	static const char *const waits[] = {
		[COP_REFIT_FEW] = "feedback",
		[COP_REFIT_PAUSED] = "pause",
		[COP_REFIT_RESTING] = "share",
		[COP_REFIT_EARLY] = "time",
		[COP_REFIT_TRIAL] = "trial",
	};
	if (!slot->config->refit.enabled)
		return cop_config_refit_off_text(slot->config->refit.off);
	if (!journal_stands(r))
		return r->durable->journal == NULL ? "no journal" : "journal";
	cop_refit_due is = due(r, slot, cop_clock_monotonic());
	if (!cop_refit_begins(is))
		return waits[is];
	if (r->running != NULL)
		return "another";
	return slot->refit.crowded ? "memory" : "sync";
}

const char *cop_refits_state_text(const cop_refits *r, const cop_model_slot *slot)
{
	if (!slot->config->refit.enabled || r->durable->journal == NULL)
		return "off";
	return r->running == slot ? "running" : slot->refit.controller.asked ? "queued" : "waiting";
}

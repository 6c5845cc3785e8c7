/* The feeding thread is the caller's; it also adds up (the feed's `account`), so nothing that is added up is shared.
 * Setting s learns on thread s modulo the number of threads, whatever that is: settings share nothing but the events.
 */
#include "replay_run.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "replay_open.h"
#include "tools/common/command.h"

typedef struct worker {
	cop_replay_run *run;
	cop_replay_feed *feed;
	unsigned number, count;
	cop_row *rows;
	size_t row_room;
	pthread_t thread;
	cop_err err;
} worker;

static uint64_t in_pass(const cop_replay_run *run, const cop_replay_slot *slot, size_t i)
{
	return slot->first_in_pass + i + (slot->pass == 0 ? run->resumed.in_pass : 0);
}

static bool is_held(const cop_replay_run *run, const cop_replay_slot *slot, size_t i)
{
	return run->options->holds_out && in_pass(run, slot, i) >= run->options->holdout_after;
}

/* ---- on the learning threads ---- */

static cop_err make_room(cop_row **rows, size_t *room, size_t wanted)
{
	if (wanted <= *room)
		return COP_OK;
	cop_mem_free(*rows);
	*rows = cop_mem_alloc(wanted, sizeof **rows);
	*room = *rows == NULL ? 0 : wanted;
	return *rows == NULL ? COP_ENOMEM : COP_OK;
}

static cop_err play(worker *w, cop_replay_slot *slot)
{
	cop_replay_run *run = w->run;
	size_t count = slot->block.count;
	cop_err err = make_room(&w->rows, &w->row_room, slot->block.candidates);
	for (size_t s = w->number; err == COP_OK && s < run->options->settings; s += w->count)
		for (size_t i = 0; err == COP_OK && i < count; i++) {
			cop_logged_event event;
			cop_event_block_get(&slot->block, i, w->rows, &event);
			err = cop_policy_run_take(
			        run->player[s], &event, is_held(run, slot, i), &slot->seen[s * count + i]);
		}
	return err;
}

static void *work(void *argument)
{
	worker *w = argument;
	for (cop_replay_slot *slot; (slot = cop_replay_feed_next(w->feed, w->number)) != NULL;) {
		w->err = play(w, slot);
		if (w->err != COP_OK) {
			cop_replay_feed_give_up(w->feed);
			break;
		}
		cop_replay_feed_done(w->feed, w->number);
	}
	return NULL;
}

/* ---- on the feeding thread: adding up ---- */

typedef struct account {
	cop_replay_run *run;
	cop_row *rows;
	size_t row_room;
} account;

static void dump_event(cop_replay_run *run, uint64_t number, const cop_logged_event *event, const cop_replay_seen *seen)
{
	char line[512];
	int length = snprintf(line, sizeof line,
	        "%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%.17g,%.17g,%.17g,%" PRIu32 ",%.17g,", number + 1, event->line,
	        event->action, event->cost, event->p, event->weight, seen->best, seen->target);
	if (seen->has_model)
		length += snprintf(line + length, sizeof line - (size_t)length, "%.17g,%.17g\n", seen->q, seen->m);
	else
		length += snprintf(line + length, sizeof line - (size_t)length, ",\n");
	cop_err err = cop_stream_write(run->dump, line, (size_t)length);
	run->failed = run->failed == COP_OK ? err : run->failed;
}

static cop_offpolicy_event pair_event(const cop_logged_event *event, const cop_replay_seen *seen)
{
	return (cop_offpolicy_event){
		.p = event->p,
		.cost = event->cost,
		.weight = event->weight,
		.target = seen->target,
		.target_max = seen->target_max,
		.has_model = true, /* one of zeros says nothing: then it is inverse propensity */
		.model_logged = seen->has_model ? seen->q : 0.0,
		.model_target = seen->has_model ? seen->m : 0.0,
	};
}

static bool is_certain(const cop_policy_run *player)
{
	const cop_policy_run_settings *p = cop_policy_run_get_settings(player);
	return p->kind == COP_REPLAY_CONSTANT || (p->kind <= COP_REPLAY_FROZEN && !p->exploring);
}

/* Pairs have one model of the costs, a's; each setting has its own. So what b's correction would be less by that is
 * put into its expected cost. */
static void add_pairs(cop_replay_run *run, const cop_logged_event *event, const cop_replay_seen *seen, size_t step)
{
	size_t settings = run->options->settings;
	for (size_t s = 0; s < settings; s++)
		for (size_t t = s + 1; t < settings; t++) {
			const cop_replay_seen *first = &seen[s * step], *second = &seen[t * step];
			bool same =
			        is_certain(run->player[s]) && is_certain(run->player[t]) && first->best == second->best;
			cop_offpolicy_event a = pair_event(event, first), b = pair_event(event, second);
			b.model_target += b.target / b.p * (a.model_logged - b.model_logged);
			cop_err err = cop_offpolicy_pair_add(&run->pair[s * settings + t], &a, &b, same ? 0.0 : 1.0);
			run->failed = run->failed == COP_OK ? err : run->failed;
		}
}

static cop_err make_pairs(cop_replay_run *run)
{
	size_t settings = run->options->settings;
	cop_mem_free(run->pair);
	run->pair = cop_mem_alloc(settings * settings, sizeof *run->pair);
	cop_err err = run->pair == NULL ? COP_ENOMEM : COP_OK;
	for (size_t i = 0; err == COP_OK && i < settings * settings; i++)
		err = cop_offpolicy_pair_init(&run->pair[i], &run->tally[0].seen.settings);
	return err;
}

static void add_event(cop_replay_run *run, const cop_replay_slot *slot, size_t i, const cop_logged_event *event)
{
	size_t count = slot->block.count;
	cop_replay_place place = {
		.first_pass = slot->pass == 0,
		.last_pass = slot->pass + 1 == run->options->passes,
		.held = is_held(run, slot, i),
	};
	for (size_t s = 0; s < run->options->settings; s++) {
		cop_err err = cop_estimates_add(&run->tally[s], event, &slot->seen[s * count + i], place);
		run->failed = run->failed == COP_OK ? err : run->failed;
	}
	if (!place.held)
		cop_replay_table_add(&run->table, &run->tally[0], event, &slot->seen[i]);
	if (!event->labelled || !place.first_pass || place.held)
		return;
	if (run->options->settings > 1)
		add_pairs(run, event, &slot->seen[i], count);
	if (run->dump != NULL)
		dump_event(run, run->resumed.events + slot->first + i, event, &slot->seen[i]);
}

static void add_block(void *state, const cop_replay_slot *slot)
{
	account *a = state;
	if (make_room(&a->rows, &a->row_room, slot->block.candidates) != COP_OK) {
		a->run->failed = COP_ENOMEM;
		return;
	}
	for (size_t i = 0; i < slot->block.count; i++) {
		cop_logged_event event;
		cop_event_block_get(&slot->block, i, a->rows, &event);
		add_event(a->run, slot, i, &event);
	}
}

/* ---- making players ---- */

static unsigned bits_of(size_t dimension)
{
	unsigned bits = 0;
	while ((size_t)1 << bits < dimension)
		bits++;
	return bits;
}

static bool is_value(const cop_model_settings *settings) { return cop_learner_plays_values(&settings->learner); }

static void fit_model(const cop_replay_run *run, const cop_replay_setting *setting, cop_model_settings *out)
{
	const cop_replay_limits *l = &run->limits;
	cop_model_settings_init(out);
	if (setting->kind == COP_REPLAY_LEARNS)
		out->learner = setting->learner;
	if (l->candidates > 0 && !setting->learner_given)
		strcpy(out->learner.learner, "rank");
	if (l->values && setting->kind == COP_REPLAY_LEARNS && !setting->learner_given)
		strcpy(out->learner.learner, "value");
	out->learner.arms = is_value(out) ? 0 : l->arms;
	out->learner.features = l->dense ? l->dimension : 0;
	out->learner.known = l->dense && l->known < l->dimension ? l->known : 0;
	out->learner.bits = l->dense ? out->learner.bits : bits_of(l->dimension);
	out->learner.max_nonzeros = l->dense ? out->learner.max_nonzeros : l->entries;
	out->learner.candidate_features = l->dense && l->candidates > 0 ? l->candidate_dimension : 0;
	if (l->candidates > 0)
		out->learner.max_candidates = l->candidates;
	out->loss_low = l->low;
	out->loss_high = l->high;
}

static cop_err check_kind(const cop_replay_run *run, const cop_replay_setting *setting,
        const cop_model_settings *settings, cop_diag *diag)
{
	bool ranks = cop_learner_plays_candidates(&settings->learner);
	if (setting->kind == COP_REPLAY_CONSTANT && run->limits.arms > 0 && setting->constant >= run->limits.arms) {
		cop_diag_message(diag, "constant:%" PRIu32 ": expected an action from 0 to %zu", setting->constant,
		        run->limits.arms - 1);
		return COP_EINVAL;
	}
	if (setting->kind == COP_REPLAY_LEARNS && is_value(settings) && !run->limits.values) {
		cop_diag_of(diag, run->options->path,
		        "it holds no values with densities, which --learner value "
		        "learns from");
		return COP_EINVAL;
	}
	if (setting->kind != COP_REPLAY_LEARNS || ranks == (run->limits.candidates > 0))
		return COP_OK;
	cop_diag_of(diag, run->options->path,
	        ranks ? "its actions are numbers without features of their own, which --learner rank does not take"
	              : "its actions are candidates with features of their own, expected --learner rank");
	return COP_EINVAL;
}

/* A log of even odds has no heavier weights than half of it. */
static double clip_of(const cop_replay_run *run)
{
	double actions = (double)(run->limits.arms != 0 ? run->limits.arms : run->limits.candidates);
	return run->options->clip > 0.0 ? run->options->clip : fmax(10.0, 2.0 * actions);
}

static cop_err make_player(cop_replay_run *run, size_t s, cop_model **model, cop_diag *diag)
{
	const cop_replay_setting *setting = &run->options->setting[s];
	cop_policy_run_settings settings = {
		.kind = setting->kind,
		.constant = setting->constant,
		.exploring = run->options->exploring || run->resumed.exploring,
	};
	if (*model != NULL)
		settings.model = *cop_model_get_settings(*model);
	else
		fit_model(run, setting, &settings.model);
	cop_err err = *model == NULL ? check_kind(run, setting, &settings.model, diag) : COP_OK;
	if (err == COP_OK)
		err = cop_estimates_init(&run->tally[s], run->limits.low, run->limits.high, clip_of(run));
	return err == COP_OK ? cop_policy_run_new(&settings, model, &run->player[s], diag) : err;
}

static void free_players(cop_replay_run *run)
{
	for (size_t s = 0; s < COP_REPLAY_MOST_SETTINGS; s++) {
		cop_policy_run_free(run->player[s]);
		run->player[s] = NULL;
	}
}

/* ---- one attempt ---- */

static unsigned threads_for(const cop_replay_options *o)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t threads = o->threads != 0 ? o->threads : processors > 2 ? (uint64_t)processors - 1 : 1;
	return (unsigned)(threads < o->settings ? threads : o->settings);
}

static cop_err feed_workers(cop_replay_run *run, cop_replay_feed *feed, worker *workers, unsigned count, cop_diag *diag)
{
	unsigned started = 0;
	while (started < count) {
		workers[started] = (worker){ .run = run, .feed = feed, .number = started, .count = count };
		if (cop_thread_start(&workers[started].thread, work, &workers[started]) != COP_OK)
			break;
		started++;
	}
	cop_err err = started == count ? COP_OK : COP_ENOMEM;
	if (err == COP_OK)
		err = cop_replay_feed_run(feed, &run->fed, diag);
	else
		cop_replay_feed_give_up(feed);
	for (unsigned i = 0; i < started; i++) {
		(void)pthread_join(workers[i].thread, NULL);
		err = err == COP_OK ? workers[i].err : err;
		cop_mem_free(workers[i].rows);
	}
	return err;
}

static cop_err replay(cop_replay_run *run, cop_replay_log *log, cop_diag *diag)
{
	const cop_replay_options *o = run->options;
	worker workers[COP_REPLAY_MOST_SETTINGS];
	account accounts = { .run = run };
	cop_replay_feed *feed;
	cop_replay_feed_settings settings = {
		.options = o,
		.space = log->space,
		.limits = log->limits,
		.events = o->events,
		.passes = o->passes,
		.skip = o->skip,
		.consumers = threads_for(o),
		.settings = o->settings,
		.stop = run->stop,
		.account = add_block,
		.state = &accounts,
	};
	cop_err err = cop_replay_feed_new(&settings, &feed);
	if (err == COP_OK)
		err = feed_workers(run, feed, workers, settings.consumers, diag);
	if (err == COP_OK && !run->fed.misfit)
		err = run->failed;
	cop_replay_feed_free(feed);
	cop_mem_free(accounts.rows);
	if (err != COP_OK && diag->message[0] == '\0')
		cop_diag_of(diag, o->path, "%s", cop_err_text(err));
	return err;
}

static cop_err open_dump(cop_replay_run *run, cop_diag *diag)
{
	static const char header[] =
	        "event,line,action,cost,probability,weight,best,policy_probability,predicted_cost,policy_cost\n";
	if (run->options->dump == NULL)
		return COP_OK;
	cop_err err = cop_stream_open_replace(run->options->dump, &run->dump, diag);
	if (err == COP_OK && cop_stream_write(run->dump, header, sizeof header - 1) != COP_OK)
		err = cop_stream_close(run->dump, diag);
	return err;
}

static cop_err start(cop_replay_run *run, cop_replay_log *log, cop_diag *diag)
{
	const cop_replay_options *o = run->options;
	FILE *out = o->has_progress ? (o->progress > 0.0 ? stderr : NULL) : isatty(STDERR_FILENO) ? stderr : NULL;
	cop_err err = COP_OK;
	run->space = log->space;
	run->limits = log->limits;
	run->failed = COP_OK;
	for (size_t s = 0; s < o->settings && err == COP_OK; s++) {
		cop_model *none = NULL;
		bool saved = run->resumed.model != NULL;
		err = make_player(run, s, saved ? &run->resumed.model : &none, diag);
	}
	if (err == COP_OK)
		err = make_pairs(run);
	if (err == COP_OK && o->resume != NULL)
		run->tally[0] = run->resumed.tally;
	cop_replay_table_init(&run->table, out, o->progress, o->progress_adds);
	run->table.base =
	        strcmp(o->reader.format, "vw") == 0 ? run->limits.candidates == 0 : o->reader.reader.action_from_one;
	run->table.exploring = o->exploring || run->resumed.exploring;
	if (run->tally[0].examples > 0)
		cop_replay_table_resume(&run->table, &run->tally[0]);
	return err == COP_OK ? open_dump(run, diag) : err;
}

/* A misfit: all is thrown away, and done again with what a scan of the whole log says. */
static cop_err attempt(cop_replay_run *run, bool whole, cop_diag *diag)
{
	cop_replay_log log;
	const cop_replay_state *state = run->resumed.space != NULL ? &run->resumed : NULL;
	cop_err err = cop_replay_log_open(run->options, state, whole, run->stop, &log, diag);
	if (err == COP_OK)
		err = start(run, &log, diag);
	if (err == COP_OK)
		err = replay(run, &log, diag);
	cop_err closed = cop_stream_close(run->dump, err == COP_OK ? diag : NULL);
	run->dump = NULL;
	err = err == COP_OK ? closed : err;
	if (err == COP_OK && !run->fed.misfit)
		log.space_is_lent = true; /* it is the run's from now on */
	else
		run->space = NULL;
	cop_replay_log_fini(&log);
	return err;
}

cop_err cop_replay_run_all(cop_replay_run *run, cop_diag *diag)
{
	const cop_replay_options *o = run->options;
	const char *saved = o->resume != NULL ? o->resume : o->frozen;
	double started = cop_command_now();
	cop_err err = saved != NULL ? cop_replay_state_load(saved, &run->resumed, diag) : COP_OK;
	if (err == COP_OK && o->frozen != NULL) { /* only the model counts */
		run->resumed.events = run->resumed.in_pass = 0;
		run->resumed.exploring = false;
	}
	if (err == COP_OK)
		err = attempt(run, false, diag);
	if (err == COP_OK && run->fed.misfit) {
		char text[sizeof diag->source + sizeof diag->message + 32];
		cop_diag_text(diag, text, sizeof text);
		cop_command_complain(
		        COP_REPLAY_NAME, "%s; all of the log is looked at, and replayed from the beginning", text);
		*diag = (cop_diag){ .message = "" };
		free_players(run);
		run->space = NULL;
		err = attempt(run, true, diag);
	}
	run->seconds = cop_command_now() - started;
	return err;
}

cop_err cop_replay_run_save(const cop_replay_run *run, size_t setting, cop_diag *diag)
{
	cop_replay_state state = {
		.model = cop_policy_run_model(run->player[setting]),
		.space = run->space,
		.limits = run->limits,
		.tally = run->tally[setting],
		.events = run->resumed.events + run->fed.events,
		.in_pass = run->fed.in_pass + (run->fed.passes <= 1 ? run->resumed.in_pass : 0),
		.exploring = run->table.exploring,
	};
	for (size_t i = 0; i < COP_REPLAY_SKIPS; i++)
		state.skipped[i] = run->resumed.skipped[i] + run->fed.skipped[i];
	if (state.model == NULL) {
		cop_diag_of(diag, run->options->save, "not written: the best setting, %s, has no model",
		        run->options->setting[setting].name);
		return COP_EINVAL;
	}
	return cop_replay_state_save(run->options->save, &state, diag);
}

void cop_replay_run_fini(cop_replay_run *run)
{
	free_players(run);
	cop_mem_free(run->pair);
	if (run->space != run->resumed.space)
		cop_feature_space_free(run->space);
	cop_replay_state_fini(&run->resumed);
}

/* One lock over everything that threads share: the list of jobs, the datasets' states and the store. Loading and
 * running happen outside of it. A thread takes the next run of a dataset that is loaded, else loads the next dataset,
 * else waits for one that is being loaded. */
#include "bakeoff_runs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "tools/common/command.h"

enum { CURVE_POINTS = 33 };

typedef enum state { UNLOADED, LOADING, LOADED, OVER } state;

typedef struct entry {
	cop_bakeoff_entry *entry;
	state state;
	cop_bakeoff_data data;
	bool *done; /* settings x seeds: there is a row, or the run was begun */
	size_t next;
	size_t running;
} entry;

typedef struct pool {
	const cop_bakeoff_plan *plan;
	cop_bakeoff_outcome *out;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* a dataset's state, or the end */
	entry *entries;       /* largest first */
	size_t each;          /* runs of a dataset */
	bool ranks;           /* a setting's learner is rank */
	cop_err err;          /* of the store */
	cop_diag *diag;
} pool;

typedef struct job {
	entry *entry;
	const cop_bakeoff_setting *setting;
	uint64_t seed;
} job;

static bool is_stopped(const pool *p) { return p->err != COP_OK || *p->plan->stop != 0; }

static job job_of(const pool *p, entry *e, size_t i)
{
	return (job){ e, &p->plan->settings->setting[i / p->plan->seeds], 1 + i % p->plan->seeds };
}

/* Marks runs that have rows of so many events; how many. */
static size_t mark_done(const pool *p, entry *e, uint64_t events)
{
	size_t done = 0;
	for (size_t i = 0; i < p->each; i++) {
		job j = job_of(p, e, i);
		e->done[i] = cop_bakeoff_rows_find(&p->plan->store->rows, e->entry->files->name, j.setting->name,
		                     j.seed, events) != NULL;
		done += e->done[i];
	}
	return done;
}

static void close_entry(entry *e)
{
	e->state = OVER;
	cop_bakeoff_data_fini(&e->data);
}

/* ---- loading; the lock is held before and after ---- */

static void fail_entry(pool *p, entry *e, cop_err err, const cop_diag *diag)
{
	char text[sizeof diag->source + sizeof diag->message + 32];
	cop_diag_text(diag, text, sizeof text);
	e->entry->left_out = p->plan->found && err == COP_EINVAL;
	if (e->entry->left_out) {
		cop_command_complain(COP_BAKEOFF_NAME, "dataset %s is left out: %s", e->entry->files->name, text);
		p->out->runs -= p->each;
	} else {
		cop_command_complain(COP_BAKEOFF_NAME, "dataset %s: %s", e->entry->files->name, text);
		p->out->failed += p->each;
	}
	close_entry(e);
}

static void load(pool *p, entry *e)
{
	cop_diag diag = { 0 };
	e->state = LOADING;
	(void)pthread_mutex_unlock(&p->lock);
	cop_err err = cop_bakeoff_data_init(&e->data, e->entry->files, p->ranks, &diag);
	if (err == COP_ENOMEM && diag.message[0] == '\0')
		cop_diag_message(&diag, "%s", cop_err_text(err));
	(void)pthread_mutex_lock(&p->lock);
	if (err != COP_OK) {
		fail_entry(p, e, err, &diag);
	} else {
		uint64_t rows = e->data.rows->n;
		e->entry->events = e->entry->most != 0 && e->entry->most < rows ? e->entry->most : rows;
		p->out->done += mark_done(p, e, e->entry->events);
		e->state = LOADED;
	}
	(void)pthread_cond_broadcast(&p->moved);
}

/* The next run of a loaded dataset; false: it has none left. */
static bool take(const pool *p, entry *e, job *out)
{
	while (e->next < p->each && e->done[e->next])
		e->next++;
	if (e->next == p->each)
		return false;
	*out = job_of(p, e, e->next++);
	e->running++;
	return true;
}

/* False: there is nothing left to begin. */
static bool next_job(pool *p, job *out)
{
	while (!is_stopped(p)) {
		bool waits = false;
		entry *unloaded = NULL;
		for (size_t i = 0; i < p->plan->count; i++) {
			entry *e = &p->entries[i];
			if (e->state == LOADED && take(p, e, out))
				return true;
			if (e->state == LOADED && e->running == 0)
				close_entry(e);
			waits = waits || e->state == LOADING;
			if (e->state == UNLOADED && unloaded == NULL)
				unloaded = e;
		}
		if (unloaded != NULL)
			load(p, unloaded);
		else if (!waits)
			return false;
		else
			(void)pthread_cond_wait(&p->moved, &p->lock);
	}
	return false;
}

/* ---- running ---- */

static void report_row(const pool *p, const cop_bakeoff_row *row)
{
	if (p->plan->progress != NULL)
		(void)fprintf(p->plan->progress,
		        "%" PRIu64 "/%" PRIu64 " %s, %s, seed %" PRIu64 ": %.4f, %.1f us an event\n", p->out->done,
		        p->out->runs, row->dataset, row->setting, row->seed, row->loss,
		        1e6 * row->seconds / (double)row->events);
}

static cop_err keep(pool *p, const job *j, const cop_sim_result *result)
{
	cop_bakeoff_row row = { .seed = j->seed,
		.events = result->events,
		.features = j->entry->data.features,
		.classes = j->entry->data.classes,
		.loss = result->progressive_loss,
		.seconds = result->processor };
	cop_bakeoff_point points[CURVE_POINTS + 1];
	strcpy(row.dataset, j->entry->entry->files->name);
	strcpy(row.setting, j->setting->name);
	for (size_t i = 0; i < result->curve_count; i++) {
		points[i] = (cop_bakeoff_point){ .seed = row.seed,
			.events = row.events,
			.at = result->curve[i].events,
			.loss = result->curve[i].average };
		strcpy(points[i].dataset, row.dataset);
		strcpy(points[i].setting, row.setting);
	}
	cop_err err = cop_bakeoff_store_add(p->plan->store, &row, points, result->curve_count, p->diag);
	if (err == COP_OK) {
		p->out->done++;
		report_row(p, &row);
	}
	return err;
}

/* Without the lock. */
static cop_err run_one(const pool *p, const job *j, cop_sim_result *result, cop_diag *diag)
{
	cop_model_settings model;
	cop_sim_backend backend;
	const cop_bakeoff_data *data = &j->entry->data;
	const cop_sim_items *items = cop_bakeoff_data_model(data, j->setting, j->seed, &model);
	cop_sim_settings sim = { .data = data->rows,
		.seed = j->seed,
		.events = j->entry->entry->events,
		.curve = CURVE_POINTS,
		.curve_log = true,
		.target_high = 1.0,
		.stop = p->plan->stop };
	*result = (cop_sim_result){ .curve = NULL };
	cop_err err = cop_bakeoff_settings_backend(j->setting, &model, items, &backend, diag);
	if (err != COP_OK)
		return err;
	err = cop_sim_run(&sim, &backend, result, diag);
	backend.close(backend.state);
	return err;
}

static void finish_job(pool *p, const job *j, cop_err err, const cop_sim_result *result, const cop_diag *diag)
{
	if (err != COP_OK) {
		char text[COP_COMMAND_REASON];
		cop_command_reason(diag, text);
		cop_command_complain(COP_BAKEOFF_NAME, "dataset %s, setting %s, seed %" PRIu64 ": %s",
		        j->entry->entry->files->name, j->setting->name, j->seed, text);
		p->out->failed++;
	} else if (!result->stopped && p->err == COP_OK) {
		p->err = keep(p, j, result);
		if (p->err != COP_OK)
			(void)pthread_cond_broadcast(&p->moved);
	}
	j->entry->running--;
}

static void *work(void *argument)
{
	pool *p = argument;
	job j;
	(void)pthread_mutex_lock(&p->lock);
	while (next_job(p, &j)) {
		cop_sim_result result;
		cop_diag diag = { 0 };
		(void)pthread_mutex_unlock(&p->lock);
		cop_err err = run_one(p, &j, &result, &diag);
		(void)pthread_mutex_lock(&p->lock);
		finish_job(p, &j, err, &result, &diag);
		cop_mem_free(result.curve);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- the whole ---- */

static int largest_first(const void *a, const void *b)
{
	const cop_bakeoff_files *x = ((const entry *)a)->entry->files;
	const cop_bakeoff_files *y = ((const entry *)b)->entry->files;
	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : strcmp(x->name, y->name);
}

/* A dataset whose runs all reached their limit of events needs no loading. */
static cop_err begin(pool *p)
{
	for (size_t i = 0; i < p->plan->settings->count; i++)
		p->ranks = p->ranks || cop_learner_plays_candidates(&p->plan->settings->setting[i].learner);
	for (size_t i = 0; i < p->plan->count; i++) {
		entry *e = &p->entries[i];
		e->entry = &p->plan->entry[i];
		e->done = cop_mem_alloc(p->each, sizeof *e->done);
		if (e->done == NULL)
			return COP_ENOMEM;
		if (e->entry->most != 0 && mark_done(p, e, e->entry->most) == p->each) {
			e->entry->events = e->entry->most;
			e->state = OVER;
			p->out->done += p->each;
		}
	}
	qsort(p->entries, p->plan->count, sizeof *p->entries, largest_first);
	p->out->runs = p->plan->count * p->each;
	return COP_OK;
}

static cop_err run_threads(pool *p)
{
	size_t count = p->plan->jobs < p->out->runs ? p->plan->jobs : p->out->runs;
	pthread_t *threads = cop_mem_alloc(count, sizeof *threads);
	if (threads == NULL)
		return COP_ENOMEM;
	size_t started = 0;
	while (started < count && cop_thread_start(&threads[started], work, p) == COP_OK)
		started++;
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	cop_mem_free(threads);
	return started == 0 && count > 0 ? COP_ENOMEM : COP_OK;
}

cop_err cop_bakeoff_run(const cop_bakeoff_plan *plan, cop_bakeoff_outcome *out, cop_diag *diag)
{
	pool p = { .plan = plan, .out = out, .each = plan->settings->count * plan->seeds, .diag = diag };
	*out = (cop_bakeoff_outcome){ .runs = 0 };
	(void)pthread_mutex_init(&p.lock, NULL);
	(void)pthread_cond_init(&p.moved, NULL);
	p.entries = cop_mem_alloc(plan->count, sizeof *p.entries);
	cop_err err = p.entries == NULL ? COP_ENOMEM : begin(&p);
	if (err == COP_OK)
		err = run_threads(&p);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	for (size_t i = 0; p.entries != NULL && i < plan->count; i++) {
		cop_bakeoff_data_fini(&p.entries[i].data);
		cop_mem_free(p.entries[i].done);
	}
	cop_mem_free(p.entries);
	(void)pthread_cond_destroy(&p.moved);
	(void)pthread_mutex_destroy(&p.lock);
	out->stopped = *plan->stop != 0;
	return err != COP_OK ? err : p.err;
}

/* Feedback that is late waits in a binary heap ordered by the event before which it is due. */
#include "simulation.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"

enum { SHUFFLE_STREAM = 100, DELAY_STREAM = 101 };

#define FIRST_POINT 10 /* of a curve on a scale of logarithms */

typedef struct due {
	uint64_t at; /* sent before this event */
	uint64_t id;
	size_t row;
	double loss[2];
} due;

typedef struct run {
	const cop_sim_settings *set;
	const cop_sim_backend *backend;
	cop_diag *diag;
	uint32_t *order;
	cop_rng shuffle, delay;
	due *heap;
	size_t waiting, room;
	uint64_t total; /* events to run */
	uint64_t done;
	double loss_sum, since_sum;
	uint64_t since_count;
	uint64_t next_print, next_point;
	double seconds, started;
	double processor, processor_started;
	cop_sim_result *out;
} run;

static double now(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start_clocks(run *r)
{
	r->started = now(CLOCK_MONOTONIC);
	r->processor_started = now(CLOCK_THREAD_CPUTIME_ID);
}

static void stop_clocks(run *r)
{
	r->processor += now(CLOCK_THREAD_CPUTIME_ID) - r->processor_started;
	r->seconds += now(CLOCK_MONOTONIC) - r->started;
}

static bool before(const due *a, const due *b) { return a->at != b->at ? a->at < b->at : a->id < b->id; }

static cop_err push(run *r, due item)
{
	if (r->waiting == r->room) {
		size_t room = r->room == 0 ? 64 : 2 * r->room;
		due *heap = cop_mem_resize(r->heap, r->waiting, room, sizeof *heap);
		if (heap == NULL)
			return COP_ENOMEM;
		r->heap = heap;
		r->room = room;
	}
	size_t i = r->waiting++;
	for (; i > 0 && before(&item, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = item;
	return COP_OK;
}

static due pop(run *r)
{
	due top = r->heap[0];
	due last = r->heap[--r->waiting];
	size_t i = 0;
	for (size_t child = 1; child < r->waiting; child = 2 * i + 1) {
		if (child + 1 < r->waiting && before(&r->heap[child + 1], &r->heap[child]))
			child++;
		if (!before(&r->heap[child], &last))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = last;
	return top;
}

static size_t loss_count(const cop_sim_settings *set) { return set->values && set->two_point ? 2 : 1; }

static double value_loss(const cop_sim_settings *set, double y, double target)
{
	double miss = y - (target - set->target_low) / (set->target_high - set->target_low);
	if (!set->huber)
		return miss * miss;
	double width = set->huber_width;
	return fabs(miss) <= width ? 0.5 * miss * miss : width * (fabs(miss) - 0.5 * width);
}

/* Losses of a decision, and their mean. */
static double losses(const cop_sim_settings *set, const cop_decision *decision, double target, double *loss)
{
	if (!set->values) {
		loss[0] = (double)decision->arm == target ? 0.0 : 1.0;
		return loss[0];
	}
	for (size_t i = 0; i < loss_count(set); i++)
		loss[i] = value_loss(set, decision->probe[i], target);
	return loss_count(set) == 2 ? (loss[0] + loss[1]) / 2.0 : loss[0];
}

static cop_err evaluate(const run *r, double *out)
{
	const cop_sim_settings *set = r->set;
	*out = (double)NAN;
	if (set->holdout == NULL)
		return COP_OK;
	double sum = 0.0;
	for (size_t i = 0; i < set->holdout->n; i++) {
		cop_row row;
		double best;
		cop_dataset_row(set->holdout, i, &row);
		cop_err err = r->backend->greedy(r->backend->state, &row, &best, r->diag);
		if (err != COP_OK)
			return err;
		double target = set->holdout->target[i];
		double miss = set->target_low + best * (set->target_high - set->target_low) - target;
		sum += set->values ? miss * miss : best == target ? 1.0 : 0.0;
	}
	sum /= (double)set->holdout->n;
	*out = set->values ? sqrt(sum) : sum;
	return COP_OK;
}

static void print_progress(run *r, uint64_t done, double target, const cop_decision *decision, size_t features)
{
	const cop_sim_settings *set = r->set;
	double scale = set->target_high - set->target_low;
	double played = set->values ? set->target_low + scale * decision->y : (double)decision->arm;
	(void)fprintf(set->progress, "%-11.6f %-11.6f %12" PRIu64 " %9g %9.4g %9zu\n", r->loss_sum / (double)done,
	        r->since_sum / (double)(r->since_count > 0 ? r->since_count : 1), done, target, played, features);
	r->since_sum = 0.0;
	r->since_count = 0;
	r->next_print *= 2;
}

/* The event that point number i, from 0, would come after if there were events enough. */
static uint64_t ideal_place(const run *r, uint64_t i)
{
	uint64_t points = r->set->curve;
	if (!r->set->curve_log)
		return points == 0 ? 0 : (i + 1) * r->total / points;
	if (i + 1 >= points || r->total <= FIRST_POINT)
		return r->total;
	double share = (double)i / (double)(points - 1);
	return (uint64_t)(FIRST_POINT * pow((double)r->total / FIRST_POINT, share));
}

/* The event that it comes after, beyond `last`, that of the point before. */
static uint64_t place_of_point(const run *r, uint64_t i, uint64_t last)
{
	uint64_t place = ideal_place(r, i);
	return place > last ? place : last + 1;
}

static cop_err add_point(run *r, uint64_t done)
{
	stop_clocks(r);
	cop_sim_point *point = &r->out->curve[r->out->curve_count];
	double before_sum = 0.0;
	uint64_t before_events = 0;
	if (r->out->curve_count > 0) {
		before_events = point[-1].events;
		before_sum = point[-1].average * (double)before_events;
	}
	point->events = done;
	point->average = r->loss_sum / (double)done;
	point->since = (r->loss_sum - before_sum) / (double)(done - before_events);
	r->out->curve_count++;
	r->next_point = place_of_point(r, r->out->curve_count, done);
	cop_err err = evaluate(r, &point->holdout);
	start_clocks(r);
	return err;
}

/* Of a run that was stopped between two points. */
static cop_err last_point(run *r)
{
	const cop_sim_result *out = r->out;
	bool there = out->curve_count > 0 && out->curve[out->curve_count - 1].events == r->done;
	start_clocks(r);
	return there ? COP_OK : add_point(r, r->done);
}

static cop_err send(const run *r, const due *item)
{
	const cop_sim_backend *backend = r->backend;
	cop_row row;
	if (backend->label == NULL)
		return backend->feedback(backend->state, item->id, item->loss, loss_count(r->set), r->diag);
	cop_dataset_row(r->set->data, item->row, &row);
	return backend->label(backend->state, &row, r->set->data->target[item->row], r->diag);
}

static cop_err send_due(run *r, uint64_t event)
{
	while (r->waiting > 0 && r->heap[0].at <= event) {
		due item = pop(r);
		cop_err err = send(r, &item);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

static cop_err one_event(run *r, uint64_t event, size_t row_index)
{
	const cop_sim_settings *set = r->set;
	cop_err err = send_due(r, event);
	if (err != COP_OK)
		return err;
	cop_row row;
	cop_decision decision;
	cop_dataset_row(set->data, row_index, &row);
	err = r->backend->decide(r->backend->state, event, &row, &decision, r->diag);
	if (err != COP_OK)
		return err;
	due item = { .at = event + 1, .id = event, .row = row_index };
	double target = set->data->target[row_index];
	double loss = losses(set, &decision, target, item.loss);
	r->loss_sum += loss;
	r->since_sum += loss;
	r->since_count++;
	if (set->delay > 0)
		item.at += cop_rng_below(&r->delay, 2 * set->delay + 1);
	if (set->missing > 0.0 && cop_rng_unit(&r->delay) < set->missing)
		item.at = 0;
	if (item.at != 0)
		err = push(r, item);
	if (err == COP_OK && set->progress != NULL && event + 1 == r->next_print)
		print_progress(r, event + 1, target, &decision, row.dense != NULL ? row.d : row.nnz);
	if (err == COP_OK && set->curve > 0 && event + 1 == r->next_point) {
		err = send_due(r, event + 1);
		if (err == COP_OK)
			err = add_point(r, event + 1);
	}
	return err;
}

static cop_err all_events(run *r)
{
	size_t n = r->set->data->n;
	if (r->set->progress != NULL)
		(void)fprintf(r->set->progress, "%-11s %-11s %12s %9s %9s %9s\n%-11s %-11s %12s %9s %9s %9s\n",
		        "average", "since", "event", "current", "current", "current", "loss", "last", "counter",
		        "label", "action", "features");
	start_clocks(r);
	for (uint64_t event = 0; event < r->total && !r->out->stopped; event++) {
		if (event % n == 0 && !r->set->in_order)
			cop_rng_shuffle(&r->shuffle, n, r->order);
		cop_err err = one_event(r, event, r->order[event % n]);
		if (err != COP_OK)
			return err;
		r->done = event + 1;
		r->out->stopped = r->set->stop != NULL && *r->set->stop != 0 && r->done < r->total;
	}
	cop_err err = send_due(r, UINT64_MAX);
	stop_clocks(r);
	return err;
}

cop_err cop_sim_run(
        const cop_sim_settings *settings, const cop_sim_backend *backend, cop_sim_result *out, cop_diag *diag)
{
	size_t n = settings->data->n;
	run r = { .set = settings, .backend = backend, .diag = diag, .out = out, .next_print = 1 };
	*out = (cop_sim_result){ .holdout = (double)NAN };
	r.total = settings->events != 0 ? settings->events : settings->passes * n;
	r.next_point = place_of_point(&r, 0, 0);
	r.order = cop_mem_alloc(n, sizeof *r.order);
	out->curve = cop_mem_alloc(settings->curve + 1, sizeof *out->curve);
	cop_err err = r.order == NULL || out->curve == NULL ? COP_ENOMEM : COP_OK;
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	for (size_t i = 0; err == COP_OK && i < n; i++)
		r.order[i] = (uint32_t)i;
	cop_rng_init(&r.shuffle, settings->seed, SHUFFLE_STREAM);
	cop_rng_init(&r.delay, settings->seed, DELAY_STREAM);
	if (err == COP_OK)
		err = all_events(&r);
	if (err == COP_OK && out->stopped && settings->curve > 0)
		err = last_point(&r);
	if (err == COP_OK)
		err = evaluate(&r, &out->holdout);
	out->events = r.done;
	out->progressive_loss = r.loss_sum / (double)r.done;
	out->seconds = r.seconds;
	out->refitted = backend->refits != NULL;
	if (out->refitted)
		out->refits = *backend->refits;
	out->processor = r.processor;
	cop_mem_free(r.order);
	cop_mem_free(r.heap);
	if (err != COP_OK) {
		cop_mem_free(out->curve);
		out->curve = NULL;
	}
	return err;
}

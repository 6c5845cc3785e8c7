/* Requests are told apart by seq: closed, the slot whose chain they belong to; open, their number, from which the time
 * when they were to leave follows. */
#include "bench_drive.h"

#include <math.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tools/common/client.h"
#include "tools/common/command.h"
#include "wire/wire_context.h"
#include "wire/wire_feedback.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define ROWS 1024

struct cop_bench_driver {
	cop_bench_target target;
	cop_client *client;
	cop_bytes body;
	float *rows;      /* ROWS x features */
	uint64_t next_id; /* of the next event */
};

typedef struct slot {
	bool learning; /* its feedback is under way, else its decision */
	uint64_t first_id;
} slot;

typedef struct run {
	cop_bench_driver *driver;
	const cop_bench_part *part;
	slot *slots;
	double end; /* no new events from then on */
	size_t under_way;
	uint64_t begun, done; /* events */
	cop_diag *diag;
} run;

static cop_err broken(const cop_bench_driver *driver, const char *what, cop_diag *diag)
{
	cop_diag_of(diag, driver->target.endpoint, "%s", what);
	return COP_EFORMAT;
}

static cop_err send(cop_bench_driver *driver, const char *verb, cop_diag *diag)
{
	if (driver->body.err != COP_OK)
		return broken(driver, cop_err_text(driver->body.err), diag);
	return cop_client_send(
	        driver->client, verb, driver->target.model, driver->body.data, driver->body.length, diag);
}

/* Of `batch` events: their seq stands beside the items, a single event's inside it. */
static void begin(cop_bench_driver *driver, size_t batch, uint64_t number, cop_wire_seq *seq)
{
	cop_bytes_clear(&driver->body);
	cop_wire_seq_from_unsigned(seq, number);
	if (batch > 1) {
		cop_wire_items_put(&driver->body, batch, seq);
		*seq = (cop_wire_seq){ 0 };
	}
}

static void put_floats(
        cop_bytes *bytes, const cop_event_id *id, const float *x, size_t features, const cop_wire_seq *seq)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_text(bytes, "id");
	cop_wire_id_put(bytes, id);
	cop_wire_put_text(bytes, "x");
	cop_wire_put_array(bytes, features);
	for (size_t i = 0; i < features; i++)
		cop_wire_put_double(bytes, (double)x[i]);
	cop_wire_seq_put(bytes, seq);
	cop_wire_put_map_close(bytes, map);
}

static cop_err send_decide(cop_bench_driver *driver, size_t batch, uint64_t number, uint64_t first_id, cop_diag *diag)
{
	cop_wire_seq seq;
	begin(driver, batch, number, &seq);
	for (size_t i = 0; i < batch; i++) {
		cop_wire_context context = { .has_x = true, .seq = seq };
		const float *x = driver->rows + (first_id + i) % ROWS * driver->target.features;
		context.x = (cop_row){ .d = driver->target.features, .dense = x };
		cop_event_id_from_unsigned(&context.id, first_id + i);
		if (driver->target.floats)
			put_floats(&driver->body, &context.id, x, driver->target.features, &seq);
		else
			cop_wire_context_put(&driver->body, &context, COP_WIRE_FORM_PACKED);
	}
	return send(driver, batch > 1 ? "decide_batch" : "decide", diag);
}

static cop_err send_feedback(cop_bench_driver *driver, size_t batch, uint64_t number, uint64_t first_id, cop_diag *diag)
{
	cop_wire_seq seq;
	begin(driver, batch, number, &seq);
	for (size_t i = 0; i < batch; i++) {
		cop_wire_feedback feedback = { .loss = { (double)((first_id + i) % 3 != 0) }, .losses = 1, .seq = seq };
		cop_event_id_from_unsigned(&feedback.id, first_id + i);
		cop_wire_feedback_put(&driver->body, &feedback, COP_WIRE_FORM_PACKED);
	}
	return send(driver, batch > 1 ? "feedback_batch" : "feedback", diag);
}

/* A first event through all verbs' replies, so that what is measured then is what it should be. */
static cop_err try_one(cop_bench_driver *driver, cop_diag *diag)
{
	cop_client_reply reply;
	cop_wire_action action;
	cop_wire_fault fault;
	cop_event_id id;
	cop_wire_seq seq;
	cop_wire_result result;
	cop_err err = send_decide(driver, 1, 0, driver->next_id, diag);
	if (err == COP_OK)
		err = cop_client_receive(driver->client, &reply, diag);
	if (err == COP_OK && !reply.ok)
		return cop_client_refused(driver->client, &reply, diag);
	if (err == COP_OK && cop_wire_reply_action_decode(reply.body, reply.length, &action, &fault) != COP_OK)
		return broken(driver, fault.message, diag);
	if (err == COP_OK && action.value)
		return broken(driver, "a model of arms is expected, this one has values", diag);
	if (err == COP_OK)
		err = send_feedback(driver, 1, 0, driver->next_id, diag);
	if (err == COP_OK)
		err = cop_client_receive(driver->client, &reply, diag);
	if (err == COP_OK && !reply.ok)
		return cop_client_refused(driver->client, &reply, diag);
	if (err == COP_OK &&
	        cop_wire_reply_result_decode(reply.body, reply.length, &id, &result, &seq, &fault) != COP_OK)
		return broken(driver, fault.message, diag);
	driver->next_id++;
	return err;
}

cop_err cop_bench_driver_open(const cop_bench_target *target, cop_bench_driver **out, cop_diag *diag)
{
	cop_rng rng;
	struct timespec now;
	*out = NULL;
	cop_bench_driver *driver = cop_mem_alloc(1, sizeof *driver);
	if (driver != NULL) {
		driver->target = *target;
		cop_bytes_init(&driver->body);
		driver->rows = cop_mem_alloc(ROWS, target->features * sizeof *driver->rows);
	}
	if (driver == NULL || driver->rows == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		cop_bench_driver_close(driver);
		return COP_ENOMEM;
	}
	cop_rng_init(&rng, 1, 0);
	for (size_t i = 0; i < ROWS * target->features; i++)
		driver->rows[i] = (float)cop_rng_normal(&rng);
	(void)clock_gettime(CLOCK_REALTIME, &now); /* ids of their own for each run */
	driver->next_id = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	cop_err err = cop_client_open(target->endpoint, target->timeout, &driver->client, diag);
	if (err == COP_OK)
		err = try_one(driver, diag);
	if (err == COP_OK)
		*out = driver;
	else
		cop_bench_driver_close(driver);
	return err;
}

void cop_bench_driver_close(cop_bench_driver *driver)
{
	if (driver == NULL)
		return;
	cop_client_close(driver->client);
	cop_bytes_fini(&driver->body);
	cop_mem_free(driver->rows);
	cop_mem_free(driver);
}

static cop_err start_chain(run *r, slot *s)
{
	s->learning = false;
	s->first_id = r->driver->next_id;
	r->driver->next_id += r->part->batch;
	r->begun += r->part->batch;
	r->under_way++;
	return send_decide(r->driver, r->part->batch, (uint64_t)(s - r->slots), s->first_id, r->diag);
}

static bool wants_more(const run *r)
{
	return (r->part->events == 0 || r->begun < r->part->events) && cop_command_now() < r->end;
}

/* Of a batch, its last item may tell of an error; the others are not looked at. */
static cop_err check_items(run *r, const cop_client_reply *reply)
{
	cop_wire_items items;
	cop_wire_seq seq;
	const void *item = NULL;
	size_t length = 0;
	if (r->part->batch == 1)
		return COP_OK;
	if (cop_wire_items_batch(&items, reply->body, reply->length, &seq, NULL) != COP_OK ||
	        items.count != r->part->batch)
		return broken(r->driver, "the reply to a batch has other items", r->diag);
	if (cop_wire_items_next(&items, &item, &length) && cop_wire_reply_is_error(item, length))
		return broken(r->driver, "an event of a batch was refused", r->diag);
	return COP_OK;
}

static cop_err take_reply(run *r, const cop_client_reply *reply)
{
	uint64_t number;
	if (!reply->ok)
		return cop_client_refused(r->driver->client, reply, r->diag);
	if (!cop_client_reply_seq(reply, &number) || number >= r->part->inflight)
		return broken(r->driver, "a reply carries no seq of ours", r->diag);
	slot *s = &r->slots[number];
	cop_err err = check_items(r, reply);
	if (err != COP_OK)
		return err;
	if (r->part->learns && !s->learning) {
		s->learning = true;
		return send_feedback(r->driver, r->part->batch, number, s->first_id, r->diag);
	}
	r->under_way--;
	r->done += r->part->batch;
	return wants_more(r) ? start_chain(r, s) : COP_OK;
}

cop_err cop_bench_drive(cop_bench_driver *driver, const cop_bench_part *part, double *per_second, cop_diag *diag)
{
	run r = { .driver = driver, .part = part, .diag = diag };
	cop_err err = COP_OK;
	r.slots = cop_mem_alloc(part->inflight, sizeof *r.slots);
	if (r.slots == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	double start = cop_command_now();
	r.end = start + part->seconds;
	for (size_t i = 0; i < part->inflight && err == COP_OK; i++)
		err = start_chain(&r, &r.slots[i]);
	while (err == COP_OK && r.under_way > 0) {
		cop_client_reply reply;
		err = cop_client_receive(driver->client, &reply, diag);
		if (err == COP_OK)
			err = take_reply(&r, &reply);
	}
	*per_second = (double)r.done / (cop_command_now() - start);
	cop_mem_free(r.slots);
	return err;
}

static cop_err make_room(cop_bench_latencies *out, size_t more, cop_diag *diag)
{
	if (out->room - out->count >= more)
		return COP_OK;
	size_t room = out->count + more;
	double *grown = cop_mem_alloc(room, sizeof *grown);
	if (grown == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < out->count; i++)
		grown[i] = out->of[i];
	cop_mem_free(out->of);
	out->of = grown;
	out->room = room;
	return COP_OK;
}

typedef struct open_run {
	cop_bench_driver *driver;
	double start, rate;
	uint64_t sent, answered, total;
	cop_bench_latencies *out; /* with room for all */
	double last;              /* when something was answered */
	cop_diag *diag;
} open_run;

static cop_err take_open(open_run *r, const cop_client_reply *reply)
{
	uint64_t number;
	if (!reply->ok)
		return cop_client_refused(r->driver->client, reply, r->diag);
	if (!cop_client_reply_seq(reply, &number) || number >= r->sent)
		return broken(r->driver, "a reply carries no seq of ours", r->diag);
	r->last = cop_command_now();
	r->out->of[r->out->count++] = r->last - (r->start + (double)number / r->rate);
	r->answered++;
	return COP_OK;
}

/* What is due leaves, what has come is taken, then nothing is done until more is due or comes. */
static cop_err turn(open_run *r)
{
	cop_client_reply reply;
	cop_err err = COP_OK;
	double now = cop_command_now();
	while (err == COP_OK && r->sent < r->total && r->start + (double)r->sent / r->rate <= now)
		err = send_decide(r->driver, 1, r->sent++, r->driver->next_id++, r->diag);
	while (err == COP_OK) {
		double due = r->sent < r->total ? r->start + (double)r->sent / r->rate : now + 0.1;
		double wait = due - cop_command_now();
		err = cop_client_receive_within(r->driver->client, fmax(wait, 0.0), &reply, r->diag);
		if (err == COP_OK)
			err = take_open(r, &reply);
		if (err == COP_OK && wait <= 0.0)
			return COP_OK; /* something is due */
	}
	if (err == COP_EEND && cop_command_now() - r->last > r->driver->target.timeout)
		return broken(r->driver, "answers are missing", r->diag);
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_bench_drive_at(
        cop_bench_driver *driver, double rate, double seconds, cop_bench_latencies *out, cop_diag *diag)
{
	open_run r = { .driver = driver, .rate = rate, .out = out, .diag = diag };
	r.total = (uint64_t)ceil(rate * seconds);
	(void)prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); /* sleeps end in time */
	cop_err err = make_room(out, (size_t)r.total, diag);
	r.start = r.last = cop_command_now();
	while (err == COP_OK && r.answered < r.total)
		err = turn(&r);
	return err;
}

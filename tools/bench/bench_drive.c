/* A request is found by its seq: closed, the slot whose chain they belong to; open, their number, from which the time
 * when they were to leave follows. */
#include "bench_drive.h"

#include <math.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "clients/c/client.h"
#include "tools/common/command.h"
#include "wire/wire_code.h"
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
	size_t count;    /* events in the request */
	double sent;     /* when the request under way left */
	double *loss;    /* batch x 2; NULL: losses follow from the ids */
	unsigned losses; /* of each event */
} slot;

typedef struct run {
	cop_bench_driver *driver;
	const cop_bench_part *part;
	slot *slots;
	double *loss; /* of the slots; NULL: nothing is judged */
	double end;   /* no new events from then on */
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

/* The seq of a batch stands beside its items, a single event's inside it. */
static void begin(cop_bench_driver *driver, bool batched, size_t count, uint64_t number, cop_wire_seq *seq)
{
	cop_bytes_clear(&driver->body);
	cop_wire_seq_from_unsigned(seq, number);
	if (batched) {
		cop_wire_items_put(&driver->body, count, seq);
		*seq = (cop_wire_seq){ 0 };
	}
}

static const float *row_of(const cop_bench_driver *driver, uint64_t id)
{
	return driver->rows + id % ROWS * driver->target.features;
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

static cop_err send_decide(cop_bench_driver *driver, bool batched, uint64_t number, const slot *s, cop_diag *diag)
{
	cop_wire_seq seq;
	begin(driver, batched, s->count, number, &seq);
	for (size_t i = 0; i < s->count; i++) {
		cop_wire_context context = { .has_x = true, .seq = seq };
		const float *x = row_of(driver, s->first_id + i);
		context.x = (cop_row){ .d = driver->target.features, .dense = x };
		cop_event_id_from_unsigned(&context.id, s->first_id + i);
		if (driver->target.floats)
			put_floats(&driver->body, &context.id, x, driver->target.features, &seq);
		else
			cop_wire_context_put(&driver->body, &context, COP_WIRE_FORM_PACKED);
	}
	return send(driver, batched ? "decide_batch" : "decide", diag);
}

static cop_err send_feedback(cop_bench_driver *driver, bool batched, uint64_t number, const slot *s, cop_diag *diag)
{
	cop_wire_seq seq;
	begin(driver, batched, s->count, number, &seq);
	for (size_t i = 0; i < s->count; i++) {
		cop_wire_feedback feedback = {
			.loss = { (double)((s->first_id + i) % 3 != 0) }, .losses = 1, .seq = seq
		};
		if (s->loss != NULL) {
			feedback.loss[0] = s->loss[2 * i];
			feedback.loss[1] = s->loss[2 * i + 1];
			feedback.losses = s->losses;
		}
		cop_event_id_from_unsigned(&feedback.id, s->first_id + i);
		cop_wire_feedback_put(&driver->body, &feedback, COP_WIRE_FORM_PACKED);
	}
	return send(driver, batched ? "feedback_batch" : "feedback", diag);
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
	const slot first = { .first_id = driver->next_id++, .count = 1 };
	cop_err err = send_decide(driver, false, 0, &first, diag);
	if (err == COP_OK)
		err = cop_client_receive(driver->client, &reply, diag);
	if (err == COP_OK && !reply.ok)
		return cop_client_refused(driver->client, &reply, diag);
	if (err == COP_OK && cop_wire_reply_action_decode(reply.body, reply.length, &action, &fault) != COP_OK)
		return broken(driver, fault.message, diag);
	if (err == COP_OK && action.value)
		return broken(driver, "a model of arms is expected, this one has values", diag);
	if (err == COP_OK)
		err = send_feedback(driver, false, 0, &first, diag);
	if (err == COP_OK)
		err = cop_client_receive(driver->client, &reply, diag);
	if (err == COP_OK && !reply.ok)
		return cop_client_refused(driver->client, &reply, diag);
	if (err == COP_OK &&
	        cop_wire_reply_result_decode(reply.body, reply.length, &id, &result, &seq, &fault) != COP_OK)
		return broken(driver, fault.message, diag);
	return err;
}

cop_err cop_bench_drive_open(const cop_bench_target *target, cop_bench_driver **out, cop_diag *diag)
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
		cop_bench_drive_close(driver);
		return COP_ENOMEM;
	}
	cop_rng_init(&rng, 1, 0);
	for (size_t i = 0; i < ROWS * target->features; i++)
		driver->rows[i] = (float)cop_rng_normal(&rng);
	(void)clock_gettime(CLOCK_REALTIME, &now); /* ids of their own for each run */
	driver->next_id = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	cop_err err = cop_client_open_keyed(target->endpoint, &target->keys, target->timeout, &driver->client, diag);
	if (err == COP_OK && !target->untried)
		err = try_one(driver, diag);
	if (err == COP_OK)
		*out = driver;
	else
		cop_bench_drive_close(driver);
	return err;
}

void cop_bench_drive_close(cop_bench_driver *driver)
{
	if (driver == NULL)
		return;
	cop_client_close(driver->client);
	cop_bytes_fini(&driver->body);
	cop_mem_free(driver->rows);
	cop_mem_free(driver);
}

static cop_err send_of(run *r, slot *s)
{
	uint64_t number = (uint64_t)(s - r->slots);
	if (r->part->latency != NULL)
		s->sent = cop_command_now();
	return s->learning ? send_feedback(r->driver, r->part->batch > 1, number, s, r->diag)
	                   : send_decide(r->driver, r->part->batch > 1, number, s, r->diag);
}

static cop_err start_chain(run *r, slot *s)
{
	uint64_t left = r->part->events == 0 ? UINT64_MAX : r->part->events - r->begun;
	s->learning = false;
	s->first_id = r->driver->next_id;
	s->count = left < r->part->batch ? (size_t)left : r->part->batch;
	r->driver->next_id += s->count;
	r->begun += s->count;
	r->under_way++;
	return send_of(r, s);
}

static bool wants_more(const run *r)
{
	return (r->part->events == 0 || r->begun < r->part->events) && cop_command_now() < r->end;
}

/* The loss of one answered event: of arms by the sign of the first feature, of values by the distance to it. */
static cop_err judge(run *r, slot *s, size_t i, const void *item, size_t length)
{
	cop_wire_action action;
	cop_wire_fault fault;
	double *loss = s->loss + 2 * i;
	if (cop_wire_reply_action_decode(item, length, &action, &fault) != COP_OK)
		return broken(r->driver, fault.message, r->diag);
	bool positive = row_of(r->driver, s->first_id + i)[0] > 0.0F;
	s->losses = action.value && action.probes == 2 ? 2 : 1;
	loss[0] = action.value || action.a == (size_t)positive ? 0.0 : 1.0;
	loss[1] = 0.0;
	for (unsigned k = 0; action.value && k < action.probes; k++)
		loss[k] = (action.probe[k] - positive) * (action.probe[k] - positive);
	return COP_OK;
}

/* An error in place of a batch's item. */
static cop_err item_refused(run *r, const void *item, size_t length)
{
	cop_wire_fault fault;
	cop_event_id id;
	cop_wire_seq seq;
	if (r->loss == NULL)
		return broken(r->driver, "an event of a batch was refused", r->diag);
	if (cop_wire_reply_error_decode(item, length, &fault, &id, &seq, NULL) != COP_OK)
		return broken(r->driver, "an error whose text cannot be read", r->diag);
	cop_diag_of(r->diag, r->driver->target.endpoint, "%s: %s", cop_wire_code_text(fault.code), fault.message);
	return COP_EINVAL;
}

/* Without judging, only the first item of a batch is read. */
static cop_err take_items(run *r, slot *s, const cop_client_reply *reply)
{
	cop_wire_items items;
	cop_wire_seq seq;
	const void *item;
	size_t length;
	bool judged = r->loss != NULL && !s->learning;
	if (r->part->batch == 1)
		return judged ? judge(r, s, 0, reply->body, reply->length) : COP_OK;
	if (cop_wire_items_batch(&items, reply->body, reply->length, &seq, NULL) != COP_OK || items.count != s->count)
		return broken(r->driver, "the reply to a batch has other items", r->diag);
	cop_err err = COP_OK;
	size_t read = r->loss != NULL ? s->count : 1;
	for (size_t i = 0; i < read && err == COP_OK && cop_wire_items_next(&items, &item, &length); i++) {
		if (cop_wire_reply_is_error(item, length))
			err = item_refused(r, item, length);
		else if (judged)
			err = judge(r, s, i, item, length);
	}
	return err;
}

static cop_err take_reply(run *r, const cop_client_reply *reply)
{
	uint64_t number;
	if (!reply->ok)
		return cop_client_refused(r->driver->client, reply, r->diag);
	if (!cop_client_reply_seq(reply, &number) || number >= r->part->inflight)
		return broken(r->driver, "a reply carries no seq of ours", r->diag);
	slot *s = &r->slots[number];
	if (r->part->latency != NULL) {
		cop_bench_latencies *taken = &r->part->latency[!s->learning];
		taken->of[taken->count++] = cop_command_now() - s->sent;
	}
	cop_err err = take_items(r, s, reply);
	if (err != COP_OK)
		return err;
	if (r->part->learns && !s->learning) {
		s->learning = true;
		return send_of(r, s);
	}
	r->under_way--;
	r->done += s->count;
	return wants_more(r) ? start_chain(r, s) : COP_OK;
}

cop_err cop_bench_drive(cop_bench_driver *driver, const cop_bench_part *part, double *per_second, cop_diag *diag)
{
	run r = { .driver = driver, .part = part, .diag = diag };
	cop_err err = COP_OK;
	r.slots = cop_mem_alloc(part->inflight, sizeof *r.slots);
	r.loss = part->judges ? cop_mem_alloc(part->inflight * part->batch, 2 * sizeof *r.loss) : NULL;
	if (r.slots == NULL || (part->judges && r.loss == NULL)) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		cop_mem_free(r.slots);
		cop_mem_free(r.loss);
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < part->inflight && part->judges; i++)
		r.slots[i].loss = r.loss + 2 * part->batch * i;
	double start = cop_command_now();
	r.end = start + part->seconds;
	for (size_t i = 0; i < part->inflight && err == COP_OK && wants_more(&r); i++)
		err = start_chain(&r, &r.slots[i]);
	while (err == COP_OK && r.under_way > 0) {
		cop_client_reply reply;
		err = cop_client_receive(driver->client, &reply, diag);
		if (err == COP_OK)
			err = take_reply(&r, &reply);
	}
	*per_second = (double)r.done / (cop_command_now() - start);
	cop_mem_free(r.slots);
	cop_mem_free(r.loss);
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

static cop_err send_one(open_run *r)
{
	const slot one = { .first_id = r->driver->next_id++, .count = 1 };
	return send_decide(r->driver, false, r->sent++, &one, r->diag);
}

/* What is due leaves, what has come is taken, then nothing is done until more is due or comes. */
static cop_err turn(open_run *r)
{
	cop_client_reply reply;
	cop_err err = COP_OK;
	double now = cop_command_now();
	while (err == COP_OK && r->sent < r->total && r->start + (double)r->sent / r->rate <= now)
		err = send_one(r);
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

/* Each slot is one chain of requests: decide, then feedback for what was decided, then the next events. One slot is the
 * part "one at a time", `inflight` slots the part "pipelined". Replies are told apart by seq, which is the slot. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench.h"
#include "tools/common/client.h"
#include "tools/common/command.h"
#include "wire/wire_context.h"
#include "wire/wire_feedback.h"
#include "wire/wire_items.h"
#include "wire/wire_reply.h"

#define ROWS 1024

typedef struct slot {
	bool deciding;     /* else its feedback is under way */
	uint64_t first;    /* number of its first event */
	uint64_t count;    /* events in the request */
	double sent;       /* when the request under way left */
	double *loss;      /* batch x 2 */
	unsigned char two; /* losses of each event are two */
} slot;

typedef struct load {
	const cop_bench_load *set;
	cop_client *client;
	cop_diag *diag;
	cop_bytes body;
	float *rows; /* ROWS x features */
	slot *slots;
	double *latency[2]; /* of feedback, of decide: seconds, one each request */
	size_t taken[2];
	uint64_t next_event; /* not yet sent, in this part */
	uint64_t done;
	uint64_t first_id; /* of this part's events */
} load;

typedef struct part {
	double events_per_second;
	double latency[2][3]; /* feedback, decide: p50, p99, p99.9 in microseconds */
} part;

static cop_err broken(load *l, const char *what)
{
	cop_diag_of(l->diag, l->set->endpoint, "%s", what);
	return COP_EFORMAT;
}

static cop_err send(load *l, slot *s, const char *verb)
{
	if (l->body.err != COP_OK)
		return broken(l, cop_err_text(l->body.err));
	s->sent = cop_command_now();
	return cop_client_send(l->client, verb, l->set->model, l->body.data, l->body.length, l->diag);
}

/* A batch's seq stands beside its items, a single message's inside it. */
static void begin(load *l, const slot *s, cop_wire_seq *seq)
{
	cop_bytes_clear(&l->body);
	cop_wire_seq_from_unsigned(seq, (uint64_t)(s - l->slots));
	if (l->set->batch > 1) {
		cop_wire_items_put(&l->body, (size_t)s->count, seq);
		*seq = (cop_wire_seq){ 0 };
	}
}

static cop_err send_decide(load *l, slot *s)
{
	uint64_t left = l->set->events - l->next_event;
	cop_wire_seq seq;
	s->first = l->next_event;
	s->count = left < l->set->batch ? left : l->set->batch;
	s->deciding = true;
	l->next_event += s->count;
	begin(l, s, &seq);
	for (uint64_t i = 0; i < s->count; i++) {
		cop_wire_context context = { .has_x = true, .seq = seq };
		context.x = (cop_row){ .d = l->set->features,
			.dense = l->rows + ((s->first + i) % ROWS) * l->set->features };
		cop_event_id_from_unsigned(&context.id, l->first_id + s->first + i);
		cop_wire_context_put(&l->body, &context, COP_WIRE_FORM_PACKED);
	}
	return send(l, s, l->set->batch > 1 ? "decide_batch" : "decide");
}

static cop_err send_feedback(load *l, slot *s)
{
	cop_wire_seq seq;
	s->deciding = false;
	begin(l, s, &seq);
	for (uint64_t i = 0; i < s->count; i++) {
		cop_wire_feedback feedback = {
			.loss = { s->loss[2 * i], s->loss[2 * i + 1] }, .losses = s->two ? 2 : 1, .seq = seq
		};
		cop_event_id_from_unsigned(&feedback.id, l->first_id + s->first + i);
		cop_wire_feedback_put(&l->body, &feedback, COP_WIRE_FORM_PACKED);
	}
	return send(l, s, l->set->batch > 1 ? "feedback_batch" : "feedback");
}

/* An error in place of a batch's item. */
static cop_err item_refused(load *l, const void *item, size_t length)
{
	cop_wire_fault fault;
	cop_event_id id;
	cop_wire_seq seq;
	if (cop_wire_reply_error_decode(item, length, &fault, &id, &seq, NULL) != COP_OK)
		return broken(l, "an error whose text cannot be read");
	cop_diag_of(l->diag, l->set->endpoint, "%s: %s", cop_wire_code_text(fault.code), fault.message);
	return COP_EINVAL;
}

/* The loss of one answered event: arms by the sign of the first feature, values by the distance to it. */
static cop_err take_action(load *l, slot *s, uint64_t i, const void *item, size_t length)
{
	cop_wire_action action;
	cop_wire_fault fault;
	double *loss = s->loss + 2 * i;
	loss[0] = loss[1] = 0.0;
	if (cop_wire_reply_action_decode(item, length, &action, &fault) != COP_OK)
		return broken(l, fault.message);
	bool positive = l->rows[((s->first + i) % ROWS) * l->set->features] > 0.0F;
	s->two = action.value && action.probes == 2;
	if (!action.value)
		loss[0] = action.a == (size_t)positive ? 0.0 : 1.0;
	for (unsigned k = 0; action.value && k < action.probes; k++)
		loss[k] = (action.probe[k] - positive) * (action.probe[k] - positive);
	return COP_OK;
}

/* What is in the reply: one action or a batch of them, or results of feedback. */
static cop_err take_items(load *l, slot *s, const cop_client_reply *reply)
{
	cop_wire_items items;
	cop_wire_seq seq;
	const void *item;
	size_t length;
	if (l->set->batch == 1)
		return s->deciding ? take_action(l, s, 0, reply->body, reply->length) : COP_OK;
	if (cop_wire_items_batch(&items, reply->body, reply->length, &seq, NULL) != COP_OK || items.count != s->count)
		return broken(l, "the reply to a batch has other items");
	cop_err err = COP_OK;
	for (uint64_t i = 0; err == COP_OK && cop_wire_items_next(&items, &item, &length); i++) {
		if (cop_wire_reply_is_error(item, length))
			err = item_refused(l, item, length);
		else if (s->deciding)
			err = take_action(l, s, i, item, length);
	}
	return err;
}

static cop_err take_reply(load *l, const cop_client_reply *reply, uint64_t slots)
{
	uint64_t number;
	if (!reply->ok)
		return cop_client_refused(l->client, reply, l->diag);
	if (!cop_client_reply_seq(reply, &number) || number >= slots)
		return broken(l, "a reply carries no seq of ours");
	slot *s = &l->slots[number];
	l->latency[s->deciding][l->taken[s->deciding]++] = cop_command_now() - s->sent;
	cop_err err = take_items(l, s, reply);
	if (err != COP_OK)
		return err;
	if (s->deciding)
		return send_feedback(l, s);
	l->done += s->count;
	return l->next_event < l->set->events ? send_decide(l, s) : COP_OK;
}

static cop_err run_part(load *l, uint64_t slots, part *out)
{
	static const double shares[] = { 0.5, 0.99, 0.999 };
	cop_err err = COP_OK;
	l->next_event = l->done = 0;
	l->taken[0] = l->taken[1] = 0;
	double start = cop_command_now();
	for (uint64_t i = 0; i < slots && l->next_event < l->set->events && err == COP_OK; i++)
		err = send_decide(l, &l->slots[i]);
	while (err == COP_OK && l->done < l->set->events) {
		cop_client_reply reply;
		err = cop_client_receive(l->client, &reply, l->diag);
		if (err == COP_OK)
			err = take_reply(l, &reply, slots);
	}
	out->events_per_second = (double)l->set->events / (cop_command_now() - start);
	for (size_t i = 0; i < 2 && err == COP_OK; i++)
		for (size_t k = 0; k < 3; k++)
			out->latency[i][k] = 1e6 * cop_bench_quantile(l->latency[i], l->taken[i], shares[k]);
	l->first_id += l->set->events;
	return err;
}

static void show_part(cop_json_writer *json, const char *key, const char *text, const part *p)
{
	static const char *const verbs[] = { "feedback", "decide" };
	static const char *const keys[] = { "p50_us", "p99_us", "p999_us" };
	if (json == NULL) {
		(void)printf("%-16s %10.0f events/s\n", text, p->events_per_second);
		for (int i = 1; i >= 0; i--)
			(void)printf("  %-14s p50 %8.1f us, p99 %8.1f us, p99.9 %8.1f us\n", verbs[i], p->latency[i][0],
			        p->latency[i][1], p->latency[i][2]);
		return;
	}
	cop_json_put_object(json, key);
	cop_json_key(json, "events_per_second");
	cop_json_number(json, p->events_per_second);
	for (int i = 1; i >= 0; i--) {
		cop_json_put_object(json, verbs[i]);
		for (int k = 0; k < 3; k++) {
			cop_json_key(json, keys[k]);
			cop_json_number(json, p->latency[i][k]);
		}
		cop_json_end_object(json);
	}
	cop_json_end_object(json);
}

static cop_err prepare(load *l)
{
	const cop_bench_load *set = l->set;
	cop_rng rng;
	struct timespec now;
	l->rows = cop_mem_alloc(ROWS, set->features * sizeof *l->rows);
	l->slots = cop_mem_alloc((size_t)set->inflight, sizeof *l->slots);
	bool ok = l->rows != NULL && l->slots != NULL;
	for (size_t i = 0; i < 2; i++) {
		l->latency[i] = cop_mem_alloc((size_t)set->events, sizeof **l->latency);
		ok = ok && l->latency[i] != NULL;
	}
	for (uint64_t i = 0; ok && i < set->inflight; i++) {
		l->slots[i].loss = cop_mem_alloc((size_t)set->batch, 2 * sizeof *l->slots[i].loss);
		ok = l->slots[i].loss != NULL;
	}
	if (!ok) {
		cop_diag_message(l->diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	cop_rng_init(&rng, 1, 0);
	for (size_t i = 0; i < ROWS * set->features; i++)
		l->rows[i] = (float)cop_rng_normal(&rng);
	(void)clock_gettime(CLOCK_REALTIME, &now); /* ids of their own for each run */
	l->first_id = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	return cop_client_open(set->endpoint, set->timeout, &l->client, l->diag);
}

static void show(const load *l, const part *alone, const part *pipelined, cop_json_writer *json)
{
	char text[64];
	(void)snprintf(text, sizeof text, "%" PRIu64 " in flight", l->set->inflight);
	if (json == NULL && l->set->batch > 1)
		(void)printf("%" PRIu64 " events in each request\n", l->set->batch);
	if (json != NULL) {
		cop_json_put_unsigned(json, "events", l->set->events);
		cop_json_put_unsigned(json, "batch", l->set->batch);
		cop_json_put_unsigned(json, "inflight", l->set->inflight);
	}
	show_part(json, "one_at_a_time", "one at a time", alone);
	show_part(json, "pipelined", text, pipelined);
}

cop_err cop_bench_load_run(const cop_bench_load *settings, cop_json_writer *json, cop_diag *diag)
{
	load l = { .set = settings, .diag = diag };
	part alone;
	part pipelined;
	cop_bytes_init(&l.body);
	cop_err err = prepare(&l);
	if (err == COP_OK)
		err = run_part(&l, 1, &alone);
	if (err == COP_OK)
		err = run_part(&l, settings->inflight, &pipelined);
	if (err == COP_OK)
		show(&l, &alone, &pipelined, json);
	cop_client_close(l.client);
	cop_bytes_fini(&l.body);
	for (uint64_t i = 0; l.slots != NULL && i < settings->inflight; i++)
		cop_mem_free(l.slots[i].loss);
	cop_mem_free(l.slots);
	cop_mem_free(l.rows);
	cop_mem_free(l.latency[0]);
	cop_mem_free(l.latency[1]);
	return err;
}

/* Events go out in batches, one under way at a time. With --ask a batch's contexts are decided first; the feedback
 * that follows names the logged action with its propensity, so the daemon learns from what was done, whatever it would
 * have done itself. */
#include "replay_live.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/mem.h"
#include "replay_reader.h"
#include "replay_scan.h"
#include "clients/c/client.h"
#include "tools/common/command.h"
#include "wire/wire_context.h"
#include "wire/wire_feedback.h"
#include "wire/wire_items.h"
#include "wire/wire_json.h"
#include "wire/wire_reply.h"

#define TIMEOUT     10.0
#define BATCH       64
#define BATCH_BYTES ((size_t)256 << 10)
#define MOST_TOLD   10

typedef struct status {
	char learner[16];
	size_t features, bits, arms;
	uint64_t learned;
	double mean_loss; /* NaN: nothing was learned */
} status;

typedef struct sent {
	uint64_t line;
	uint32_t action;
	double cost, p;
} sent;

typedef struct live {
	const cop_replay_options *o;
	const volatile sig_atomic_t *stop;
	cop_client *client;
	cop_feature_space *space;
	cop_bytes contexts, feedback, body;
	sent batch[BATCH];
	size_t count;
	uint64_t events, skipped, unlabelled;
	uint64_t results[COP_WIRE_RESULT_COUNT], refused;
	uint64_t matched;
	double cost_sum, match_sum; /* match_sum: cost / p where the daemon chose the logged action */
	double started;
	status before, after;
} live;

static cop_err complain(const live *l, cop_err err, const char *what, cop_diag *diag)
{
	cop_diag_of(diag, l->o->live, "model '%s': %s", l->o->model, what);
	return err;
}

/* ---- the daemon's model ---- */

static size_t count_of(const cop_json *model, const char *key)
{
	int64_t whole;
	bool there = cop_json_get_integer(cop_json_member(model, key), &whole) == COP_OK && whole > 0;
	return there ? (size_t)whole : 0;
}

static cop_err take_status(live *l, const cop_json *root, status *out, cop_diag *diag)
{
	const cop_json *model = cop_json_element(cop_json_member(root, "models"), 0);
	const char *learner;
	if (cop_json_get_text(cop_json_member(model, "learner"), &learner, NULL) != COP_OK)
		return complain(l, COP_EFORMAT, "its status cannot be understood", diag);
	*out = (status){ .features = count_of(model, "features"), .bits = count_of(model, "bits") };
	(void)snprintf(out->learner, sizeof out->learner, "%s", learner);
	out->arms = count_of(model, "arms");
	out->learned = count_of(model, "learned");
	if (cop_json_get_number(cop_json_member(model, "mean_loss"), &out->mean_loss) != COP_OK)
		out->mean_loss = (double)NAN;
	return COP_OK;
}

static cop_err ask_status(live *l, status *out, cop_diag *diag)
{
	cop_client_reply reply;
	cop_json *root = NULL;
	cop_bytes text;
	cop_err err = cop_client_request(l->client, "status", l->o->model, "\x80", 1, &reply, diag);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&text);
	err = cop_wire_json(&text, reply.body, reply.length, 0);
	if (err == COP_OK)
		err = cop_json_parse((const char *)text.data, text.length, &root, NULL);
	if (err != COP_OK)
		(void)complain(l, err, "its status cannot be read", diag);
	if (err == COP_OK)
		err = take_status(l, root, out, diag);
	cop_json_free(root);
	cop_bytes_fini(&text);
	return err;
}

/* A space of the shape that the daemon's model has. */
static cop_err fit_space(live *l, cop_reader_options *reader, cop_diag *diag)
{
	cop_replay_options options = *l->o;
	cop_replay_shape shape;
	char what[256];
	const status *s = &l->before;
	if (cop_replay_is_journal(l->o))
		return COP_OK;
	reader->features = s->features != 0 ? COP_READER_FEATURES_DENSE : COP_READER_FEATURES_HASHED;
	if (s->features == 0 && reader->bits != 0 && reader->bits != s->bits) {
		(void)snprintf(what, sizeof what, "has bits = %zu, --bits is %u", s->bits, reader->bits);
		return complain(l, COP_ESHAPE, what, diag);
	}
	reader->bits = (unsigned)s->bits;
	options.reader = *reader;
	if (l->o->columns != NULL)
		return cop_replay_columns_read(l->o->columns, &l->space, diag);
	if (s->features == 0)
		return cop_reader_options_space_new(reader, false, &l->space, diag);
	if (strcmp(l->o->path, "-") == 0)
		return complain(l, COP_EINVAL, "has dense features, which standard input needs --columns for", diag);
	return cop_replay_scan(&options, 0, l->stop, &l->space, &shape, diag);
}

static cop_err fit(live *l, cop_reader_options *reader, cop_diag *diag)
{
	char what[256];
	if (strcmp(l->before.learner, "value") == 0)
		return complain(l, COP_ESHAPE, "learns values, which bandit logs do not hold", diag);
	cop_err err = fit_space(l, reader, diag);
	if (err != COP_OK || l->before.features == 0 || l->space == NULL)
		return err;
	size_t columns = cop_feature_space_dimension(l->space);
	if (columns == l->before.features)
		return COP_OK;
	(void)snprintf(what, sizeof what, "has %zu features, the log has %zu", l->before.features, columns);
	return complain(l, COP_ESHAPE, what, diag);
}

/* ---- a batch ---- */

static cop_err request(live *l, const char *verb, const cop_bytes *items, cop_wire_items *out, cop_diag *diag)
{
	cop_client_reply reply;
	cop_wire_seq seq;
	cop_wire_fault fault;
	cop_bytes_clear(&l->body);
	cop_wire_items_put(&l->body, l->count, NULL);
	cop_bytes_put(&l->body, items->data, items->length);
	if (items->err != COP_OK || l->body.err != COP_OK)
		return complain(l, COP_ENOMEM, cop_err_text(COP_ENOMEM), diag);
	cop_err err = cop_client_request(l->client, verb, l->o->model, l->body.data, l->body.length, &reply, diag);
	if (err != COP_OK)
		return err;
	err = cop_wire_items_batch(out, reply.body, reply.length, &seq, &fault);
	if (err == COP_OK && out->count != l->count)
		err = COP_EFORMAT;
	return err != COP_OK ? complain(l, err, "its answer cannot be understood", diag) : COP_OK;
}

/* An item that the daemon refused. */
static cop_err take_refusal(live *l, const sent *event, const void *item, size_t length, cop_diag *diag)
{
	cop_wire_fault error, fault;
	cop_event_id id;
	cop_wire_seq seq;
	if (cop_wire_reply_error_decode(item, length, &error, &id, &seq, &fault) != COP_OK)
		return complain(l, COP_EFORMAT, "its answer cannot be understood", diag);
	cop_diag_at_line(diag, l->o->path, event->line, "the daemon refused it: %s", error.message);
	if (!l->o->reader.skip)
		return COP_EINVAL;
	if (++l->refused <= MOST_TOLD)
		(void)cop_command_failed(COP_REPLAY_NAME, diag);
	return COP_OK;
}

static cop_err decide_all(live *l, cop_diag *diag)
{
	cop_wire_items items;
	const void *item;
	size_t length;
	const char *verb = strcmp(l->before.learner, "rank") == 0 ? "rank_batch" : "decide_batch";
	cop_err err = request(l, verb, &l->contexts, &items, diag);
	for (size_t i = 0; err == COP_OK && cop_wire_items_next(&items, &item, &length); i++) {
		cop_wire_action action;
		const sent *event = &l->batch[i];
		if (cop_wire_reply_is_error(item, length)) {
			err = take_refusal(l, event, item, length, diag);
			continue;
		}
		if (cop_wire_reply_action_decode(item, length, &action, NULL) != COP_OK)
			return complain(l, COP_EFORMAT, "its answer cannot be understood", diag);
		if (action.a == event->action) {
			l->matched++;
			l->match_sum += event->cost / event->p;
		}
	}
	return err;
}

static cop_err feed_all(live *l, cop_diag *diag)
{
	cop_wire_items items;
	const void *item;
	size_t length;
	cop_err err = request(l, "feedback_batch", &l->feedback, &items, diag);
	for (size_t i = 0; err == COP_OK && cop_wire_items_next(&items, &item, &length); i++) {
		cop_event_id id;
		cop_wire_result result;
		cop_wire_seq seq;
		if (cop_wire_reply_is_error(item, length))
			err = take_refusal(l, &l->batch[i], item, length, diag);
		else if (cop_wire_reply_result_decode(item, length, &id, &result, &seq, NULL) != COP_OK)
			err = complain(l, COP_EFORMAT, "its answer cannot be understood", diag);
		else
			l->results[result]++;
	}
	return err;
}

/* Until the batch's last event is due. */
static void keep_pace(const live *l)
{
	double wait = l->o->pace > 0.0 ? l->started + (double)l->events / l->o->pace - cop_command_now() : 0.0;
	if (wait <= 0.0)
		return;
	struct timespec t = { .tv_sec = (time_t)wait };
	t.tv_nsec = (long)((wait - (double)t.tv_sec) * 1e9);
	(void)nanosleep(&t, NULL); /* an interrupt cuts it short, as it should */
}

static cop_err flush_batch(live *l, cop_diag *diag)
{
	cop_err err = COP_OK;
	if (l->count == 0)
		return COP_OK;
	keep_pace(l);
	if (l->o->ask)
		err = decide_all(l, diag);
	if (err == COP_OK)
		err = feed_all(l, diag);
	l->count = 0;
	cop_bytes_clear(&l->contexts);
	cop_bytes_clear(&l->feedback);
	return err;
}

/* At a slow rate batches are small, so that events do not come in gusts. */
static size_t batch_size(const live *l)
{
	double most = l->o->pace > 0.0 ? l->o->pace / 20.0 : BATCH;
	return most >= BATCH ? BATCH : most < 1.0 ? 1 : (size_t)most;
}

static void put_event(live *l, const cop_logged_event *event)
{
	cop_event_id id = event->id;
	if (id.kind == 0)
		cop_event_id_from_unsigned(&id, l->o->first_id + l->events);
	cop_wire_feedback feedback = {
		.id = id,
		.loss = { event->cost },
		.losses = 1,
		.has_x = true,
		.x = event->x,
		.has_a = true,
		.a = event->action,
		.has_p = true,
		.p = event->p,
	};
	if (event->candidates > 0) {
		feedback.has_c = true;
		feedback.candidate = event->candidate[event->action];
	}
	cop_wire_feedback_put(&l->feedback, &feedback, COP_WIRE_FORM_PACKED);
	if (!l->o->ask)
		return;
	cop_wire_context context = {
		.id = id,
		.has_x = true,
		.x = event->x,
		.has_mask = event->mask != NULL,
		.mask = event->mask,
		.arms = event->arms,
		.candidate = event->candidate,
		.candidates = event->candidates,
	};
	cop_wire_context_put(&l->contexts, &context, COP_WIRE_FORM_PACKED);
}

static cop_err add_event(live *l, const cop_logged_event *event, cop_diag *diag)
{
	if (!event->labelled) {
		l->unlabelled++;
		return COP_OK;
	}
	l->batch[l->count++] =
	        (sent){ .line = event->line, .action = event->action, .cost = event->cost, .p = event->p };
	put_event(l, event);
	l->events++;
	l->cost_sum += event->cost;
	bool full = l->count >= batch_size(l) || l->feedback.length + l->contexts.length >= BATCH_BYTES;
	return full ? flush_batch(l, diag) : COP_OK;
}

/* ---- the log ---- */

static cop_err pass_over(live *l, cop_err err, const cop_diag *diag)
{
	if (*l->stop != 0)
		return COP_EEND;
	if (!l->o->reader.skip)
		return err;
	if (++l->skipped <= MOST_TOLD)
		(void)cop_command_failed(COP_REPLAY_NAME, diag);
	return COP_OK;
}

static cop_err check_kind(const live *l, const cop_logged_event *event, cop_diag *diag)
{
	bool ranks = strcmp(l->before.learner, "rank") == 0;
	if (ranks == (event->candidates > 0))
		return COP_OK;
	return complain(l, COP_ESHAPE,
	        ranks ? "ranks candidates, and the log has numbered arms" : "has numbered arms, and the log candidates",
	        diag);
}

static cop_err send_events(live *l, cop_event_reader *reader, cop_diag *diag)
{
	cop_err err = COP_OK;
	uint64_t to_skip = l->o->skip;
	while (err == COP_OK && *l->stop == 0 && (l->o->events == 0 || l->events < l->o->events)) {
		cop_logged_event event;
		err = cop_event_reader_next(reader, &event, diag);
		if (err == COP_EFORMAT || err == COP_ENONFINITE)
			err = pass_over(l, err, diag);
		else if (err == COP_OK && to_skip > 0)
			to_skip--;
		else if (err == COP_OK && (err = check_kind(l, &event, diag)) == COP_OK)
			err = add_event(l, &event, diag);
	}
	if (err != COP_OK && err != COP_EEND)
		return err;
	return flush_batch(l, diag);
}

static cop_err run(live *l, cop_diag *diag)
{
	cop_replay_options options = *l->o;
	cop_event_reader *reader;
	cop_err err = cop_client_open(l->o->live, TIMEOUT, &l->client, diag);
	if (err == COP_OK)
		err = ask_status(l, &l->before, diag);
	if (err == COP_OK)
		err = fit(l, &options.reader, diag);
	if (err == COP_OK)
		err = cop_replay_reader_open(&options, l->space, &reader, diag);
	if (err != COP_OK)
		return err;
	l->started = cop_command_now();
	err = send_events(l, reader, diag);
	cop_event_reader_free(reader);
	return err == COP_OK ? ask_status(l, &l->after, diag) : err;
}

/* ---- what came of it ---- */

static cop_err print_json(const live *l, double seconds)
{
	cop_json_writer *json;
	double n = (double)l->events;
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &json);
	if (err != COP_OK)
		return err;
	cop_json_begin_object(json);
	cop_json_put_unsigned(json, "events", l->events);
	cop_json_put_number(json, "average_loss", l->cost_sum / n);
	for (size_t i = 0; i < COP_WIRE_RESULT_COUNT; i++)
		cop_json_put_unsigned(json, cop_wire_result_text((cop_wire_result)i), l->results[i]);
	cop_json_put_unsigned(json, "refused", l->refused);
	cop_json_put_unsigned(json, "unlabelled", l->unlabelled);
	cop_json_put_unsigned(json, "skipped", l->skipped);
	if (l->o->ask) {
		cop_json_put_number(json, "matched", (double)l->matched / n);
		cop_json_put_number(json, "ips", l->match_sum / n);
	}
	cop_json_put_unsigned(json, "learned", l->after.learned - l->before.learned);
	cop_json_put_number(json, "events_per_second", n / seconds);
	cop_json_put_number(json, "seconds", seconds);
	return cop_command_json(json);
}

static void print_text(const live *l, double seconds)
{
	double n = (double)l->events;
	(void)printf("events sent       %" PRIu64 "\n", l->events);
	for (size_t i = 0; i < COP_WIRE_RESULT_COUNT; i++)
		if (l->results[i] > 0)
			(void)printf("  %-15s %" PRIu64 "\n", cop_wire_result_text((cop_wire_result)i), l->results[i]);
	if (l->refused > 0)
		(void)printf("  %-15s %" PRIu64 "\n", "refused", l->refused);
	if (l->unlabelled > 0)
		(void)printf("without a label   %" PRIu64 ", not sent\n", l->unlabelled);
	if (l->skipped > 0)
		(void)printf("passed over       %" PRIu64 "\n", l->skipped);
	if (l->events > 0)
		(void)printf("mean logged cost  %.6f\n", l->cost_sum / n);
	if (l->o->ask && l->events > 0)
		(void)printf(
		        "actions matched   %.4f\nvalue, ips        %.6f\n", (double)l->matched / n, l->match_sum / n);
	(void)printf("learned           %" PRIu64 ", in all %" PRIu64 "\nevents per second %.0f\n",
	        l->after.learned - l->before.learned, l->after.learned, n / seconds);
}

cop_err cop_replay_live(const cop_replay_options *options, const volatile sig_atomic_t *stop, cop_diag *diag)
{
	live *l = cop_mem_alloc(1, sizeof *l);
	if (l == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	l->o = options;
	l->stop = stop;
	cop_bytes_init(&l->contexts);
	cop_bytes_init(&l->feedback);
	cop_bytes_init(&l->body);
	cop_err err = run(l, diag);
	double seconds = cop_command_now() - l->started;
	if (err == COP_OK && options->json)
		err = print_json(l, seconds);
	else if (err == COP_OK)
		print_text(l, seconds);
	if (err == COP_OK && *stop != 0) {
		cop_diag_message(diag, "interrupted after %" PRIu64 " events", l->events);
		err = COP_EEND;
	}
	cop_client_close(l->client);
	cop_feature_space_free(l->space);
	cop_bytes_fini(&l->contexts);
	cop_bytes_fini(&l->feedback);
	cop_bytes_fini(&l->body);
	cop_mem_free(l);
	return err;
}

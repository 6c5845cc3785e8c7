/* A session holds a connection to the daemon and one to the log. `after` is the last position that the daemon answered
 * for, and each batch carries it: a daemon that lost something since refuses, and the next session begins where it is.
 */
#include "daemon/streams/bridge_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "daemon/common/clock.h"
#include "daemon/streams/bridge_event.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define LOOK        0.5  /* seconds that a take waits, after which the end is looked for */
#define LEAST_WAIT  0.1  /* seconds */
#define MOST_WAIT   10.0 /* seconds */
#define LAG_US      1000000u
#define BATCH_BYTES ((size_t)256 << 10) /* of events in a batch; less where the daemon takes less */

typedef struct session {
	cop_bridge_reader *reader;
	cop_bridge_daemon *daemon;
	void *broker;
	cop_wire_position after; /* at source NULL: none yet */
	cop_broker_batch taken, actions;
	cop_bytes body;
	size_t *place;      /* of each item in body: its place in taken; set.batch of them */
	double wait;        /* until the next attempt */
	uint64_t looked_us; /* for the lag */
	cop_diag diag;
} session;

static bool ends(const cop_bridge_reader *reader) { return atomic_load(&reader->ends); }
/* The session is to end. */
static bool stops(const cop_bridge_reader *reader) { return ends(reader) || !atomic_load(&reader->counts.own); }

/* Until the time is over or the reader is to end; the next wait is twice as long. */
static void doze(session *s)
{
	struct pollfd wake = { .fd = s->reader->wake, .events = POLLIN };
	(void)poll(&wake, 1, (int)(1000.0 * s->wait));
	s->wait = 2.0 * s->wait < MOST_WAIT ? 2.0 * s->wait : MOST_WAIT;
}

static cop_wire_position position_of(const session *s, const cop_broker_item *item)
{
	const cop_broker_settings *set = &s->reader->set.broker;
	return (cop_wire_position){ set->name, strlen(set->name), set->partition, item->offset, item->minor };
}

static void note_stage(session *s, cop_bridge_stage stage, uint64_t since_ns, size_t events)
{
	cop_bridge_stage_counts *counts = &s->reader->counts.stages[stage];
	atomic_fetch_add(&counts->ns, cop_clock_monotonic_ns() - since_ns);
	atomic_fetch_add(&counts->events, events);
}

/* Events behind the offset were removed before they were read. */
static void note_gap(session *s, uint64_t offset)
{
	const cop_bridge_reader_settings *set = &s->reader->set;
	atomic_fetch_add(&s->reader->counts.gaps, 1);
	cop_log_line(set->log, COP_LOG_EVENT(stream_gap), "stream=\"%s\" partition=%" PRIu32 " offset=%" PRIu64,
	        set->broker.name, set->broker.partition, offset);
}

/* At most once in LAG_US, for it asks the log. left: events that were taken and wait here. */
static void note_lag(session *s, size_t left)
{
	uint64_t behind = 0, lost = 0, now = cop_clock_monotonic_us();
	cop_bridge_reader_counts *counts = &s->reader->counts;
	if (now < s->looked_us + LAG_US)
		return;
	s->looked_us = now;
	bool known = s->reader->set.class->lag(s->broker, &behind, &lost);
	if (lost > 0)
		note_gap(s, atomic_load(&counts->offset));
	atomic_store(&counts->lag, behind + left);
	atomic_store(&counts->lag_known, known);
}

/* Passed over, once even if the batch is built again; put aside where the configuration has a place for it. */
static cop_err bury(session *s, cop_broker_item *item, const cop_wire_fault *why)
{
	cop_bridge_reader *reader = s->reader;
	if (item->dead)
		return COP_OK;
	item->dead = true;
	atomic_fetch_add(&reader->counts.dead, 1);
	cop_log_limited(reader->set.log, &reader->limiter, cop_clock_monotonic_us(), COP_LOG_EVENT(event_dead),
	        "stream=\"%s\" partition=%" PRIu32 " offset=%" PRIu64 " minor=%" PRIu64 " code=%s reason=\"%s\"",
	        reader->set.broker.name, reader->set.broker.partition, item->offset, item->minor,
	        cop_wire_code_text(why->code), why->message);
	if (reader->set.broker.dead[0] == '\0')
		return COP_OK;
	const cop_wire_position from = position_of(s, item);
	size_t at = s->actions.bytes.length;
	cop_err err = cop_bridge_event_letter(
	        &s->actions.bytes, s->taken.bytes.data + item->at, item->length, &from, why, reader->set.json);
	return err == COP_OK ? cop_broker_batch_end(&s->actions, at, item->offset, item->minor, true) : err;
}

/* ---- a batch ---- */

/* *full: the batch has no room for it. COP_EFORMAT: it is passed over. */
static cop_err put_item(session *s, const cop_broker_item *item, bool alone, bool *full, cop_wire_fault *why)
{
	cop_bytes *body = &s->body;
	const size_t before = body->length;
	const uint64_t limit = cop_bridge_daemon_limit(s->daemon);
	const cop_wire_position from = position_of(s, item);
	*full = !alone && before + item->length > (limit < BATCH_BYTES ? limit : BATCH_BYTES);
	if (*full)
		return COP_OK;
	if (item->dead)
		return COP_EFORMAT;
	cop_err err = cop_bridge_event_put(body, s->taken.bytes.data + item->at, item->length, &from, why);
	if (err != COP_OK || body->length <= limit)
		return err;
	const size_t length = body->length - before;
	body->length = before;
	*full = !alone;
	if (alone)
		(void)cop_wire_fault_set(why, COP_WIRE_TOO_LARGE,
		        "event: %zu bytes as MessagePack; expected a batch of it alone to be at most %" PRIu64
		        " (the daemon's message_limit)",
		        length, limit);
	return alone ? COP_EFORMAT : COP_OK;
}

/* Items from *next on, at most `most` of them and as many bytes as go together; those that are no maps, or too long for
 * the daemon, are passed over. */
static cop_err build(session *s, size_t *next, size_t most, size_t *count)
{
	cop_bytes *body = &s->body;
	cop_bytes_clear(body);
	size_t map = cop_wire_put_map_open(body);
	cop_wire_put_text(body, "after");
	if (s->after.source == NULL)
		cop_wire_put_nil(body);
	else
		cop_wire_position_put(body, &s->after);
	cop_wire_put_text(body, "items");
	size_t array = cop_wire_put_array_open(body);
	*count = 0;
	while (*next < s->taken.count && *count < most) {
		cop_broker_item *item = &s->taken.items[*next];
		cop_wire_fault why;
		bool full;
		cop_err err = put_item(s, item, *count == 0, &full, &why);
		if (full)
			break;
		if (err == COP_OK)
			s->place[(*count)++] = *next;
		else if (err == COP_EFORMAT)
			err = bury(s, item, &why);
		if (err != COP_OK)
			return err;
		(*next)++;
	}
	cop_wire_put_array_close(body, array, *count);
	cop_wire_put_map_close(body, map);
	return body->err;
}

static bool is_passing(cop_wire_code code) { return code == COP_WIRE_BUSY || code == COP_WIRE_NOT_DURABLE; }

static cop_err take_answer(session *s, const cop_broker_item *item, const void *answer, size_t length)
{
	cop_bridge_reader_counts *counts = &s->reader->counts;
	const cop_bridge_answer is = cop_bridge_event_answer(answer, length);
	atomic_fetch_add(&counts->events, 1);
	atomic_fetch_add(&counts->repeats, is.repeated);
	s->after = position_of(s, item);
	atomic_store(&counts->offset, item->offset);
	atomic_store(&counts->minor, item->minor);
	if (s->reader->set.broker.actions[0] == '\0' || !is.action)
		return COP_OK;
	size_t at = s->actions.bytes.length;
	cop_err err = cop_bridge_event_action(&s->actions.bytes, answer, length, s->reader->set.json);
	return err == COP_OK ? cop_broker_batch_end(&s->actions, at, item->offset, item->minor, false) : err;
}

/* *next: the first event that has to come again, if one could not be taken now. */
static cop_err take_answers(session *s, cop_wire_items *answers, size_t *next, bool *again)
{
	const void *answer;
	size_t length;
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && cop_wire_items_next(answers, &answer, &length); i++) {
		cop_broker_item *item = &s->taken.items[s->place[i]];
		cop_wire_fault why;
		cop_event_id id;
		cop_wire_seq seq;
		if (!cop_wire_reply_is_error(answer, length)) {
			err = take_answer(s, item, answer, length);
			continue;
		}
		err = cop_wire_reply_error_decode(answer, length, &why, &id, &seq, NULL);
		if (err == COP_OK && is_passing(why.code)) {
			*next = s->place[i];
			*again = true;
			return COP_OK;
		}
		if (err == COP_OK)
			err = bury(s, item, &why);
	}
	return err;
}

/* What has an answer is passed on, and the hint follows. */
static cop_err send_actions(session *s, size_t next)
{
	cop_bridge_reader *reader = s->reader;
	if (next == 0 || !cop_broker_sends(&reader->set.broker))
		return COP_OK;
	size_t letters = 0;
	uint64_t start = cop_clock_monotonic_ns();
	const cop_wire_position upto = position_of(s, &s->taken.items[next - 1]);
	cop_err err = reader->set.class->send(s->broker, &s->actions, &upto, &s->diag);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < s->actions.count; i++)
		letters += s->actions.items[i].dead;
	atomic_fetch_add(&reader->counts.actions, s->actions.count - letters);
	atomic_fetch_add(&reader->counts.put_aside, letters);
	note_stage(s, COP_BRIDGE_WRITE, start, s->actions.count);
	cop_broker_batch_clear(&s->actions);
	return COP_OK;
}

/* A batch that was refused as a whole. *most: of the next attempt. */
static cop_err take_refusal(
        session *s, const cop_wire_fault *why, size_t count, size_t first, size_t *next, size_t *most, bool *again)
{
	bool large = why->code == COP_WIRE_TOO_LARGE || why->code == COP_WIRE_BAD_REQUEST;
	*again = is_passing(why->code);
	if (*again || (large && count > 1)) {
		*most = *again ? *most : 1;
		*next = first;
		return COP_OK;
	}
	if (large) {
		cop_err err = bury(s, &s->taken.items[s->place[0]], why);
		return err == COP_OK ? send_actions(s, *next) : err;
	}
	cop_diag_of(&s->diag, s->reader->set.daemon.endpoint, "%s: %s", cop_wire_code_text(why->code), why->message);
	return COP_EINVAL;
}

/* What was built to the daemon, and its answers to the log. */
static cop_err exchange(session *s, size_t count, size_t first, size_t *next, size_t *most, bool *again)
{
	cop_wire_items answers;
	cop_wire_fault why;
	uint64_t start = cop_clock_monotonic_ns();
	cop_err err = cop_bridge_daemon_batch(s->daemon, &s->body, count, &answers, &why, &s->diag);
	note_stage(s, COP_BRIDGE_DAEMON, start, count);
	if (err == COP_EINVAL)
		return take_refusal(s, &why, count, first, next, most, again);
	if (err != COP_OK)
		return err;
	atomic_fetch_add(&s->reader->counts.batches, 1);
	err = take_answers(s, &answers, next, again);
	return err == COP_OK ? send_actions(s, *next) : err;
}

static cop_err deliver(session *s, size_t *next, size_t *most)
{
	size_t count, first = *next;
	bool again = false;
	uint64_t start = cop_clock_monotonic_ns();
	cop_err err = build(s, next, *most, &count);
	note_stage(s, COP_BRIDGE_DECODE, start, *next - first);
	if (err == COP_OK)
		err = count == 0 ? send_actions(s, *next) : exchange(s, count, first, next, most, &again);
	if (err == COP_OK && again) {
		atomic_fetch_add(&s->reader->counts.waits, 1);
		doze(s);
	} else if (err == COP_OK) {
		s->wait = LEAST_WAIT;
	}
	return err;
}

static cop_err turn(session *s)
{
	const cop_bridge_reader_settings *set = &s->reader->set;
	size_t next = 0, most = set->batch;
	uint64_t start = cop_clock_monotonic_ns();
	cop_broker_batch_clear(&s->taken);
	cop_broker_batch_clear(&s->actions);
	cop_err err = set->class->take(s->broker, set->batch, LOOK, &s->taken, &s->diag);
	if (s->taken.count > 0)
		note_stage(s, COP_BRIDGE_READ, start, s->taken.count);
	note_lag(s, s->taken.count);
	while (err == COP_OK && next < s->taken.count && !stops(s->reader)) {
		err = deliver(s, &next, &most);
		note_lag(s, s->taken.count - next);
	}
	return err;
}

/* ---- a session ---- */

/* Where reading begins: where the daemon is, or, when actions up to there were not all sent, at the first of those. */
static cop_broker_start choose(session *s, bool known, cop_wire_position *at)
{
	cop_wire_position hint;
	const cop_bridge_reader_settings *set = &s->reader->set;
	if (!known)
		return set->broker.newest ? COP_BROKER_NEWEST : COP_BROKER_OLDEST;
	cop_broker_start sent =
	        cop_broker_sends(&set->broker) ? set->class->hinted(s->broker, &hint) : COP_BROKER_NEWEST;
	if (sent == COP_BROKER_OLDEST)
		return COP_BROKER_OLDEST;
	if (sent == COP_BROKER_BEHIND && cop_wire_position_compare(&hint, at) < 0) {
		at->offset = hint.offset;
		at->minor = hint.minor;
	}
	return COP_BROKER_BEHIND;
}

static void tell(session *s, bool known, bool gap, const cop_wire_position *at)
{
	const cop_bridge_reader_settings *set = &s->reader->set;
	cop_log_line(set->log, COP_LOG_EVENT(stream_reading),
	        "stream=\"%s\" partition=%" PRIu32 " topic=\"%s\" known=%d offset=%" PRIu64 " minor=%" PRIu64,
	        set->broker.name, set->broker.partition, set->broker.topic, known, at->offset, at->minor);
	if (gap)
		note_gap(s, at->offset);
}

/* A first session leaves a hint before its first batch, so that actions are sent whenever it ends. */
static cop_err begin(session *s)
{
	const cop_bridge_reader_settings *set = &s->reader->set;
	cop_wire_position at = position_of(s, &(cop_broker_item){ 0 });
	bool known, gap;
	cop_err err = cop_bridge_daemon_open(&set->daemon, &s->daemon, &s->diag);
	if (err == COP_OK)
		err = cop_bridge_daemon_position(s->daemon, &at, &known, &s->diag);
	if (err == COP_OK)
		err = set->class->open(&set->broker, &s->broker, &s->diag);
	if (err != COP_OK)
		return err;
	cop_broker_start start = choose(s, known, &at);
	s->after = start == COP_BROKER_BEHIND ? at : (cop_wire_position){ .source = NULL };
	err = set->class->seek(s->broker, start, &at, &gap, &s->diag);
	if (err != COP_OK)
		return err;
	tell(s, known, gap, &at);
	cop_broker_batch_clear(&s->actions);
	if (known || !cop_broker_sends(&set->broker))
		return COP_OK;
	return set->class->send(s->broker, &s->actions, start == COP_BROKER_OLDEST ? NULL : &at, &s->diag);
}

static void leave(session *s)
{
	s->reader->set.class->close(s->broker);
	cop_bridge_daemon_close(s->daemon);
	s->broker = NULL;
	s->daemon = NULL;
}

static void complain(session *s, cop_err err)
{
	char why[300];
	const cop_bridge_reader_settings *set = &s->reader->set;
	cop_diag_text(&s->diag, why, sizeof why);
	atomic_fetch_add(&s->reader->counts.interrupted, 1);
	cop_log_line(set->log, COP_LOG_EVENT(stream_interrupted),
	        "stream=\"%s\" partition=%" PRIu32 " wait=%.1f reason=\"%s\"", set->broker.name, set->broker.partition,
	        s->wait, s->diag.message[0] != '\0' ? why : cop_err_text(err));
}

/* Until the reader is to end, or the partition is its own. */
static void await(cop_bridge_reader *reader)
{
	uint64_t count;
	struct pollfd wake = { .fd = reader->wake, .events = POLLIN };
	while (!ends(reader)) {
		(void)pthread_mutex_lock(&reader->mutex);
		(void)!read(reader->wake, &count, sizeof count);
		reader->busy = atomic_load(&reader->counts.own);
		bool busy = reader->busy;
		(void)pthread_mutex_unlock(&reader->mutex);
		if (busy)
			break;
		(void)poll(&wake, 1, -1);
	}
}

static void let_go(cop_bridge_reader *reader)
{
	atomic_store(&reader->counts.up, false);
	atomic_store(&reader->counts.lag_known, false);
	(void)pthread_mutex_lock(&reader->mutex);
	reader->busy = false;
	(void)pthread_cond_broadcast(&reader->let_go);
	(void)pthread_mutex_unlock(&reader->mutex);
}

static void hold_session(session *s)
{
	cop_bridge_reader *reader = s->reader;
	s->diag = (cop_diag){ 0 };
	cop_err err = stops(reader) ? COP_OK : begin(s);
	atomic_store(&reader->counts.up, err == COP_OK && s->broker != NULL);
	while (err == COP_OK && !stops(reader))
		err = turn(s);
	leave(s);
	if (err != COP_OK && !stops(reader))
		complain(s, err);
	let_go(reader);
	if (err != COP_OK)
		doze(s);
}

static void *work(void *context)
{
	session s = { .reader = context, .wait = LEAST_WAIT };
	cop_bridge_reader *reader = context;
	cop_bytes_init(&s.body);
	cop_bytes_init(&s.taken.bytes);
	cop_bytes_init(&s.actions.bytes);
	s.place = cop_mem_alloc(reader->set.batch, sizeof *s.place);
	while (s.place != NULL && !ends(reader)) {
		await(reader);
		hold_session(&s);
	}
	cop_mem_free(s.place);
	cop_bytes_fini(&s.body);
	cop_broker_batch_fini(&s.taken);
	cop_broker_batch_fini(&s.actions);
	return NULL;
}

cop_err cop_bridge_reader_start(cop_bridge_reader *reader, const cop_bridge_reader_settings *settings)
{
	*reader = (cop_bridge_reader){ .set = *settings };
	atomic_store(&reader->counts.own, !settings->shared);
	cop_log_limiter_init(&reader->limiter, 1.0, 10.0);
	reader->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->wake < 0)
		return COP_EIO;
	(void)pthread_mutex_init(&reader->mutex, NULL);
	(void)pthread_cond_init(&reader->let_go, NULL);
	cop_err err = cop_thread_start(&reader->thread, work, reader);
	if (err != COP_OK)
		(void)close(reader->wake);
	return err;
}

static void awaken(cop_bridge_reader *reader)
{
	const uint64_t one = 1;
	(void)!write(reader->wake, &one, sizeof one);
}

void cop_bridge_reader_own(cop_bridge_reader *reader, bool own)
{
	(void)pthread_mutex_lock(&reader->mutex);
	atomic_store(&reader->counts.own, own);
	awaken(reader);
	while (!own && reader->busy)
		(void)pthread_cond_wait(&reader->let_go, &reader->mutex);
	(void)pthread_mutex_unlock(&reader->mutex);
}

void cop_bridge_reader_end(cop_bridge_reader *reader)
{
	atomic_store(&reader->ends, true);
	awaken(reader);
}

void cop_bridge_reader_join(cop_bridge_reader *reader)
{
	(void)pthread_join(reader->thread, NULL);
	(void)close(reader->wake);
	(void)pthread_mutex_destroy(&reader->mutex);
	(void)pthread_cond_destroy(&reader->let_go);
}

/* A session holds a connection to the daemon and one to the log. `after` is the last position that the daemon answered
 * for, and each batch carries it: a daemon that lost something since refuses, and the next session begins where it is. */
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
#include "wire/wire_keys.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define LOOK        0.5                 /* seconds that a take waits, after which the end is looked for */
#define LEAST_WAIT  0.1                 /* seconds */
#define MOST_WAIT   10.0                /* seconds */
#define BATCH_BYTES ((size_t)256 << 10) /* of events in a batch; below every sensible message_limit */

typedef struct session {
	cop_bridge_reader *reader;
	cop_bridge_daemon *daemon;
	void *broker;
	cop_wire_position after; /* at source NULL: none yet */
	cop_broker_batch taken, actions;
	cop_bytes body;
	size_t *place; /* of each item in body: its place in taken; set.batch of them */
	double wait;   /* until the next attempt */
	cop_diag diag;
} session;

static bool ends(const cop_bridge_reader *reader) { return atomic_load(&reader->ends); }

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

/* Passed over. */
static void bury(session *s, const cop_broker_item *item, const cop_wire_fault *why)
{
	cop_bridge_reader *reader = s->reader;
	atomic_fetch_add(&reader->counts.dead, 1);
	cop_log_limited(reader->set.log, &reader->limiter, cop_clock_monotonic_us(), COP_LOG_WARNING, "event_dead",
	        "stream=\"%s\" partition=%" PRIu32 " offset=%" PRIu64 " minor=%" PRIu64 " code=%s reason=\"%s\"",
	        reader->set.broker.name, reader->set.broker.partition, item->offset, item->minor,
	        cop_wire_code_text(why->code), why->message);
}

/* ---- a batch ---- */

/* Items from *next on, at most `most` of them and BATCH_BYTES; those that are no maps are passed over. */
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
		const cop_broker_item *item = &s->taken.items[*next];
		const cop_wire_position from = position_of(s, item);
		cop_wire_fault why;
		if (*count > 0 && body->length + item->length > BATCH_BYTES)
			break;
		cop_err err = cop_bridge_event_put(body, s->taken.bytes.data + item->at, item->length, &from, &why);
		if (err == COP_ENOMEM)
			return err;
		if (err == COP_OK)
			s->place[(*count)++] = *next;
		else
			bury(s, item, &why);
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
	atomic_fetch_add(&counts->events, 1);
	atomic_fetch_add(&counts->repeats, cop_wire_keys_has(answer, length, "repeated"));
	s->after = position_of(s, item);
	atomic_store(&counts->offset, item->offset);
	atomic_store(&counts->minor, item->minor);
	if (s->reader->set.broker.actions[0] == '\0' || !cop_bridge_event_is_action(answer, length))
		return COP_OK;
	cop_bytes action;
	cop_bytes_init(&action);
	cop_err err = cop_bridge_event_action(&action, answer, length, s->reader->set.json);
	if (err == COP_OK)
		err = cop_broker_batch_add(&s->actions, action.data, action.length, item->offset, item->minor);
	cop_bytes_fini(&action);
	return err;
}

/* *next: the first event that has to come again, if one could not be taken now. */
static cop_err take_answers(session *s, cop_wire_items *answers, size_t *next, bool *again)
{
	const void *answer;
	size_t length;
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && cop_wire_items_next(answers, &answer, &length); i++) {
		const cop_broker_item *item = &s->taken.items[s->place[i]];
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
			bury(s, item, &why);
	}
	return err;
}

/* What has an answer is passed on, and the hint follows. */
static cop_err send_actions(session *s, size_t next)
{
	cop_bridge_reader *reader = s->reader;
	if (next == 0 || s->after.source == NULL)
		return COP_OK;
	const cop_wire_position upto = position_of(s, &s->taken.items[next - 1]);
	cop_err err = reader->set.class->send(s->broker, &s->actions, &upto, &s->diag);
	if (err == COP_OK)
		atomic_fetch_add(&reader->counts.actions, s->actions.count);
	return err;
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
		bury(s, &s->taken.items[s->place[0]], why);
		return COP_OK;
	}
	cop_diag_of(&s->diag, s->reader->set.daemon.endpoint, "%s: %s", cop_wire_code_text(why->code), why->message);
	return COP_EINVAL;
}

static cop_err deliver(session *s, size_t *next, size_t *most)
{
	size_t count, first = *next;
	bool again = false;
	cop_wire_items answers;
	cop_wire_fault why;
	cop_broker_batch_clear(&s->actions);
	cop_err err = build(s, next, *most, &count);
	if (err != COP_OK || count == 0)
		return err;
	err = cop_bridge_daemon_batch(s->daemon, &s->body, count, &answers, &why, &s->diag);
	if (err == COP_EINVAL) {
		err = take_refusal(s, &why, count, first, next, most, &again);
	} else if (err == COP_OK) {
		atomic_fetch_add(&s->reader->counts.batches, 1);
		err = take_answers(s, &answers, next, &again);
		if (err == COP_OK)
			err = send_actions(s, *next);
	}
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
	cop_broker_batch_clear(&s->taken);
	cop_err err = set->class->take(s->broker, set->batch, LOOK, &s->taken, &s->diag);
	while (err == COP_OK && next < s->taken.count && !ends(s->reader))
		err = deliver(s, &next, &most);
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
	        set->broker.actions[0] == '\0' ? COP_BROKER_NEWEST : set->class->hinted(s->broker, &hint);
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
	cop_log_line(set->log, COP_LOG_NOTICE, "stream_reading",
	        "stream=\"%s\" partition=%" PRIu32 " topic=\"%s\" known=%d offset=%" PRIu64 " minor=%" PRIu64,
	        set->broker.name, set->broker.partition, set->broker.topic, known, at->offset, at->minor);
	if (!gap)
		return;
	atomic_fetch_add(&s->reader->counts.gaps, 1);
	cop_log_line(set->log, COP_LOG_ERROR, "stream_gap", "stream=\"%s\" partition=%" PRIu32 " offset=%" PRIu64,
	        set->broker.name, set->broker.partition, at->offset);
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
	if (known || set->broker.actions[0] == '\0')
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
	cop_log_line(set->log, COP_LOG_WARNING, "stream_interrupted",
	        "stream=\"%s\" partition=%" PRIu32 " wait=%.1f reason=\"%s\"", set->broker.name, set->broker.partition,
	        s->wait, s->diag.message[0] != '\0' ? why : cop_err_text(err));
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
		s.diag = (cop_diag){ 0 };
		cop_err err = begin(&s);
		atomic_store(&reader->counts.up, err == COP_OK);
		while (err == COP_OK && !ends(reader))
			err = turn(&s);
		leave(&s);
		atomic_store(&reader->counts.up, false);
		if (err == COP_OK)
			break;
		complain(&s, err);
		doze(&s);
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
	cop_log_limiter_init(&reader->limiter, 1.0, 10.0);
	reader->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->wake < 0)
		return COP_EIO;
	cop_err err = cop_thread_start(&reader->thread, work, reader);
	if (err != COP_OK)
		(void)close(reader->wake);
	return err;
}

void cop_bridge_reader_end(cop_bridge_reader *reader)
{
	const uint64_t one = 1;
	atomic_store(&reader->ends, true);
	(void)!write(reader->wake, &one, sizeof one);
}

void cop_bridge_reader_join(cop_bridge_reader *reader)
{
	(void)pthread_join(reader->thread, NULL);
	(void)close(reader->wake);
}

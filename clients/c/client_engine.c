/* One mutex guards all; the thread holds it but while it waits. Calls of a verb and model are a lane: a queue, and the
 * messages that are under way. A message has a number, its seq, under which its answer is known; a late second answer
 * finds none. All calls stand in one list by their beginning, which is also the order of their ends, since all have the
 * same time.
 *
 * A call whose time is over leaves its message, which then ignores that item of the answer. */
#include "clients/c/client_engine.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "clients/c/client.h"
#include "clients/c/client_lane.h"
#include "clients/c/client_socket.h"
#include "wire/wire_items.h"
#include "wire/wire_reply.h"

#define LONGEST_WAIT 16.0 /* times `retry` */
#define STALLED      0.02 /* seconds until a send that found no connection is tried again */
#define ENDPOINTS    16
#define LARGE        ((size_t)1 << 20) /* bytes: a daemon's limit unless configured; on far more it ends the connection */
#define MOST_LOSSES  3                 /* of the connection under a large message, until that is taken for the reason */
#define MOVE_PAUSE   0.1               /* seconds between moves to another endpoint */
/* Seconds until a connection that cannot be made is given up: at first, and at most. */
#define FIRST_PATIENCE   0.5
#define LONGEST_PATIENCE 4.0

struct cop_client_engine {
	pthread_mutex_t lock;
	pthread_t thread;
	bool started, closing;
	void *context, *socket, *watch;
	char *texts; /* of the endpoints, with ends in place of commas */
	const char *endpoint[ENDPOINTS];
	size_t endpoints, place; /* place: of the one it is connected to */
	double moved;
	bool stuck; /* nothing could be sent: there is no connection */
	double stuck_since, patience;
	int wake; /* eventfd */
	cop_client_engine_settings set;
	cop_client_lane *lanes;
	cop_client_call *oldest, *youngest;
	uint64_t seq;
	cop_client_engine_counts counts;
};

/* ---- calls ---- */

static void free_call(cop_client_call *call)
{
	cop_bytes_fini(&call->body);
	cop_bytes_fini(&call->answer);
	(void)pthread_cond_destroy(&call->ready);
	cop_mem_free(call);
}

static void finish(cop_client_engine *e, cop_client_call *call, cop_err err)
{
	*(call->older == NULL ? &e->oldest : &call->older->younger) = call->younger;
	*(call->younger == NULL ? &e->youngest : &call->younger->older) = call->older;
	call->err = err;
	call->done = true;
	(void)pthread_cond_signal(&call->ready);
}

static void finish_with(cop_client_engine *e, cop_client_call *call, bool ok, const void *body, size_t length)
{
	call->ok = ok;
	cop_bytes_put(&call->answer, body, length);
	finish(e, call, call->answer.err);
}

static void wake(const cop_client_engine *e)
{
	uint64_t one = 1;
	while (write(e->wake, &one, sizeof one) < 0 && errno == EINTR)
		;
}

cop_err cop_client_engine_begin(cop_client_engine *e, cop_client_asked *asked, cop_client_call **out)
{
	*out = NULL;
	cop_client_call *call = asked->body->err != COP_OK ? NULL : cop_mem_alloc(1, sizeof *call);
	if (call == NULL)
		return COP_ENOMEM;
	(void)pthread_cond_init(&call->ready, NULL);
	cop_bytes_init(&call->answer);
	call->body = *asked->body;
	cop_bytes_init(asked->body);
	call->deadline = cop_client_socket_now() + e->set.timeout;
	(void)pthread_mutex_lock(&e->lock);
	cop_client_lane *l = cop_client_lane_find(&e->lanes, asked, e->set.batch);
	bool idle = l != NULL && l->first == NULL;
	if (l != NULL) {
		cop_client_lane_put(l, call, false);
		call->older = e->youngest;
		*(e->youngest == NULL ? &e->oldest : &e->youngest->younger) = call;
		e->youngest = call;
	}
	(void)pthread_mutex_unlock(&e->lock);
	if (l == NULL) {
		free_call(call);
		return COP_ENOMEM;
	}
	if (idle) /* else the thread knows that some wait */
		wake(e);
	*out = call;
	return COP_OK;
}

cop_err cop_client_engine_wait(cop_client_engine *e, cop_client_call *call, cop_client_answer *out)
{
	(void)pthread_mutex_lock(&e->lock);
	while (!call->done)
		(void)pthread_cond_wait(&call->ready, &e->lock);
	(void)pthread_mutex_unlock(&e->lock);
	cop_err err = call->err;
	*out = (cop_client_answer){ .ok = call->ok, .body = call->answer };
	cop_bytes_init(&call->answer);
	free_call(call);
	if (err != COP_OK)
		cop_bytes_fini(&out->body);
	return err;
}

void cop_client_engine_look(cop_client_engine *e, cop_client_engine_counts *out)
{
	(void)pthread_mutex_lock(&e->lock);
	*out = e->counts;
	(void)pthread_mutex_unlock(&e->lock);
}

/* ---- the endpoints ---- */

static cop_err divide(cop_client_engine *e, cop_diag *diag)
{
	char *rest = e->texts = cop_mem_strdup(e->set.endpoint);
	for (char *one; (one = strsep(&rest, ",")) != NULL;) {
		if (e->endpoints == ENDPOINTS) {
			cop_diag_of(diag, e->set.endpoint, "expected at most %d endpoints", ENDPOINTS);
			return COP_EINVAL;
		}
		e->endpoint[e->endpoints++] = one;
	}
	if (e->texts != NULL)
		return COP_OK;
	cop_diag_of(diag, e->set.endpoint, "%s", cop_err_text(COP_ENOMEM));
	return COP_ENOMEM;
}

static void hang_up(cop_client_engine *e)
{
	int linger = 0;
	if (e->socket == NULL)
		return;
	(void)zmq_setsockopt(e->socket, ZMQ_LINGER, &linger, sizeof linger);
	(void)zmq_close(e->socket);
	if (e->watch != NULL)
		(void)zmq_close(e->watch);
	e->socket = e->watch = NULL;
}

/* To the next endpoint, or anew to the only one: what is under way is sent there. */
static void connect_next(cop_client_engine *e, double now)
{
	void *socket = NULL;
	cop_diag why;
	e->moved = now;
	e->place = (e->place + 1) % e->endpoints;
	if (cop_client_socket(e->context, ZMQ_DEALER, e->endpoint[e->place], &e->set.keys, &socket, &why) != COP_OK)
		return;
	hang_up(e);
	e->socket = socket;
	e->watch = cop_client_socket_watch(e->context, socket);
	for (cop_client_lane *l = e->lanes; l != NULL; l = l->next)
		for (cop_client_batch *m = l->messages; m != NULL; m = m->next)
			m->again = m->sent && e->set.retry < 0.0 ? m->again : now;
}

/* Where there are several endpoints. */
static void move_on(cop_client_engine *e, double now)
{
	if (e->endpoints > 1 && now >= e->moved + MOVE_PAUSE)
		connect_next(e, now);
}

/* Where no connection could be made for some time: that one is down, or has refused the key, after which ZeroMQ does
 * not try again. The next one gets more time, so that slow links come to be connected, too. */
static void give_up_stuck(cop_client_engine *e, double now)
{
	if (now < e->stuck_since + e->patience)
		return;
	e->patience = fmin(2.0 * e->patience, LONGEST_PATIENCE);
	e->stuck_since = now;
	connect_next(e, now);
}

/* Tries once; *next: when the next thing is to be done at the latest. */
static void send_message(cop_client_engine *e, const cop_client_lane *l, cop_client_batch *m, double now, double *next)
{
	if (m->again <= now) {
		if (zmq_send(e->socket, l->verb, strlen(l->verb), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
			e->stuck = true;
			*next = fmin(*next, now + STALLED);
			return;
		}
		e->patience = FIRST_PATIENCE;
		(void)zmq_send(e->socket, l->model, strlen(l->model), ZMQ_SNDMORE);
		(void)zmq_send(e->socket, m->body.data, m->body.length, 0);
		e->counts.messages++;
		e->counts.calls += m->left;
		e->counts.again += m->sent;
		m->sent = true;
		m->again = e->set.retry < 0.0 ? (double)INFINITY : now + m->pause;
		if (e->endpoints < 2)
			m->pause = fmin(2.0 * m->pause, LONGEST_WAIT * e->set.retry);
	}
	*next = fmin(*next, m->again);
}

/* Nothing was taken in: another one takes it. */
static bool goes_elsewhere(const cop_client_engine *e, cop_wire_code code)
{
	return e->endpoints > 1 && code == COP_WIRE_NOT_LEADER;
}

static bool waits_out(const cop_client_engine *e, cop_wire_code code)
{
	if (goes_elsewhere(e, code))
		return true;
	return e->set.retry >= 0.0 && (code == COP_WIRE_BUSY || code == COP_WIRE_NOT_DURABLE);
}

static cop_wire_code code_of(const void *body, size_t length)
{
	cop_wire_fault fault;
	cop_event_id id;
	cop_wire_seq seq;
	cop_err err = cop_wire_reply_error_decode(body, length, &fault, &id, &seq, NULL);
	return err == COP_OK ? fault.code : COP_WIRE_INTERNAL;
}

/* The lane rests, and goes on with the calls that were refused for the moment. */
static void rest(const cop_client_engine *e, cop_client_lane *l, double now)
{
	l->pause = l->pause == 0.0 ? e->set.retry : fmin(2.0 * l->pause, LONGEST_WAIT * e->set.retry);
	l->not_before = now + l->pause;
}

/* An error for all of the message. */
static void take_error(
        cop_client_engine *e, cop_client_lane *l, cop_client_batch *m, const void *body, size_t length, double now)
{
	cop_wire_code code = code_of(body, length);
	bool split = code == COP_WIRE_TOO_LARGE && m->count > 1, again = split || waits_out(e, code);
	if (split)
		l->batch = m->count / 2;
	else if (goes_elsewhere(e, code))
		l->not_before = now + MOVE_PAUSE;
	else if (again)
		rest(e, l, now);
	for (size_t i = m->count; i > 0; i--) {
		cop_client_call *call = m->calls[i - 1];
		if (call != NULL && again)
			cop_client_lane_put(l, call, true);
		else if (call != NULL)
			finish_with(e, call, false, body, length);
	}
}

static void take_items(cop_client_engine *e, cop_client_lane *l, const cop_client_batch *m, const void *body,
        size_t length, double now)
{
	cop_wire_items items;
	cop_wire_seq seq;
	const void *item = NULL;
	size_t size = 0, refused = 0;
	bool good = cop_wire_items_batch(&items, body, length, &seq, NULL) == COP_OK && items.count == m->count;
	for (size_t i = 0; i < m->count; i++) {
		cop_client_call *call = m->calls[i];
		if (good)
			(void)cop_wire_items_next(&items, &item, &size);
		bool error = good && cop_wire_reply_is_error(item, size);
		if (call == NULL)
			continue;
		if (!good) {
			finish(e, call, COP_EFORMAT);
		} else if (error && waits_out(e, code_of(item, size))) {
			cop_client_lane_put(l, call, false);
			refused++;
		} else {
			finish_with(e, call, !error, item, size);
		}
	}
	if (refused > 0)
		rest(e, l, now);
	else
		l->pause = 0.0;
}

/* The message with this number, or, where the daemon did not read it as the body was too long, the longest one. NULL:
 * there is none; else *of is its lane. */
static cop_client_batch *find_message(const cop_client_engine *e, const uint64_t *seq, cop_client_lane **of)
{
	cop_client_batch *found = NULL;
	for (cop_client_lane *l = e->lanes; l != NULL; l = l->next)
		for (cop_client_batch *m = l->messages; m != NULL; m = m->next)
			if (seq != NULL ? m->seq == *seq : found == NULL || m->body.length > found->body.length) {
				found = m;
				*of = l;
			}
	return found;
}

static void take_reply(cop_client_engine *e, cop_client_message *frames, double now)
{
	uint64_t seq;
	cop_client_lane *l = NULL;
	if (frames->count != 2)
		return;
	const cop_client_reply reply = {
		.ok = cop_client_socket_frame_is(&frames->frame[0], "ok"),
		.body = zmq_msg_data(&frames->frame[1]),
		.length = zmq_msg_size(&frames->frame[1]),
	};
	const bool numbered = cop_client_reply_seq(&reply, &seq);
	const cop_wire_code code = reply.ok ? COP_WIRE_INTERNAL : code_of(reply.body, reply.length);
	cop_client_batch *m =
	        numbered || code == COP_WIRE_TOO_LARGE ? find_message(e, numbered ? &seq : NULL, &l) : NULL;
	if (m == NULL)
		return;
	if (!reply.ok)
		take_error(e, l, m, reply.body, reply.length, now);
	else if (l->batched)
		take_items(e, l, m, reply.body, reply.length, now);
	else if (m->calls[0] != NULL)
		finish_with(e, m->calls[0], true, reply.body, reply.length);
	cop_client_lane_drop(l, m);
	if (!reply.ok && goes_elsewhere(e, code))
		move_on(e, now); /* the reply is a message's, which is held */
}

/* ---- the thread ---- */

static void end_old(cop_client_engine *e, double now)
{
	while (e->oldest != NULL && (e->oldest->deadline <= now || e->closing)) {
		cop_client_call *call = e->oldest;
		cop_client_lane_leave(e->lanes, call);
		finish(e, call, COP_EEND);
	}
}

/* The daemon ended the connection whenever this was sent: it is too long for it. */
static void refuse_large(cop_client_engine *e, cop_client_lane *l, cop_client_batch *m, double now)
{
	const cop_event_id id = { 0 };
	const cop_wire_seq seq = { 0 };
	char text[96];
	cop_bytes body;
	cop_bytes_init(&body);
	(void)snprintf(
	        text, sizeof text, "the connection ended whenever a message of %zu bytes was sent", m->body.length);
	cop_wire_reply_error_put(&body, COP_WIRE_TOO_LARGE, text, &id, &seq);
	if (body.err != COP_OK) {
		m->losses--; /* memory is short: it is tried once more */
	} else {
		take_error(e, l, m, body.data, body.length, now);
		cop_client_lane_drop(l, m);
	}
	cop_bytes_fini(&body);
}

/* The connection ended: what was under way on it is due. What is due already was not sent since it ended last. */
static void lose(cop_client_engine *e, double now)
{
	for (cop_client_lane *l = e->lanes; l != NULL; l = l->next)
		for (cop_client_batch *m = l->messages, *next; m != NULL; m = next) {
			next = m->next;
			if (!m->sent || m->again <= now || e->set.retry < 0.0)
				continue;
			m->again = now;
			m->losses += m->body.length > LARGE;
			if (m->losses == MOST_LOSSES)
				refuse_large(e, l, m, now);
		}
}

/* Whether a message that was sent has had no answer in its time. */
static bool is_unanswered(const cop_client_engine *e, double now)
{
	for (const cop_client_lane *l = e->lanes; l != NULL; l = l->next)
		for (const cop_client_batch *m = l->messages; m != NULL; m = m->next)
			if (m->sent && m->again <= now)
				return true;
	return false;
}

/* When something is to be done again, if nothing comes before. */
static double send_all(cop_client_engine *e, double now)
{
	double next = e->oldest == NULL ? (double)INFINITY : e->oldest->deadline;
	e->stuck = false;
	for (cop_client_lane *l = e->lanes; l != NULL; l = l->next) {
		bool made = true;
		while (l->first != NULL && l->under_way < e->set.messages && l->not_before <= now && made) {
			made = cop_client_lane_make(l, e->seq + 1, now, e->set.retry);
			e->seq += made;
		}
		if (!made)
			next = fmin(next, now + STALLED);
		if (l->first != NULL && l->not_before > now)
			next = fmin(next, l->not_before);
		for (cop_client_batch *m = l->messages; m != NULL; m = m->next)
			send_message(e, l, m, now, &next);
	}
	e->stuck_since = e->stuck ? fmin(e->stuck_since, now) : (double)INFINITY;
	return next;
}

static bool receive_all(cop_client_engine *e)
{
	cop_client_message frames;
	size_t count = 0;
	for (; cop_client_socket_take(e->socket, &frames) == COP_OK; count++) {
		take_reply(e, &frames, cop_client_socket_now());
		cop_client_socket_release(&frames);
	}
	return count > 0;
}

static void wait_for_work(cop_client_engine *e, double next)
{
	zmq_pollitem_t items[] = { { .socket = e->socket, .events = ZMQ_POLLIN },
		{ .fd = e->wake, .events = ZMQ_POLLIN }, { .socket = e->watch, .events = ZMQ_POLLIN } };
	double left = fmin(next - cop_client_socket_now(), 60.0);
	(void)zmq_poll(items, e->watch == NULL ? 2 : 3, left > 0.0 ? lround(ceil(1000.0 * left)) : 0);
	uint64_t count;
	if (items[1].revents != 0)
		(void)!read(e->wake, &count, sizeof count);
}

static void *run(void *engine)
{
	cop_client_engine *e = engine;
	(void)pthread_mutex_lock(&e->lock);
	while (!e->closing) {
		double now = cop_client_socket_now();
		end_old(e, now);
		if (cop_client_socket_ended(e->watch))
			lose(e, now);
		if (is_unanswered(e, now))
			move_on(e, now);
		give_up_stuck(e, now);
		double next = send_all(e, now);
		if (receive_all(e))
			continue;
		(void)pthread_mutex_unlock(&e->lock);
		wait_for_work(e, next);
		(void)pthread_mutex_lock(&e->lock);
	}
	end_old(e, (double)INFINITY);
	(void)pthread_mutex_unlock(&e->lock);
	return NULL;
}

cop_err cop_client_engine_open(const cop_client_engine_settings *settings, cop_client_engine **out, cop_diag *diag)
{
	*out = NULL;
	cop_client_engine *e = cop_mem_alloc(1, sizeof *e);
	if (e == NULL) {
		cop_diag_of(diag, settings->endpoint, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	e->set = *settings;
	e->stuck_since = (double)INFINITY;
	e->patience = FIRST_PATIENCE;
	(void)pthread_mutex_init(&e->lock, NULL);
	e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->context = zmq_ctx_new();
	cop_err err = divide(e, diag);
	if (err == COP_OK)
		err = cop_client_socket(e->context, ZMQ_DEALER, e->endpoint[0], &settings->keys, &e->socket, diag);
	if (err == COP_OK)
		e->watch = cop_client_socket_watch(e->context, e->socket);
	if (err == COP_OK && (e->wake < 0 || cop_thread_start(&e->thread, run, e) != COP_OK)) {
		cop_diag_of(diag, settings->endpoint, "no thread or descriptor");
		err = COP_ENOMEM;
	}
	e->started = err == COP_OK;
	if (err != COP_OK) {
		cop_client_engine_close(e);
		return err;
	}
	*out = e;
	return COP_OK;
}

void cop_client_engine_close(cop_client_engine *e)
{
	if (e == NULL)
		return;
	if (e->started) {
		(void)pthread_mutex_lock(&e->lock);
		e->closing = true;
		(void)pthread_mutex_unlock(&e->lock);
		wake(e);
		(void)pthread_join(e->thread, NULL);
	}
	cop_client_lanes_free(e->lanes);
	hang_up(e);
	if (e->context != NULL)
		(void)zmq_ctx_term(e->context);
	if (e->wake >= 0)
		(void)close(e->wake);
	(void)pthread_mutex_destroy(&e->lock);
	cop_mem_free(e->texts);
	cop_mem_free(e);
}

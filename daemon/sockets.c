#include "daemon/sockets.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "data/hash.h"

#define HIGH_WATER   65536 /* messages queued for one peer */
#define REQUESTS     1000  /* the same of requests that came; beyond, their sender's connection waits */
#define LARGE        1024  /* bytes of a reply from which on it is counted; HIGH_WATER smaller ones are no harm */
#define HEARTBEAT_MS 10000 /* a peer that says nothing for three of them is gone */
#define LINGER_MS    1000

static bool set_int(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static void *make(void *context, int type)
{
	void *socket = zmq_socket(context, type);
	int64_t largest = (int64_t)COP_CONFIG_WIRE_LIMIT;
	if (socket == NULL)
		return NULL;
	bool ok = zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest) == 0 &&
	          set_int(socket, ZMQ_SNDHWM, HIGH_WATER) &&
	          set_int(socket, ZMQ_RCVHWM, type == ZMQ_ROUTER ? REQUESTS : HIGH_WATER) &&
	          set_int(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) &&
	          set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, 3 * HEARTBEAT_MS) && set_int(socket, ZMQ_LINGER, LINGER_MS);
	if (ok && type == ZMQ_ROUTER)
		ok = set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
	if (ok && type == ZMQ_XPUB)
		ok = set_int(socket, ZMQ_XPUB_NODROP, 1);
	if (!ok) {
		(void)zmq_close(socket);
		return NULL;
	}
	return socket;
}

static cop_err attach(void *socket, const cop_config_list *list, bool bind, const char *option, cop_diag *diag)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *endpoint = list->items[i];
		if ((bind ? zmq_bind(socket, endpoint) : zmq_connect(socket, endpoint)) == 0)
			continue;
		cop_diag_set(diag, "", 0, 0, "sockets: %s: cannot %s %s: %s", option, bind ? "bind" : "connect",
		        endpoint, zmq_strerror(errno));
		return COP_EIO;
	}
	return COP_OK;
}

static cop_err open_one(cop_sockets *sockets, void **out, int type, const cop_config_list *bind,
        const cop_config_list *connect, const char *option, const char *topics, cop_diag *diag)
{
	if (bind->count == 0 && (connect == NULL || connect->count == 0))
		return COP_OK;
	*out = make(sockets->context, type);
	if (*out == NULL || (topics != NULL && zmq_setsockopt(*out, ZMQ_SUBSCRIBE, topics, strlen(topics)) != 0)) {
		cop_diag_set(diag, "", 0, 0, "sockets: %s: %s", option, zmq_strerror(errno));
		return COP_ENOMEM;
	}
	cop_err err = attach(*out, bind, true, option, diag);
	return err != COP_OK || connect == NULL ? err : attach(*out, connect, false, option, diag);
}

static bool collect_fds(cop_sockets *s)
{
	void *const all[COP_SOCKETS_MOST] = { s->requests, s->contexts, s->feedback, s->pull, s->actions };
	for (size_t i = 0; i < COP_SOCKETS_MOST; i++) {
		size_t size = sizeof s->fd[0];
		if (all[i] != NULL && zmq_getsockopt(all[i], ZMQ_FD, &s->fd[s->fds++], &size) != 0)
			return false;
	}
	return true;
}

cop_err cop_sockets_open(cop_sockets *s, const cop_config *c, cop_diag *diag)
{
	*s = (cop_sockets){ .context = zmq_ctx_new() };
	cop_subscriptions_init(&s->heard, c);
	if (s->context == NULL) {
		cop_diag_set(diag, "", 0, 0, "sockets: %s", zmq_strerror(errno));
		return COP_ENOMEM;
	}
	s->unread = cop_mem_alloc(COP_SOCKETS_BUCKETS, sizeof *s->unread);
	if (s->unread == NULL) {
		cop_diag_set(diag, "", 0, 0, "sockets: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	cop_err err = open_one(s, &s->requests, ZMQ_ROUTER, &c->requests, NULL, "requests", NULL, diag);
	if (err == COP_OK)
		err = open_one(s, &s->actions, ZMQ_XPUB, &c->actions_bind, NULL, "actions_bind", NULL, diag);
	if (err == COP_OK)
		err = open_one(
		        s, &s->contexts, ZMQ_SUB, &c->contexts_bind, &c->contexts_connect, "contexts", "ctx.", diag);
	if (err == COP_OK)
		err = open_one(
		        s, &s->feedback, ZMQ_SUB, &c->feedback_bind, &c->feedback_connect, "feedback", "fb.", diag);
	if (err == COP_OK)
		err = open_one(s, &s->pull, ZMQ_PULL, &c->feedback_pull_bind, NULL, "feedback_pull_bind", NULL, diag);
	if (err == COP_OK && !collect_fds(s)) {
		cop_diag_set(diag, "", 0, 0, "sockets: %s", zmq_strerror(errno));
		err = COP_EIO;
	}
	return err;
}

void cop_sockets_close(cop_sockets *sockets)
{
	void *const all[] = { sockets->requests, sockets->contexts, sockets->feedback, sockets->pull,
		sockets->actions };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] != NULL)
			(void)zmq_close(all[i]);
	if (sockets->context != NULL)
		(void)zmq_ctx_term(sockets->context);
	cop_mem_free(sockets->unread); /* what was on its way has been let go */
	cop_subscriptions_fini(&sockets->heard);
	*sockets = (cop_sockets){ 0 };
}

/* Frames of one message arrive together, so only the first receive can find nothing. */
bool cop_sockets_receive(void *socket, cop_sockets_message *message)
{
	message->count = 0;
	message->too_many = false;
	for (bool more = true; more;) {
		zmq_msg_t frame;
		(void)zmq_msg_init(&frame);
		if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) < 0) {
			(void)zmq_msg_close(&frame);
			cop_sockets_release(message);
			return false;
		}
		more = zmq_msg_more(&frame) != 0;
		if (message->count < COP_SOCKETS_FRAMES) {
			message->frame[message->count++] = frame;
		} else {
			message->too_many = true;
			(void)zmq_msg_close(&frame);
		}
	}
	return true;
}

void cop_sockets_release(cop_sockets_message *message)
{
	for (size_t i = 0; i < message->count; i++)
		(void)zmq_msg_close(&message->frame[i]);
	message->count = 0;
}

/* A reply that ZeroMQ holds until it is sent, or its requester gone. */
typedef struct counted {
	zmq_msg_t body;
	size_t length;
	atomic_size_t *bytes;
} counted;

static void let_go(void *data, void *hint)
{
	counted *reply = hint;
	(void)data;
	atomic_fetch_sub(reply->bytes, reply->length);
	(void)zmq_msg_close(&reply->body);
	cop_mem_free(reply);
}

/* Puts a counted message in body's place. False: the requester reads too little, or memory is short. */
static bool count_bytes(cop_sockets *sockets, zmq_msg_t *to, zmq_msg_t *body)
{
	size_t length = zmq_msg_size(body);
	if (length < LARGE)
		return true;
	size_t bucket = cop_hash_murmur3(zmq_msg_data(to), zmq_msg_size(to), 0) % COP_SOCKETS_BUCKETS;
	atomic_size_t *bytes = &sockets->unread[bucket];
	if (atomic_load(bytes) > COP_SOCKETS_UNREAD)
		return false;
	counted *reply = cop_mem_alloc(1, sizeof *reply);
	if (reply == NULL)
		return false;
	*reply = (counted){ .length = length, .bytes = bytes };
	(void)zmq_msg_init(&reply->body);
	(void)zmq_msg_move(&reply->body, body);
	zmq_msg_t outer;
	if (zmq_msg_init_data(&outer, zmq_msg_data(&reply->body), length, let_go, reply) != 0) {
		(void)zmq_msg_close(&reply->body);
		cop_mem_free(reply);
		return false;
	}
	atomic_fetch_add(bytes, length);
	(void)zmq_msg_move(body, &outer);
	(void)zmq_msg_close(&outer);
	return true;
}

void cop_sockets_reply(cop_sockets *sockets, zmq_msg_t *to, bool delimiter, const char *status, zmq_msg_t *body)
{
	sockets->sent = true;
	if (!count_bytes(sockets, to, body)) {
		sockets->replies_dropped++;
		return;
	}
	/* ROUTER_MANDATORY: the identity's frame fails when nobody could get the message; later ones do not. */
	if (zmq_msg_send(to, sockets->requests, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
		sockets->replies_dropped++;
		return;
	}
	bool sent = !delimiter || zmq_send(sockets->requests, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
	sent = sent && zmq_send(sockets->requests, status, strlen(status), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
	sent = sent && zmq_msg_send(body, sockets->requests, ZMQ_DONTWAIT) >= 0;
	sockets->replies_dropped += !sent;
}

/* An action on its way. ZeroMQ lets go of it when the last queue that took it is done, on a thread of its own; and at
 * once, on the sending thread and within the send, when no queue took it: which it does not report otherwise. */
typedef struct outgoing {
	zmq_msg_t body;
} outgoing;

static _Thread_local const outgoing *on_its_way; /* what this thread sends; NULL: it came back */

static void let_go_action(void *data, void *hint)
{
	outgoing *action = hint;
	(void)data;
	if (action == on_its_way) {
		on_its_way = NULL;
		return;
	}
	(void)zmq_msg_close(&action->body);
	cop_mem_free(action);
}

static bool send_topic(cop_sockets *sockets, const char *topic)
{
	return zmq_send(sockets->actions, topic, strlen(topic), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
}

/* Whether some queue took the message, which is left empty. */
static bool deliver(cop_sockets *sockets, const char *topic, const outgoing *action, zmq_msg_t *message)
{
	on_its_way = action;
	bool begun = send_topic(sockets, topic);
	bool full = !begun;
	if (full) { /* Some subscriber is. Without NODROP that one misses the message and the others get it. */
		sockets->actions_dropped++;
		(void)set_int(sockets->actions, ZMQ_XPUB_NODROP, 0);
		begun = send_topic(sockets, topic);
	}
	if (!begun || zmq_msg_send(message, sockets->actions, ZMQ_DONTWAIT) < 0)
		(void)zmq_msg_close(message);
	if (full)
		(void)set_int(sockets->actions, ZMQ_XPUB_NODROP, 1);
	bool taken = on_its_way != NULL;
	on_its_way = NULL;
	return taken;
}

bool cop_sockets_publish(cop_sockets *sockets, const char *topic, zmq_msg_t *body)
{
	sockets->sent = true;
	if (sockets->actions == NULL)
		return true;
	outgoing *action = cop_mem_alloc(1, sizeof *action);
	if (action == NULL) {
		sockets->actions_dropped++;
		return false;
	}
	zmq_msg_t message;
	(void)zmq_msg_init(&action->body);
	(void)zmq_msg_move(&action->body, body);
	size_t length = zmq_msg_size(&action->body);
	bool made = zmq_msg_init_data(&message, zmq_msg_data(&action->body), length, let_go_action, action) == 0;
	sockets->actions_dropped += !made;
	if (made && deliver(sockets, topic, action, &message))
		return true;
	(void)zmq_msg_move(body, &action->body);
	(void)zmq_msg_close(&action->body);
	cop_mem_free(action);
	return false;
}

bool cop_sockets_heard(const cop_sockets *sockets, const char *topic)
{
	return cop_subscriptions_cover(&sockets->heard, topic);
}

void cop_sockets_subscriptions(cop_sockets *sockets)
{
	cop_sockets_message message;
	while (sockets->actions != NULL && cop_sockets_receive(sockets->actions, &message)) {
		const uint8_t *data = zmq_msg_data(&message.frame[0]);
		size_t length = zmq_msg_size(&message.frame[0]);
		if (length > 0 && data[0] == 1) {
			sockets->subscribers++;
			cop_subscriptions_add(&sockets->heard, data + 1, length - 1);
		} else if (length > 0 && data[0] == 0 && sockets->subscribers > 0) {
			sockets->subscribers--;
			cop_subscriptions_remove(&sockets->heard, data + 1, length - 1);
		}
		cop_sockets_release(&message);
	}
}

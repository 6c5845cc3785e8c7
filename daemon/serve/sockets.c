/* A table of plans opens the sockets in order; requests and the streams that come in have one ZeroMQ context, actions
 * another. A published message is in `outflow` from the moment it is handed over until ZeroMQ lets go of it, on any
 * thread. The thread-local `on_its_way` tells the one case apart in which no queue took the message: then it is let go
 * of within the send. A subscriber whose queue is full misses the message, is counted, and does not keep it from the
 * others. */
#include "daemon/serve/sockets.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/serve/zmtp.h"

#define HIGH_WATER   65536 /* messages queued for one peer */
#define REQUESTS     1000  /* the same of requests that came; beyond, their sender's connection waits */
#define HEARTBEAT_MS 10000 /* a peer that says nothing for three of them is gone */
#define LINGER_MS    1000
#define ZERO_COPY    10 /* ZMQ_ZERO_COPY_RECV, which zmq.h defines only for drafts */

static bool set_int(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static void *make(void *context, int type)
{
	void *socket = zmq_socket(context, type);
	if (socket == NULL)
		return NULL;
	bool ok = set_int(socket, ZMQ_SNDHWM, HIGH_WATER) &&
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

/* How one of the sockets is opened. */
typedef struct open_plan {
	void **out;
	int type;
	cop_inlet_kind kind;
	const cop_config_list *bind, *connect; /* connect: NULL for none */
	const char *option, *topics;           /* topics: what it subscribes to, or NULL */
} open_plan;

static cop_err fail(cop_diag *diag, cop_err err, const char *what, const char *why)
{
	cop_diag_message(diag, "sockets: %s%s", what, why);
	return err;
}

static cop_err bind_to(cop_sockets *s, const open_plan *plan, void *socket, const char *endpoint, cop_diag *diag)
{
	char bound[256];
	size_t size = sizeof bound;
	cop_err err = cop_ipc_file_clear(endpoint, diag);
	if (err != COP_OK)
		return err;
	if (zmq_bind(socket, endpoint) != 0 || zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size) != 0) {
		cop_diag_message(diag, "sockets: %s: cannot bind %s: %s", plan->option, endpoint, zmq_strerror(errno));
		return COP_EIO;
	}
	cop_ipc_file_note(&s->files[s->file_count++], endpoint);
	return cop_inlet_add(s->inlet, plan->kind, bound) == COP_OK
	               ? COP_OK
	               : fail(diag, COP_ENOMEM, plan->option, ": no memory");
}

static cop_err connect_to(const open_plan *plan, void *socket, const char *endpoint, cop_diag *diag)
{
	if (zmq_connect(socket, endpoint) == 0)
		return COP_OK;
	cop_diag_message(diag, "sockets: %s: cannot connect %s: %s", plan->option, endpoint, zmq_strerror(errno));
	return COP_EIO;
}

static cop_err open_one(cop_sockets *s, const open_plan *plan, cop_diag *diag)
{
	static const cop_config_list none = { 0 };
	const cop_config_list *connect = plan->connect == NULL ? &none : plan->connect;
	if (plan->bind->count == 0 && connect->count == 0)
		return COP_OK;
	void *context = plan->kind == COP_INLET_ACTIONS ? s->actions_context : s->context;
	void *socket = *plan->out = make(context, plan->type);
	if (socket == NULL || (plan->topics != NULL &&
	                              zmq_setsockopt(socket, ZMQ_SUBSCRIBE, plan->topics, strlen(plan->topics)) != 0)) {
		cop_diag_message(diag, "sockets: %s: %s", plan->option, zmq_strerror(errno));
		return COP_ENOMEM;
	}
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && i < plan->bind->count; i++)
		err = bind_to(s, plan, socket, plan->bind->items[i], diag);
	for (size_t i = 0; err == COP_OK && i < connect->count; i++)
		err = connect_to(plan, socket, connect->items[i], diag);
	return err;
}

static cop_err open_api(cop_sockets *s, cop_diag *diag)
{
	s->api = make(s->context, ZMQ_ROUTER);
	if (s->api != NULL && zmq_bind(s->api, COP_SOCKETS_API) == 0)
		return COP_OK;
	return fail(diag, COP_ENOMEM, "api: ", zmq_strerror(errno));
}

static bool collect_fds(cop_sockets *s)
{
	void *const all[COP_SOCKETS_MOST] = { s->requests, s->api, s->contexts, s->feedback, s->pull, s->actions };
	for (size_t i = 0; i < COP_SOCKETS_MOST; i++) {
		size_t size = sizeof s->fd[0];
		if (all[i] != NULL && zmq_getsockopt(all[i], ZMQ_FD, &s->fd[s->fds++], &size) != 0)
			return false;
	}
	return true;
}

/* What the sockets need before there is one. */
static cop_err prepare(cop_sockets *s, const cop_config *c, cop_diag *diag)
{
	size_t files = c->requests.count + c->actions_bind.count + c->contexts_bind.count + c->feedback_bind.count +
	               c->feedback_pull_bind.count;
	*s = (cop_sockets){ .context = zmq_ctx_new(), .actions_context = zmq_ctx_new() };
	cop_subscriptions_init(&s->heard, c);
	if (s->context == NULL || s->actions_context == NULL)
		return fail(diag, COP_ENOMEM, "", zmq_strerror(errno));
	/* Else a message of some bytes keeps the buffer of 18 KiB that it came in. */
	(void)zmq_ctx_set(s->context, ZERO_COPY, 0);
	s->files = cop_mem_alloc(files + 1, sizeof *s->files);
	cop_err err = s->files == NULL ? COP_ENOMEM : cop_inlet_open(c, &s->inlet);
	if (err == COP_OK)
		err = cop_outflow_new((size_t)c->queue_limit / 4, &s->outflow);
	return err == COP_OK ? COP_OK : fail(diag, err, "", cop_err_text(err));
}

cop_err cop_sockets_open(cop_sockets *s, const cop_config *c, cop_diag *diag)
{
	const open_plan plans[] = {
		{ &s->requests, ZMQ_ROUTER, COP_INLET_REQUESTS, &c->requests, NULL, "requests", NULL },
		{ &s->actions, ZMQ_XPUB, COP_INLET_ACTIONS, &c->actions_bind, NULL, "actions_bind", NULL },
		{ &s->contexts, ZMQ_SUB, COP_INLET_CONTEXTS, &c->contexts_bind, &c->contexts_connect, "contexts",
		        "ctx." },
		{ &s->feedback, ZMQ_SUB, COP_INLET_FEEDBACK, &c->feedback_bind, &c->feedback_connect, "feedback",
		        "fb." },
		{ &s->pull, ZMQ_PULL, COP_INLET_PULL, &c->feedback_pull_bind, NULL, "feedback_pull_bind", NULL },
	};
	cop_err err = prepare(s, c, diag);
	for (size_t i = 0; err == COP_OK && i < sizeof plans / sizeof *plans; i++)
		err = open_one(s, &plans[i], diag);
	if (err == COP_OK && c->api_listen.count > 0)
		err = open_api(s, diag);
	if (err == COP_OK && !collect_fds(s))
		err = fail(diag, COP_EIO, "", zmq_strerror(errno));
	return err;
}

void cop_sockets_close(cop_sockets *sockets)
{
	void *const all[] = { sockets->requests, sockets->api, sockets->contexts, sockets->feedback, sockets->pull,
		sockets->actions };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] != NULL)
			(void)zmq_close(all[i]);
	if (sockets->context != NULL)
		(void)zmq_ctx_term(sockets->context);
	if (sockets->actions_context != NULL)
		(void)zmq_ctx_term(sockets->actions_context);
	for (size_t i = 0; i < sockets->file_count; i++)
		cop_ipc_file_remove(&sockets->files[i]);
	cop_mem_free(sockets->files);
	cop_inlet_close(sockets->inlet);
	cop_outflow_free(sockets->outflow); /* what was on its way has been let go */
	cop_subscriptions_fini(&sockets->heard);
	*sockets = (cop_sockets){ 0 };
}

/* Frames of one message arrive together, so only the first receive can find nothing. */
bool cop_sockets_receive(void *socket, cop_sockets_message *message)
{
	message->count = 0;
	message->too_many = false;
	message->cost = 0;
	for (bool more = true; more;) {
		zmq_msg_t frame;
		(void)zmq_msg_init(&frame);
		int length = zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT);
		if (length < 0) {
			(void)zmq_msg_close(&frame);
			cop_sockets_release(message);
			return false;
		}
		more = zmq_msg_more(&frame) != 0;
		message->cost += (uint64_t)length + COP_ZMTP_FRAME_COST;
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

/* False: there is no room for the answer, since requesters do not read. Listeners of this process always do. */
static bool has_room(cop_sockets *sockets, const void *socket, zmq_msg_t *to, zmq_msg_t *body)
{
	if (socket == sockets->api)
		return true;
	if (cop_outflow_answers_press(sockets->outflow))
		cop_inlet_close_slowest(sockets->inlet, COP_INLET_REQUESTS);
	return cop_outflow_answer(sockets->outflow, to, body);
}

void cop_sockets_reply(
        cop_sockets *sockets, void *socket, zmq_msg_t *to, bool delimiter, const char *status, zmq_msg_t *body)
{
	sockets->sent = true;
	if (!has_room(sockets, socket, to, body)) {
		sockets->replies_dropped++;
		return;
	}
	/* ROUTER_MANDATORY: the identity's frame fails when nobody could get the message; later ones do not. */
	if (zmq_msg_send(to, socket, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
		sockets->replies_dropped++;
		return;
	}
	bool sent = !delimiter || zmq_send(socket, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
	sent = sent && zmq_send(socket, status, strlen(status), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
	sent = sent && zmq_msg_send(body, socket, ZMQ_DONTWAIT) >= 0;
	sockets->replies_dropped += !sent;
}

/* An action on its way. ZeroMQ lets go of it when the last queue that took it is done, on a thread of its own; and at
 * once, on the sending thread and within the send, when no queue took it: which it does not report otherwise. */
typedef struct outgoing {
	zmq_msg_t body;
	cop_outflow *outflow;
} outgoing;

static _Thread_local const outgoing *on_its_way; /* what this thread sends; NULL: it came back */

static void free_action(outgoing *action)
{
	(void)zmq_msg_close(&action->body);
	cop_mem_free(action);
}

static void let_go_action(void *data, void *hint)
{
	outgoing *action = hint;
	(void)data;
	if (action == on_its_way) {
		on_its_way = NULL;
		return;
	}
	cop_outflow_remove_action(action->outflow, zmq_msg_size(&action->body));
	free_action(action);
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
	size_t length = zmq_msg_size(body);
	if (cop_outflow_actions_press(sockets->outflow))
		cop_inlet_close_slowest(sockets->inlet, COP_INLET_ACTIONS);
	bool room = cop_outflow_add_action(sockets->outflow, length);
	outgoing *action = room ? cop_mem_alloc(1, sizeof *action) : NULL;
	if (action == NULL) {
		if (room)
			cop_outflow_remove_action(sockets->outflow, length);
		sockets->actions_dropped++;
		return false;
	}
	zmq_msg_t message;
	action->outflow = sockets->outflow;
	(void)zmq_msg_init(&action->body);
	(void)zmq_msg_move(&action->body, body);
	bool made = zmq_msg_init_data(&message, zmq_msg_data(&action->body), length, let_go_action, action) == 0;
	sockets->actions_dropped += !made;
	if (made && deliver(sockets, topic, action, &message))
		return true;
	cop_outflow_remove_action(sockets->outflow, length);
	(void)zmq_msg_move(body, &action->body);
	free_action(action);
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

/* A table of plans opens the sockets in order; requests and the streams that come in have one ZeroMQ context, actions
 * another. A published message is in `outflow` from the moment it is handed over until ZeroMQ lets go of it, on any
 * thread. The thread-local `on_its_way` tells the one case apart in which no queue took the message: then it is let go
 * of within the send. A subscriber whose queue is full misses the message, is counted, and does not keep it from the
 * others.
 *
 * Options of CURVE are those of the next bind or connect: they are set before one that is encrypted, and taken back
 * behind it. With CURVE subscriptions take effect by hand: each is looked at first, and one whose key may not read all
 * models that it covers is left out. ZeroMQ reports the end of left out ones too, so they are counted apart. */
#include "daemon/serve/sockets.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/serve/permit.h"
#include "daemon/serve/zmtp.h"

#define HIGH_WATER   65536 /* messages queued for one peer */
#define REQUESTS     1000  /* the same of requests that came; beyond, their sender's connection waits */
#define HEARTBEAT_MS 10000 /* a peer that says nothing for three of them is gone */
#define LINGER_MS    1000
#define TOPIC        "act."
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

/* The daemon's own keys, and the server's; NULL: this daemon is the server. */
static bool begin_curve(void *socket, const char *secret, const char *server)
{
	char public[COP_CURVE_KEY_ROOM];
	if (zmq_curve_public(public, secret) != 0)
		return false;
	bool ok = zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, COP_CURVE_KEY_ROOM) == 0 &&
	          zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public, COP_CURVE_KEY_ROOM) == 0;
	if (server != NULL)
		return ok && zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, COP_CURVE_KEY_ROOM) == 0;
	return ok && set_int(socket, ZMQ_CURVE_SERVER, 1);
}

/* What is bound or connected to next is in the clear. No domain of authentication is set before, since libzmq cannot
 * take one back, and peers in the clear would be asked for, too. */
static bool end_curve(void *socket) { return set_int(socket, ZMQ_CURVE_SERVER, 0); }

static bool is_encrypted(const cop_sockets *s, const char *endpoint)
{
	return s->zap != NULL && strncmp(endpoint, "tcp://", 6) == 0;
}

/* bound: the endpoint as ZeroMQ has it then. */
static cop_err bind_socket(
        cop_sockets *s, const char *option, void *socket, const char *endpoint, char bound[256], cop_diag *diag)
{
	size_t size = 256;
	cop_err err = cop_ipc_file_clear(endpoint, diag);
	if (err != COP_OK)
		return err;
	bool curve = is_encrypted(s, endpoint);
	if ((curve && !begin_curve(socket, s->config->curve_secret, NULL)) || zmq_bind(socket, endpoint) != 0 ||
	        (curve && !end_curve(socket)) || zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &size) != 0) {
		cop_diag_message(diag, "sockets: %s: cannot bind %s: %s", option, endpoint, zmq_strerror(errno));
		return COP_EIO;
	}
	cop_ipc_file_note(&s->files[s->file_count++], endpoint);
	return COP_OK;
}

static cop_err bind_to(cop_sockets *s, const open_plan *plan, void *socket, const char *endpoint, cop_diag *diag)
{
	char bound[256];
	cop_err err = bind_socket(s, plan->option, socket, endpoint, bound, diag);
	if (err != COP_OK)
		return err;
	cop_ipc_file *file = &s->files[s->file_count - 1];
	if (plan->kind == COP_INLET_ADMIN && (err = cop_ipc_file_guard(file, diag)) != COP_OK)
		return err;
	return cop_inlet_add(s->inlet, plan->kind, is_encrypted(s, endpoint), bound) == COP_OK
	               ? COP_OK
	               : fail(diag, COP_ENOMEM, plan->option, ": no memory");
}

static cop_err connect_socket(cop_sockets *s, const char *option, void *socket, const char *item, cop_diag *diag)
{
	char endpoint[COP_CONFIG_ENDPOINT + 1];
	const char *key = cop_config_peer(item, endpoint);
	if ((key == NULL || begin_curve(socket, s->config->curve_secret, key)) && zmq_connect(socket, endpoint) == 0 &&
	        (key == NULL || end_curve(socket)))
		return COP_OK;
	cop_diag_message(diag, "sockets: %s: cannot connect %s: %s", option, endpoint, zmq_strerror(errno));
	return COP_EIO;
}

static cop_err connect_to(cop_sockets *s, const open_plan *plan, void *socket, const char *item, cop_diag *diag)
{
	char endpoint[COP_CONFIG_ENDPOINT + 1];
	if (cop_config_peer(item, endpoint) != NULL && cop_inlet_add_peer(s->inlet, plan->kind, endpoint) != COP_OK)
		return fail(diag, COP_ENOMEM, plan->option, ": no memory");
	return connect_socket(s, plan->option, socket, item, diag);
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
	if (plan->type == ZMQ_XPUB && s->zap != NULL && !set_int(socket, ZMQ_XPUB_MANUAL, 1))
		return fail(diag, COP_ENOMEM, plan->option, zmq_strerror(errno));
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && i < plan->bind->count; i++)
		err = bind_to(s, plan, socket, plan->bind->items[i], diag);
	for (size_t i = 0; err == COP_OK && i < connect->count; i++)
		err = connect_to(s, plan, socket, connect->items[i], diag);
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
	void *const all[COP_SOCKETS_MOST] = { s->requests, s->admin, s->api, s->contexts, s->feedback, s->pull,
		s->actions };
	for (size_t i = 0; i < COP_SOCKETS_MOST; i++) {
		size_t size = sizeof s->fd[0];
		if (all[i] != NULL && zmq_getsockopt(all[i], ZMQ_FD, &s->fd[s->fds++], &size) != 0)
			return false;
	}
	return true;
}

/* What the sockets need before there is one. */
static cop_err prepare(cop_sockets *s, const cop_config *c, cop_log *log, cop_diag *diag)
{
	size_t files = c->requests.count + c->admin.count + c->actions_bind.count + c->contexts_bind.count +
	               c->feedback_bind.count + c->feedback_pull_bind.count + c->replica_listen.count +
	               c->partition_listen.count;
	*s = (cop_sockets){ .config = c, .log = log, .context = zmq_ctx_new(), .actions_context = zmq_ctx_new() };
	cop_subscriptions_init(&s->heard, c);
	cop_subscriptions_init(&s->refused, c);
	cop_log_limiter_init(&s->complaints, 5.0, 5.0);
	if (s->context == NULL || s->actions_context == NULL)
		return fail(diag, COP_ENOMEM, "", zmq_strerror(errno));
	/* Else a message of some bytes keeps the buffer of 18 KiB that it came in. */
	(void)zmq_ctx_set(s->context, ZERO_COPY, 0);
	s->files = cop_mem_alloc(files + 1, sizeof *s->files);
	cop_err err = s->files == NULL ? COP_ENOMEM : cop_inlet_open(c, &s->inlet);
	if (err == COP_OK)
		err = cop_outflow_new((size_t)c->queue_limit / 4, &s->outflow);
	if (err != COP_OK)
		return fail(diag, err, "", cop_err_text(err));
	void *const contexts[COP_ZAP_CONTEXTS] = { s->context, s->actions_context };
	return c->curve_access == NULL ? COP_OK : cop_zap_open(contexts, c->curve_access, log, &s->zap, diag);
}

cop_err cop_sockets_open(cop_sockets *s, const cop_config *c, cop_log *log, cop_diag *diag)
{
	const open_plan plans[] = {
		{ &s->requests, ZMQ_ROUTER, COP_INLET_REQUESTS, &c->requests, NULL, "requests", NULL },
		{ &s->admin, ZMQ_ROUTER, COP_INLET_ADMIN, &c->admin, NULL, "admin", NULL },
		{ &s->actions, ZMQ_XPUB, COP_INLET_ACTIONS, &c->actions_bind, NULL, "actions_bind", NULL },
		{ &s->contexts, ZMQ_SUB, COP_INLET_CONTEXTS, &c->contexts_bind, &c->contexts_connect, "contexts",
		        "ctx." },
		{ &s->feedback, ZMQ_SUB, COP_INLET_FEEDBACK, &c->feedback_bind, &c->feedback_connect, "feedback",
		        "fb." },
		{ &s->pull, ZMQ_PULL, COP_INLET_PULL, &c->feedback_pull_bind, NULL, "feedback_pull_bind", NULL },
	};
	cop_err err = prepare(s, c, log, diag);
	for (size_t i = 0; err == COP_OK && i < sizeof plans / sizeof *plans; i++)
		err = open_one(s, &plans[i], diag);
	if (err == COP_OK && c->api_listen.count > 0)
		err = open_api(s, diag);
	if (err == COP_OK && !collect_fds(s))
		err = fail(diag, COP_EIO, "", zmq_strerror(errno));
	return err;
}

/* What it says at its end need not arrive. */
static void *make_link(cop_sockets *s, int type, cop_diag *diag)
{
	void *socket = make(s->context, type);
	if (socket == NULL)
		(void)fail(diag, COP_ENOMEM, "replica: ", zmq_strerror(errno));
	else
		(void)set_int(socket, ZMQ_LINGER, 0);
	return socket;
}

cop_err cop_sockets_open_link(cop_sockets *s, int type, const cop_config_list *bind, void **out, cop_diag *diag)
{
	char bound[256];
	void *socket = *out = make_link(s, type, diag);
	cop_err err = socket == NULL ? COP_ENOMEM : COP_OK;
	for (size_t i = 0; err == COP_OK && i < bind->count; i++)
		err = bind_socket(s, "replica", socket, bind->items[i], bound, diag);
	return err;
}

cop_err cop_sockets_connect_link(cop_sockets *s, int type, const char *item, void **out, cop_diag *diag)
{
	void *socket = *out = make_link(s, type, diag);
	return socket == NULL ? COP_ENOMEM : connect_socket(s, "replica", socket, item, diag);
}

void cop_sockets_close(cop_sockets *sockets)
{
	void *const all[] = { sockets->requests, sockets->admin, sockets->api, sockets->contexts, sockets->feedback,
		sockets->pull, sockets->actions };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (all[i] != NULL && sockets->silent)
			(void)set_int(all[i], ZMQ_LINGER, 0);
		if (all[i] != NULL)
			(void)zmq_close(all[i]);
	}
	cop_zap_close(sockets->zap);
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
	cop_subscriptions_fini(&sockets->refused);
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

/* Of its last frame: a requester's identity, which is the first, did not come over the wire. */
int cop_sockets_source(const cop_sockets *sockets, cop_sockets_message *message)
{
	if (!cop_inlet_seals(sockets->inlet) || message->count == 0)
		return -1;
	return zmq_msg_get(&message->frame[message->count - 1], ZMQ_SRCFD);
}

/* False: there is no room for the answer, since requesters do not read. Listeners of this process always do, and
 * administrators are trusted to. */
static bool has_room(cop_sockets *sockets, const void *socket, zmq_msg_t *to, zmq_msg_t *body)
{
	if (socket != sockets->requests)
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

/* Whether the topic of a subscription covers the model's actions. */
static bool covers(const char *topic, size_t length, const char *model)
{
	size_t head = strlen(TOPIC);
	if (length <= head)
		return memcmp(TOPIC, topic, length) == 0;
	return memcmp(TOPIC, topic, head) == 0 && length - head <= strlen(model) &&
	       memcmp(model, topic + head, length - head) == 0;
}

/* Whether the key of the frame's sender may read all models that the topic covers. */
static bool may_hear(cop_sockets *s, zmq_msg_t *frame, const char *topic, size_t length)
{
	cop_wire_fault fault;
	const cop_access_entry *client;
	const char *name = cop_permit_name(frame);
	for (size_t i = 0; i < s->config->model_count; i++) {
		const cop_permit_asked asked = { .right = COP_ACCESS_READ, .model = s->config->models[i].name };
		if (!covers(topic, length, asked.model) ||
		        cop_permit_check(s->config->curve_access, frame, &asked, &client, &fault) == COP_OK)
			continue;
		cop_log_limited(s->log, &s->complaints, cop_clock_monotonic_us(), COP_LOG_EVENT(subscription_refused),
		        "name=%s reason=\"%s\"", name, fault.message);
		return false;
	}
	if (name != NULL)
		cop_inlet_name(s->inlet, zmq_msg_get(frame, ZMQ_SRCFD), name);
	return true;
}

static void subscribe(cop_sockets *s, zmq_msg_t *frame, const char *topic, size_t length)
{
	if (s->zap != NULL && !may_hear(s, frame, topic, length)) {
		s->subscriptions_refused++;
		cop_subscriptions_add(&s->refused, topic, length);
		return;
	}
	if (s->zap != NULL && !cop_subscriptions_matters(&s->heard, topic, length))
		cop_inlet_deaf(s->inlet, zmq_msg_get(frame, ZMQ_SRCFD));
	if (s->zap != NULL)
		(void)zmq_setsockopt(s->actions, ZMQ_SUBSCRIBE, topic, length);
	s->subscribers++;
	cop_subscriptions_add(&s->heard, topic, length);
}

/* Of equal topics the left out ones end first: which connection ends is not told. */
static void unsubscribe(cop_sockets *s, const char *topic, size_t length)
{
	if (s->zap != NULL && cop_subscriptions_has(&s->refused, topic, length)) {
		cop_subscriptions_remove(&s->refused, topic, length);
		return;
	}
	if (s->zap != NULL)
		(void)zmq_setsockopt(s->actions, ZMQ_UNSUBSCRIBE, topic, length);
	s->subscribers -= s->subscribers > 0;
	cop_subscriptions_remove(&s->heard, topic, length);
}

void cop_sockets_subscriptions(cop_sockets *sockets)
{
	cop_sockets_message message;
	while (sockets->actions != NULL && cop_sockets_receive(sockets->actions, &message)) {
		zmq_msg_t *frame = &message.frame[0];
		const char *data = zmq_msg_data(frame);
		size_t length = zmq_msg_size(frame);
		if (length > 0 && data[0] == 1)
			subscribe(sockets, frame, data + 1, length - 1);
		else if (length > 0 && data[0] == 0)
			unsubscribe(sockets, data + 1, length - 1);
		cop_sockets_release(&message);
	}
}

typedef struct exchanged {
	const cop_config *config;
	const cop_access *was, *now;
} exchanged;

/* Whether the name has another key, or may no longer read a model that it could. */
static bool is_lost(const void *context, const char *name)
{
	const exchanged *e = context;
	const cop_access_entry *was = cop_access_named(e->was, name), *now = cop_access_named(e->now, name);
	if (was == NULL || now == NULL || strcmp(was->token, now->token) != 0)
		return true;
	for (size_t i = 0; i < e->config->model_count; i++) {
		const char *model = e->config->models[i].name;
		if (cop_access_allows(was, COP_ACCESS_READ, model) && !cop_access_allows(now, COP_ACCESS_READ, model))
			return true;
	}
	return false;
}

/* Whether the name may not read all models. */
static bool is_barred(const void *context, const char *name)
{
	const cop_sockets *s = context;
	const cop_access_entry *entry = cop_access_named(s->config->curve_access, name);
	for (size_t i = 0; entry != NULL && i < s->config->model_count; i++)
		if (!cop_access_allows(entry, COP_ACCESS_READ, s->config->models[i].name))
			return true;
	return entry == NULL;
}

void cop_sockets_models_changed(cop_sockets *sockets, bool added)
{
	bool keyed = added && sockets->zap != NULL && sockets->config->curve_access != NULL;
	if (sockets->inlet != NULL)
		cop_inlet_set_models(sockets->inlet, sockets->config, added, keyed ? is_barred : NULL, sockets);
}

void cop_sockets_set_clients(cop_sockets *sockets, cop_config *config, cop_access **access)
{
	const exchanged e = { config, config->curve_access, *access };
	if (sockets->zap == NULL || *access == NULL)
		return;
	config->curve_access = *access;
	*access = (cop_access *)(uintptr_t)e.was;
	cop_zap_set_access(sockets->zap, config->curve_access);
	cop_inlet_end_lost(sockets->inlet, is_lost, &e);
}

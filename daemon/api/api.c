/* One thread turns: the HTTP library takes what came, replies of the loop are matched to their requests by number, and
 * their connections go on. Then it waits on the library's descriptors, the link's and an eventfd. The other threads set
 * flags and wake it.
 *
 * A request has a slot; its number is the slot and how often that slot was used, so that a reply that comes after its
 * request was given up is of no request. A verb whose result is not there yet is asked again after a while, by the same
 * slot. */
#include "daemon/api/api.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "daemon/api/api_gate.h"
#include "daemon/api/api_link.h"
#include "daemon/api/api_request.h"
#include "daemon/api/api_respond.h"
#include "daemon/api/api_tls.h"
#include "daemon/common/clock.h"
#include "daemon/common/http_connections.h"
#include "daemon/common/http_listen.h"
#include "daemon/common/reads.h"
#include "wire/wire_code.h"

#define CONNECTIONS      1024u       /* of one listener */
#define CONNECTION_IDLE  75u         /* seconds */
#define CONNECTION_BYTES (32u << 10) /* of memory for one: request line, headers, reply's headers */
#define SLOT_BITS        16
#define LONGEST_WAIT     30.0 /* seconds, for the loop's reply */
#define WAIT_MS          1000
#define AGAIN_MS         20 /* between requests of a verb whose answer is not there yet, */
#define AGAIN_SECONDS    (1e-3 * AGAIN_MS)
#define SWALLOWED        (64u << 20) /* bytes of a body beyond its limit until the connection ends */
#define PRIORITIES       "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define OPEN_BODY        1024u /* bytes of a body that needs no token */
#define LOGIN_RATE       1.0   /* lines of the log a second */
#define LOGIN_BURST      20.0
#define REFUSAL_RATE     5.0 /* the same of refusals */
#define REFUSAL_BURST    5.0
#define HELD_SHARE       8 /* the part of queue_limit that bodies may take */

typedef struct api_slot {
	cop_api_request request;
	struct MHD_Connection *connection; /* NULL: free */
	uint64_t number;
	double asked;   /* monotonic seconds; waits for the loop's reply since then */
	double again;   /* the verb is asked once more from then on; 0: it is not */
	uint64_t taken; /* bytes of the body that came, kept or not */
	bool waiting;
} api_slot;

typedef struct api_listener {
	cop_api *api;
	struct MHD_Daemon *daemon;
	int epoll; /* readable when the daemon has something to do */
	cop_http_connections connections;
} api_listener;

struct cop_api {
	pthread_t thread;
	bool started;
	int wake; /* eventfd */
	atomic_bool stopping, closing;
	cop_api_gate gate;
	cop_api_tls tls;
	cop_log *log;
	cop_log_limiter limiter;  /* of who logs in to the page */
	cop_log_limiter refusals; /* of who is refused */
	cop_api_link link;
	api_listener listeners[COP_CONFIG_LISTENERS];
	size_t listener_count;
	api_slot *slots;
	uint32_t *free_slots; /* a stack */
	size_t slot_count, free_count;
	uint64_t body_limit, held_limit, held; /* bytes */
	size_t again;                          /* slots whose verb is asked once more */
	double looked;                         /* when requests that wait too long were last looked for */
	cop_bytes work;
	cop_api_counts counts;
};

/* ---- slots ---- */

static api_slot *take_slot(cop_api *api, struct MHD_Connection *connection)
{
	if (api->free_count == 0)
		return NULL;
	api_slot *slot = &api->slots[api->free_slots[--api->free_count]];
	slot->connection = connection;
	slot->number += 1u << SLOT_BITS;
	slot->taken = 0;
	slot->waiting = false;
	return slot;
}

static void drop_body(cop_api *api, api_slot *slot)
{
	api->held -= slot->request.body.length;
	cop_bytes_clear(&slot->request.body);
}

static void release_slot(cop_api *api, api_slot *slot)
{
	drop_body(api, slot);
	cop_api_request_reset(&slot->request);
	slot->connection = NULL;
	slot->waiting = false;
	api->again -= slot->again != 0.0;
	slot->again = 0.0;
	api->free_slots[api->free_count++] = (uint32_t)(slot - api->slots);
}

/* NULL: the request is gone, or has its answer. */
static api_slot *find_slot(const cop_api *api, uint64_t number)
{
	size_t at = number & ((1u << SLOT_BITS) - 1);
	if (at >= api->slot_count || api->slots[at].number != number || !api->slots[at].waiting)
		return NULL;
	return &api->slots[at];
}

/* ---- answers ---- */

/* What a token, or none, was refused is counted and logged, as it is of keys. */
static void tell_refusal(cop_api *api, const api_slot *slot)
{
	const struct {
		unsigned status;
		cop_log_event event;
		const char *why;
	} refusals[] = {
		{ MHD_HTTP_UNAUTHORIZED, COP_LOG_EVENT(token_refused), "no token of the file" },
		{ MHD_HTTP_FORBIDDEN, COP_LOG_EVENT(request_forbidden), "its token lacks the right" },
		{ MHD_HTTP_TOO_MANY_REQUESTS, COP_LOG_EVENT(client_limited), "beyond the limits of its line" },
	};
	_Atomic uint64_t *counts[] = { &api->counts.strangers, &api->counts.forbidden, &api->counts.limited };
	const cop_api_request *r = &slot->request;
	char peer[INET6_ADDRSTRLEN], model[COP_CONFIG_NAME_MAX + 8];
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		if (r->status != refusals[i].status)
			continue;
		(void)atomic_fetch_add_explicit(counts[i], 1, memory_order_relaxed);
		cop_api_respond_peer(slot->connection, peer);
		cop_wire_text_clean(model, sizeof model, r->model, strlen(r->model));
		cop_log_limited(api->log, &api->refusals, cop_clock_monotonic_us(), refusals[i].event,
		        "name=%.64s peer=\"%s\" path=\"%s\" model=\"%s\" reason=\"%s\"",
		        r->client[0] == '\0' ? "-" : r->client, peer, r->route == NULL ? "" : r->route->path, model,
		        refusals[i].why);
	}
}

static enum MHD_Result respond(cop_api *api, api_slot *slot)
{
	const cop_api_request *r = &slot->request;
	enum MHD_Result result = cop_api_respond(slot->connection, r);
	(void)atomic_fetch_add_explicit(&api->counts.requests[r->status / 100], 1, memory_order_relaxed);
	if (r->status >= MHD_HTTP_UNAUTHORIZED && !r->crowded)
		tell_refusal(api, slot);
	return result;
}

/* Bytes of the request's body. What strangers may send is a token, so that they take nobody's room. */
static uint64_t most_bytes(const cop_api *api, const cop_api_request *r)
{
	return cop_api_route_is_open(r->route) ? OPEN_BODY : api->body_limit;
}

static void refuse_large(const cop_api *api, cop_api_request *r)
{
	cop_api_request_refuse(r, 413, "too_large", "the body is too long; expected at most %llu bytes",
	        (unsigned long long)most_bytes(api, r));
}

static uint64_t announced_length(struct MHD_Connection *connection)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* Of a body that is refused, so many more are read. */
static uint64_t swallowed_bytes(const cop_api_request *r) { return cop_api_route_is_open(r->route) ? 0 : SWALLOWED; }

/* The first of a request's calls, with its headers alone. */
static enum MHD_Result begin(
        cop_api *api, struct MHD_Connection *connection, const char *path, const char *method, void **of_request)
{
	api_slot *slot = take_slot(api, connection);
	if (slot == NULL)
		return MHD_NO;
	*of_request = slot;
	cop_api_gate_check(&api->gate, &slot->request, connection, path, method);
	if (slot->request.status == 0 && atomic_load(&api->stopping))
		cop_api_request_refuse(&slot->request, 503, "busy", "the daemon is stopping");
	cop_api_request *r = &slot->request;
	bool ends = r->unframed || r->status == MHD_HTTP_UNAUTHORIZED || r->status == MHD_HTTP_FORBIDDEN;
	uint64_t announced = announced_length(connection), most = most_bytes(api, r);
	if (announced > most && r->status == 0)
		refuse_large(api, r);
	if (!ends && announced <= most + swallowed_bytes(r))
		return MHD_YES;    /* a refused body is read, for its sender may read no answer before all is sent */
	return respond(api, slot); /* it is not read, and its connection ends */
}

/* A piece of the body. False: more than anybody sends by mistake, and the connection ends. */
static bool take_piece(cop_api *api, api_slot *slot, const char *piece, size_t length)
{
	cop_api_request *r = &slot->request;
	const uint64_t most = most_bytes(api, r);
	slot->taken += length;
	if (r->status == 0 && slot->taken > most) {
		refuse_large(api, r);
		drop_body(api, slot);
	} else if (r->status == 0 && api->held + length > api->held_limit) {
		cop_api_request_refuse(r, 503, "busy", "too many bytes are under way; expected to be sent again later");
		drop_body(api, slot);
	} else if (r->status == 0) {
		cop_bytes_put(&r->body, piece, length);
		if (r->body.err == COP_OK)
			api->held += length;
		else
			cop_api_request_refuse(r, 500, "internal", "no memory");
	}
	return slot->taken <= most + swallowed_bytes(r);
}

static void set_busy(api_slot *slot, bool busy)
{
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(slot->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	cop_http_connection *connection = info == NULL ? NULL : info->socket_context;
	if (connection != NULL)
		connection->busy = busy;
}

/* Without a verb. */
static void answer_here(cop_api *api, cop_api_request *r)
{
	if (r->route->shown == COP_API_VERSION || r->route->shown == COP_API_PAGE)
		cop_api_request_answer(r);
	else
		cop_api_gate_answer(&api->gate, r);
	if (r->route->shown == COP_API_LOGIN)
		cop_log_limited(api->log, &api->limiter, cop_clock_monotonic_us(),
		        r->status < 400 ? COP_LOG_EVENT(page_login) : COP_LOG_EVENT_WORSE(page_login),
		        "name=\"%s\" done=%s", r->client, r->status < 400 ? "yes" : "no");
}

/* The request is whole: its verb goes to the loop, or it has its answer. */
static void ask(cop_api *api, api_slot *slot)
{
	cop_api_request *r = &slot->request;
	if (r->route->verb[0] == '\0') {
		answer_here(api, r);
		return;
	}
	const size_t length = r->body.length;
	cop_bytes_clear(&api->work);
	api->held -= r->body.length; /* what is put for conversion is not counted */
	bool put = cop_api_request_put(r, slot->number, &api->work);
	cop_bytes_clear(&r->body);
	if (!put)
		return;
	cop_api_gate_charge(&api->gate, r, &api->work, length);
	if (cop_api_link_send(&api->link, &r->owner, r->route->verb, r->model, &api->work) != COP_OK) {
		cop_api_request_refuse(
		        r, 503, "busy", "too many requests are under way; expected to be sent again later");
		return;
	}
	slot->waiting = true;
	slot->asked = cop_clock_monotonic();
	set_busy(slot, true);
	MHD_suspend_connection(slot->connection);
}

/* MHD's callback: first with the headers alone, then for each piece of a body, then when the request is whole, and,
 * if its connection was suspended, once more when it goes on. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
        const char *version, const char *upload, size_t *upload_size, void **of_request)
{
	cop_api *api = ((api_listener *)context)->api;
	api_slot *slot = *of_request;
	(void)version;
	if (slot == NULL)
		return begin(api, connection, url, method, of_request);
	if (*upload_size != 0) {
		bool go_on = take_piece(api, slot, upload, *upload_size);
		*upload_size = 0;
		return go_on ? MHD_YES : MHD_NO;
	}
	if (slot->request.status == 0)
		ask(api, slot);
	return slot->request.status == 0 ? MHD_YES : respond(api, slot);
}

static size_t decode(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context, (void)connection;
	return cop_api_route_decode(text);
}

static void completed(
        void *context, struct MHD_Connection *connection, void **of_request, enum MHD_RequestTerminationCode why)
{
	(void)connection, (void)why;
	if (*of_request != NULL)
		release_slot(((api_listener *)context)->api, *of_request);
	*of_request = NULL;
}

static void notice(
        void *context, struct MHD_Connection *connection, void **of_socket, enum MHD_ConnectionNotificationCode what)
{
	api_listener *listener = context;
	cop_api_counts *counts = &listener->api->counts;
	uint64_t ended = listener->connections.ended;
	*of_socket = cop_http_connections_notice(&listener->connections, connection, what);
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		(void)atomic_fetch_add(&counts->connections, 1);
	else
		(void)atomic_fetch_sub(&counts->connections, 1);
	(void)atomic_fetch_add(&counts->ended, listener->connections.ended - ended);
}

/* ---- the thread ---- */

static void resume(api_slot *slot)
{
	slot->waiting = false;
	set_busy(slot, false);
	MHD_resume_connection(slot->connection);
}

/* How many connections go on. */
static size_t take_replies(cop_api *api)
{
	size_t count = 0;
	bool ok;
	for (zmq_msg_t body; cop_api_link_receive(&api->link, &ok, &body);) {
		uint64_t number;
		const void *data = zmq_msg_data(&body);
		size_t length = zmq_msg_size(&body);
		api_slot *slot = cop_api_request_number(data, length, &number) ? find_slot(api, number) : NULL;
		if (slot != NULL)
			cop_api_request_take(&slot->request, ok, data, length);
		if (slot != NULL && slot->request.again) {
			slot->asked = cop_clock_monotonic(); /* the loop has replied */
			slot->again = slot->asked + AGAIN_SECONDS;
			api->again++;
		} else if (slot != NULL) {
			resume(slot);
			count++;
		}
		(void)zmq_msg_close(&body);
	}
	return count;
}

/* Those that wait longer than `seconds` are answered 503. */
static void give_up(cop_api *api, double seconds, const char *why)
{
	double now = cop_clock_monotonic();
	for (size_t i = 0; i < api->slot_count; i++) {
		api_slot *slot = &api->slots[i];
		if (!slot->waiting || now - slot->asked < seconds)
			continue;
		cop_api_request_refuse(&slot->request, 503, "busy", "%s", why);
		(void)atomic_fetch_add(&api->counts.unanswered, 1);
		resume(slot);
	}
}

/* Whether its sender has closed the connection, which nobody reads while it waits. */
static bool is_gone(const api_slot *slot)
{
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(slot->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd item = { .fd = info == NULL ? -1 : info->connect_fd, .events = POLLRDHUP };
	return poll(&item, 1, 0) > 0 && (item.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Of what is not there yet the verbs are sent once more, unless nobody waits for it. */
static void ask_again(cop_api *api)
{
	double now = cop_clock_monotonic();
	for (size_t i = 0; i < api->slot_count && api->again > 0; i++) {
		api_slot *slot = &api->slots[i];
		if (slot->again == 0.0 || now < slot->again)
			continue;
		cop_api_request *r = &slot->request;
		slot->again = 0.0;
		api->again--;
		r->again = false;
		cop_bytes_clear(&api->work);
		if (!slot->waiting) /* it was given up */
			continue;
		if (is_gone(slot)) {
			cop_api_request_refuse(r, 503, "busy", "nobody waits for the answer");
			resume(slot);
		} else if (!cop_api_request_put(r, slot->number, &api->work) ||
		           cop_api_link_send(&api->link, &r->owner, r->route->verb, r->model, &api->work) != COP_OK) {
			cop_api_request_refuse(
			        r, 503, "busy", "too many requests are under way; expected to be sent again later");
			resume(slot);
		}
	}
}

static void run_listeners(cop_api *api)
{
	for (size_t i = 0; i < api->listener_count; i++)
		(void)MHD_run(api->listeners[i].daemon);
}

/* Until there is nothing to do: all that the listeners send is in the link before it is found empty. */
static void turn(cop_api *api)
{
	do
		run_listeners(api);
	while (take_replies(api) > 0);
}

static int wait_time(const cop_api *api)
{
	int least = api->again > 0 ? AGAIN_MS : WAIT_MS;
	for (size_t i = 0; i < api->listener_count; i++) {
		MHD_UNSIGNED_LONG_LONG own;
		if (MHD_get_timeout(api->listeners[i].daemon, &own) == MHD_YES && own < (MHD_UNSIGNED_LONG_LONG)least)
			least = (int)own;
	}
	return least;
}

static void *run(void *context)
{
	cop_api *api = context;
	struct pollfd items[COP_CONFIG_LISTENERS + 2];
	nfds_t count = 0;
	cop_reads_are_own();
	cop_api_tls_begin(&api->tls);
	items[count++] = (struct pollfd){ .fd = api->wake, .events = POLLIN };
	items[count++] = (struct pollfd){ .fd = api->link.fd, .events = POLLIN };
	for (size_t i = 0; i < api->listener_count; i++)
		items[count++] = (struct pollfd){ .fd = api->listeners[i].epoll, .events = POLLIN };
	while (!atomic_load(&api->closing)) {
		turn(api);
		(void)poll(items, count, wait_time(api));
		if (api->again > 0)
			ask_again(api);
		double now = cop_clock_monotonic();
		if (now - api->looked > 1.0) {
			api->looked = now;
			give_up(api, LONGEST_WAIT, "the serving loop gave no answer in time");
			cop_api_tls_watch(&api->tls, api->log, cop_clock_real());
		}
	}
	give_up(api, -1.0, "the daemon is stopping");
	run_listeners(api); /* what was answered leaves */
	return NULL;
}

/* ---- opening and closing ---- */

static cop_err start_listener(api_listener *listener, cop_api *api, const char *where, cop_diag *diag)
{
	int fd;
	listener->api = api;
	cop_err err = cop_http_connections_init(&listener->connections, CONNECTIONS);
	if (err != COP_OK)
		return err;
	err = cop_http_listen("api: listen", where, &fd, diag);
	if (err != COP_OK)
		return err;
	bool tls = api->tls.current != NULL;
	struct MHD_OptionItem secure[] = {
		{ MHD_OPTION_HTTPS_CERT_CALLBACK, 0, cop_api_tls_callback() },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)PRIORITIES },
		{ MHD_OPTION_END, 0, NULL },
	};
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0u);
	listener->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, listener, MHD_OPTION_ARRAY,
	        tls ? secure : &secure[2], MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, 2 * CONNECTIONS,
	        MHD_OPTION_UNESCAPE_CALLBACK, decode, NULL, MHD_OPTION_NOTIFY_CONNECTION, notice, listener,
	        MHD_OPTION_NOTIFY_COMPLETED, completed, listener, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE,
	        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
	const union MHD_DaemonInfo *info =
	        listener->daemon == NULL ? NULL : MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (info == NULL) {
		cop_diag_message(diag, "api: listen: cannot serve %s: %s", where, strerror(errno));
		return COP_EIO;
	}
	listener->epoll = info->epoll_fd;
	return COP_OK;
}

static cop_err make_slots(cop_api *api, size_t listeners)
{
	api->slot_count = 2 * CONNECTIONS * listeners;
	api->slots = cop_mem_alloc(api->slot_count, sizeof *api->slots);
	api->free_slots = cop_mem_alloc(api->slot_count, sizeof *api->free_slots);
	if (api->slots == NULL || api->free_slots == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < api->slot_count; i++) {
		api->slots[i].number = i;
		cop_api_request_init(&api->slots[i].request);
		api->free_slots[api->free_count++] = (uint32_t)(api->slot_count - 1 - i);
	}
	return COP_OK;
}

static void tell_listener(const cop_api *api, const char *where)
{
	cop_log_line(api->log, COP_LOG_EVENT(api), "listen=\"%s\"", where);
	if (api->tls.current == NULL && !cop_config_is_loopback(where))
		cop_log_line(api->log, COP_LOG_EVENT(api_plain), "listen=\"%s\"", where);
}

static cop_err start(cop_api *api, cop_config *config, void *context, const char *endpoint, cop_diag *diag)
{
	cop_err err = make_slots(api, config->api_listen.count);
	if (err == COP_OK)
		err = cop_api_link_open(&api->link, context, endpoint, diag);
	for (size_t i = 0; err == COP_OK && i < config->api_listen.count; i++) {
		const char *where = config->api_listen.items[i];
		err = start_listener(&api->listeners[api->listener_count++], api, where, diag);
		if (err == COP_OK)
			tell_listener(api, where);
	}
	api->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (err != COP_OK)
		return err;
	if (api->wake < 0 || cop_thread_start(&api->thread, run, api) != COP_OK) {
		cop_diag_message(diag, "api: no thread: %s", strerror(errno));
		return COP_EIO;
	}
	api->started = true;
	return COP_OK;
}

cop_err cop_api_open(
        cop_config *config, void *context, const char *endpoint, cop_log *log, cop_api **out, cop_diag *diag)
{
	*out = NULL;
	if (config->api_listen.count == 0)
		return COP_OK;
	cop_api *api = cop_mem_alloc(1, sizeof *api);
	if (api == NULL) {
		cop_diag_message(diag, "api: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	api->wake = -1;
	api->link.fd = -1;
	api->log = log;
	cop_log_limiter_init(&api->limiter, LOGIN_RATE, LOGIN_BURST);
	cop_log_limiter_init(&api->refusals, REFUSAL_RATE, REFUSAL_BURST);
	api->body_limit = config->message_limit;
	api->held_limit = config->queue_limit / HELD_SHARE;
	cop_bytes_init(&api->work);
	cop_err err = cop_api_gate_init(&api->gate, config);
	cop_api_tls_init(&api->tls, &config->api_pair, &api->counts.certificate_ends);
	if (err == COP_OK)
		err = start(api, config, context, endpoint, diag);
	if (err == COP_ENOMEM)
		cop_diag_message(diag, "api: %s", cop_err_text(err));
	if (err == COP_OK)
		*out = api;
	else
		cop_api_close(api);
	return err;
}

void cop_api_set_access(cop_api *api, cop_access **access)
{
	if (api != NULL)
		cop_api_gate_exchange(&api->gate, access);
}

const cop_access *cop_api_access(const cop_api *api) { return api == NULL ? NULL : api->gate.access; }

void cop_api_set_certificate(cop_api *api, cop_certificate **pair)
{
	if (api != NULL)
		cop_api_tls_exchange(&api->tls, pair);
}

void cop_api_stop(cop_api *api)
{
	if (api != NULL)
		atomic_store(&api->stopping, true);
}

void cop_api_close(cop_api *api)
{
	static const uint64_t one = 1;
	if (api == NULL)
		return;
	atomic_store(&api->closing, true);
	if (api->started) {
		(void)!write(api->wake, &one, sizeof one);
		(void)pthread_join(api->thread, NULL);
	}
	for (size_t i = 0; i < api->listener_count; i++) {
		if (api->listeners[i].daemon != NULL)
			MHD_stop_daemon(api->listeners[i].daemon);
		cop_http_connections_fini(&api->listeners[i].connections);
	}
	cop_api_link_close(&api->link);
	if (api->wake >= 0)
		(void)close(api->wake);
	for (size_t i = 0; api->slots != NULL && i < api->slot_count; i++)
		cop_api_request_fini(&api->slots[i].request);
	cop_mem_free(api->slots);
	cop_mem_free(api->free_slots);
	cop_bytes_fini(&api->work);
	cop_api_gate_fini(&api->gate);
	cop_api_tls_fini(&api->tls);
	cop_mem_free(api);
}

const cop_api_counts *cop_api_look(const cop_api *api)
{
	static const cop_api_counts none;
	return api == NULL ? &none : &api->counts;
}

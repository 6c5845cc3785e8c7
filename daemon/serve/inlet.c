/* One entry for each descriptor, valid while the socket's cookie, which the kernel never gives twice, is the one that
 * was seen first: a descriptor that was closed and given out again is thus found to be another connection. Entries of
 * closed descriptors go when a read ends in error, and else within a second of the next read.
 *
 * `lock` guards the entries and counts; nothing else is locked meanwhile. `queued` is atomic, since the loop takes from
 * it for each message. Bytes are added there before ZeroMQ sees them, so the loop never takes what was not added. What
 * ZeroMQ lets go unseen, with a connection that ended while its queue was full, goes when the loop has found all queues
 * empty: then no more can wait than came in the last moments, and what encrypted connections hold back.
 *
 * Connections are ended by shutdown, never by close: the descriptor is ZeroMQ's. */
#include "daemon/serve/inlet.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/common/reads.h"
#include "daemon/serve/zmtp.h"

#define SLACK         (64ull << 10) /* above message_limit: what is answered too_large, and again of other frames */
#define SUBSCRIPTIONS 10000u        /* and cancellations, of a connection */
#define SWEEP_NS      1000000000ull /* between looks at closed descriptors */
#define CALM_NS       1000000000ull /* after which what has come is there to be taken, or belongs to no whole message */
#define MOMENT_NS     100000000ull  /* in which what was counted becomes something to be taken */
#define SLOWEST_NS    20000000ull
#define PAUSE_NS      1000000l
#define FEWEST        64u /* descriptors */
#define ENDPOINT      256u

typedef struct connection {
	uint64_t cookie; /* 0: none */
	cop_inlet_kind kind;
	cop_inlet_kind sealed; /* of an outgoing one, whose topics cannot be read if it is encrypted */
	bool ended;            /* shut down */
	uint32_t subscriptions;
	uint64_t untaken; /* of an encrypted sender: cost of what came since the loop took a message of it */
	uint64_t since;   /* when untaken began to be more than 0 */
	cop_zmtp in;
	cop_zmtp_rest *rest; /* of subscribers in the clear */
	char *name;          /* of a subscriber's key; NULL: not known */
	bool deaf;           /* some subscription is to what no model sends */
} connection;

typedef struct endpoint {
	cop_inlet_kind kind;
	bool curve;
	bool peer; /* connected to; text ends with its port */
	char text[ENDPOINT];
} endpoint;

struct cop_inlet {
	cop_zmtp_limits limits, sealed; /* sealed: of encrypted subscribers */
	uint64_t share;                 /* of the budget */
	char (*models)[COP_CONFIG_NAME_MAX + 1];
	size_t model_count;
	endpoint *endpoints;
	size_t endpoint_count;
	pthread_mutex_t lock;
	connection *connections; /* by descriptor */
	size_t room;
	uint64_t unfinished, untaken, ignored, closed[COP_INLET_REASONS];
	uint64_t next_sweep, next_slowest;
	_Atomic uint64_t queued[COP_INLET_QUEUES];
	_Atomic uint64_t added[COP_INLET_QUEUES]; /* to those, ever */
	/* The loop's: what was added when it looked a moment ago, and at least a moment before that. */
	uint64_t marked[COP_INLET_QUEUES], before[COP_INLET_QUEUES], mark;
	_Atomic bool seals; /* some endpoint is one of CURVE's */
};

static _Atomic(cop_inlet *) active;

/* The call itself: what takes libc's place under a thread sanitizer would note a write for which it sees no order,
 * since libzmq hands its buffers over unseen. */
static ssize_t plain(int fd, void *buffer, size_t length, int flags)
{
	return (ssize_t)syscall(SYS_recvfrom, fd, buffer, length, flags, NULL, NULL);
}

/* libzmq's reads come here, since a program's own symbol is found before that of a library. */
ssize_t recv(int fd, void *buffer, size_t length, int flags)
{
	cop_inlet *inlet = atomic_load_explicit(&active, memory_order_acquire);
	return inlet == NULL || cop_reads_own() ? plain(fd, buffer, length, flags)
	                                        : cop_inlet_receive(inlet, fd, buffer, length, flags);
}

const char *cop_inlet_reason_text(cop_inlet_reason reason)
{
	static const char *const texts[] = { "not_zmtp", "frame", "message", "memory", "subscriptions", "clear", "key",
		"slow", "models" };
	return texts[reason];
}

static void copy_names(cop_inlet *inlet, const cop_config *config)
{
	inlet->model_count = config->model_count < COP_CONFIG_MAX_MODELS ? config->model_count : COP_CONFIG_MAX_MODELS;
	for (size_t i = 0; i < inlet->model_count; i++)
		memcpy(inlet->models[i], config->models[i].name, sizeof inlet->models[i]);
}

cop_err cop_inlet_open(const cop_config *config, cop_inlet **out)
{
	cop_inlet *none = NULL;
	cop_inlet *inlet = cop_mem_alloc(1, sizeof *inlet);
	*out = NULL;
	if (inlet == NULL)
		return COP_ENOMEM;
	inlet->limits.frame_limit = config->message_limit + SLACK;
	inlet->limits.message_limit = config->message_limit + 2 * SLACK;
	inlet->sealed = (cop_zmtp_limits){ COP_ZMTP_SMALL, COP_ZMTP_SMALL + COP_ZMTP_FRAME_COST };
	inlet->share = config->queue_limit / 4;
	inlet->models = cop_mem_alloc(COP_CONFIG_MAX_MODELS, sizeof *inlet->models);
	inlet->connections = cop_mem_alloc(FEWEST, sizeof *inlet->connections);
	inlet->room = FEWEST;
	(void)pthread_mutex_init(&inlet->lock, NULL);
	cop_err err = inlet->models == NULL || inlet->connections == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK)
		copy_names(inlet, config);
	if (err == COP_OK && !atomic_compare_exchange_strong(&active, &none, inlet))
		err = COP_EEXIST;
	if (err != COP_OK)
		cop_inlet_close(inlet);
	else
		*out = inlet;
	return err;
}

void cop_inlet_close(cop_inlet *inlet)
{
	cop_inlet *expected = inlet;
	if (inlet == NULL)
		return;
	(void)atomic_compare_exchange_strong(&active, &expected, NULL);
	for (size_t i = 0; inlet->connections != NULL && i < inlet->room; i++) {
		cop_mem_free(inlet->connections[i].rest);
		cop_mem_free(inlet->connections[i].name);
	}
	(void)pthread_mutex_destroy(&inlet->lock);
	cop_mem_free(inlet->connections);
	cop_mem_free(inlet->endpoints);
	cop_mem_free(inlet->models);
	cop_mem_free(inlet);
}

static cop_err add_endpoint(cop_inlet *inlet, endpoint what, const char *text)
{
	endpoint *more = cop_mem_alloc(inlet->endpoint_count + 1, sizeof *more);
	if (more == NULL)
		return COP_ENOMEM;
	(void)pthread_mutex_lock(&inlet->lock);
	if (inlet->endpoint_count > 0)
		memcpy(more, inlet->endpoints, inlet->endpoint_count * sizeof *more);
	more[inlet->endpoint_count] = what;
	(void)snprintf(more[inlet->endpoint_count].text, ENDPOINT, "%s", text);
	cop_mem_free(inlet->endpoints);
	inlet->endpoints = more;
	inlet->endpoint_count++;
	if (what.curve)
		atomic_store(&inlet->seals, true);
	(void)pthread_mutex_unlock(&inlet->lock);
	return COP_OK;
}

cop_err cop_inlet_add(cop_inlet *inlet, cop_inlet_kind kind, bool curve, const char *text)
{
	return add_endpoint(inlet, (endpoint){ .kind = kind, .curve = curve }, text);
}

cop_err cop_inlet_add_peer(cop_inlet *inlet, cop_inlet_kind kind, const char *text)
{
	return add_endpoint(inlet, (endpoint){ .kind = kind, .curve = true, .peer = true }, text);
}

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof cookie;
	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

/* The socket's own address, as ZMQ_LAST_ENDPOINT spells it; any: the same with the wildcard of its family. */
static bool address_of(int fd, char *text, char *any)
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof address;
	char host[NI_MAXHOST], port[NI_MAXSERV];
	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return false;
	if (address.ss_family == AF_UNIX) {
		struct sockaddr_un name = { 0 };
		memcpy(&name, &address, sizeof name);
		if (name.sun_path[0] == '\0')
			name.sun_path[0] = '@';
		(void)snprintf(text, ENDPOINT, "ipc://%.*s", (int)sizeof name.sun_path, name.sun_path);
		(void)snprintf(any, ENDPOINT, "%s", text);
		return true;
	}
	if (getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
	            NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return false;
	bool six = address.ss_family == AF_INET6;
	(void)snprintf(text, ENDPOINT, six ? "tcp://[%.128s]:%.16s" : "tcp://%.128s:%.16s", host, port);
	(void)snprintf(any, ENDPOINT, six ? "tcp://[::]:%.16s" : "tcp://0.0.0.0:%.16s", port);
	return true;
}

/* A host's name tells nothing about the address that it had: the port decides, and the greeting, whether a peer is one
 * of CURVE's, and of which kind. */
static void find_peer(const cop_inlet *inlet, int fd, connection *c)
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof address;
	char port[NI_MAXSERV];
	if (inlet->endpoint_count == 0 || getpeername(fd, (struct sockaddr *)&address, &size) != 0 ||
	        address.ss_family == AF_UNIX ||
	        getnameinfo((struct sockaddr *)&address, size, NULL, 0, port, sizeof port, NI_NUMERICSERV) != 0)
		return;
	for (size_t i = 0; i < inlet->endpoint_count; i++) {
		const char *colon = strrchr(inlet->endpoints[i].text, ':');
		if (!inlet->endpoints[i].peer || colon == NULL || strcmp(colon + 1, port) != 0)
			continue;
		c->sealed = inlet->endpoints[i].kind;
		c->in.seal = COP_ZMTP_GREETING;
		return;
	}
}

/* A socket that none of our endpoints has accepted is one that ZeroMQ has opened, if it is read on ZeroMQ's thread. */
static void find_kind(const cop_inlet *inlet, int fd, connection *c)
{
	char text[ENDPOINT], any[ENDPOINT], thread[16] = "";
	if (address_of(fd, text, any))
		for (size_t i = 0; i < inlet->endpoint_count; i++) {
			const endpoint *e = &inlet->endpoints[i];
			if (e->peer || (strcmp(e->text, text) != 0 && strcmp(e->text, any) != 0))
				continue;
			c->kind = e->kind;
			c->in.seal = e->curve ? COP_ZMTP_CURVE : COP_ZMTP_ANY;
			return;
		}
	(void)prctl(PR_GET_NAME, thread);
	c->kind = strncmp(thread, "ZMQbg", 5) == 0 ? COP_INLET_OUTGOING : COP_INLET_FOREIGN;
	if (c->kind == COP_INLET_OUTGOING)
		find_peer(inlet, fd, c);
}

static void take_untaken(cop_inlet *inlet, connection *c)
{
	inlet->untaken -= c->untaken;
	c->untaken = 0;
	c->in.beats = 0;
}

static void forget(cop_inlet *inlet, connection *c)
{
	take_untaken(inlet, c);
	inlet->unfinished -= c->in.cost;
	cop_mem_free(c->rest);
	cop_mem_free(c->name);
	*c = (connection){ 0 };
}

static bool make_room(cop_inlet *inlet, size_t fd)
{
	size_t room = inlet->room;
	while (room <= fd)
		room *= 2;
	if (room == inlet->room)
		return true;
	connection *more = cop_mem_alloc(room, sizeof *more);
	if (more == NULL)
		return false;
	memcpy(more, inlet->connections, inlet->room * sizeof *more);
	cop_mem_free(inlet->connections);
	inlet->connections = more;
	inlet->room = room;
	return true;
}

/* The descriptor's entry, made if need be; NULL: no memory. */
static connection *find(cop_inlet *inlet, int fd, uint64_t cookie)
{
	if (!make_room(inlet, (size_t)fd))
		return NULL;
	connection *c = &inlet->connections[fd];
	if (c->cookie == cookie)
		return c;
	if (c->cookie != 0)
		forget(inlet, c);
	find_kind(inlet, fd, c);
	if (c->kind == COP_INLET_ACTIONS && c->in.seal == COP_ZMTP_ANY) {
		c->rest = cop_mem_alloc(1, sizeof *c->rest);
		if (c->rest == NULL)
			return NULL;
	}
	c->cookie = cookie;
	return c;
}

static void sweep(cop_inlet *inlet)
{
	uint64_t now = cop_clock_monotonic_ns();
	if (now < inlet->next_sweep)
		return;
	inlet->next_sweep = now + SWEEP_NS;
	for (size_t i = 0; i < inlet->room; i++)
		if (inlet->connections[i].cookie != 0 && cookie_of((int)i) != inlet->connections[i].cookie)
			forget(inlet, &inlet->connections[i]);
}

/* Through a descriptor of our own, lest this one is closed and given to another between the look and the shutdown. */
static void end(cop_inlet *inlet, connection *c, cop_inlet_reason reason)
{
	int own = dup((int)(c - inlet->connections));
	if (own >= 0 && cookie_of(own) == c->cookie)
		(void)shutdown(own, SHUT_RDWR);
	if (own >= 0)
		(void)close(own);
	take_untaken(inlet, c);
	inlet->unfinished -= c->in.cost;
	inlet->closed[reason]++;
	c->in.cost = 0;
	c->ended = true;
}

static void end_largest(cop_inlet *inlet)
{
	connection *largest = &inlet->connections[0];
	for (size_t i = 1; i < inlet->room; i++)
		if (inlet->connections[i].in.cost > largest->in.cost)
			largest = &inlet->connections[i];
	end(inlet, largest, COP_INLET_MEMORY);
}

static uint64_t queued(const cop_inlet *inlet)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < COP_INLET_QUEUES; i++)
		sum += atomic_load_explicit(&inlet->queued[i], memory_order_relaxed);
	return sum;
}

static bool wanted(const void *context, const uint8_t *topic, size_t length)
{
	static const char prefix[] = "act.";
	const cop_inlet *inlet = context;
	size_t fixed = length < sizeof prefix - 1 ? length : sizeof prefix - 1;
	if (memcmp(topic, prefix, fixed) != 0)
		return false;
	bool found = length <= fixed;
	for (size_t i = 0; !found && i < inlet->model_count; i++)
		found = length - fixed <= strlen(inlet->models[i]) &&
		        memcmp(inlet->models[i], topic + fixed, length - fixed) == 0;
	return found;
}

static cop_inlet_reason reason_of(cop_zmtp_verdict verdict)
{
	return verdict == COP_ZMTP_NOT_ZMTP     ? COP_INLET_NOT_ZMTP
	       : verdict == COP_ZMTP_CLEAR      ? COP_INLET_CLEAR
	       : verdict == COP_ZMTP_LONG_FRAME ? COP_INLET_FRAME
	                                        : COP_INLET_MESSAGE;
}

/* New bytes of a subscriber; those to be passed on. */
static ssize_t take_subscriptions(cop_inlet *inlet, connection *c, uint8_t *buffer, size_t length)
{
	cop_zmtp_filtered f = cop_zmtp_filter(&c->in, c->rest, buffer, length, wanted, inlet);
	inlet->ignored += f.ignored;
	c->deaf = c->deaf || f.ignored > 0;
	c->subscriptions += (uint32_t)f.subscriptions;
	if (f.verdict != COP_ZMTP_GOOD || c->subscriptions > SUBSCRIPTIONS)
		end(inlet, c, f.verdict != COP_ZMTP_GOOD ? reason_of(f.verdict) : COP_INLET_SUBSCRIPTIONS);
	errno = c->ended ? ECONNRESET : EAGAIN;
	return c->ended || f.length == 0 ? -1 : (ssize_t)f.length;
}

static cop_inlet_kind kind_of(const connection *c)
{
	return c->kind == COP_INLET_OUTGOING && c->in.seal == COP_ZMTP_CURVE ? c->sealed : c->kind;
}

static void put(cop_inlet *inlet, cop_inlet_kind queue, uint64_t cost)
{
	atomic_fetch_add(&inlet->added[queue], cost);
	atomic_fetch_add(&inlet->queued[queue], cost);
}

static void add(cop_inlet *inlet, connection *c, const cop_zmtp_done *done)
{
	cop_inlet_kind kind = kind_of(c);
	bool out = kind == COP_INLET_OUTGOING;
	if (done->messages == 0 || kind == COP_INLET_ACTIONS)
		return;
	if (c->in.seal == COP_ZMTP_CURVE) {
		c->since = c->untaken == 0 ? cop_clock_monotonic_ns() : c->since;
		c->untaken += done->all;
		inlet->untaken += done->all;
	}
	if (out || kind == COP_INLET_CONTEXTS)
		put(inlet, COP_INLET_CONTEXTS, done->contexts);
	if (out || kind == COP_INLET_FEEDBACK)
		put(inlet, COP_INLET_FEEDBACK, done->feedback);
	if (kind == COP_INLET_REQUESTS || kind == COP_INLET_ADMIN || kind == COP_INLET_PULL)
		put(inlet, kind, done->all);
}

/* New bytes of a sender, or of an encrypted subscriber; all are passed on, or none. */
static ssize_t take_messages(cop_inlet *inlet, connection *c, const void *buffer, size_t length)
{
	cop_zmtp_done done = { 0 };
	uint64_t before = c->in.cost;
	bool subscriber = c->kind == COP_INLET_ACTIONS;
	const cop_zmtp_limits *limits = subscriber ? &inlet->sealed : &inlet->limits;
	cop_zmtp_verdict verdict = cop_zmtp_read(&c->in, limits, buffer, length, &done);
	inlet->unfinished += c->in.cost - before;
	c->subscriptions += (uint32_t)done.messages * subscriber;
	if (verdict != COP_ZMTP_GOOD || c->subscriptions > SUBSCRIPTIONS)
		end(inlet, c, verdict != COP_ZMTP_GOOD ? reason_of(verdict) : COP_INLET_SUBSCRIPTIONS);
	while (inlet->unfinished > inlet->share)
		end_largest(inlet);
	errno = ECONNRESET;
	if (c->ended)
		return -1;
	add(inlet, c, &done);
	return (ssize_t)length;
}

static ssize_t take(cop_inlet *inlet, connection *c, int fd, uint8_t *buffer, size_t length, int flags)
{
	size_t kept = c->rest == NULL ? 0 : c->rest->length;
	errno = ECONNRESET;
	if (c->ended || length <= kept) {
		forget(inlet, c);
		return -1;
	}
	ssize_t got = plain(fd, buffer + kept, length - kept, flags);
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
		int saved = errno;
		forget(inlet, c);
		errno = saved;
	}
	if (got <= 0)
		return got;
	return c->rest != NULL ? take_subscriptions(inlet, c, buffer, (size_t)got)
	                       : take_messages(inlet, c, buffer, (size_t)got);
}

ssize_t cop_inlet_receive(cop_inlet *inlet, int fd, void *buffer, size_t length, int flags)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t cookie = cookie_of(fd);
	if (cookie == 0)
		return plain(fd, buffer, length, flags);
	(void)pthread_mutex_lock(&inlet->lock);
	sweep(inlet);
	connection *c = find(inlet, fd, cookie);
	bool foreign = c != NULL && c->kind == COP_INLET_FOREIGN;
	bool wait = c != NULL && !foreign && c->kind != COP_INLET_ACTIONS && queued(inlet) > inlet->share;
	ssize_t got = -1;
	int why = EAGAIN;
	if (!foreign && !wait) {
		got = c == NULL ? -1 : take(inlet, c, fd, buffer, length, flags);
		why = c == NULL ? ECONNRESET : errno;
	}
	(void)pthread_mutex_unlock(&inlet->lock);
	if (foreign)
		return plain(fd, buffer, length, flags);
	if (wait)
		(void)nanosleep(&pause, NULL);
	errno = why;
	return got;
}

void cop_inlet_taken(cop_inlet *inlet, cop_inlet_kind queue, uint64_t cost)
{
	uint64_t was = atomic_load_explicit(&inlet->queued[queue], memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&inlet->queued[queue], &was, was > cost ? was - cost : 0))
		;
}

bool cop_inlet_seals(const cop_inlet *inlet) { return atomic_load_explicit(&inlet->seals, memory_order_relaxed); }

void cop_inlet_taken_from(cop_inlet *inlet, int fd)
{
	(void)pthread_mutex_lock(&inlet->lock);
	if (fd >= 0 && (size_t)fd < inlet->room)
		take_untaken(inlet, &inlet->connections[fd]);
	(void)pthread_mutex_unlock(&inlet->lock);
}

/* The loop has nothing to take: what came more than a second ago belongs to messages that are not whole. */
static void end_holders(cop_inlet *inlet)
{
	uint64_t now = cop_clock_monotonic_ns();
	while (inlet->untaken > inlet->share / 2) {
		connection *most = NULL;
		for (size_t i = 0; i < inlet->room; i++) {
			connection *c = &inlet->connections[i];
			if (c->untaken > (most == NULL ? 0 : most->untaken) && now - c->since > CALM_NS)
				most = c;
		}
		if (most == NULL)
			return;
		cop_inlet_kind kind = kind_of(most);
		if (kind < COP_INLET_QUEUES)
			cop_inlet_taken(inlet, kind, most->untaken);
		end(inlet, most, COP_INLET_MESSAGE);
	}
}

bool cop_inlet_full(const cop_inlet *inlet, cop_inlet_kind queue)
{
	return atomic_load_explicit(&inlet->queued[queue], memory_order_relaxed) > inlet->share / 2;
}

/* No queue counts more than came since a moment ago, beside `held`, which may wait for their ends. */
static void forget_lost(cop_inlet *inlet, uint64_t held)
{
	uint64_t now = cop_clock_monotonic_ns();
	const bool anew = now - inlet->mark >= MOMENT_NS;
	inlet->mark = anew ? now : inlet->mark;
	for (size_t i = 0; i < COP_INLET_QUEUES; i++) {
		if (anew) {
			inlet->before[i] = inlet->marked[i];
			inlet->marked[i] = atomic_load(&inlet->added[i]);
		}
		uint64_t was = atomic_load(&inlet->queued[i]);
		const uint64_t most = atomic_load(&inlet->added[i]) - inlet->before[i] + held;
		while (was > most && !atomic_compare_exchange_weak(&inlet->queued[i], &was, most))
			;
	}
}

void cop_inlet_idle(cop_inlet *inlet)
{
	uint64_t held = 0;
	if (cop_inlet_seals(inlet)) {
		(void)pthread_mutex_lock(&inlet->lock);
		end_holders(inlet);
		held = inlet->untaken;
		(void)pthread_mutex_unlock(&inlet->lock);
	}
	if (queued(inlet) > 0)
		forget_lost(inlet, held);
}

/* ZeroMQ keeps messages back only for a connection that takes no more bytes: whoever merely has some on the way reads.
 */
static bool takes_no_more(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLOUT };
	return poll(&one, 1, 0) == 0;
}

void cop_inlet_close_slowest(cop_inlet *inlet, cop_inlet_kind kind)
{
	uint64_t now = cop_clock_monotonic_ns();
	connection *slowest = NULL;
	int most = 0;
	(void)pthread_mutex_lock(&inlet->lock);
	for (size_t i = 0; now >= inlet->next_slowest && i < inlet->room; i++) {
		connection *c = &inlet->connections[i];
		int unread = 0;
		if (c->cookie == 0 || c->kind != kind || c->ended || ioctl((int)i, SIOCOUTQ, &unread) != 0 ||
		        unread <= most || !takes_no_more((int)i))
			continue;
		most = unread;
		slowest = c;
	}
	if (slowest != NULL) {
		end(inlet, slowest, COP_INLET_SLOW);
		inlet->next_slowest = now + SLOWEST_NS;
	}
	(void)pthread_mutex_unlock(&inlet->lock);
}

void cop_inlet_name(cop_inlet *inlet, int fd, const char *name)
{
	(void)pthread_mutex_lock(&inlet->lock);
	connection *c = fd >= 0 && (size_t)fd < inlet->room ? &inlet->connections[fd] : NULL;
	if (c != NULL && c->cookie != 0 && c->kind == COP_INLET_ACTIONS && c->name == NULL) {
		c->name = cop_mem_strdup(name);
		if (c->name == NULL) /* one that cannot be found again is not kept */
			end(inlet, c, COP_INLET_MEMORY);
	}
	(void)pthread_mutex_unlock(&inlet->lock);
}

void cop_inlet_end_lost(cop_inlet *inlet, cop_inlet_lost *lost, const void *context)
{
	(void)pthread_mutex_lock(&inlet->lock);
	for (size_t i = 0; i < inlet->room; i++) {
		connection *c = &inlet->connections[i];
		if (c->cookie != 0 && !c->ended && c->name != NULL && lost(context, c->name))
			end(inlet, c, COP_INLET_KEY);
	}
	(void)pthread_mutex_unlock(&inlet->lock);
}

void cop_inlet_set_models(
        cop_inlet *inlet, const cop_config *config, bool added, cop_inlet_lost *lost, const void *context)
{
	(void)pthread_mutex_lock(&inlet->lock);
	copy_names(inlet, config);
	for (size_t i = 0; added && i < inlet->room; i++) {
		connection *c = &inlet->connections[i];
		bool named = c->name != NULL && lost != NULL;
		if (c->cookie != 0 && !c->ended && c->kind == COP_INLET_ACTIONS &&
		        (c->deaf || (named && lost(context, c->name))))
			end(inlet, c, COP_INLET_MODELS);
	}
	(void)pthread_mutex_unlock(&inlet->lock);
}

void cop_inlet_deaf(cop_inlet *inlet, int fd)
{
	(void)pthread_mutex_lock(&inlet->lock);
	connection *c = fd >= 0 && (size_t)fd < inlet->room ? &inlet->connections[fd] : NULL;
	if (c != NULL && c->cookie != 0 && c->kind == COP_INLET_ACTIONS)
		c->deaf = true;
	(void)pthread_mutex_unlock(&inlet->lock);
}

void cop_inlet_look(cop_inlet *inlet, cop_inlet_state *state)
{
	*state = (cop_inlet_state){ 0 };
	if (inlet == NULL)
		return;
	(void)pthread_mutex_lock(&inlet->lock);
	for (size_t i = 0; i < inlet->room; i++) {
		const connection *c = &inlet->connections[i];
		state->connections += c->cookie != 0 && !c->ended && c->kind != COP_INLET_FOREIGN;
	}
	state->unfinished = inlet->unfinished;
	state->ignored = inlet->ignored;
	memcpy(state->closed, inlet->closed, sizeof state->closed);
	(void)pthread_mutex_unlock(&inlet->lock);
	state->queued = queued(inlet);
}

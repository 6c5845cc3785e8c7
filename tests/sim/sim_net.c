/* In place of libzmq. A connection is of one DEALER to one endpoint, and may carry messages while a ROUTER of a machine
 * that is reached has it bound; each way keeps its order. What is sent while nobody is there waits. When the other end
 * dies, or a partition breaks the connection, what was on its way is lost, and the ROUTER knows the next messages of it
 * under a new identity. ZMQ_FD is readable, as libzmq's is, from when something arrived until the socket is used again.
 * What is published goes nowhere. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define FRAMES      8
#define SOCKETS     1024
#define FIRST_FD    (1 << 20)
#define ENDPOINT    128
#define BINDS       4
#define CONNECTIONS 4096

typedef struct frame {
	char *data;
	size_t size;
} frame;

typedef struct message {
	struct message *next;
	frame frames[FRAMES];
	size_t count, at;
	uint64_t arrives;
	struct connection *way;
	uint32_t life; /* the connection's when it was sent */
	bool back;     /* from the ROUTER */
} message;

typedef struct socket_of {
	int node, type, fd;
	bool open, signalled;
	char bound[BINDS][ENDPOINT];
	size_t binds;
	struct connection *way; /* of a DEALER */
	message *first, *last;
	message *building;
	message *reading; /* whose frames are taken one by one */
} socket_of;

typedef struct connection {
	socket_of *dealer;
	char endpoint[ENDPOINT];
	socket_of *router; /* NULL: it is not up */
	uint32_t life;     /* each time that it comes up */
	uint32_t identity; /* that the ROUTER knows it by */
	uint64_t last[2];  /* when the last message of each way arrives */
	message *held[2];  /* sent while it could not arrive, in order */
	bool gone;
} connection;

/* What a zmq_msg_t holds. */
typedef struct content {
	char *data;
	size_t size;
	zmq_free_fn *let_go;
	void *hint;
	bool more;
} content;

static socket_of *sockets[SOCKETS];
static size_t socket_count;
static connection *ways[CONNECTIONS];
static size_t way_count;
static message *on_the_way; /* by arrival */
static uint32_t identities;
static bool parted[SIM_NODES][SIM_NODES];

_Static_assert(sizeof(content) <= sizeof(zmq_msg_t), "content");

static content *of(zmq_msg_t *msg) { return (content *)msg; }

/* ---- messages ---- */

int zmq_msg_init(zmq_msg_t *msg)
{
	*of(msg) = (content){ 0 };
	return 0;
}

int zmq_msg_init_size(zmq_msg_t *msg, size_t size)
{
	*of(msg) = (content){ .data = malloc(size + 1), .size = size };
	return of(msg)->data == NULL ? -1 : 0;
}

int zmq_msg_init_data(zmq_msg_t *msg, void *data, size_t size, zmq_free_fn *let_go, void *hint)
{
	static char owned;
	*of(msg) = (content){ .data = data, .size = size, .let_go = let_go, .hint = let_go == NULL ? &owned : hint };
	return 0;
}

int zmq_msg_close(zmq_msg_t *msg)
{
	content *c = of(msg), had = *c;
	*c = (content){ 0 };
	if (had.let_go != NULL)
		had.let_go(had.data, had.hint);
	else if (had.hint == NULL)
		free(had.data);
	return 0;
}

int zmq_msg_move(zmq_msg_t *to, zmq_msg_t *from)
{
	(void)zmq_msg_close(to);
	*of(to) = *of(from);
	*of(from) = (content){ 0 };
	return 0;
}

void *zmq_msg_data(zmq_msg_t *msg) { return of(msg)->data; }
size_t zmq_msg_size(const zmq_msg_t *msg) { return ((const content *)msg)->size; }
int zmq_msg_more(const zmq_msg_t *msg) { return ((const content *)msg)->more; }

int zmq_msg_get(const zmq_msg_t *msg, int property)
{
	(void)msg;
	(void)property;
	return -1;
}

const char *zmq_msg_gets(const zmq_msg_t *msg, const char *property)
{
	(void)msg;
	(void)property;
	errno = EINVAL;
	return NULL;
}

static void drop_message(message *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->frames[i].data);
	free(m);
}

static void drop_all(message **list)
{
	for (message *m; (m = *list) != NULL; drop_message(m))
		*list = m->next;
}

/* ---- the network ---- */

void sim_net_part(int one, int other, bool breaks)
{
	parted[one][other] = parted[other][one] = true;
	for (size_t i = 0; breaks && i < way_count; i++) {
		connection *w = ways[i];
		if (w->router != NULL && parted[w->dealer->node][w->router->node]) {
			w->router = NULL;
			drop_all(&w->held[0]);
			drop_all(&w->held[1]);
		}
	}
}

static socket_of *bound_to(const char *endpoint)
{
	for (size_t i = 0; i < socket_count; i++)
		for (size_t k = 0; sockets[i]->open && k < sockets[i]->binds; k++)
			if (strcmp(sockets[i]->bound[k], endpoint) == 0)
				return sockets[i];
	return NULL;
}

static void put_on_the_way(message *m)
{
	message **at = &on_the_way;
	while (*at != NULL && (*at)->arrives <= m->arrives)
		at = &(*at)->next;
	m->next = *at;
	*at = m;
}

static void launch(message *m)
{
	connection *w = m->way;
	uint64_t takes = 20000 + sim_draw(sim_chance(0.05) ? 20 * SIM_MS : 300000);
	m->arrives = sim_now() + takes;
	if (m->arrives <= w->last[m->back])
		m->arrives = w->last[m->back] + 1;
	w->last[m->back] = m->arrives;
	m->life = w->life;
	put_on_the_way(m);
}

static void hold(message *m)
{
	message **at = &m->way->held[m->back];
	while (*at != NULL)
		at = &(*at)->next;
	m->next = NULL;
	*at = m;
}

/* It comes up as soon as somebody is reached. */
static bool is_up(connection *w)
{
	if (w->router == NULL && (w->router = bound_to(w->endpoint)) != NULL) {
		if (parted[w->dealer->node][w->router->node]) {
			w->router = NULL;
			return false;
		}
		w->life++;
		w->identity = ++identities;
	}
	return w->router != NULL && !parted[w->dealer->node][w->router->node];
}

/* What waited goes on its way. */
static void release(connection *w)
{
	if (w->gone || !is_up(w))
		return;
	for (int back = 0; back < 2; back++)
		for (message *m = w->held[back], *next; m != NULL; m = next) {
			next = m->next;
			w->held[back] = NULL;
			launch(m);
		}
}

void sim_net_heal(void)
{
	memset(parted, 0, sizeof parted);
	for (size_t i = 0; i < way_count; i++)
		release(ways[i]);
}

uint64_t sim_net_next(void) { return on_the_way == NULL ? SIM_NEVER : on_the_way->arrives; }

static void arrive(message *m)
{
	connection *w = m->way;
	if (w->gone || (m->life != w->life && m->life != 0) || (m->life != 0 && w->router == NULL)) {
		drop_message(m);
		return;
	}
	if (!is_up(w)) {
		hold(m);
		return;
	}
	socket_of *to = m->back ? w->dealer : w->router;
	if (!m->back) {
		memmove(m->frames + 1, m->frames, m->count++ * sizeof *m->frames);
		m->frames[0] = (frame){ malloc(5), 5 };
		m->frames[0].data[0] = 0;
		memcpy(m->frames[0].data + 1, &w->identity, 4);
	}
	m->next = NULL;
	if (to->last == NULL)
		to->first = m;
	else
		to->last->next = m;
	to->last = m;
	to->signalled = true;
	sim_wake(sim_wake_key(to->node));
}

void sim_net_deliver(void)
{
	for (message *m; (m = on_the_way) != NULL && m->arrives <= sim_now(); arrive(m))
		on_the_way = m->next;
}

bool sim_net_ready(int fd) { return fd >= FIRST_FD && sockets[fd - FIRST_FD]->signalled; }

/* ---- sockets ---- */

void *zmq_ctx_new(void) { return malloc(1); }
int zmq_ctx_set(void *context, int option, int value)
{
	(void)context;
	(void)option;
	(void)value;
	return 0;
}

int zmq_ctx_term(void *context)
{
	free(context);
	return 0;
}

void *zmq_socket(void *context, int type)
{
	(void)context;
	size_t place = 0;
	while (place < socket_count && sockets[place]->open)
		place++;
	if (place == SOCKETS)
		abort();
	socket_count += place == socket_count;
	socket_of *s = calloc(1, sizeof *s);
	*s = (socket_of){ .node = sim_node(), .type = type, .fd = FIRST_FD + (int)place, .open = true };
	return sockets[place] = s; /* what was there before may be pointed to by messages on their way */
}

int zmq_close(void *socket)
{
	socket_of *s = socket;
	s->open = s->signalled = false;
	while (s->first != NULL) {
		message *m = s->first;
		s->first = m->next;
		drop_message(m);
	}
	s->last = NULL;
	for (size_t i = 0; i < way_count; i++)
		if (ways[i]->router == s) {
			ways[i]->router = NULL;
			drop_all(&ways[i]->held[1]);
		}
	size_t kept = 0;
	for (size_t i = 0; i < way_count; i++) {
		if (ways[i]->dealer == s)
			ways[i]->gone = true;
		else
			ways[kept++] = ways[i];
	}
	way_count = kept;
	return 0;
}

void sim_net_stop(int node)
{
	for (size_t i = 0; i < socket_count; i++)
		if (sockets[i]->node == node && sockets[i]->open)
			(void)zmq_close(sockets[i]);
}

int zmq_setsockopt(void *socket, int option, const void *value, size_t size)
{
	(void)socket;
	(void)option;
	(void)value;
	(void)size;
	return 0;
}

int zmq_getsockopt(void *socket, int option, void *value, size_t *size)
{
	const socket_of *s = socket;
	if (option == ZMQ_FD && *size == sizeof s->fd) {
		memcpy(value, &s->fd, sizeof s->fd);
		return 0;
	}
	if (option != ZMQ_LAST_ENDPOINT)
		abort();
	*size = (size_t)snprintf(value, *size, "%s", s->bound[s->binds - 1]) + 1;
	return 0;
}

int zmq_bind(void *socket, const char *endpoint)
{
	socket_of *s = socket;
	if (s->binds == BINDS || strlen(endpoint) >= ENDPOINT)
		abort();
	(void)snprintf(s->bound[s->binds++], ENDPOINT, "%s", endpoint);
	for (size_t i = 0; i < way_count; i++)
		if (strcmp(ways[i]->endpoint, endpoint) == 0)
			release(ways[i]);
	return 0;
}

int zmq_connect(void *socket, const char *endpoint)
{
	socket_of *s = socket;
	if (way_count == CONNECTIONS || s->way != NULL)
		abort();
	connection *w = s->way = ways[way_count++] = calloc(1, sizeof *w);
	w->dealer = s;
	(void)snprintf(w->endpoint, ENDPOINT, "%s", endpoint);
	return 0;
}

/* ---- sending ---- */

static connection *way_of(const socket_of *s, const frame *identity)
{
	uint32_t number;
	if (identity->size != 5)
		return NULL;
	memcpy(&number, identity->data + 1, sizeof number);
	for (size_t i = 0; i < way_count; i++)
		if (ways[i]->identity == number && ways[i]->router == s && !ways[i]->gone)
			return ways[i];
	return NULL;
}

static void dispatch(message *m)
{
	if (m->way->gone)
		drop_message(m);
	else if (is_up(m->way))
		launch(m);
	else
		hold(m);
}

static void add(message *m, const void *data, size_t size)
{
	if (m->count == FRAMES)
		abort();
	frame *f = &m->frames[m->count++];
	*f = (frame){ malloc(size + 1), size };
	memcpy(f->data, data, size);
}

/* ZMQ_ROUTER_MANDATORY: the frame of an identity that nobody has is refused. */
static bool address(socket_of *s, const void *data, size_t size)
{
	const frame identity = { (char *)(uintptr_t)data, size };
	connection *w = way_of(s, &identity);
	if (w == NULL) {
		errno = EHOSTUNREACH;
		return false;
	}
	s->building = calloc(1, sizeof *s->building);
	s->building->way = w;
	s->building->back = true;
	return true;
}

int zmq_send(void *socket, const void *data, size_t size, int flags)
{
	socket_of *s = socket;
	s->signalled = false;
	if (s->type != ZMQ_ROUTER && s->type != ZMQ_DEALER)
		return (int)size;
	if (s->building == NULL && s->type == ZMQ_ROUTER)
		return address(s, data, size) ? (int)size : -1;
	if (s->building == NULL) {
		s->building = calloc(1, sizeof *s->building);
		s->building->way = s->way;
	}
	add(s->building, data, size);
	if ((flags & ZMQ_SNDMORE) == 0) {
		dispatch(s->building);
		s->building = NULL;
	}
	return (int)size;
}

int zmq_msg_send(zmq_msg_t *msg, void *socket, int flags)
{
	int sent = zmq_send(socket, of(msg)->data, of(msg)->size, flags);
	if (sent >= 0)
		(void)zmq_msg_close(msg);
	return sent;
}

/* ---- receiving ---- */

int zmq_msg_recv(zmq_msg_t *msg, void *socket, int flags)
{
	socket_of *s = socket;
	(void)flags;
	s->signalled = false;
	if (s->reading == NULL && s->first != NULL) {
		s->reading = s->first;
		s->first = s->first->next;
		if (s->first == NULL)
			s->last = NULL;
	}
	message *m = s->reading;
	if (m == NULL) {
		errno = EAGAIN;
		return -1;
	}
	(void)zmq_msg_close(msg);
	frame *f = &m->frames[m->at++];
	*of(msg) = (content){ .data = f->data, .size = f->size, .more = m->at < m->count };
	f->data = NULL;
	if (m->at == m->count) {
		drop_message(m);
		s->reading = NULL;
	}
	return (int)of(msg)->size;
}

int zmq_recv(void *socket, void *data, size_t size, int flags)
{
	zmq_msg_t msg;
	(void)zmq_msg_init(&msg);
	int length = zmq_msg_recv(&msg, socket, flags);
	if (length >= 0)
		memcpy(data, zmq_msg_data(&msg), (size_t)length < size ? (size_t)length : size);
	(void)zmq_msg_close(&msg);
	return length;
}

/* ---- of encryption, which is not imitated ---- */

const char *zmq_strerror(int code) { return strerror(code); }
int zmq_poll(zmq_pollitem_t *items, int count, long timeout)
{
	(void)items;
	(void)count;
	(void)timeout;
	abort();
}

int zmq_curve_public(char *key, const char *secret)
{
	(void)key;
	(void)secret;
	abort();
}

char *zmq_z85_encode(char *out, const uint8_t *data, size_t size)
{
	(void)out;
	(void)data;
	(void)size;
	abort();
}

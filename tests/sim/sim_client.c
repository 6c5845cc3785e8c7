/* A client waits for each answer; without one it asks again under the same id, at the next endpoint. One id has one
 * loss. What it asks for is drawn from the seed. */
#include "tests/sim/sim_client.h"

#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "tests/sim/sim.h"

#define PATIENCE (150 * (uint64_t)SIM_MS)
#define MOST     512
#define ID       24

typedef struct decision {
	char id[ID];
	double x[2];
	bool decided, fed, closed; /* answered; asked for; acknowledged */
} decision;

typedef struct client {
	unsigned name;
	size_t place, daemons, count;
	void *socket;
	uint64_t seq;
	decision made[MOST];
} client;

static uint64_t entries, told;
static bool ending;
static size_t working;

typedef struct body {
	unsigned char bytes[256];
	size_t length;
} body;

uint64_t sim_note(const char *what)
{
	(void)printf("%s %llu", what, (unsigned long long)entries);
	return entries++;
}

void sim_print_hex(const void *data, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = data;
	for (size_t i = 0; i < length; i++) {
		(void)putchar(digits[bytes[i] >> 4]);
		(void)putchar(digits[bytes[i] & 15]);
	}
	(void)putchar('\n');
}

/* ---- MessagePack, as far as it is needed ---- */

static void put_byte(body *b, unsigned byte) { b->bytes[b->length++] = (unsigned char)byte; }

static void put_text(body *b, const char *text)
{
	put_byte(b, 0xa0u | (unsigned)strlen(text));
	while (*text != '\0')
		put_byte(b, (unsigned char)*text++);
}

static void put_big(body *b, unsigned head, uint64_t bits)
{
	put_byte(b, head);
	for (int shift = 56; shift >= 0; shift -= 8)
		put_byte(b, (unsigned)(bits >> shift & 255));
}

static void put_double(body *b, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_big(b, 0xcb, bits);
}

bool sim_reply_find(const sim_reply *reply, const char *text, size_t *at)
{
	size_t length = strlen(text);
	for (size_t i = *at; i + length < reply->length; i++)
		if (reply->body[i] == (0xa0u | (unsigned)length) && memcmp(reply->body + i + 1, text, length) == 0) {
			*at = i + 1 + length;
			return true;
		}
	return false;
}

bool sim_reply_number(const sim_reply *reply, const char *key, size_t *at, uint64_t *out)
{
	if (!sim_reply_find(reply, key, at) || *at >= reply->length)
		return false;
	unsigned head = reply->body[*at];
	size_t bytes = head >= 0xcc && head <= 0xcf ? (size_t)1 << (head - 0xcc) : 0;
	*out = head < 0x80 ? head : 0;
	for (size_t i = 1; i <= bytes && *at + i < reply->length; i++)
		*out = *out << 8 | reply->body[*at + i];
	return head < 0x80 || bytes > 0;
}

/* ---- requests ---- */

static void send_request(void *socket, const char *verb, const char *model, const body *b)
{
	(void)zmq_send(socket, verb, strlen(verb), ZMQ_SNDMORE);
	(void)zmq_send(socket, model, strlen(model), ZMQ_SNDMORE);
	(void)zmq_send(socket, b->bytes, b->length, 0);
}

static bool receive(void *socket, uint64_t until, sim_reply *out)
{
	char status[8] = "";
	for (;;) {
		if (zmq_recv(socket, status, sizeof status, ZMQ_DONTWAIT) >= 0)
			break;
		if (sim_now() >= until)
			return false;
		(void)sim_wait(sim_wake_key(SIM_CLIENTS), until);
	}
	int length = zmq_recv(socket, out->body, sizeof out->body, ZMQ_DONTWAIT);
	out->ok = status[0] == 'o';
	out->length = length < 0 ? 0 : (size_t)length;
	return true;
}

bool sim_request(const char *endpoint, const char *verb, uint64_t patience, sim_reply *out)
{
	static const body empty;
	void *socket = zmq_socket(NULL, ZMQ_DEALER);
	(void)zmq_connect(socket, endpoint);
	send_request(socket, verb, "", &empty);
	bool answered = receive(socket, sim_now() + patience, out);
	(void)zmq_close(socket);
	return answered;
}

static double loss_of(const char *id)
{
	unsigned sum = 0;
	for (; *id != '\0'; id++)
		sum += (unsigned char)*id;
	return (double)(sum * 7919 % 101) / 100.0;
}

static void leave(client *c)
{
	if (c->socket != NULL)
		(void)zmq_close(c->socket);
	c->socket = NULL;
	c->place = (c->place + 1) % c->daemons;
}

static void put_request(client *c, const decision *d, bool feeds, body *b)
{
	put_byte(b, 0x83);
	put_text(b, "id");
	put_text(b, d->id);
	put_text(b, feeds ? "loss" : "x");
	if (feeds) {
		put_double(b, loss_of(d->id));
	} else {
		put_byte(b, 0x92);
		put_double(b, d->x[0]);
		put_double(b, d->x[1]);
	}
	put_text(b, "seq");
	put_big(b, 0xcf, ++c->seq);
}

static uint64_t note_ask(const client *c, const decision *d, bool feeds)
{
	uint64_t number = sim_note("ask");
	if (feeds)
		(void)printf(" c%u feedback d %s %.17g\n", c->name, d->id, loss_of(d->id));
	else
		(void)printf(" c%u decide d %s\n", c->name, d->id);
	return number;
}

/* The reply to that request, among late ones to others. */
static bool await(client *c, sim_reply *reply)
{
	uint64_t until = sim_now() + PATIENCE, seq;
	while (receive(c->socket, until, reply)) {
		size_t at = 0;
		if (sim_reply_number(reply, "seq", &at, &seq) && seq == c->seq)
			return true;
	}
	return false;
}

/* One request; false: there was no answer, or a refusal. */
static bool once(client *c, const decision *d, bool feeds)
{
	char endpoint[64];
	sim_reply *reply = malloc(sizeof *reply);
	body b = { .length = 0 };
	size_t at = 0;
	if (c->socket == NULL) {
		c->socket = zmq_socket(NULL, ZMQ_DEALER);
		(void)snprintf(endpoint, sizeof endpoint, "ipc://sim/%zu/requests", c->place);
		(void)zmq_connect(c->socket, endpoint);
	}
	put_request(c, d, feeds, &b);
	uint64_t number = note_ask(c, d, feeds);
	send_request(c->socket, feeds ? "feedback" : "decide", "d", &b);
	bool good = await(c, reply);
	if (!good) {
		leave(c);
	} else {
		told++;
		(void)sim_note("told");
		(void)printf(" %llu ", (unsigned long long)number);
		sim_print_hex(reply->body, reply->length);
		good = reply->ok;
		if (!good && sim_reply_find(reply, "not_leader", &at))
			leave(c);
	}
	free(reply);
	return good;
}

/* Until it is answered, or, while the clients are not to end, given up. */
static bool ask(client *c, decision *d, bool feeds)
{
	const bool last = ending;
	d->fed |= feeds;
	for (;;) {
		if (once(c, d, feeds)) {
			d->decided |= !feeds;
			d->closed |= feeds;
			return true;
		}
		if (ending && !last)
			return false;
		sim_sleep(sim_draw(10 * SIM_MS));
	}
}

/* ---- what they do ---- */

static void new_one(client *c)
{
	decision *d = &c->made[c->count++];
	(void)snprintf(d->id, sizeof d->id, "c%u-%zu", c->name, c->count);
	for (size_t i = 0; i < 2; i++)
		d->x[i] = (double)sim_draw(4001) * 1e-3 - 2.0;
	(void)ask(c, d, false);
}

static void step(client *c)
{
	decision *d = c->count == 0 ? NULL : &c->made[c->count - 1 - sim_draw(c->count < 30 ? c->count : 30)];
	uint64_t kind = sim_draw(100);
	if (d == NULL || kind < 45)
		new_one(c);
	else if (kind < 85)
		(void)(d->decided ? ask(c, d, true) : ask(c, d, d->fed));
	else if (kind < 93 || !d->closed)
		(void)ask(c, d, d->fed);
	else
		(void)ask(c, d, true);
	sim_sleep(sim_draw(40 * SIM_MS));
}

static void *work(void *context)
{
	client *c = context;
	while (!ending && c->count < MOST)
		step(c);
	while (!ending)
		sim_sleep(50 * SIM_MS);
	for (size_t i = 0; i < c->count; i++)
		(void)ask(c, &c->made[i], c->made[i].fed);
	leave(c);
	working--;
	return NULL;
}

void sim_clients_start(size_t count, size_t daemons)
{
	working = count;
	for (size_t i = 0; i < count; i++) {
		client *c = calloc(1, sizeof *c);
		c->name = (unsigned)i;
		c->daemons = daemons;
		c->place = sim_draw(daemons);
		sim_start(SIM_CLIENTS, work, c);
	}
}

void sim_clients_end(void) { ending = true; }
bool sim_clients_ended(void) { return working == 0; }
uint64_t sim_clients_told(void) { return told; }

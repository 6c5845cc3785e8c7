/* One REP socket for each context; a request is answered before the next is taken. Lock: of access and the counts,
 * held while a key is looked up. Only the thread uses the sockets between open and close. */
#include "daemon/serve/zap.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <zmq.h>

#include "base/mem.h"
#include "base/thread.h"
#include "daemon/common/clock.h"
#include "wire/curve_key.h"

#define ENDPOINT  "inproc://zeromq.zap.01"
#define FRAMES    7  /* version, request, domain, address, identity, mechanism, key */
#define KEY_BYTES 32 /* of a public key */
#define ADDRESS   64 /* characters of a peer's address that the log has room for */

struct cop_zap {
	void *sockets[COP_ZAP_CONTEXTS];
	int wake; /* readable: the thread is to end */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	const cop_access *access;
	cop_zap_counts counts;
	cop_log *log;
	cop_log_limiter accepted, refused;
};

typedef struct asked {
	zmq_msg_t frame[FRAMES + 1]; /* behind the last: what is too much */
	size_t count;
	bool whole; /* exactly FRAMES */
} asked;

static bool take(void *socket, asked *a)
{
	*a = (asked){ .count = 0, .whole = true };
	for (bool more = true; more;) {
		zmq_msg_t *frame = &a->frame[a->count];
		(void)zmq_msg_init(frame);
		if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0) {
			(void)zmq_msg_close(frame);
			break;
		}
		more = zmq_msg_more(frame) != 0;
		if (a->count == FRAMES) {
			(void)zmq_msg_close(frame);
			a->whole = false;
		} else {
			a->count++;
		}
	}
	a->whole = a->whole && a->count == FRAMES;
	return a->count > 0;
}

static bool frame_is(zmq_msg_t *frame, const char *text)
{
	return zmq_msg_size(frame) == strlen(text) && memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

/* The name of the client whose key was shown; "": nobody's. key: its text, "" when there is none. */
static void find_name(cop_zap *zap, asked *a, char name[COP_ACCESS_NAME + 1], char key[COP_CURVE_KEY_ROOM])
{
	name[0] = key[0] = '\0';
	bool good = a->whole && frame_is(&a->frame[0], "1.0") && frame_is(&a->frame[5], "CURVE") &&
	            zmq_msg_size(&a->frame[6]) == KEY_BYTES;
	if (good && zmq_z85_encode(key, zmq_msg_data(&a->frame[6]), KEY_BYTES) == NULL)
		key[0] = '\0';
	(void)pthread_mutex_lock(&zap->lock);
	const cop_access_entry *entry = cop_access_find(zap->access, key, strlen(key));
	if (entry != NULL)
		(void)snprintf(name, COP_ACCESS_NAME + 1, "%s", entry->name);
	zap->counts.accepted += entry != NULL;
	zap->counts.refused += entry == NULL;
	(void)pthread_mutex_unlock(&zap->lock);
}

/* The properties that the connection's messages carry beside the name: name and value, each behind its length. */
static size_t put_properties(uint8_t *out, const char *key)
{
	static const char name[] = COP_ZAP_KEY;
	uint32_t length = htobe32((uint32_t)strlen(key));
	size_t at = 0;
	out[at++] = sizeof name - 1;
	memcpy(out + at, name, sizeof name - 1);
	at += sizeof name - 1;
	memcpy(out + at, &length, sizeof length);
	at += sizeof length;
	memcpy(out + at, key, strlen(key));
	return at + strlen(key);
}

static void answer(void *socket, asked *a, const char *name, const char *key)
{
	uint8_t properties[sizeof COP_ZAP_KEY + sizeof(uint32_t) + COP_CURVE_KEY_ROOM];
	bool known = name[0] != '\0';
	const char *status = known ? "200" : "400", *text = known ? "OK" : "no such key";
	(void)zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
	if (a->count > 1)
		(void)zmq_send(socket, zmq_msg_data(&a->frame[1]), zmq_msg_size(&a->frame[1]), ZMQ_SNDMORE);
	(void)zmq_send(socket, status, strlen(status), ZMQ_SNDMORE);
	(void)zmq_send(socket, text, strlen(text), ZMQ_SNDMORE);
	(void)zmq_send(socket, name, strlen(name), ZMQ_SNDMORE);
	(void)zmq_send(socket, properties, known ? put_properties(properties, key) : 0, 0);
}

static void handle(cop_zap *zap, void *socket)
{
	asked a;
	char name[COP_ACCESS_NAME + 1], key[COP_CURVE_KEY_ROOM];
	if (!take(socket, &a))
		return;
	find_name(zap, &a, name, key);
	answer(socket, &a, name, key);
	bool known = name[0] != '\0';
	size_t length = a.whole ? zmq_msg_size(&a.frame[3]) : 0;
	int shown = (int)(length < ADDRESS ? length : ADDRESS);
	const char *address = a.whole ? zmq_msg_data(&a.frame[3]) : "";
	if (known)
		cop_log_limited(zap->log, &zap->accepted, cop_clock_monotonic_us(), COP_LOG_EVENT(curve_accepted),
		        "name=%s address=%.*s", name, shown, address);
	else
		cop_log_limited(zap->log, &zap->refused, cop_clock_monotonic_us(), COP_LOG_EVENT(curve_refused),
		        "address=%.*s key=\"%s\"", shown, address, key);
	for (size_t i = 0; i < a.count; i++)
		(void)zmq_msg_close(&a.frame[i]);
}

static void *run(void *context)
{
	cop_zap *zap = context;
	zmq_pollitem_t items[COP_ZAP_CONTEXTS + 1] = { { .fd = zap->wake, .events = ZMQ_POLLIN } };
	for (size_t i = 0; i < COP_ZAP_CONTEXTS; i++)
		items[i + 1] = (zmq_pollitem_t){ .socket = zap->sockets[i], .events = ZMQ_POLLIN };
	for (;;) {
		int ready = zmq_poll(items, COP_ZAP_CONTEXTS + 1, -1);
		if (ready < 0 && errno != EINTR)
			return NULL;
		if (ready > 0 && items[0].revents != 0)
			return NULL;
		for (size_t i = 0; ready > 0 && i < COP_ZAP_CONTEXTS; i++)
			if (items[i + 1].revents != 0)
				handle(zap, zap->sockets[i]);
	}
}

cop_err cop_zap_open(
        void *const contexts[COP_ZAP_CONTEXTS], const cop_access *access, cop_log *log, cop_zap **out, cop_diag *diag)
{
	cop_zap *zap = *out = cop_mem_alloc(1, sizeof *zap);
	if (zap == NULL) {
		cop_diag_message(diag, "curve: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	*zap = (cop_zap){ .access = access, .log = log, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	(void)pthread_mutex_init(&zap->lock, NULL);
	cop_log_limiter_init(&zap->accepted, 20.0, 100.0);
	cop_log_limiter_init(&zap->refused, 1.0, 10.0);
	bool ok = zap->wake >= 0;
	for (size_t i = 0; ok && i < COP_ZAP_CONTEXTS; i++) {
		zap->sockets[i] = zmq_socket(contexts[i], ZMQ_REP);
		ok = zap->sockets[i] != NULL && zmq_bind(zap->sockets[i], ENDPOINT) == 0;
	}
	zap->started = ok && cop_thread_start(&zap->thread, run, zap) == COP_OK;
	if (zap->started)
		return COP_OK;
	cop_diag_message(diag, "curve: no thread for authentication: %s", zmq_strerror(errno));
	cop_zap_close(zap);
	*out = NULL;
	return COP_EIO;
}

void cop_zap_close(cop_zap *zap)
{
	static const uint64_t one = 1;
	if (zap == NULL)
		return;
	if (zap->started) {
		(void)!write(zap->wake, &one, sizeof one);
		(void)pthread_join(zap->thread, NULL);
	}
	for (size_t i = 0; i < COP_ZAP_CONTEXTS; i++)
		if (zap->sockets[i] != NULL)
			(void)zmq_close(zap->sockets[i]);
	if (zap->wake >= 0)
		(void)close(zap->wake);
	(void)pthread_mutex_destroy(&zap->lock);
	cop_mem_free(zap);
}

void cop_zap_set_access(cop_zap *zap, const cop_access *access)
{
	(void)pthread_mutex_lock(&zap->lock);
	zap->access = access;
	(void)pthread_mutex_unlock(&zap->lock);
}

cop_zap_counts cop_zap_look(cop_zap *zap)
{
	(void)pthread_mutex_lock(&zap->lock);
	cop_zap_counts counts = zap->counts;
	(void)pthread_mutex_unlock(&zap->lock);
	return counts;
}

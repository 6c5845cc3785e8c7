/* Limits are set before the socket connects. A wait polls until its deadline; an interrupted poll starts again with
 * the time that is left. */
#include "client_socket.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HIGH_WATER    65536 /* messages queued for one peer; beyond it sends wait */
#define LARGEST       ((int64_t)16 << 20)
#define LINGER_MS     2000 /* at close, for what is still on its way */
#define HEARTBEAT_MS  5000
#define RECONNECT_MS  50
#define RECONNECT_MAX 1000

double cop_client_socket_now(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool set_int(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static bool set_options(void *socket, int type)
{
	int64_t largest = LARGEST;
	bool ok = zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &largest, sizeof largest) == 0 &&
	          set_int(socket, ZMQ_SNDHWM, HIGH_WATER) && set_int(socket, ZMQ_RCVHWM, HIGH_WATER) &&
	          set_int(socket, ZMQ_LINGER, LINGER_MS) && set_int(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) &&
	          set_int(socket, ZMQ_HEARTBEAT_TIMEOUT, 3 * HEARTBEAT_MS) &&
	          set_int(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) &&
	          set_int(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX);
	if (ok && type == ZMQ_DEALER) /* wait for a connection instead of queueing for one that may never be */
		ok = set_int(socket, ZMQ_IMMEDIATE, 1);
	if (ok && type == ZMQ_XPUB) /* a full queue makes the send wait, not the message vanish */
		ok = set_int(socket, ZMQ_XPUB_NODROP, 1);
	return ok;
}

cop_err cop_client_socket(
        void *context, int type, const char *endpoint, const cop_client_keys *keys, void **out, cop_diag *diag)
{
	*out = context == NULL ? NULL : zmq_socket(context, type);
	if (*out == NULL) {
		cop_diag_of(diag, endpoint, "no socket: %s", zmq_strerror(errno));
		return COP_ENOMEM;
	}
	cop_err err = keys == NULL ? COP_OK : cop_client_keys_set(*out, keys, diag);
	if (err == COP_OK && set_options(*out, type) && zmq_connect(*out, endpoint) == 0)
		return COP_OK;
	if (err == COP_OK)
		cop_diag_of(diag, endpoint, "%s, expected an endpoint such as tcp://127.0.0.1:5590 or ipc://PATH",
		        zmq_strerror(errno));
	(void)zmq_close(*out);
	*out = NULL;
	return err == COP_OK ? COP_EINVAL : err;
}

void *cop_client_socket_watch(void *context, void *socket)
{
	char place[64];
	(void)snprintf(place, sizeof place, "inproc://watch-%p", socket);
	if (zmq_socket_monitor(socket, place, ZMQ_EVENT_DISCONNECTED) != 0)
		return NULL;
	void *watch = zmq_socket(context, ZMQ_PAIR);
	if (watch == NULL || (set_int(watch, ZMQ_LINGER, 0) && zmq_connect(watch, place) == 0))
		return watch;
	(void)zmq_close(watch);
	return NULL;
}

bool cop_client_socket_ended(void *watch)
{
	bool ended = false;
	cop_client_message event; /* what happened, and where */
	while (watch != NULL && cop_client_socket_take(watch, &event) == COP_OK) {
		ended = true;
		cop_client_socket_release(&event);
	}
	return ended;
}

cop_err cop_client_socket_wait(void *socket, bool send, double seconds)
{
	double deadline = cop_client_socket_now() + seconds;
	for (;;) {
		double left = deadline - cop_client_socket_now();
		zmq_pollitem_t item = { .socket = socket, .events = send ? ZMQ_POLLOUT : ZMQ_POLLIN };
		int ready = zmq_poll(&item, 1, left > 0.0 ? lround(ceil(fmin(left, 1e6) * 1000.0)) : 0);
		if (ready > 0)
			return COP_OK;
		if (ready < 0 && errno != EINTR)
			return COP_EIO;
		if (ready == 0 && left <= 0.0)
			return COP_EEND;
	}
}

cop_err cop_client_socket_doze(void *socket, double seconds)
{
	int fd;
	size_t size = sizeof fd;
	if (zmq_getsockopt(socket, ZMQ_FD, &fd, &size) != 0)
		return COP_EIO;
	struct pollfd item = { .fd = fd, .events = POLLIN };
	struct timespec most = { .tv_sec = (time_t)seconds };
	most.tv_nsec = (long)((seconds - (double)most.tv_sec) * 1e9);
	int ready = ppoll(&item, 1, &most, NULL);
	return ready > 0 || (ready < 0 && errno == EINTR) ? COP_OK : ready == 0 ? COP_EEND : COP_EIO;
}

/* Frames of one message arrive together, so only the first receive can find nothing. */
cop_err cop_client_socket_take(void *socket, cop_client_message *out)
{
	out->count = 0;
	for (bool more = true; more;) {
		zmq_msg_t spare;
		zmq_msg_t *frame = out->count < COP_CLIENT_FRAMES ? &out->frame[out->count] : &spare;
		(void)zmq_msg_init(frame);
		if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0) {
			int why = errno;
			(void)zmq_msg_close(frame);
			cop_client_socket_release(out);
			return why == EAGAIN || why == EINTR ? COP_EEND : COP_EIO;
		}
		more = zmq_msg_more(frame) != 0;
		if (frame == &spare)
			(void)zmq_msg_close(frame);
		out->count += out->count <= COP_CLIENT_FRAMES;
	}
	return COP_OK;
}

void cop_client_socket_release(cop_client_message *message)
{
	for (size_t i = 0; i < message->count && i < COP_CLIENT_FRAMES; i++)
		(void)zmq_msg_close(&message->frame[i]);
	message->count = 0;
}

bool cop_client_socket_frame_is(zmq_msg_t *frame, const char *text)
{
	size_t length = strlen(text);
	return zmq_msg_size(frame) == length && memcmp(zmq_msg_data(frame), text, length) == 0;
}

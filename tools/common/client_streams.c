/* Opening waits until the daemon has subscribed to contexts and to feedback, so that no message is dropped. A send
 * that finds a full queue is tried again until the deadline. */
#include "client_streams.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client_socket.h"
#include "command.h"

#define TOPIC_ROOM 160

typedef struct publisher {
	void *socket;
	const char *endpoint; /* kept */
	char topic[TOPIC_ROOM];
} publisher;

struct cop_streams {
	void *context;
	void *actions;
	char topic[TOPIC_ROOM];
	publisher contexts, feedback;
	double timeout;
	cop_client_message message; /* the actions in hand */
};

static cop_err complain(const char *endpoint, cop_err err, const char *what, double timeout, cop_diag *diag)
{
	if (err == COP_EEND)
		cop_diag_of(diag, endpoint, "%s within %g s, expected a running coppiced", what, timeout);
	else
		cop_diag_of(diag, endpoint, "%s: %s", what, zmq_strerror(zmq_errno()));
	return err;
}

/* A daemon's subscription arrives as a message of the byte 1 and the topic's beginning. */
static cop_err wait_subscribed(const publisher *p, double timeout, cop_diag *diag)
{
	for (double deadline = cop_command_now() + timeout;;) {
		cop_client_message message;
		cop_err err = cop_client_socket_wait(p->socket, false, deadline - cop_command_now());
		if (err == COP_OK)
			err = cop_client_socket_take(p->socket, &message);
		else
			return complain(p->endpoint, err, "there is no subscriber", timeout, diag);
		if (err == COP_EEND)
			continue;
		if (err != COP_OK)
			return complain(p->endpoint, err, "receiving", timeout, diag);
		const uint8_t *data = zmq_msg_data(&message.frame[0]);
		size_t length = zmq_msg_size(&message.frame[0]);
		bool ours = length > 0 && length - 1 <= strlen(p->topic) && data[0] == 1 &&
		            memcmp(data + 1, p->topic, length - 1) == 0;
		cop_client_socket_release(&message);
		if (ours)
			return COP_OK;
	}
}

static cop_err open_publisher(
        void *context, const char *endpoint, const char *prefix, const char *model, publisher *p, cop_diag *diag)
{
	p->endpoint = endpoint;
	(void)snprintf(p->topic, sizeof p->topic, "%s%s", prefix, model);
	return cop_client_socket(context, ZMQ_XPUB, endpoint, NULL, &p->socket, diag);
}

static cop_err open_all(cop_streams *s, const cop_streams_settings *set, cop_diag *diag)
{
	(void)snprintf(s->topic, sizeof s->topic, "act.%s", set->model);
	s->context = zmq_ctx_new();
	cop_err err = cop_client_socket(s->context, ZMQ_SUB, set->actions, NULL, &s->actions, diag);
	if (err == COP_OK && zmq_setsockopt(s->actions, ZMQ_SUBSCRIBE, s->topic, strlen(s->topic)) != 0)
		err = complain(set->actions, COP_EIO, "subscribing", 0.0, diag);
	if (err == COP_OK)
		err = open_publisher(s->context, set->contexts, "ctx.", set->model, &s->contexts, diag);
	if (err == COP_OK)
		err = open_publisher(s->context, set->feedback, "fb.", set->model, &s->feedback, diag);
	if (err == COP_OK)
		err = wait_subscribed(&s->contexts, set->timeout, diag);
	return err != COP_OK ? err : wait_subscribed(&s->feedback, set->timeout, diag);
}

cop_err cop_client_streams_open(const cop_streams_settings *settings, cop_streams **out, cop_diag *diag)
{
	*out = NULL;
	cop_streams *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	s->timeout = settings->timeout;
	cop_err err = open_all(s, settings, diag);
	if (err != COP_OK) {
		cop_client_streams_close(s);
		return err;
	}
	*out = s;
	return COP_OK;
}

void cop_client_streams_close(cop_streams *streams)
{
	if (streams == NULL)
		return;
	void *const all[] = { streams->actions, streams->contexts.socket, streams->feedback.socket };
	cop_client_socket_release(&streams->message);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i] != NULL)
			(void)zmq_close(all[i]);
	if (streams->context != NULL)
		(void)zmq_ctx_term(streams->context);
	cop_mem_free(streams);
}

/* XPUB does not poll for room to send: a full queue refuses, and the send is tried again a little later. */
static cop_err publish(const publisher *p, const void *body, size_t length, double timeout, cop_diag *diag)
{
	double deadline = cop_command_now() + timeout;
	while (zmq_send(p->socket, p->topic, strlen(p->topic), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
		if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
			return complain(p->endpoint, COP_EIO, "publishing", timeout, diag);
		if (cop_command_now() >= deadline)
			return complain(p->endpoint, COP_EEND, "nothing is taken", timeout, diag);
		cop_err err = cop_client_socket_wait(p->socket, false, 0.001);
		if (err == COP_EIO)
			return complain(p->endpoint, err, "publishing", timeout, diag);
	}
	if (zmq_send(p->socket, body, length, 0) < 0)
		return complain(p->endpoint, COP_EIO, "publishing", timeout, diag);
	return COP_OK;
}

cop_err cop_client_streams_context(cop_streams *streams, const void *body, size_t length, cop_diag *diag)
{
	return publish(&streams->contexts, body, length, streams->timeout, diag);
}

cop_err cop_client_streams_feedback(cop_streams *streams, const void *body, size_t length, cop_diag *diag)
{
	return publish(&streams->feedback, body, length, streams->timeout, diag);
}

cop_err cop_client_streams_action(
        cop_streams *streams, double seconds, const uint8_t **body, size_t *length, cop_diag *diag)
{
	cop_client_message *message = &streams->message;
	for (double deadline = cop_command_now() + seconds;;) {
		cop_client_socket_release(message);
		cop_err err = cop_client_socket_take(streams->actions, message);
		if (err == COP_EEND) {
			err = cop_client_socket_wait(streams->actions, false, deadline - cop_command_now());
			if (err == COP_EEND)
				return err;
			if (err == COP_OK)
				continue;
		}
		if (err != COP_OK)
			return complain(streams->topic, err, "receiving", seconds, diag);
		/* A subscription matches beginnings, so another model's actions may come too. */
		if (message->count != 2 || !cop_client_socket_frame_is(&message->frame[0], streams->topic))
			continue;
		*body = zmq_msg_data(&message->frame[1]);
		*length = zmq_msg_size(&message->frame[1]);
		return COP_OK;
	}
}

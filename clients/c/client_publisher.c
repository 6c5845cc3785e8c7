/* XPUB does not poll for room to send: a full queue refuses, and the send is tried again a little later. */
#include "clients/c/client_publisher.h"

#include <stdio.h>
#include <string.h>

#include "clients/c/client_socket.h"

#define TOPIC_ROOM 160

cop_err cop_client_publisher_open(cop_client_publisher *p, void *context, const cop_client_keys *keys, cop_diag *diag)
{
	return cop_client_socket(context, ZMQ_XPUB, p->endpoint, keys, &p->socket, diag);
}

void cop_client_publisher_close(cop_client_publisher *publisher)
{
	if (publisher->socket != NULL)
		(void)zmq_close(publisher->socket);
	publisher->socket = NULL;
}

static cop_err complain(const cop_client_publisher *p, cop_err err, const char *what, cop_diag *diag)
{
	if (err == COP_EEND)
		cop_diag_of(diag, p->endpoint, "%s within %g s, expected a running coppiced", what, p->timeout);
	else
		cop_diag_of(diag, p->endpoint, "%s: %s", what, zmq_strerror(zmq_errno()));
	return err;
}

/* A daemon's subscription arrives as a message of the byte 1 and the topic's beginning. */
cop_err cop_client_publisher_await(const cop_client_publisher *p, cop_diag *diag)
{
	for (double deadline = cop_client_socket_now() + p->timeout;;) {
		cop_client_message message;
		cop_err err = cop_client_socket_wait(p->socket, false, deadline - cop_client_socket_now());
		if (err == COP_OK)
			err = cop_client_socket_take(p->socket, &message);
		else
			return complain(p, err, "there is no subscriber", diag);
		if (err == COP_EEND)
			continue;
		if (err != COP_OK)
			return complain(p, err, "receiving", diag);
		const uint8_t *data = zmq_msg_data(&message.frame[0]);
		size_t length = zmq_msg_size(&message.frame[0]);
		bool ours = length > 0 && length - 1 <= strlen(p->prefix) && data[0] == 1 &&
		            memcmp(data + 1, p->prefix, length - 1) == 0;
		cop_client_socket_release(&message);
		if (ours)
			return COP_OK;
	}
}

cop_err cop_client_publisher_send(
        const cop_client_publisher *p, const char *model, const void *body, size_t length, cop_diag *diag)
{
	char topic[TOPIC_ROOM];
	int size = snprintf(topic, sizeof topic, "%s%s", p->prefix, model);
	double deadline = cop_client_socket_now() + p->timeout;
	while (zmq_send(p->socket, topic, (size_t)size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
		if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
			return complain(p, COP_EIO, "publishing", diag);
		if (cop_client_socket_now() >= deadline)
			return complain(p, COP_EEND, "nothing is taken", diag);
		cop_err err = cop_client_socket_wait(p->socket, false, 0.001);
		if (err == COP_EIO)
			return complain(p, err, "publishing", diag);
	}
	return zmq_send(p->socket, body, length, 0) < 0 ? complain(p, COP_EIO, "publishing", diag) : COP_OK;
}

/* A subscription matches beginnings, so another model's actions may come too: they are left out. */
#include "clients/c/client_subscriber.h"

#include <stdio.h>
#include <string.h>

cop_err cop_client_subscriber_open(cop_client_subscriber *s, void *context, const char *endpoint,
        const cop_client_keys *keys, const char *model, cop_diag *diag)
{
	(void)snprintf(s->topic, sizeof s->topic, "act.%s", model);
	cop_err err = cop_client_socket(context, ZMQ_SUB, endpoint, keys, &s->socket, diag);
	if (err != COP_OK || zmq_setsockopt(s->socket, ZMQ_SUBSCRIBE, s->topic, strlen(s->topic)) == 0)
		return err;
	cop_diag_of(diag, endpoint, "subscribing: %s", zmq_strerror(zmq_errno()));
	return COP_EIO;
}

void cop_client_subscriber_close(cop_client_subscriber *subscriber)
{
	cop_client_socket_release(&subscriber->message);
	if (subscriber->socket != NULL)
		(void)zmq_close(subscriber->socket);
	subscriber->socket = NULL;
}

cop_err cop_client_subscriber_next(
        cop_client_subscriber *s, double seconds, const uint8_t **body, size_t *length, cop_diag *diag)
{
	cop_client_message *message = &s->message;
	for (double deadline = cop_client_socket_now() + seconds;;) {
		cop_client_socket_release(message);
		cop_err err = cop_client_socket_take(s->socket, message);
		if (err == COP_EEND) {
			err = cop_client_socket_wait(s->socket, false, deadline - cop_client_socket_now());
			if (err == COP_EEND)
				return err;
			if (err == COP_OK)
				continue;
		}
		if (err != COP_OK) {
			cop_diag_of(diag, s->topic, "receiving: %s", zmq_strerror(zmq_errno()));
			return err;
		}
		if (message->count != 2 || !cop_client_socket_frame_is(&message->frame[0], s->topic))
			continue;
		*body = zmq_msg_data(&message->frame[1]);
		*length = zmq_msg_size(&message->frame[1]);
		return COP_OK;
	}
}

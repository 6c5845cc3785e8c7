/* clients/c/client_subscriber.h: a socket that receives the actions of one model. Actions whose subscription has not
 * reached the daemon yet are lost. One thread. */
#ifndef COP_CLIENTS_C_CLIENT_SUBSCRIBER_H
#define COP_CLIENTS_C_CLIENT_SUBSCRIBER_H

#include "clients/c/client_socket.h"

#define COP_CLIENT_TOPIC 160

/* Zeroed is closed. */
typedef struct cop_client_subscriber {
	void *socket; /* SUB */
	char topic[COP_CLIENT_TOPIC];
	cop_client_message message; /* in hand */
} cop_client_subscriber;

/* Connects, with keys (NULL: none), in ZeroMQ's context (kept). Caller closes, also after an error. COP_EIO. Errors of
 * cop_client_socket. */
COP_CHECK cop_err cop_client_subscriber_open(cop_client_subscriber *subscriber, void *context, const char *endpoint,
        const cop_client_keys *keys, const char *model, cop_diag *diag);
void cop_client_subscriber_close(cop_client_subscriber *subscriber);
/* The body of the next message of actions, good until the next call. COP_EEND: none within `seconds`. COP_EIO, with
 * *diag. */
COP_CHECK cop_err cop_client_subscriber_next(
        cop_client_subscriber *subscriber, double seconds, const uint8_t **body, size_t *length, cop_diag *diag);

#endif

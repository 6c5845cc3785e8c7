/* clients/c/client_publisher.h: a socket that publishes on one of a daemon's streams and loses nothing on the way out:
 * it waits for the daemon's subscription before the first message, and where the queue is full. One thread. */
#ifndef COP_CLIENTS_C_CLIENT_PUBLISHER_H
#define COP_CLIENTS_C_CLIENT_PUBLISHER_H

#include <stddef.h>

#include "base/err.h"
#include "clients/c/client_keys.h"

typedef struct cop_client_publisher {
	void *socket;         /* XPUB */
	const char *endpoint; /* kept */
	const char *prefix;   /* kept: "ctx." or "fb." */
	double timeout;       /* seconds, of each wait */
} cop_client_publisher;

/* Connects, with keys (NULL: none), in ZeroMQ's context (kept). Caller closes, also after an error. Errors of
 * cop_client_socket. */
COP_CHECK cop_err cop_client_publisher_open(
        cop_client_publisher *publisher, void *context, const cop_client_keys *keys, cop_diag *diag);
/* What is on its way leaves when the context ends. */
void cop_client_publisher_close(cop_client_publisher *publisher);
/* Until the daemon has subscribed to the stream. COP_EEND: no daemon there within the timeout. COP_EIO. */
COP_CHECK cop_err cop_client_publisher_await(const cop_client_publisher *publisher, cop_diag *diag);
/* One message. COP_EEND: none is taken within the timeout. COP_EIO. */
COP_CHECK cop_err cop_client_publisher_send(
        const cop_client_publisher *publisher, const char *model, const void *body, size_t length, cop_diag *diag);

#endif

/* daemon/api/api_link.h: the listener's side of the request socket inside the process: verbs out, replies in.
 *
 * Nothing blocks. One thread. */
#ifndef COP_DAEMON_API_API_LINK_H
#define COP_DAEMON_API_API_LINK_H

#include <stdbool.h>

#include <zmq.h>

#include "base/bytes.h"

typedef struct cop_api_link {
	void *socket; /* DEALER */
	int fd;       /* readable when something changed since the last send or receive that found nothing */
} cop_api_link;

/* context: ZeroMQ's, in which `endpoint` is bound. Caller closes, also after an error. COP_EIO with the reason. */
COP_CHECK cop_err cop_api_link_open(cop_api_link *link, void *context, const char *endpoint, cop_diag *diag);
void cop_api_link_close(cop_api_link *link);

/* Whose request it is; goes before the verb, as it lies in memory. */
typedef struct cop_api_owner {
	uint32_t owner, most; /* of a cop_event_scope */
} cop_api_owner;

/* COP_EFULL: too many are under way, nothing was sent. */
COP_CHECK cop_err cop_api_link_send(
        cop_api_link *link, const cop_api_owner *owner, const char *verb, const char *model, const cop_bytes *body);
/* The next reply, its body in *body, which the caller closes; false: there is none. */
bool cop_api_link_receive(cop_api_link *link, bool *ok, zmq_msg_t *body);

#endif

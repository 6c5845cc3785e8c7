/* clients/c/client_streams.h: a client of a daemon's streams (docs/reference/protocol.md): publishes contexts and
 * feedback of one model, receives its actions.
 *
 * Nothing is lost on the way out: XPUB sockets wait for the daemon's subscription before the first message, and a full
 * queue makes a send wait. Actions may be lost (their subscription may come late), so a context whose action does not
 * come is published again. One thread. */
#ifndef COP_CLIENTS_C_CLIENT_STREAMS_H
#define COP_CLIENTS_C_CLIENT_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cop_streams cop_streams;

typedef struct cop_streams_settings {
	const char *contexts; /* the daemon's contexts_bind */
	const char *feedback; /* feedback_bind */
	const char *actions;  /* actions_bind */
	const char *model;
	double timeout; /* seconds, for each wait */
} cop_streams_settings;

/* Connects all three and waits for the daemon's subscriptions. Caller closes; on error *out is NULL.
 * COP_EINVAL: an endpoint. COP_EEND: no daemon there within the timeout. COP_ENOMEM, COP_EIO. */
COP_CHECK cop_err cop_client_streams_open(const cop_streams_settings *settings, cop_streams **out, cop_diag *diag);
/* Waits up to 2 s for what is still on its way out. */
void cop_client_streams_close(cop_streams *streams);

/* One message. COP_EEND: the daemon takes none within the timeout. COP_EIO. */
COP_CHECK cop_err cop_client_streams_context(cop_streams *streams, const void *body, size_t length, cop_diag *diag);
COP_CHECK cop_err cop_client_streams_feedback(cop_streams *streams, const void *body, size_t length, cop_diag *diag);

/* The next message of actions; body is valid until the next call. COP_EEND: none within `seconds`. COP_EIO. */
COP_CHECK cop_err cop_client_streams_action(
        cop_streams *streams, double seconds, const uint8_t **body, size_t *length, cop_diag *diag);

#endif

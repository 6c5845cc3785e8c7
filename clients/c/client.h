/* clients/c/client.h: a client of a daemon's request socket (docs/reference/protocol.md), on a DEALER socket.
 *
 * One at a time with cop_client_request, or many under way with send and receive: give each request a seq and look at
 * its reply's. Every wait ends at the timeout with a message that names the endpoint. One thread per client. */
#ifndef COP_CLIENTS_C_CLIENT_H
#define COP_CLIENTS_C_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "client_keys.h"

typedef struct cop_client cop_client;

typedef struct cop_client_reply {
	bool ok;
	const uint8_t *body; /* valid until the client's next receive or close */
	size_t length;
} cop_client_reply;

/* timeout in seconds, for each send and each receive. Caller closes; on error *out is NULL.
 * COP_EINVAL: the endpoint. COP_ENOMEM. */
COP_CHECK cop_err cop_client_open(const char *endpoint, double timeout, cop_client **out, cop_diag *diag);
/* The same with keys (borrowed). Also errors of cop_client_keys_set. */
COP_CHECK cop_err cop_client_open_keyed(
        const char *endpoint, const cop_client_keys *keys, double timeout, cop_client **out, cop_diag *diag);
void cop_client_close(cop_client *client);

/* COP_EEND: no server takes the message within the timeout. COP_EIO. */
COP_CHECK cop_err cop_client_send(
        cop_client *client, const char *verb, const char *model, const void *body, size_t length, cop_diag *diag);
/* The next reply, an error's too. COP_EEND: none within the timeout. COP_EFORMAT: no daemon answers there. COP_EIO. */
COP_CHECK cop_err cop_client_receive(cop_client *client, cop_client_reply *out, cop_diag *diag);
/* The same, but waits for at most `seconds` (to the microsecond); COP_EEND: none came. */
COP_CHECK cop_err cop_client_receive_within(cop_client *client, double seconds, cop_client_reply *out, cop_diag *diag);
/* Both; an error reply is COP_EINVAL with the daemon's code and message in *diag. */
COP_CHECK cop_err cop_client_request(cop_client *client, const char *verb, const char *model, const void *body,
        size_t length, cop_client_reply *out, cop_diag *diag);

/* "code: message" of an error reply into *diag; returns COP_EINVAL. */
cop_err cop_client_refused(const cop_client *client, const cop_client_reply *reply, cop_diag *diag);
/* The number that the request carried as seq (cop_wire_seq_from_unsigned); false when there is none. */
bool cop_client_reply_seq(const cop_client_reply *reply, uint64_t *out);

#endif

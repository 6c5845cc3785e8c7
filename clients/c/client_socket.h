/* clients/c/client_socket.h: ZeroMQ sockets as clients use them: limits set before connecting, a deadline
 * on every wait, faults in words. For clients/c/client*.c alone. One thread per socket. */
#ifndef COP_CLIENTS_C_CLIENT_SOCKET_H
#define COP_CLIENTS_C_CLIENT_SOCKET_H

#include <stdbool.h>

#include <zmq.h>

#include "base/err.h"
#include "client_keys.h"

#define COP_CLIENT_FRAMES 4

/* A received message; frames beyond COP_CLIENT_FRAMES are dropped, and count is COP_CLIENT_FRAMES + 1. */
typedef struct cop_client_message {
	zmq_msg_t frame[COP_CLIENT_FRAMES];
	size_t count;
} cop_client_message;

/* A socket of the type, connected to the endpoint (connecting itself happens in the background), with these keys (NULL:
 * none). Caller closes it with zmq_close. COP_EINVAL: no endpoint that ZeroMQ takes. COP_ENOMEM. Errors of
 * cop_client_keys_set. */
COP_CHECK cop_err cop_client_socket(
        void *context, int type, const char *endpoint, const cop_client_keys *keys, void **out, cop_diag *diag);

/* A socket that can receive when a connection of the other one has ended. Caller closes it with zmq_close, behind the
 * other one. NULL: there is none. */
void *cop_client_socket_watch(void *context, void *socket);
/* Whether one has, since the last look. NULL is allowed. */
bool cop_client_socket_ended(void *watch);

/* Seconds of a clock that only goes on. */
double cop_client_socket_now(void);
/* Waits until the socket can receive (or send). COP_EEND: not within `seconds`. COP_EIO. */
COP_CHECK cop_err cop_client_socket_wait(void *socket, bool send, double seconds);
/* After a take that found none: waits until there may be something to take, for at most `seconds`, to the microsecond
 * (cop_client_socket_wait counts milliseconds). Nothing may be sent between the two. COP_EEND: nothing came. COP_EIO.
 */
COP_CHECK cop_err cop_client_socket_doze(void *socket, double seconds);

/* The next whole message if one is there; COP_EEND: none. COP_EIO. Caller releases it. */
COP_CHECK cop_err cop_client_socket_take(void *socket, cop_client_message *out);
void cop_client_socket_release(cop_client_message *message);

/* Whether the frame holds this text. */
bool cop_client_socket_frame_is(zmq_msg_t *frame, const char *text);

#endif

/* daemon/request.h: the request socket: frames in, exactly one reply out, whatever they hold. The loop's thread.
 */
#ifndef COP_DAEMON_REQUEST_H
#define COP_DAEMON_REQUEST_H

#include "daemon/server.h"

/* Handles one message of the request socket and releases it; or keeps it, if its answer comes later. */
void cop_request_handle(cop_server *server, void *socket, cop_sockets_message *message);
/* Answers the request that is kept: with serving.reply, or after an error with the fault. */
void cop_request_answer(cop_server *server, cop_err err, cop_wire_fault *fault);
/* Forgets it, if there is one. */
void cop_request_drop(cop_server *server);

#endif

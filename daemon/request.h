/* daemon/request.h: the request socket: frames in, exactly one reply out, whatever they hold. The loop's thread.
 */
#ifndef COP_DAEMON_REQUEST_H
#define COP_DAEMON_REQUEST_H

#include "daemon/server.h"

/* Handles one message of the request socket and releases it. */
void cop_request_handle(cop_server *server, void *socket, cop_sockets_message *message);

#endif

/* daemon/api/api_respond.h: an answered request as a response of HTTP: its status, its headers, its body.
 *
 * The api's thread. */
#ifndef COP_DAEMON_API_API_RESPOND_H
#define COP_DAEMON_API_API_RESPOND_H

#include <arpa/inet.h>
#include <microhttpd.h>

#include "daemon/api/api_request.h"

/* Queues the response; MHD_NO ends the connection. */
enum MHD_Result cop_api_respond(struct MHD_Connection *connection, const cop_api_request *r);

/* Where the connection comes from; "-" where that is no address. */
void cop_api_respond_peer(struct MHD_Connection *connection, char out[INET6_ADDRSTRLEN]);

#endif

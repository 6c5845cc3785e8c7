/* daemon/api/api_query.h: what a path's query asks for, where the path takes one. The listener's thread. */
#ifndef COP_DAEMON_API_API_QUERY_H
#define COP_DAEMON_API_API_QUERY_H

#include <microhttpd.h>

#include "daemon/api/api_request.h"

/* Fills the request's `past`, or refuses it. */
void cop_api_query_read(cop_api_request *request, struct MHD_Connection *connection);

#endif

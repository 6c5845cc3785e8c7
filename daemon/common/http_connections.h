/* daemon/common/http_connections.h: the open connections of one HTTP listener, so that those that send nothing keep
 * nobody out: with one more than `most` open, the oldest that is not busy is ended.
 *
 * The listener's limit of connections is twice `most`, since an ended connection stays until the library has found it
 * at its end. One thread per table, the library's. */
#ifndef COP_DAEMON_COMMON_HTTP_CONNECTIONS_H
#define COP_DAEMON_COMMON_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

#include "base/err.h"

typedef struct cop_http_connection {
	const struct MHD_Connection *connection; /* NULL: free */
	uint64_t number;                         /* rises with each connection */
	int fd;
	bool busy; /* the caller's: a request of it is being answered */
	bool ended;
} cop_http_connection;

typedef struct cop_http_connections {
	cop_http_connection *items; /* 2 * most */
	size_t most;
	uint64_t count; /* ever opened */
	uint64_t ended; /* to make room */
} cop_http_connections;

/* Caller finishes with fini. COP_ENOMEM. */
COP_CHECK cop_err cop_http_connections_init(cop_http_connections *connections, size_t most);
void cop_http_connections_fini(cop_http_connections *connections);

/* NULL: not in the table. */
cop_http_connection *cop_http_connections_find(cop_http_connections *connections, const struct MHD_Connection *which);
/* A connection began or ended, as MHD_OPTION_NOTIFY_CONNECTION has it. What began is returned, NULL when it ended or
 * has no place. */
cop_http_connection *cop_http_connections_notice(
        cop_http_connections *connections, struct MHD_Connection *which, enum MHD_ConnectionNotificationCode what);

#endif

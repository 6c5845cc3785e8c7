/* A table without order, walked whole when a connection begins or ends, which a request does not. */
#include "daemon/common/http_connections.h"

#include <sys/socket.h>

#include "base/mem.h"

cop_err cop_http_connections_init(cop_http_connections *connections, size_t most)
{
	*connections =
	        (cop_http_connections){ .most = most, .items = cop_mem_alloc(2 * most, sizeof(cop_http_connection)) };
	return connections->items == NULL ? COP_ENOMEM : COP_OK;
}

void cop_http_connections_fini(cop_http_connections *connections)
{
	cop_mem_free(connections->items);
	*connections = (cop_http_connections){ 0 };
}

cop_http_connection *cop_http_connections_find(cop_http_connections *connections, const struct MHD_Connection *which)
{
	for (size_t i = 0; i < 2 * connections->most; i++)
		if (connections->items[i].connection == which)
			return &connections->items[i];
	return NULL;
}

/* When `most` are open already. */
static void end_oldest(cop_http_connections *connections)
{
	cop_http_connection *oldest = NULL;
	size_t count = 0;
	for (size_t i = 0; i < 2 * connections->most; i++) {
		cop_http_connection *c = &connections->items[i];
		if (c->connection == NULL || c->ended)
			continue;
		count++;
		if (!c->busy && (oldest == NULL || c->number < oldest->number))
			oldest = c;
	}
	if (count < connections->most || oldest == NULL)
		return;
	oldest->ended = true;
	connections->ended++;
	(void)shutdown(oldest->fd, SHUT_RDWR); /* the library finds it at its end and closes it */
}

cop_http_connection *cop_http_connections_notice(
        cop_http_connections *connections, struct MHD_Connection *which, enum MHD_ConnectionNotificationCode what)
{
	bool began = what == MHD_CONNECTION_NOTIFY_STARTED;
	cop_http_connection *slot = cop_http_connections_find(connections, began ? NULL : which);
	if (slot == NULL) /* more than the library was asked for */
		return NULL;
	if (!began) {
		*slot = (cop_http_connection){ 0 };
		return NULL;
	}
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(which, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info == NULL)
		return NULL;
	end_oldest(connections);
	*slot = (cop_http_connection){ .connection = which, .number = ++connections->count, .fd = info->connect_fd };
	return slot;
}

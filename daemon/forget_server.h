/* daemon/forget_server.h: the verb `forget`, and what the daemon does around an order to forget somebody
 * (daemon/durable/forgetting.h). The loop's thread. */
#ifndef COP_DAEMON_FORGET_SERVER_H
#define COP_DAEMON_FORGET_SERVER_H

#include "daemon/server.h"
#include "wire/wire_keys.h"

/* Takes up what a process before this one did not carry out. */
void cop_forget_server_open(cop_server *server);
/* model: NULL is all. body: `{unit | id: ID, seq?}`, an order: it is on disk when this returns; or `{order: NUMBER,
 * seq?}`, what became of one (*ordered false). The server's reply gets what cop_forget_body_order appends. COP_EINVAL,
 * COP_EFORMAT, COP_EIO, COP_ENOMEM, with *fault; there is no order then. */
COP_CHECK cop_err cop_forget_server_order(cop_server *server, const cop_model_slot *model, const void *body,
        size_t length, bool *ordered, cop_wire_fault *fault);

#endif

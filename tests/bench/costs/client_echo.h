/* tests/bench/costs/client_echo.h: the bare server that a daemon is measured against. */
#ifndef COP_COSTS_CLIENT_ECHO_H
#define COP_COSTS_CLIENT_ECHO_H

#include "base/err.h"

/* Answers every request (verb, model, body) at a ROUTER socket with `ok` and wire_bare.h's answer, until the process
 * ends. What is no such request is dropped. COP_EINVAL: the endpoint; COP_EIO, COP_ENOMEM; with *diag. */
COP_CHECK cop_err cop_client_echo(const char *endpoint, cop_diag *diag);

#endif

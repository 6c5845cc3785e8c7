/* daemon/common/http_listen.h: a socket that listens for HTTP on an address of the configuration. */
#ifndef COP_DAEMON_COMMON_HTTP_LISTEN_H
#define COP_DAEMON_COMMON_HTTP_LISTEN_H

#include <stdint.h>

#include "base/err.h"

/* Listens on `where`, ADDRESS:PORT (borrowed; IPv6 in brackets, port 0: any), the first of its addresses that can be
 * had; *fd does not block and is closed by exec. `option` begins messages, for example "http: listen". COP_EIO with a
 * message that names the address. */
COP_CHECK cop_err cop_http_listen(const char *option, const char *where, int *fd, cop_diag *diag);
/* The port that it listens on. */
uint16_t cop_http_listen_port(int fd);

#endif

/* daemon/serve/zap.h: who may connect to an endpoint of CURVE: ZeroMQ's authentication (RFC 27) in this process, on a
 * thread of its own, so that strangers who knock hold up nothing that is served.
 *
 * A client's public key has to be in the file of clients; the connection is then the client's, whose name and key each
 * of its messages carries (daemon/serve/permit.h). */
#ifndef COP_DAEMON_SERVE_ZAP_H
#define COP_DAEMON_SERVE_ZAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "daemon/common/log.h"
#include "daemon/config/access.h"

#define COP_ZAP_CONTEXTS 2
#define COP_ZAP_KEY      "Coppice-Key" /* property of a connection: the client's public key */

typedef struct cop_zap cop_zap;

typedef struct cop_zap_counts {
	uint64_t accepted, refused; /* connections, since the start */
} cop_zap_counts;

/* Starts the thread for sockets of these contexts of ZeroMQ (kept), before any of them binds. access and log are kept.
 * Caller closes before the contexts end. COP_ENOMEM. COP_EIO, with *diag. */
COP_CHECK cop_err cop_zap_open(
        void *const contexts[COP_ZAP_CONTEXTS], const cop_access *access, cop_log *log, cop_zap **out, cop_diag *diag);
void cop_zap_close(cop_zap *zap);

/* From here on access (kept) counts; the one before is no longer looked at. */
void cop_zap_set_access(cop_zap *zap, const cop_access *access);
cop_zap_counts cop_zap_look(cop_zap *zap);

#endif

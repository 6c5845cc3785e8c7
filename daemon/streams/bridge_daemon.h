/* daemon/streams/bridge_daemon.h: the daemon as the bridge asks it: up to where it knows a partition, and batches of
 * events. One thread per connection; after an error of COP_EEND, COP_EIO or COP_EFORMAT it is good for close alone, for
 * an answer may still be on its way. */
#ifndef COP_DAEMON_STREAMS_BRIDGE_DAEMON_H
#define COP_DAEMON_STREAMS_BRIDGE_DAEMON_H

#include "clients/c/client.h"
#include "wire/wire_items.h"

typedef struct cop_bridge_daemon_settings {
	const char *endpoint; /* borrowed until close, as the others */
	cop_client_keys keys;
	const char *model;
	bool feedback; /* else contexts */
	double timeout;
} cop_bridge_daemon_settings;

typedef struct cop_bridge_daemon cop_bridge_daemon;

/* Also asks what the model is like. On error *out is NULL. COP_EINVAL: the daemon refuses, as when it has no such
 * model; COP_EEND, COP_EIO, COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_bridge_daemon_open(
        const cop_bridge_daemon_settings *settings, cop_bridge_daemon **out, cop_diag *diag);
void cop_bridge_daemon_close(cop_bridge_daemon *daemon);

/* Bytes of a batch's body at most: the daemon answers a longer one with too_large, or ends the connection. */
uint64_t cop_bridge_daemon_limit(const cop_bridge_daemon *daemon);

/* Fills in offset and minor of *at by its source and partition; *known false: there is no position. Errors as of open.
 */
COP_CHECK cop_err cop_bridge_daemon_position(
        cop_bridge_daemon *daemon, cop_wire_position *at, bool *known, cop_diag *diag);

/* A batch's body. COP_OK: the answers, as many as `count`, borrowed until the next call. COP_EINVAL: refused as a
 * whole, and the fault says why. COP_EEND, COP_EIO, COP_EFORMAT. */
COP_CHECK cop_err cop_bridge_daemon_batch(cop_bridge_daemon *daemon, const cop_bytes *body, size_t count,
        cop_wire_items *answers, cop_wire_fault *fault, cop_diag *diag);

#endif

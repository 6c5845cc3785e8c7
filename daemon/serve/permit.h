/* daemon/serve/permit.h: what the sender of a message may do, by the key of its connection.
 *
 * Messages that came by ipc, from this process, or from a peer that the daemon connected to have no key: files' modes
 * and the configuration decide about these: here they may do everything. The loop's thread. */
#ifndef COP_DAEMON_SERVE_PERMIT_H
#define COP_DAEMON_SERVE_PERMIT_H

#include <zmq.h>

#include "daemon/config/access.h"
#include "wire/wire_code.h"

/* The name of the key with which the frame came (until the frame is closed); NULL: with none. */
const char *cop_permit_name(zmq_msg_t *frame);

/* What a message asks for. */
typedef struct cop_permit_asked {
	unsigned right;    /* COP_ACCESS_... */
	const char *model; /* "": for all models */
	size_t bytes;      /* of its body */
} cop_permit_asked;

/* Whether the frame's sender has the right for the model. access: the file of clients, NULL without CURVE. *client: the
 * sender's line, NULL if it has no key. COP_EINVAL: it has not (forbidden), with the reason. */
COP_CHECK cop_err cop_permit_check(const cop_access *access, zmq_msg_t *frame, const cop_permit_asked *asked,
        const cop_access_entry **client, cop_wire_fault *fault);
/* The same, and whether it is within its limits, of which the message takes its part. COP_EINVAL: also if not (busy).
 */
COP_CHECK cop_err cop_permit_take(const cop_access *access, zmq_msg_t *frame, const cop_permit_asked *asked,
        const cop_access_entry **client, cop_wire_fault *fault);
/* The message that was taken has so many items; 0 is as 1. client: NULL is nobody. */
void cop_permit_charge(const cop_access_entry *client, size_t items);

#endif

/* daemon/serve/permit.h: what the sender of a message may do, by the key of its connection.
 *
 * Messages that came by ipc, from this process, or from a peer that the daemon connected to have no key: files' modes
 * and the configuration decide about these, and they may do everything here. The loop's thread. */
#ifndef COP_DAEMON_SERVE_PERMIT_H
#define COP_DAEMON_SERVE_PERMIT_H

#include <zmq.h>

#include "daemon/config/access.h"
#include "wire/wire_code.h"

/* The name of the key with which the frame came (until the frame is closed); NULL: with none. */
const char *cop_permit_name(zmq_msg_t *frame);

/* Whether the frame's sender has the right (COP_ACCESS_...) for the model ("": for all models). access: the file of
 * clients, NULL without CURVE. COP_EINVAL: it has not (forbidden), with the reason. */
COP_CHECK cop_err cop_permit_check(
        const cop_access *access, zmq_msg_t *frame, unsigned right, const char *model, cop_wire_fault *fault);

#endif

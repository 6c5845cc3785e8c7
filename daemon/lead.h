/* daemon/lead.h: orders about who leads a group of replicas (docs/how-to/failover.md).
 *
 * An instance leads in an epoch, higher than any that it has heard of, and begins a segment of the journal with it. It
 * may lead until a time only: from then on no answer leaves any more, and the process ends, to be started anew as one
 * that follows. The same when it hears of a higher epoch. The loop's thread. */
#ifndef COP_DAEMON_LEAD_H
#define COP_DAEMON_LEAD_H

#include "daemon/server.h"

/* Seconds of the clock that orders go by: since the machine began, those asleep too. */
double cop_lead_now(void);

/* The verbs lead and follow: a reply's body, or the fault. *later: the answer to `follow` comes when another instance
 * has everything. */
COP_CHECK cop_err cop_lead_order(
        cop_server *server, const void *body, size_t length, cop_bytes *out, cop_wire_fault *fault);
COP_CHECK cop_err cop_lead_follow(
        cop_server *server, const void *body, size_t length, bool *later, cop_bytes *out, cop_wire_fault *fault);

/* Once a turn. */
void cop_lead_turn(cop_server *server);

#endif

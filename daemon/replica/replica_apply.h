/* daemon/replica/replica_apply.h: records that a follower was sent, into its models and its journal. The loop's thread.
 */
#ifndef COP_DAEMON_REPLICA_REPLICA_APPLY_H
#define COP_DAEMON_REPLICA_REPLICA_APPLY_H

#include "daemon/replica/replica_follower.h"

/* Takes what waits in line, as much as a turn may: the follower's state says what became of it. True: something was
 * taken. */
bool cop_replica_apply_turn(cop_replica_follower *follower, double now);
/* The journal begins the leader's epoch, once it has, or is to have, a record of it. */
void cop_replica_apply_epoch(cop_replica_follower *follower, uint64_t sequence);
/* Drops what waits in line. */
void cop_replica_apply_drop(cop_replica_follower *follower);
/* Another state, which the log is told. */
void cop_replica_apply_set_state(
        cop_replica_follower *follower, cop_replica_state state, cop_log_event event, const char *reason);

#endif

/* daemon/replica/replica_renew.h: followers begin anew when somebody was forgotten: with a checkpoint of the leader's,
 * for which they erase what they have.
 *
 * Since which record somebody is forgotten stands in the state (durable->forgot), and a follower tells it when it
 * joins: one that was away meanwhile begins anew when it comes. The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_RENEW_H
#define COP_DAEMON_REPLICA_REPLICA_RENEW_H

#include "daemon/replica/replica_leader.h"

/* What the leader has forgotten, those that are there forget, one after another; counted in *renewed, and in *left
 * where one is waited for no longer. True: all have. now: monotonic seconds. */
bool cop_replica_renew_turn(cop_replica_leader *leader, double now, uint64_t *renewed, uint64_t *left);
/* Whether nobody has what another one has forgotten, so that states can be compared. */
bool cop_replica_renew_stands(const cop_replica_leader *leader);

#endif

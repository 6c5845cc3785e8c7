/* daemon/replica/replica.h: this instance in a group of replicas: it leads, and feeds its journal to the others, or it
 * follows one that does (docs/reference/replication.md).
 *
 * Without a section `replica` every call returns at once. The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_H
#define COP_DAEMON_REPLICA_REPLICA_H

#include "daemon/replica/replica_follower.h"
#include "daemon/replica/replica_herald.h"
#include "daemon/replica/replica_leader.h"

#define COP_REPLICA_FDS 2

typedef struct cop_replica {
	bool enabled;
	cop_durability *durable; /* kept */
	char name[COP_CONFIG_NAME_MAX + 1];
	cop_replica_leader leader;
	cop_replica_follower follower;
	cop_replica_herald herald;
	cop_replica_counts counts;
} cop_replica;

/* What waits for a start in the state folder takes its place; durable is locked, and not open yet. COP_EIO, with *diag.
 */
COP_CHECK cop_err cop_replica_settle(cop_durability *durable, cop_diag *diag);
/* durable and sockets are open, and kept. Begins to lead where the configuration has nobody to follow, else to follow.
 * COP_EIO, COP_ENOMEM, with *diag. Caller closes, also after an error, before both. */
COP_CHECK cop_err cop_replica_open(cop_replica *replica, cop_durability *durable, cop_sockets *sockets,
        const cop_replica_hooks *hooks, cop_diag *diag);
void cop_replica_close(cop_replica *replica);

/* Whether this instance follows: it takes no events, and writes no records of its own. */
bool cop_replica_follows(const cop_replica *replica);
/* From here on it leads, in this epoch; it follows no longer. */
void cop_replica_lead(cop_replica *replica, uint64_t epoch);
/* The highest epoch that it has heard of. */
uint64_t cop_replica_epoch(const cop_replica *replica);
/* While it leads: a higher epoch than its own, in which another one does; 0: none. */
uint64_t cop_replica_higher(const cop_replica *replica);
/* While it leads: the last record that another one has, as the configuration has it that it is held. */
uint64_t cop_replica_held(const cop_replica *replica);
/* Where the one that leads takes requests, divided by spaces; "": not known. */
const char *cop_replica_requests(const cop_replica *replica);

/* Once a turn, before what was put is written: takes what came. True: there was something. now: monotonic seconds. */
bool cop_replica_receive(cop_replica *replica, double now);
/* Once a turn, behind that. True: something is under way that no descriptor wakes for. */
bool cop_replica_send(cop_replica *replica, double now);
/* Descriptors to poll, as of the daemon's other sockets; how many. */
size_t cop_replica_fds(const cop_replica *replica, int fds[COP_REPLICA_FDS]);

#endif

/* daemon/replica/replica_herald.h: one that leads tells all others of its group so, once a second, for one of them may
 * still lead in an earlier epoch, and those that follow are to find it. The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_HERALD_H
#define COP_DAEMON_REPLICA_REPLICA_HERALD_H

#include "daemon/replica/replica_message.h"
#include "daemon/serve/sockets.h"

typedef struct cop_replica_herald {
	cop_sockets *sockets;               /* kept */
	const cop_config_list *of;          /* kept */
	void *socket[COP_CONFIG_FOLLOWERS]; /* DEALER each; NULL: not yet */
	double next;                        /* monotonic seconds */
	cop_bytes head;
} cop_replica_herald;

void cop_replica_herald_init(cop_replica_herald *herald, cop_sockets *sockets, const cop_config_list *of);
/* Lets the connections go. */
void cop_replica_herald_end(cop_replica_herald *herald);
/* Tells the epoch, and where its leader is (divided by spaces), when that is due; now: monotonic seconds. */
void cop_replica_herald_turn(
        cop_replica_herald *herald, uint64_t epoch, const char *links, const char *requests, double now);

#endif

/* daemon/replica/replica_rows.h: the leader's table of followers, found by connection or name.
 *
 * `rows` are COP_CONFIG_FOLLOWERS. A name is in one at most. The loop's thread. */
#ifndef COP_DAEMON_REPLICA_REPLICA_ROWS_H
#define COP_DAEMON_REPLICA_REPLICA_ROWS_H

#include "daemon/replica/replica_leader.h"

/* That of the same connection; NULL: there is none. */
cop_replica_peer *cop_replica_rows_find(cop_replica_peer *rows, const cop_replica_peer *stranger);
/* NULL: there is none. */
cop_replica_peer *cop_replica_rows_find_name(cop_replica_peer *rows, const char *name);
/* The one that took the row of this connection, under the same name; NULL: there is none. */
cop_replica_peer *cop_replica_rows_find_next(cop_replica_peer *rows, const cop_replica_peer *stranger);

/* An empty row: where the stranger's name has one, that, and the stranger learns whose it was. NULL: all are taken. */
cop_replica_peer *cop_replica_rows_make(cop_replica_peer *rows, cop_replica_peer *stranger);
/* It is empty then. */
void cop_replica_rows_clear(cop_replica_peer *row);

#endif

/* daemon/follow_live.h: live changes of models that come from another instance of a group (daemon/config/live.h), over
 * the configuration file of this one. The loop's thread. */
#ifndef COP_DAEMON_FOLLOW_LIVE_H
#define COP_DAEMON_FOLLOW_LIVE_H

#include "daemon/server.h"

/* What a follower calls; server is kept. */
cop_replica_hooks cop_follow_live_hooks(cop_server *server);

#endif

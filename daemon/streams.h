/* daemon/streams.h: context and feedback streams: fast and unacknowledged; what is wrong is counted and logged at a
 * limited rate. The loop's thread. */
#ifndef COP_DAEMON_STREAMS_H
#define COP_DAEMON_STREAMS_H

#include "daemon/server.h"

/* One message `ctx.<model>` + body: each context is decided, the actions go out on `act.<model>` in a body of the same
 * kind (a map for a map, an array for an array); an apprentice, which does not decide, says nothing. The message is
 * released. */
void cop_streams_contexts(cop_server *server, cop_sockets_message *message);
/* One message `fb.<model>` + body. */
void cop_streams_feedback(cop_server *server, cop_sockets_message *message);

#endif

/* daemon/serve/streams.h: context and feedback streams: fast and unacknowledged; what is wrong is counted and logged at
 * a limited rate. The loop's thread. */
#ifndef COP_DAEMON_SERVE_STREAMS_H
#define COP_DAEMON_SERVE_STREAMS_H

#include "daemon/serve/serving.h"

/* One message `ctx.<model>` + body: each context is decided, the actions go out on `act.<model>` in a body of the same
 * kind (a map for a map, an array for an array); an apprentice, which does not decide, says nothing. While nobody
 * subscribes to the model's actions its contexts wait (daemon/models/unheard.h), unless the configuration has it that
 * they do not, they bring an action of their own, or there is no socket for actions. The message is released. */
void cop_streams_contexts(cop_serving *serving, cop_sockets_message *message);
/* Counts the message and releases it: too much is queued. */
void cop_streams_drop(cop_serving *serving, cop_sockets_message *message);
/* One message `fb.<model>` + body. */
void cop_streams_feedback(cop_serving *serving, cop_sockets_message *message);

/* Drops what waited too long and decides what waits and is heard by now, as much as a turn of the loop may: how many
 * bodies that were. */
size_t cop_streams_turn(cop_serving *serving);
/* What still waits when the daemon stops is lost; the log is told how much that is. */
void cop_streams_stop(cop_serving *serving);
/* Whether something waits that can be decided. */
bool cop_streams_ready(const cop_serving *serving);

/* No subscriber was given the actions in body, which left under the topic `act.<model>` and were decided when the time
 * was `decided`: those that were new decisions are unheard (cop_event_unheard), where contexts wait to be heard. */
void cop_streams_unheard(cop_serving *serving, const char *topic, double decided, const void *body, size_t length);

#endif

/* daemon/streams/bridge_event.h: an event of a log as the daemon takes it, and an action as a log takes it. No state:
 * any thread. */
#ifndef COP_DAEMON_STREAMS_BRIDGE_EVENT_H
#define COP_DAEMON_STREAMS_BRIDGE_EVENT_H

#include "base/bytes.h"
#include "wire/wire_position.h"

/* Appends the event (one MessagePack map, or one JSON object, in length bytes that a 0 follows) as a map that has
 * `from` beside what it had. COP_EFORMAT with the fault filled: it is neither; nothing was appended. COP_ENOMEM. */
COP_CHECK cop_err cop_bridge_event_put(
        cop_bytes *out, const void *event, size_t length, const cop_wire_position *from, cop_wire_fault *fault);

/* What the daemon's answer to an item is; anything else has neither. */
typedef struct cop_bridge_answer {
	bool action, repeated;
} cop_bridge_answer;

cop_bridge_answer cop_bridge_event_answer(const void *answer, size_t length);
/* Appends an action as it goes to the log. COP_EFORMAT, COP_ENOMEM. */
COP_CHECK cop_err cop_bridge_event_action(cop_bytes *out, const void *answer, size_t length, bool json);

#define COP_BRIDGE_EVENT_LETTER ((size_t)64 << 10) /* bytes of an event that its letter holds at most */
/* Appends what is put aside of an event that was passed over: {stream, partition, offset, minor, code, reason, length,
 * event}. COP_ENOMEM. */
COP_CHECK cop_err cop_bridge_event_letter(cop_bytes *out, const void *event, size_t length,
        const cop_wire_position *from, const cop_wire_fault *why, bool json);

#endif

/* daemon/common/event_clock.h: event time: the clock's at the start, continued by the time since boot.
 *
 * A clock that is further ahead of the newest record than the tolerance is not believed: time then goes on from that
 * record, so that no reward window ends by a wrong clock, until the clock is set or the tolerance raised. One that
 * is behind the newest record is not believed either, for event time never falls. The loop's thread. */
#ifndef COP_DAEMON_COMMON_EVENT_CLOCK_H
#define COP_DAEMON_COMMON_EVENT_CLOCK_H

#include <stdbool.h>

typedef struct cop_event_clock {
	double epoch; /* event time less boot time */
	double ahead; /* seconds by which the clock is ahead of event time, when it is not believed; else 0 */
} cop_event_clock;

/* newest: event time of the newest record, 0: there is none. tolerance: seconds; 0: every clock is believed. */
void cop_event_clock_start(cop_event_clock *clock, double newest, double tolerance);
/* Event time, unix seconds. */
double cop_event_clock_now(const cop_event_clock *clock);
/* Looks at the clock again; time: event time. True: it was not believed so far, and is from now on. */
bool cop_event_clock_look(cop_event_clock *clock, double time, double tolerance);

#endif

/* daemon/refit/duty_cycle.h: a process that computes at the lowest priority and yet lets others in at once.
 *
 * A thread that wakes takes a processor from idle-class work without delay, but one that waits behind another on its
 * own processor is fetched by a processor only when that falls idle, or at a tick of the clock (4 ms at 250 Hz). One
 * that computes all the time never falls idle, so it sleeps for a moment now and then. */
#ifndef COP_DAEMON_REFIT_DUTY_CYCLE_H
#define COP_DAEMON_REFIT_DUTY_CYCLE_H

/* From here on, until the process ends, it sleeps for 60 us after every 60 us of work, by SIGALRM and a timer of its
 * own, which is set anew when a sleep has ended: where sleeps last longer than they should, work is not what gives way.
 * Without a timer nothing happens. Calls to the system go on afterwards (SA_RESTART); sleeping ones end early. */
void cop_duty_cycle_start(void);

#endif

/* daemon/report/drop_report.h: what went wrong with messages lately, as lines of the log: requests refused for want of
 * room, memory or a journal, messages that peers missed, values that statistics took in cut, and what is newly known of
 * control groups.
 *
 * Counters are compared now and then, so that a flood makes a line each time and not one for each message. The loop's
 * thread. */
#ifndef COP_DAEMON_REPORT_DROP_REPORT_H
#define COP_DAEMON_REPORT_DROP_REPORT_H

#include <stdint.h>

#include "daemon/serve/serving.h"

typedef struct cop_drop_report {
	double next, next_control;            /* monotonic seconds: when to look again, and at control groups */
	uint64_t busy, internal, not_durable; /* as of the last look */
	uint64_t replies, actions, lost;
	uint64_t unheard, decisions; /* contexts dropped; decisions */
} cop_drop_report;

/* Looks, if it is time, and logs what has risen since the last look. */
void cop_drop_report_look(cop_drop_report *report, cop_serving *serving, double now);

#endif

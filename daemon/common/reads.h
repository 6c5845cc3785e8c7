/* daemon/common/reads.h: threads that read connections of their own.
 *
 * All recv() of the program pass daemon/serve/inlet.h, which looks up whether the connection is one of ZeroMQ's: a
 * call of the system for each. A thread that reads no such connection says so. */
#ifndef COP_DAEMON_COMMON_READS_H
#define COP_DAEMON_COMMON_READS_H

#include <stdbool.h>

/* From now on the calling thread reads no connection of ZeroMQ's. */
void cop_reads_are_own(void);
bool cop_reads_own(void);

#endif

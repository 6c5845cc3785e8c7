/* daemon/common/signals.h: SIGTERM, SIGINT and SIGHUP as bytes in a pipe that the loop polls.
 *
 * Handlers, not signalfd: OpenBLAS starts threads before main, which do not inherit a mask set there, and a signal
 * taken by one of them must still reach the loop. One object in a process. */
#ifndef COP_DAEMON_COMMON_SIGNALS_H
#define COP_DAEMON_COMMON_SIGNALS_H

#include <stdbool.h>

#include "base/err.h"

/* Installs the handlers and ignores SIGPIPE; *fd becomes readable when a signal came. COP_EIO. */
COP_CHECK cop_err cop_signals_open(int *fd);
/* Default actions again. */
void cop_signals_close(void);
/* The next signal's number; false when none is waiting. */
bool cop_signals_take(int *number);

#endif

/* daemon/common/signals.h: SIGTERM, SIGINT and SIGHUP, as a descriptor that the loop polls.
 *
 * By whichever thread they are taken, those of OpenBLAS too, which start before main and do not inherit a mask set
 * there. One object in a process. */
#ifndef COP_DAEMON_COMMON_SIGNALS_H
#define COP_DAEMON_COMMON_SIGNALS_H

#include <stdbool.h>

#include "base/err.h"

/* Installs handlers, blocks the signals in the calling thread and ignores SIGPIPE; *fd becomes readable when a signal
 * came. COP_EIO. */
COP_CHECK cop_err cop_signals_open(int *fd);
/* Default actions and the calling thread's mask again. */
void cop_signals_close(void);
/* The next signal's number; false when none is waiting. */
bool cop_signals_take(int *number);

#endif

/* daemon/common/refit_program.h: where coppice-refit, the program of refits, is.
 *
 * Beside the running daemon (a build folder); else where an installation puts it, as seen from the running daemon; else
 * where this build's installation goes. No state: any thread. */
#ifndef COP_DAEMON_COMMON_REFIT_PROGRAM_H
#define COP_DAEMON_COMMON_REFIT_PROGRAM_H

#include "base/err.h"

#define COP_REFIT_PROGRAM_ROOM 4096

/* Its path. COP_ENOTFOUND: none of the three is a program that may be started; *diag names the last. */
COP_CHECK cop_err cop_refit_program_find(char out[COP_REFIT_PROGRAM_ROOM], cop_diag *diag);

#endif

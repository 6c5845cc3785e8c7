/* daemon/common/refit_program.h: where the programs of refits are: coppice-refit, coppice-refit-mpi and what launches
 * that.
 *
 * Beside the running daemon (a build folder); else where an installation puts them, as seen from the running daemon;
 * else where this build's installation goes. A launcher is sought as a shell does. No state: any thread. */
#ifndef COP_DAEMON_COMMON_REFIT_PROGRAM_H
#define COP_DAEMON_COMMON_REFIT_PROGRAM_H

#include "base/err.h"

#define COP_REFIT_PROGRAM_ROOM  4096
#define COP_REFIT_LAUNCHER_MOST 32 /* words of a launcher */

#define COP_REFIT_ALONE  "coppice-refit"
#define COP_REFIT_BY_MPI "coppice-refit-mpi"

/* The path of one of the two. COP_ENOTFOUND: none of the three is a program that may be started; *diag names the last.
 */
COP_CHECK cop_err cop_refit_program_find(const char *name, char out[COP_REFIT_PROGRAM_ROOM], cop_diag *diag);

/* A launcher: words that are divided by spaces, of which the first is a program; its path goes to out, and the words to
 * argv, which point into `text`, where spaces become zeros. *count: how many. COP_ENOTFOUND, COP_EFULL: too many. */
COP_CHECK cop_err cop_refit_program_launcher(char *text, char out[COP_REFIT_PROGRAM_ROOM],
        char *argv[COP_REFIT_LAUNCHER_MOST], unsigned *count, cop_diag *diag);

#endif

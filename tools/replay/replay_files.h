/* tools/replay/replay_files.h: files that a replay is to write, looked at before it begins.
 *
 * None may be one that is read (but a resumed one may be saved to again), no two the same, and each must be one that
 * can be written, so that neither a log nor an hour's work is lost. */
#ifndef COP_TOOLS_REPLAY_REPLAY_FILES_H
#define COP_TOOLS_REPLAY_REPLAY_FILES_H

#include "base/err.h"
#include "replay_options.h"

/* COP_EINVAL; *diag names the file and what is wrong. */
COP_CHECK cop_err cop_replay_check_files(const cop_replay_options *options, cop_diag *diag);

#endif

/* tools/replay/replay_live.h: a log's events sent to a daemon's model, as self-contained feedback in batches: the model
 * learns from them what it would have learned had it been there.
 *
 * One thread. */
#ifndef COP_TOOLS_REPLAY_REPLAY_LIVE_H
#define COP_TOOLS_REPLAY_REPLAY_LIVE_H

#include <signal.h>

#include "replay_options.h"

/* Errors of the scan, of readers and of tools/client. */
COP_CHECK cop_err cop_replay_live(const cop_replay_options *options, const volatile sig_atomic_t *stop, cop_diag *diag);

#endif

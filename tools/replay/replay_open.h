/* tools/replay/replay_open.h: finds out what a log is, for the models that are to be made: from a saved state, the
 * options or a scan, in this order. With a saved state the log must be as the state says. One thread. */
#ifndef COP_TOOLS_REPLAY_REPLAY_OPEN_H
#define COP_TOOLS_REPLAY_REPLAY_OPEN_H

#include <signal.h>

#include "replay_feed.h"
#include "replay_options.h"
#include "replay_state.h"

typedef struct cop_replay_log {
	cop_feature_space *space; /* owned, unless it is lent */
	bool space_is_lent;       /* it is not freed */
	cop_replay_limits limits;
} cop_replay_log;

/* whole: all of the log is scanned, if it must be scanned. state: NULL or a saved one (kept). Caller ends with fini,
 * also on error. Errors of the scan and of files; COP_EINVAL: the options leave something open that
 * cannot be found out. COP_EEND: interrupted. */
COP_CHECK cop_err cop_replay_log_open(const cop_replay_options *options, const cop_replay_state *state, bool whole,
        const volatile sig_atomic_t *stop, cop_replay_log *out, cop_diag *diag);
void cop_replay_log_fini(cop_replay_log *log);

#endif

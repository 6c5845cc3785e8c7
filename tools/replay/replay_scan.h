/* tools/replay/replay_scan.h: what a bandit log holds, found by reading it: how many arms, what costs, which features.
 *
 * A scan of a log's beginning serves as long as the rest holds nothing else; the feed (tools/replay/replay_feed.h)
 * tells when it does, and then all of the log is scanned. One thread. */
#ifndef COP_TOOLS_REPLAY_REPLAY_SCAN_H
#define COP_TOOLS_REPLAY_REPLAY_SCAN_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"
#include "replay_options.h"

#define COP_REPLAY_SCAN_BEGINNING 20000 /* events */
#define COP_REPLAY_DENSE_COLUMNS  4096  /* more names than these are hashed */
#define COP_REPLAY_DENSE_PRESENCE 0.5   /* and so are names that are missing in more than this share of events, */
#define COP_REPLAY_DENSE_ANYWAY   128   /* unless they are no more than these */
#define COP_REPLAY_USUAL_ENTRIES  1024  /* room of a sparse row, unless the log needs more */

/* Bits of hashed features where --bits says nothing: so many places for a name, within bounds. */
#define COP_REPLAY_PLACES     64
#define COP_REPLAY_LEAST_BITS 14

typedef struct cop_replay_shape {
	bool whole;                /* nothing of the log is unknown */
	uint64_t events, labelled; /* looked at */
	bool values;               /* a journal of values: arms are their bins */
	size_t arms;               /* 1 + the largest action, or eligible arm; candidates: 0 */
	size_t candidates;         /* most of an event; 0: arms are numbers */
	size_t candidate_columns;  /* dense candidates with columns of their own; 0: they share the space's */
	double low, high;          /* costs: [0, 1] when all lie in there, else least and most */
	size_t entries;            /* most of a row */
	size_t known;              /* of a journal's dense contexts: features that none lacks; 0: not looked for */
	bool all;                  /* of the log was looked at */
} cop_replay_shape;

/* Reads up to `most` events (0: all). The space is new, and frozen when it is dense; caller frees both. Bad events are
 * errors, or left out when the options say skip. stop (not 0) ends the scan early, with COP_EEND. Errors of readers. */
COP_CHECK cop_err cop_replay_scan(const cop_replay_options *options, uint64_t most, const volatile sig_atomic_t *stop,
        cop_feature_space **space, cop_replay_shape *out, cop_diag *diag);

#endif

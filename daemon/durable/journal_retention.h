/* daemon/durable/journal_retention.h: the journal's old segments: removed by size and age, closed ones compressed, on a
 * thread of its own.
 *
 * Nothing that a kept checkpoint still needs is removed. One round at a time; started and ended by the loop's thread.
 */
#ifndef COP_DAEMON_DURABLE_JOURNAL_RETENTION_H
#define COP_DAEMON_DURABLE_JOURNAL_RETENTION_H

#include <stdatomic.h>

#include "daemon/common/job.h"
#include "daemon/common/log.h"
#include "daemon/config/config.h"
#include "daemon/durable/checkpoint_kept.h"

typedef struct cop_journal_retention {
	cop_job job; /* the round under way */
	char folder[4096];
	cop_log *log;
	uint64_t keep_bytes, beside; /* beside: set by the caller before start, bytes of files that go with segments */
	double keep_after;           /* unix seconds: segments last written before go; 0: none go by age */
	uint64_t from;               /* first record that is still needed */
	uint64_t state[COP_CHECKPOINT_OLDER_MAX]; /* set by the caller before start: first records after older */
	size_t states;                            /* checkpoints, to which what goes by size is rounded up */
	uint64_t window;                          /* first record that does not go by age alone */
	bool compress;
	_Atomic uint64_t first; /* first record that the last round left; 0: not known yet */
	bool spare_age; /* set by the caller before start: no segment goes by age, for the clock is not believed */
} cop_journal_retention;

/* What the folder holds now; unless a round is under way. */
void cop_journal_retention_look(cop_journal_retention *retention, const char *folder);
/* A round over the folder, unless one is under way. Records before `from` go by size, those before `window` too by age.
 * What fails is logged, and tried again in the next round. */
void cop_journal_retention_start(cop_journal_retention *retention, const char *folder, const cop_config *config,
        uint64_t from, uint64_t window, cop_log *log);
/* The first record that is there, or was a round ago; 0: not known yet. */
uint64_t cop_journal_retention_first(const cop_journal_retention *retention);
/* Waits for the round under way. */
void cop_journal_retention_end(cop_journal_retention *retention);

#endif

/* daemon/durable/challenger_load.h: a challenger made ready on a thread of its own: its file read and parsed, and the
 * room for a clone made (learn/learner.h), so that the loop only has to copy the learner and swap.
 *
 * begin, then is_ready now and then; when it is, trees, crc and spare are the loop's to use until release, after which
 * the thread frees what is left of them. One at a time; all calls by the loop's thread. */
#ifndef COP_DAEMON_DURABLE_CHALLENGER_LOAD_H
#define COP_DAEMON_DURABLE_CHALLENGER_LOAD_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "daemon/common/job.h"
#include "daemon/config/config.h"
#include "learn/learner.h"
#include "tree/trees.h"

typedef struct cop_challenger_load {
	cop_job job;
	bool held; /* not released yet */
	sem_t released;
	atomic_bool ready;
	char state_dir[4096], model[COP_CONFIG_NAME_MAX + 1];
	cop_learner_settings settings;
	size_t state_bytes;
	/* Once it is ready. */
	uint64_t number;
	cop_trees *trees;
	uint32_t crc;
	cop_learner_spare spare;
	cop_err err; /* of cop_challenger_read, or COP_ENOMEM */
	cop_diag why;
} cop_challenger_load;

/* Zeroed is none. settings: of the serving learner, whose state is about so many bytes. Waits for the thread before
 * this one, which had been released. COP_EIO: no thread. */
COP_CHECK cop_err cop_challenger_load_begin(cop_challenger_load *load, const char *state_dir, const char *model,
        uint64_t number, const cop_learner_settings *settings, size_t state_bytes);
bool cop_challenger_load_is_ready(const cop_challenger_load *load);
/* Whatever it is at; nothing is to be used from then on. */
void cop_challenger_load_release(cop_challenger_load *load);
/* Releases, and waits for the thread. */
void cop_challenger_load_end(cop_challenger_load *load);

#endif

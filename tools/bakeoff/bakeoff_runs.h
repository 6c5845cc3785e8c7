/* tools/bakeoff/bakeoff_runs.h: all runs of a bakeoff that its files do not have yet, in parallel threads.
 *
 * A run is a dataset, a setting and a seed; its result depends on nothing else. A dataset is loaded when its first run
 * begins and freed when its last one ends; the largest files come first. Rows are written as runs end. */
#ifndef COP_TOOLS_BAKEOFF_BAKEOFF_RUNS_H
#define COP_TOOLS_BAKEOFF_BAKEOFF_RUNS_H

#include <signal.h>
#include <stdio.h>

#include "bakeoff_data.h"
#include "bakeoff_settings.h"
#include "bakeoff_store.h"

typedef struct cop_bakeoff_entry {
	const cop_bakeoff_files *files; /* kept */
	uint64_t most;                  /* events; 0: all rows */
	uint64_t events;                /* of each run; 0: not known, as it was not loaded */
	bool left_out;                  /* no classes, and it was not asked for by name */
} cop_bakeoff_entry;

typedef struct cop_bakeoff_plan {
	cop_bakeoff_entry *entry; /* count; events and left_out are filled in */
	size_t count;
	const cop_bakeoff_settings *settings;
	uint64_t seeds; /* 1 .. seeds */
	size_t jobs;    /* threads, at least 1 */
	bool found;     /* datasets come of a search: without classes they are left out */
	cop_bakeoff_store *store;
	FILE *progress;                    /* a line for each run; NULL: none */
	const volatile sig_atomic_t *stop; /* not 0: runs under way are given up */
} cop_bakeoff_plan;

typedef struct cop_bakeoff_outcome {
	uint64_t runs, done; /* asked for; in the files */
	uint64_t failed;     /* of the others, those that cannot be run; each was complained of */
	bool stopped;
} cop_bakeoff_outcome;

/* COP_EIO: a row could not be written, COP_ENOMEM: no thread could be started; else COP_OK, whatever became of the
 * single runs. */
COP_CHECK cop_err cop_bakeoff_run(const cop_bakeoff_plan *plan, cop_bakeoff_outcome *out, cop_diag *diag);

#endif

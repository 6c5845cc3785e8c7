/* Of two bounds the lower one protects a segment: by size, none is removed that a kept checkpoint needs (`from`); by
 * age, none that the refits' window needs either (`window`, at most `from`). Records before the oldest checkpoint that
 * is left could be found, but not replayed: where some go by size, those go with them, unless they are many. The newest
 * segment is never compressed. The loop writes the settings only while no round runs, that is after the job; the thread
 * gives back `first`, which is atomic. Failures are logged, and the next round tries again. */
#include "daemon/durable/journal_retention.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "store/journal_keep.h"
#include "store/journal_segment.h"

static void report(const cop_journal_retention *retention, cop_log_event event, const cop_diag *why)
{
	cop_log_line(retention->log, event, "reason=\"%s\"", why->message);
}

#define MANY 4 /* more than one part in so many of the bytes that are kept */

static size_t retain(const cop_journal_retention *retention, uint64_t keep_bytes, uint64_t from)
{
	cop_diag why = { 0 };
	size_t removed = 0;
	if (cop_journal_keep_retain(retention->folder, keep_bytes, from, &removed, &why) != COP_OK)
		report(retention, COP_LOG_EVENT(journal_retain_failed), &why);
	if (removed > 0)
		cop_log_line(retention->log, COP_LOG_EVENT(journal_retained), "removed=%zu", removed);
	return removed;
}

/* The first record of which there is a state, from the journal's first on. */
static uint64_t first_state(const cop_journal_retention *retention, uint64_t base)
{
	uint64_t first = retention->from;
	for (size_t i = 0; i < retention->states; i++)
		if (retention->state[i] >= base && retention->state[i] < first)
			first = retention->state[i];
	return first;
}

static void round_up(const cop_journal_retention *retention)
{
	cop_journal_file *files = NULL;
	size_t count = 0;
	uint64_t bytes = 0;
	if (cop_journal_list(retention->folder, &files, &count, NULL) == COP_OK && count > 0) {
		const uint64_t first = first_state(retention, files[0].base);
		for (size_t i = 0; i + 1 < count && files[i + 1].base <= first; i++)
			bytes += files[i].bytes;
		if (bytes <= retention->keep_bytes / MANY && first <= retention->window)
			(void)retain(retention, 0, first);
	}
	cop_mem_free(files);
}

/* All segments before the first one that is young enough. */
static void retain_by_age(const cop_journal_retention *retention, const cop_journal_file *files, size_t count)
{
	size_t i = 0;
	while (i < count && (double)files[i].modified < retention->keep_after)
		i++;
	uint64_t before = i < count ? files[i].base : retention->window;
	if (i > 0)
		(void)retain(retention, 0, before < retention->window ? before : retention->window);
}

static void compress(const cop_journal_retention *retention, const cop_journal_file *files, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		cop_diag why = { 0 };
		if (files[i].compressed)
			continue;
		cop_err err = cop_journal_keep_compress(retention->folder, files[i].base, &why);
		if (err != COP_OK && err != COP_ENOTFOUND)
			report(retention, COP_LOG_EVENT(journal_compress_failed), &why);
	}
}

static void run(void *context)
{
	cop_journal_retention *retention = context;
	cop_journal_file *files = NULL;
	size_t count = 0;
	cop_diag why = { 0 };
	if (retain(retention, retention->keep_bytes, retention->from) > 0)
		round_up(retention);
	if (cop_journal_list(retention->folder, &files, &count, &why) == COP_OK) {
		atomic_store(&retention->first, count > 0 ? files[0].base : 0);
		if (retention->keep_after > 0.0)
			retain_by_age(retention, files, count);
		if (retention->compress)
			compress(retention, files, count);
	}
	cop_mem_free(files);
}

void cop_journal_retention_look(cop_journal_retention *retention, const char *folder)
{
	cop_journal_file *files = NULL;
	size_t count = 0;
	if (cop_job_is_busy(&retention->job))
		return;
	if (cop_journal_list(folder, &files, &count, NULL) == COP_OK)
		atomic_store(&retention->first, count > 0 ? files[0].base : 0);
	cop_mem_free(files);
}

void cop_journal_retention_start(cop_journal_retention *retention, const char *folder, const cop_config *config,
        uint64_t from, uint64_t window, cop_log *log)
{
	if (cop_job_is_busy(&retention->job))
		return;
	cop_job_finish(&retention->job);
	(void)snprintf(retention->folder, sizeof retention->folder, "%s", folder);
	retention->log = log;
	retention->keep_bytes = config->journal_keep > retention->beside ? config->journal_keep - retention->beside : 0;
	retention->keep_after = config->journal_age == 0 || retention->spare_age
	                                ? 0.0
	                                : cop_clock_real() - 1e-6 * (double)config->journal_age;
	retention->from = from;
	retention->window = window < from ? window : from;
	retention->compress = config->journal_compress;
	(void)!cop_job_start(&retention->job, run, retention); /* without a thread the next checkpoint tries again */
}

uint64_t cop_journal_retention_first(const cop_journal_retention *retention) { return atomic_load(&retention->first); }

void cop_journal_retention_end(cop_journal_retention *retention) { cop_job_finish(&retention->job); }

/* Of two bounds the lower one protects a segment: by size, none is removed that a kept checkpoint needs (`from`); by
 * age, none that the refits' window needs either (`window`, at most `from`). The newest segment is never compressed.
 * The loop writes the settings only while no round runs, that is after a join; the thread gives back `first` and
 * `done`, both atomic. Failures are logged, and the next round tries again. */
#include "daemon/durable/journal_retention.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "store/journal_keep.h"
#include "store/journal_segment.h"

static void tell(const cop_journal_retention *care, const char *event, const cop_diag *why)
{
	cop_log_line(care->log, COP_LOG_WARNING, event, "reason=\"%s\"", why->message);
}

static void retain(const cop_journal_retention *care, uint64_t keep_bytes, uint64_t from)
{
	cop_diag why = { 0 };
	size_t removed = 0;
	if (cop_journal_keep_retain(care->folder, keep_bytes, from, &removed, &why) != COP_OK)
		tell(care, "journal_retain_failed", &why);
	if (removed > 0)
		cop_log_line(care->log, COP_LOG_INFO, "journal_retained", "removed=%zu", removed);
}

/* All segments before the first one that is young enough. */
static void retain_by_age(const cop_journal_retention *care, const cop_journal_file *files, size_t count)
{
	size_t i = 0;
	while (i < count && (double)files[i].modified < care->keep_after)
		i++;
	uint64_t before = i < count ? files[i].base : care->window;
	if (i > 0)
		retain(care, 0, before < care->window ? before : care->window);
}

static void compress(const cop_journal_retention *care, const cop_journal_file *files, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++) {
		cop_diag why = { 0 };
		if (files[i].compressed)
			continue;
		cop_err err = cop_journal_keep_compress(care->folder, files[i].base, &why);
		if (err != COP_OK && err != COP_ENOTFOUND)
			tell(care, "journal_compress_failed", &why);
	}
}

static void *run(void *argument)
{
	cop_journal_retention *care = argument;
	cop_journal_file *files = NULL;
	size_t count = 0;
	cop_diag why = { 0 };
	retain(care, care->keep_bytes, care->from);
	if (cop_journal_list(care->folder, &files, &count, &why) == COP_OK) {
		atomic_store(&care->first, count > 0 ? files[0].base : 0);
		if (care->keep_after > 0.0)
			retain_by_age(care, files, count);
		if (care->compress)
			compress(care, files, count);
	}
	cop_mem_free(files);
	atomic_store(&care->done, true);
	return NULL;
}

void cop_journal_retention_start(cop_journal_retention *care, const char *folder, const cop_config *config,
        uint64_t from, uint64_t window, cop_log *log)
{
	if (care->started && !atomic_load(&care->done))
		return;
	cop_journal_retention_end(care);
	(void)snprintf(care->folder, sizeof care->folder, "%s", folder);
	care->log = log;
	care->keep_bytes = config->journal_keep > care->beside ? config->journal_keep - care->beside : 0;
	care->keep_after = config->journal_age == 0 || care->spare_age
	                           ? 0.0
	                           : cop_clock_real() - 1e-6 * (double)config->journal_age;
	care->from = from;
	care->window = window < from ? window : from;
	care->compress = config->journal_compress;
	atomic_store(&care->done, false);
	care->started = pthread_create(&care->thread, NULL, run, care) == 0;
}

uint64_t cop_journal_retention_first(const cop_journal_retention *care) { return atomic_load(&care->first); }

void cop_journal_retention_end(cop_journal_retention *care)
{
	if (care->started)
		(void)pthread_join(care->thread, NULL);
	care->started = false;
}

/* The writer is the loop's. The sync thread only ever runs tickets: it takes one under `lock` when its time has come,
 * waits for the disk without it, and hands it back. Until then each commit makes the ticket cover what it wrote. That
 * is the only lock here. A batch that was put but could not be written stays in `batch` until the journal is healed. */
#include "daemon/durable/journaler.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/thread.h"
#include "daemon/common/clock.h"
#include "daemon/models/model_set.h"
#include "store/journal_segment.h"
#include "store/journal_writer.h"

typedef enum ticket_state { IDLE, READY, RUNNING, DONE } ticket_state;

struct cop_journaler {
	char folder[4096];
	cop_config_sync sync;
	cop_journal_settings settings;
	cop_bytes models; /* that the settings' model set is of */
	uint64_t interval_ns;
	cop_journal_writer *writer;
	cop_bytes batch; /* records put and not yet written */
	cop_bytes *copy; /* of whoever listens; NULL: nobody */
	cop_journaler_tap *tap;
	void *tap_context;
	uint64_t held;         /* under COP_SYNC_REPLICA: the last record that followers have */
	uint64_t first;        /* sequence number of the batch's first record */
	uint64_t count;        /* records in it */
	uint64_t unsynced;     /* bytes written since the last sync that has ended */
	uint64_t ticket_bytes; /* of them, those that the ticket covers which was given last */
	bool eager;            /* what is written is synced at once, whatever `sync` says */
	bool broken;
	bool lost; /* what was to be recorded is in no record */
	int wake;  /* eventfd: a ticket is done */
	cop_journaler_counts counts;

	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	ticket_state state;
	cop_journal_ticket ticket;
	uint64_t due;       /* when the ticket is to be run, monotonic ns */
	uint64_t began;     /* when the last one was run */
	uint64_t ticket_ns; /* how long it took */
	bool stop;
};

/* With the lock: until there is a ticket whose time has come; false when there is none and the thread is to stop. */
static bool wait_for_ticket(cop_journaler *j)
{
	while (!(j->state == READY && (j->stop || cop_clock_monotonic_ns() >= j->due))) {
		struct timespec due = { (time_t)(j->due / 1000000000u), (long)(j->due % 1000000000u) };
		if (j->state == READY)
			(void)pthread_cond_timedwait(&j->changed, &j->lock, &due);
		else if (j->stop)
			return false;
		else
			(void)pthread_cond_wait(&j->changed, &j->lock);
	}
	return true;
}

static void *sync_thread(void *argument)
{
	cop_journaler *j = argument;
	(void)pthread_mutex_lock(&j->lock);
	while (wait_for_ticket(j)) {
		j->state = RUNNING;
		j->began = cop_clock_monotonic_ns();
		cop_journal_ticket ticket = j->ticket;
		(void)pthread_mutex_unlock(&j->lock);
		cop_journal_writer_sync_run(&ticket);
		uint64_t ended = cop_clock_monotonic_ns();
		(void)pthread_mutex_lock(&j->lock);
		j->ticket = ticket;
		j->ticket_ns = ended - j->began;
		j->state = DONE;
		(void)pthread_cond_broadcast(&j->changed);
		uint64_t one = 1;
		(void)!write(j->wake, &one, sizeof one);
	}
	(void)pthread_mutex_unlock(&j->lock);
	return NULL;
}

static void free_journaler(cop_journaler *j)
{
	if (j->has_thread) {
		(void)pthread_mutex_lock(&j->lock);
		j->stop = true;
		(void)pthread_cond_broadcast(&j->changed);
		(void)pthread_mutex_unlock(&j->lock);
		(void)pthread_join(j->thread, NULL);
	}
	if (j->state != IDLE)
		(void)!cop_journal_writer_sync_end(j->writer, &j->ticket, NULL);
	if (j->wake >= 0)
		(void)close(j->wake);
	(void)pthread_cond_destroy(&j->changed);
	(void)pthread_mutex_destroy(&j->lock);
	cop_bytes_fini(&j->batch);
	cop_bytes_fini(&j->models);
	cop_mem_free(j);
}

static cop_err start_thread(cop_journaler *j, cop_diag *diag)
{
	j->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	j->has_thread = j->wake >= 0 && cop_thread_start(&j->thread, sync_thread, j) == COP_OK;
	if (j->has_thread)
		return COP_OK;
	cop_diag_of(diag, j->folder, "the journal's sync thread cannot be started: %s", strerror(errno));
	return COP_EIO;
}

void cop_journaler_set_models(cop_journaler *j, const cop_config *config)
{
	cop_bytes models;
	if (j == NULL)
		return;
	cop_bytes_init(&models);
	(void)cop_model_set_put(config, NULL, &models);
	if (models.err == COP_OK && j->writer != NULL)
		models.err = cop_journal_writer_set_models(j->writer, models.data, models.length);
	if (models.err != COP_OK) {
		cop_bytes_fini(&models);
		return;
	}
	cop_bytes_fini(&j->models);
	j->models = models;
	j->settings.model_set = models.data;
	j->settings.model_set_length = models.length;
}

static bool breaks(cop_journaler *j)
{
	if (!j->broken)
		j->counts.failures++;
	j->broken = true;
	return false;
}

cop_err cop_journaler_open(
        const char *folder, const cop_config *config, uint64_t next, cop_journaler **out, cop_diag *diag)
{
	*out = NULL;
	cop_journaler *j = cop_mem_alloc(1, sizeof *j);
	if (j == NULL) {
		cop_diag_of(diag, folder, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	(void)snprintf(j->folder, sizeof j->folder, "%s", folder);
	j->sync = config->journal_sync;
	j->interval_ns = config->journal_interval * 1000;
	j->first = next;
	j->wake = -1;
	cop_bytes_init(&j->batch);
	cop_bytes_init(&j->models);
	(void)pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_t monotonic;
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&j->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	j->settings = (cop_journal_settings){ .segment_bytes = config->journal_segment, .preallocate = true };
	cop_journaler_set_models(j, config);
	cop_err err = cop_journal_writer_open(folder, &j->settings, next, &j->writer, diag);
	if (err == COP_OK)
		j->settings.epoch = cop_journal_writer_epoch(j->writer);
	if (err == COP_EFULL) { /* there may be room later */
		(void)breaks(j);
		err = COP_OK;
	}
	if (err == COP_OK)
		err = start_thread(j, diag);
	if (err == COP_OK) {
		*out = j;
		return COP_OK;
	}
	if (j->writer != NULL)
		(void)!cop_journal_writer_close(j->writer, NULL);
	j->writer = NULL;
	free_journaler(j);
	return err;
}

uint64_t cop_journaler_put(cop_journaler *j, cop_wire_record_type type, const cop_wire_record *record)
{
	if (j == NULL)
		return 0;
	j->lost = j->lost || j->broken;
	if (j->broken)
		return 0;
	size_t before = j->batch.length;
	uint64_t sequence = j->first + j->count;
	size_t start = cop_journal_segment_record_begin(&j->batch, sequence, (uint8_t)type);
	cop_wire_record_put(&j->batch, type, record);
	cop_journal_segment_record_end(&j->batch, start);
	if (j->batch.err != COP_OK) {
		/* Memory is short: as good as a disk that is full. What is in the batch stays whole. */
		j->batch.length = before;
		j->batch.err = COP_OK;
		j->lost = true;
		(void)breaks(j);
		return 0;
	}
	j->count++;
	j->counts.records++;
	j->counts.bytes += j->batch.length - before;
	if (j->copy != NULL)
		cop_bytes_put(j->copy, j->batch.data + before, j->batch.length - before);
	return sequence;
}

void cop_journaler_listen(cop_journaler *j, cop_bytes *copy) { j->copy = copy; }

void cop_journaler_set_tap(cop_journaler *j, cop_journaler_tap *tap, void *context)
{
	j->tap = tap;
	j->tap_context = context;
}

void cop_journaler_set_held(cop_journaler *j, uint64_t sequence) { j->held = sequence > j->held ? sequence : j->held; }

void cop_journaler_set_eager(cop_journaler *j, bool eager) { j->eager = eager; }

bool cop_journaler_room(cop_journaler *j, size_t length)
{
	if (j->broken)
		return false;
	cop_bytes_reserve(&j->batch, length);
	bool there = j->batch.err == COP_OK;
	j->batch.err = COP_OK;
	return there;
}

bool cop_journaler_append(cop_journaler *j, const void *data, size_t length, uint64_t count)
{
	if (!cop_journaler_room(j, length))
		return false;
	cop_bytes_put(&j->batch, data, length);
	j->count += count;
	j->counts.records += count;
	j->counts.bytes += length;
	return true;
}

/* The batch is written. */
static void end_batch(cop_journaler *j)
{
	if (j->tap != NULL && j->count > 0)
		j->tap(j->tap_context, j->batch.data, j->batch.length, j->first, j->count);
	j->first += j->count;
	j->count = 0;
	cop_bytes_clear(&j->batch);
}

static bool write_batch(cop_journaler *j, cop_diag *diag)
{
	if (j->count == 0)
		return true;
	if (cop_journal_writer_write(j->writer, j->batch.data, j->batch.length, j->first, j->count, diag) != COP_OK)
		return breaks(j);
	j->unsynced += j->batch.length;
	end_batch(j);
	j->counts.writes++;
	return true;
}

static bool wants_sync(const cop_journaler *j)
{
	return (j->sync != COP_SYNC_NEVER || j->eager) &&
	       cop_journal_writer_written(j->writer) != cop_journal_writer_durable(j->writer);
}

/* With the lock, when no ticket is out or one waits for its time: one that covers all that was written is out then. */
static cop_err give_ticket(cop_journaler *j)
{
	if (j->state == READY)
		return cop_journal_writer_sync_extend(j->writer, &j->ticket);
	cop_err err = cop_journal_writer_sync_begin(j->writer, &j->ticket);
	if (err != COP_OK)
		return err;
	j->state = READY;
	j->due = j->sync == COP_SYNC_ALWAYS || j->eager ? 0 : j->began + j->interval_ns;
	(void)pthread_cond_broadcast(&j->changed);
	return COP_OK;
}

bool cop_journaler_commit(cop_journaler *j, cop_diag *diag)
{
	if (j->broken)
		return true;
	if (!write_batch(j, diag))
		return false;
	if (!wants_sync(j))
		return true;
	(void)pthread_mutex_lock(&j->lock);
	bool gives = j->state == IDLE || j->state == READY;
	cop_err err = gives ? give_ticket(j) : COP_OK;
	(void)pthread_mutex_unlock(&j->lock);
	if (gives)
		j->ticket_bytes = j->unsynced;
	if (err == COP_OK)
		return true;
	cop_diag_of(diag, j->folder, "the journal cannot be synced: %s", strerror(errno));
	return breaks(j);
}

static ticket_state sync_state(cop_journaler *j)
{
	(void)pthread_mutex_lock(&j->lock);
	ticket_state state = j->state;
	(void)pthread_mutex_unlock(&j->lock);
	return state;
}

/* The ticket is DONE. */
static bool end_sync(cop_journaler *j, cop_diag *diag)
{
	(void)pthread_mutex_lock(&j->lock);
	cop_journal_ticket ticket = j->ticket;
	uint64_t took = j->ticket_ns;
	j->state = IDLE;
	(void)pthread_mutex_unlock(&j->lock);
	j->counts.syncs++;
	cop_histogram_observe(&j->counts.sync_durations, took);
	j->unsynced -= j->ticket_bytes < j->unsynced ? j->ticket_bytes : j->unsynced;
	return cop_journal_writer_sync_end(j->writer, &ticket, diag) == COP_OK || j->broken || breaks(j);
}

bool cop_journaler_take(cop_journaler *j, cop_diag *diag)
{
	uint64_t count;
	(void)!read(j->wake, &count, sizeof count);
	if (sync_state(j) != DONE)
		return true;
	bool whole = end_sync(j, diag);
	return whole && cop_journaler_commit(j, diag); /* what was written meanwhile wants the next one */
}

int cop_journaler_fd(const cop_journaler *j) { return j->wake; }

uint64_t cop_journaler_next(const cop_journaler *j) { return j->first + j->count; }

uint64_t cop_journaler_written(const cop_journaler *j) { return j->first - 1; }

bool cop_journaler_check(cop_journaler *j, cop_diag *diag)
{
	return j->broken || cop_journal_writer_check(j->writer, diag) == COP_OK || breaks(j);
}

uint64_t cop_journaler_committed(const cop_journaler *j)
{
	if (j->sync == COP_SYNC_ALWAYS || j->writer == NULL)
		return cop_journaler_durable(j);
	uint64_t written = cop_journal_writer_written(j->writer);
	return j->sync == COP_SYNC_REPLICA && j->held < written ? j->held : written;
}

uint64_t cop_journaler_durable(const cop_journaler *j)
{
	return j->writer == NULL ? j->first - 1 : cop_journal_writer_durable(j->writer);
}

uint64_t cop_journaler_base(const cop_journaler *j) { return j->broken ? 0 : cop_journal_writer_base(j->writer); }
uint64_t cop_journaler_lag(const cop_journaler *j) { return j->unsynced + j->batch.length; }
bool cop_journaler_gone(const cop_journaler *j)
{
	return j->broken && j->writer != NULL && cop_journal_writer_gone(j->writer);
}
bool cop_journaler_broken(const cop_journaler *j) { return j->broken; }
const cop_journaler_counts *cop_journaler_get_counts(const cop_journaler *j) { return &j->counts; }

/* No sync is under way afterwards. */
static bool wait_for_sync(cop_journaler *j, cop_diag *diag)
{
	(void)pthread_mutex_lock(&j->lock);
	j->due = 0;
	(void)pthread_cond_broadcast(&j->changed);
	while (j->state == READY || j->state == RUNNING)
		(void)pthread_cond_wait(&j->changed, &j->lock);
	ticket_state state = j->state;
	(void)pthread_mutex_unlock(&j->lock);
	return state != DONE || end_sync(j, diag);
}

cop_err cop_journaler_flush(cop_journaler *j, cop_diag *diag)
{
	bool whole = wait_for_sync(j, diag);
	if (j->broken && whole)
		cop_diag_of(diag, j->folder, "the journal is broken and has not healed yet");
	if (!whole || j->broken || !write_batch(j, diag))
		return COP_EIO;
	if (cop_journal_writer_sync(j->writer, diag) != COP_OK) {
		(void)breaks(j);
		return COP_EIO;
	}
	j->unsynced = 0;
	return COP_OK;
}

cop_err cop_journaler_roll(cop_journaler *j, cop_diag *diag)
{
	cop_err err = cop_journaler_flush(j, diag);
	bool fresh = err == COP_OK && cop_journal_writer_base(j->writer) > cop_journal_writer_written(j->writer);
	if (err == COP_OK && !fresh && cop_journal_writer_roll(j->writer, diag) != COP_OK) {
		(void)breaks(j);
		err = COP_EIO;
	}
	return err;
}

uint64_t cop_journaler_epoch(const cop_journaler *j) { return j->settings.epoch; }

/* A segment without a record is replaced: its header has the old epoch. */
cop_err cop_journaler_begin_epoch(cop_journaler *j, uint64_t epoch, cop_diag *diag)
{
	cop_err err = cop_journaler_flush(j, diag);
	if (err != COP_OK)
		return err;
	if (cop_journal_writer_set_epoch(j->writer, epoch) != COP_OK) {
		cop_diag_of(diag, j->folder, "epoch %llu; expected at least %llu, that of the journal",
		        (unsigned long long)epoch, (unsigned long long)j->settings.epoch);
		return COP_EINVAL;
	}
	j->settings.epoch = epoch;
	if (cop_journal_writer_roll(j->writer, diag) == COP_OK)
		return COP_OK;
	(void)breaks(j);
	return COP_EIO;
}

cop_err cop_journaler_heal(cop_journaler *j, cop_diag *diag)
{
	if (!j->broken)
		return COP_OK;
	if (j->writer == NULL) /* nothing was ever put */
		return cop_journaler_begin_anew(j, diag);
	(void)wait_for_sync(j, NULL);
	cop_err err = cop_journal_writer_broken(j->writer) ? cop_journal_writer_recover(j->writer, j->batch.data,
	                                                             j->batch.length, j->first, j->count, diag)
	                                                   : COP_OK;
	if (err != COP_OK)
		return err;
	if (cop_journal_writer_written(j->writer) + 1 == j->first + j->count) /* the batch went along */
		end_batch(j);
	j->unsynced = 0;
	j->broken = false;
	return COP_OK;
}

cop_err cop_journaler_begin_anew(cop_journaler *j, cop_diag *diag)
{
	cop_journal_writer *writer;
	uint64_t next = cop_journaler_next(j);
	(void)wait_for_sync(j, NULL);
	if (cop_folder_make(j->folder, 0750) != COP_OK) {
		cop_diag_of(diag, j->folder, "cannot make the journal's folder: %s", strerror(errno));
		return COP_EIO;
	}
	cop_err err = cop_journal_writer_open(j->folder, &j->settings, next, &writer, diag);
	if (err != COP_OK)
		return err;
	(void)!cop_journal_writer_close(j->writer, NULL);
	j->writer = writer;
	j->settings.epoch = cop_journal_writer_epoch(writer);
	j->first = next;
	j->count = 0;
	cop_bytes_clear(&j->batch);
	j->unsynced = 0;
	j->broken = false;
	j->lost = true; /* that was before */
	return COP_OK;
}

bool cop_journaler_take_lost(cop_journaler *j)
{
	bool lost = j->lost;
	j->lost = false;
	return lost;
}

void cop_journaler_rebreak(cop_journaler *j) { j->broken = true; }

cop_err cop_journaler_close(cop_journaler *j, cop_diag *diag)
{
	if (j == NULL)
		return COP_OK;
	cop_err err = cop_journaler_flush(j, diag);
	cop_journal_writer *writer = j->writer;
	j->writer = NULL;
	cop_err closed = cop_journal_writer_close(writer, err == COP_OK ? diag : NULL);
	free_journaler(j);
	return err != COP_OK ? err : closed;
}

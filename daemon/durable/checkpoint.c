/* At most one file is being written. Until its job is finished, the thread owns `body`, `result` and `why`. The loop
 * serialises the body itself, between two events, so that a file never holds half of an event. Until a file is durable,
 * `mark`, `sequence` and `kept` stay those of the last good one, so a failed write costs no journal segment that is
 * still needed. Numbers grow past damaged files too: pruning keeps the highest ones. */
#include "daemon/durable/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "store/checkpoint_file.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "store/state_mark.h"

void cop_checkpoint_init(cop_checkpoint *checkpoint, const char *folder)
{
	*checkpoint = (cop_checkpoint){ .folder = folder };
	cop_bytes_init(&checkpoint->body);
}

void cop_checkpoint_fini(cop_checkpoint *checkpoint)
{
	cop_job_finish(&checkpoint->job);
	cop_bytes_fini(&checkpoint->body);
	cop_checkpoint_kept_fini(&checkpoint->kept);
}

static cop_err read_mark(const cop_bytes *body, cop_checkpoint_mark *mark, cop_diag *diag)
{
	cop_section_file file;
	cop_state_mark is = { 0 };
	cop_err err = cop_section_file_open(&file, body->data, body->length, NULL, diag);
	if (err == COP_OK)
		err = cop_state_mark_read(&file, &is);
	*mark = (cop_checkpoint_mark){ is.time, is.journal_next, is.journal_base, is.epoch, is.forgot };
	return err == COP_ENOTFOUND ? COP_OK : err;
}

#define PATH_ROOM (4096 + COP_CHECKPOINT_NAME_ROOM)

static void path_of(const char *folder, uint64_t sequence, char out[PATH_ROOM])
{
	char name[COP_CHECKPOINT_NAME_ROOM];
	cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, sequence, name);
	(void)snprintf(out, PATH_ROOM, "%s/%s", folder, name);
}

/* A file's body and mark; the body is initialised. */
static cop_err read_file(
        const char *folder, uint64_t sequence, cop_bytes *body, cop_checkpoint_mark *mark, cop_diag *diag)
{
	char path[PATH_ROOM];
	path_of(folder, sequence, path);
	cop_err err = cop_checkpoint_read(path, body, diag);
	return err == COP_OK ? read_mark(body, mark, diag) : err;
}

static cop_err load(
        cop_checkpoint *checkpoint, uint64_t sequence, cop_model_table *set, const char *const *reset, cop_diag *diag)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_err err = read_file(checkpoint->folder, sequence, &body, &checkpoint->mark, diag);
	if (err == COP_OK)
		err = cop_model_table_load(set, &body, reset, diag);
	checkpoint->bytes = body.length;
	cop_bytes_fini(&body);
	return err;
}

/* What the files up to the restored one need of the journal, so that it can be cut back before this process has written
 * `keep` of its own. One whose mark cannot be read needs nothing. */
static void remember_files(cop_checkpoint *checkpoint, const uint64_t *all, size_t count)
{
	cop_err err = COP_OK;
	for (size_t i = count; i > 0 && all[i - 1] <= checkpoint->sequence && err == COP_OK; i--) {
		char path[PATH_ROOM];
		cop_state_mark mark;
		path_of(checkpoint->folder, all[i - 1], path);
		cop_err known = cop_state_mark_glance(path, &mark, NULL);
		if (known == COP_OK || known == COP_ENOTFOUND)
			err = cop_checkpoint_kept_add(&checkpoint->kept, all[i - 1], mark.journal_next);
	}
}

static bool is_damage(cop_err err) { return err == COP_EFORMAT || err == COP_ENONFINITE; }

static void tell_restored(const cop_checkpoint *checkpoint, const cop_model_table *set, cop_log *log)
{
	cop_log_line(log, COP_LOG_EVENT(restored), "sequence=%" PRIu64 " bytes=%" PRIu64, checkpoint->sequence,
	        checkpoint->bytes);
	for (size_t i = 0; i < set->parked_count; i++)
		if (!set->parked[i].refit)
			cop_log_line(log, COP_LOG_EVENT(model_parked),
			        "model=%s reason=\"in the checkpoint but not in the configuration; kept as it is\"",
			        set->parked[i].stored);
}

cop_err cop_checkpoint_restore(cop_checkpoint *checkpoint, cop_model_table *set, const cop_config *config,
        const char *const *reset, cop_log *log, cop_diag *diag)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_err err = cop_checkpoint_list(checkpoint->folder, COP_STATE_DIR_CHECKPOINT, &all, &count, diag);
	/* The next file must come after damaged ones too, or pruning would keep those and not it. */
	checkpoint->highest = count > 0 ? all[0] : 0;
	size_t i = 0;
	for (bool damaged = true; err == COP_OK && i < count && damaged; i++) {
		cop_diag why = { 0 };
		err = load(checkpoint, all[i], set, reset, &why);
		damaged = is_damage(err);
		if (err == COP_OK)
			checkpoint->sequence = all[i];
		else if (!damaged && diag != NULL)
			*diag = why;
		if (!damaged)
			continue;
		cop_log_line(log, COP_LOG_EVENT(checkpoint_damaged), "sequence=%" PRIu64 " reason=\"%s\"", all[i],
		        why.message);
		cop_model_table_fini(set);
		err = cop_model_table_init(set, config, diag);
	}
	if (err == COP_OK && checkpoint->sequence != 0) {
		remember_files(checkpoint, all, count);
		tell_restored(checkpoint, set, log);
	}
	if (err == COP_OK && checkpoint->sequence == 0) {
		checkpoint->bytes = 0;
		checkpoint->mark = (cop_checkpoint_mark){ 0 };
		if (count > 0)
			cop_log_line(
			        log, COP_LOG_EVENT(checkpoints_lost), "files=%zu reason=\"none can be read\"", count);
	}
	cop_mem_free(all);
	return err;
}

/* By its beginning alone, so that not all files are read through. */
static bool is_after(const char *folder, uint64_t sequence, uint64_t journal_next)
{
	char path[PATH_ROOM];
	cop_state_mark mark;
	path_of(folder, sequence, path);
	return cop_state_mark_glance(path, &mark, NULL) == COP_OK && mark.journal_next > journal_next;
}

cop_err cop_checkpoint_restore_before(
        const char *folder, uint64_t journal_next, cop_model_table *set, cop_checkpoint_mark *mark, cop_diag *diag)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_bytes body;
	cop_bytes_init(&body);
	bool found = false;
	cop_err err = cop_checkpoint_list(folder, COP_STATE_DIR_CHECKPOINT, &all, &count, diag);
	for (size_t i = 0; i < count && err == COP_OK && !found; i++) {
		if (is_after(folder, all[i], journal_next))
			continue;
		err = read_file(folder, all[i], &body, mark, diag);
		if (is_damage(err) || err == COP_ENOTFOUND) { /* or it was removed meanwhile */
			err = COP_OK;
			continue;
		}
		found = err == COP_OK && mark->journal_next <= journal_next;
	}
	if (found)
		err = cop_model_table_load(set, &body, NULL, diag);
	else if (err == COP_OK)
		*mark = (cop_checkpoint_mark){ 0 };
	cop_bytes_fini(&body);
	cop_mem_free(all);
	return err;
}

cop_err cop_checkpoint_read_after(const char *folder, uint64_t sequence, cop_bytes *body, cop_diag *diag)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_checkpoint_mark mark;
	cop_err err = cop_checkpoint_list(folder, COP_STATE_DIR_CHECKPOINT, &all, &count, diag);
	bool found = false;
	for (size_t i = count; i > 0 && err == COP_OK && !found; i--) {
		if (!is_after(folder, all[i - 1], sequence))
			continue;
		err = read_file(folder, all[i - 1], body, &mark, diag);
		found = err == COP_OK;
		if (is_damage(err) || err == COP_ENOTFOUND)
			err = COP_OK;
	}
	cop_mem_free(all);
	return err == COP_OK && !found ? COP_ENOTFOUND : err;
}

static cop_err remove_file(const char *folder, uint64_t sequence, cop_diag *diag)
{
	char path[PATH_ROOM];
	path_of(folder, sequence, path);
	if (unlink(path) == 0 || errno == ENOENT) /* it was pruned */
		return COP_OK;
	cop_diag_of(diag, path, "cannot be removed: %s", strerror(errno));
	return COP_EIO;
}

cop_err cop_checkpoint_remove_since(
        const char *folder, uint64_t first, uint64_t newest, uint64_t *removed, cop_diag *diag)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_bytes body;
	cop_bytes_init(&body);
	*removed = 0;
	cop_err err = cop_checkpoint_list(folder, COP_STATE_DIR_CHECKPOINT, &all, &count, diag);
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		cop_checkpoint_mark mark = { 0 };
		if (all[i] >= newest)
			continue;
		err = read_file(folder, all[i], &body, &mark, diag);
		bool goes = is_damage(err) || (err == COP_OK && (first == 0 || mark.journal_next > first));
		if (is_damage(err) || err == COP_ENOTFOUND)
			err = COP_OK;
		if (!goes)
			continue;
		err = remove_file(folder, all[i], diag);
		*removed += err == COP_OK;
	}
	cop_bytes_fini(&body);
	cop_mem_free(all);
	return err;
}

void cop_checkpoint_removed_since(cop_checkpoint *checkpoint, uint64_t first)
{
	cop_checkpoint_kept_drop_since(&checkpoint->kept, first);
}

static void write_file(void *context)
{
	cop_checkpoint *checkpoint = context;
	checkpoint->result = cop_checkpoint_write(checkpoint->folder, COP_STATE_DIR_CHECKPOINT, checkpoint->highest + 1,
	        checkpoint->body.data, checkpoint->body.length, &checkpoint->why);
}

static cop_err failed(cop_checkpoint *checkpoint, cop_err err, const char *why, cop_log *log)
{
	checkpoint->failed++;
	cop_log_line(log, COP_LOG_EVENT(checkpoint_failed), "reason=\"%s\"", why);
	return err;
}

static void serialise(cop_checkpoint *checkpoint, const cop_model_table *set)
{
	cop_bytes *body = &checkpoint->body;
	cop_bytes_clear(body);
	size_t file = cop_section_file_begin(body);
	size_t section = cop_section_file_begin_section(body, COP_STATE_DIR_MARK, COP_STATE_DIR_MARK_VERSION);
	cop_bytes_put_f64(body, checkpoint->body_mark.time);
	cop_bytes_put_u64(body, checkpoint->body_mark.journal_next);
	cop_bytes_put_u64(body, checkpoint->body_mark.journal_base);
	cop_bytes_put_u64(body, checkpoint->body_mark.epoch);
	cop_bytes_put_u64(body, checkpoint->body_mark.forgot);
	cop_section_file_end_section(body, section);
	if (checkpoint->live != NULL) {
		section = cop_section_file_begin_section(body, COP_STATE_DIR_LIVE_PART, COP_STATE_DIR_LIVE_VERSION);
		cop_live_put_text(checkpoint->live, body);
		cop_section_file_end_section(body, section);
	}
	cop_model_table_save(set, body);
	cop_section_file_end(body, file);
}

cop_err cop_checkpoint_start(
        cop_checkpoint *checkpoint, const cop_model_table *set, const cop_checkpoint_mark *mark, cop_log *log)
{
	if (checkpoint->job.started)
		return COP_EEXIST;
	checkpoint->began = cop_clock_monotonic();
	checkpoint->body_mark = *mark;
	checkpoint->why = (cop_diag){ 0 };
	serialise(checkpoint, set);
	if (checkpoint->body.err != COP_OK)
		return failed(checkpoint, checkpoint->body.err, cop_err_text(checkpoint->body.err), log);
	cop_err err = cop_job_start(&checkpoint->job, write_file, checkpoint);
	return err == COP_OK ? COP_OK : failed(checkpoint, err, "no thread to write it", log);
}

/* The folder, too, holds what is kept alone. */
static void prune(cop_checkpoint *checkpoint, const cop_checkpoint_keeping *keeping, cop_log *log)
{
	cop_diag why = { 0 };
	cop_checkpoint_kept_thin(&checkpoint->kept, keeping);
	const cop_checkpoint_stay stay = { keeping->newest, checkpoint->kept.sequence, checkpoint->kept.count };
	if (cop_checkpoint_file_prune(checkpoint->folder, COP_STATE_DIR_CHECKPOINT, &stay, &why) != COP_OK)
		cop_log_line(log, COP_LOG_EVENT(checkpoint_prune_failed), "reason=\"%s\"", why.message);
}

void cop_checkpoint_tidy(cop_checkpoint *checkpoint, const cop_checkpoint_keeping *keeping, cop_log *log)
{
	if (cop_checkpoint_kept_is_late(&checkpoint->kept, keeping))
		prune(checkpoint, keeping, log);
}

cop_err cop_checkpoint_finish(
        cop_checkpoint *checkpoint, const cop_checkpoint_keeping *keeping, bool wait, cop_log *log, cop_diag *diag)
{
	if (!checkpoint->job.started || (!wait && cop_job_is_busy(&checkpoint->job)))
		return COP_EEND;
	cop_job_finish(&checkpoint->job);
	if (checkpoint->result != COP_OK) {
		if (diag != NULL)
			*diag = checkpoint->why;
		return failed(checkpoint, checkpoint->result, checkpoint->why.message, log);
	}
	checkpoint->sequence = ++checkpoint->highest;
	checkpoint->written++;
	checkpoint->bytes = checkpoint->body.length;
	checkpoint->seconds = cop_clock_monotonic() - checkpoint->began;
	checkpoint->time = cop_clock_real();
	checkpoint->at = checkpoint->began + checkpoint->seconds;
	checkpoint->mark = checkpoint->body_mark;
	(void)!cop_checkpoint_kept_add(&checkpoint->kept, checkpoint->sequence, checkpoint->mark.journal_next);
	cop_histogram_observe(&checkpoint->durations, (uint64_t)(1e9 * checkpoint->seconds));
	cop_log_line(log, COP_LOG_EVENT(checkpoint), "sequence=%" PRIu64 " bytes=%" PRIu64 " seconds=%.3f",
	        checkpoint->sequence, checkpoint->bytes, checkpoint->seconds);
	prune(checkpoint, keeping, log);
	return COP_OK;
}

/* A reader goes over the segments that there were when it was opened: at their end it is closed, and the next task
 * opens another one. The last segment is being written while it is read: what a reader meets beyond `until`, half a
 * record perhaps, says nothing. */
#include "daemon/replica/replica_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/replica/replica_log.h"
#include "store/checkpoint_file.h"
#include "store/state_dir.h"

#define PATH 4096

void cop_replica_source_init(cop_replica_source *source, const char *state_dir)
{
	*source = (cop_replica_source){ .state_dir = state_dir, .file = -1 };
	cop_bytes_init(&source->out);
}

static void close_reader(cop_replica_source *s)
{
	cop_journal_reader_close(s->reader);
	s->reader = NULL;
}

static void close_file(cop_replica_source *s)
{
	if (s->file >= 0)
		(void)close(s->file);
	s->file = -1;
}

void cop_replica_source_fini(cop_replica_source *s)
{
	cop_job_finish(&s->job);
	close_reader(s);
	close_file(s);
	cop_bytes_fini(&s->out);
}

static cop_err open_reader(cop_replica_source *s, uint64_t from)
{
	char folder[PATH];
	if (s->reader != NULL && s->at == from)
		return COP_OK;
	close_reader(s);
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_JOURNAL, s->state_dir);
	s->at = from;
	return cop_journal_reader_open(folder, from, false, &s->reader, &s->why);
}

/* COP_EEND: there is none yet. */
static cop_err read_one(cop_replica_source *s, cop_journal_record *record)
{
	cop_err err = cop_journal_next(s->reader, record, &s->why);
	if (err == COP_OK)
		s->at = record->sequence + 1;
	else
		close_reader(s);
	return err;
}

static cop_err find_place(cop_replica_source *s)
{
	cop_journal_record record;
	bool before = s->next > 1 && s->until != 0;
	cop_err err = open_reader(s, before ? s->next - 1 : s->next);
	if (err != COP_OK || !before)
		return err;
	err = read_one(s, &record);
	if (err == COP_OK)
		s->crc = cop_replica_log_frame_crc(record.body - COP_JOURNAL_FRAME_HEAD);
	if (err == COP_OK)
		s->epoch = cop_journal_reader_epoch(s->reader);
	return err;
}

static cop_err read_records(cop_replica_source *s)
{
	cop_journal_record record;
	cop_err err = open_reader(s, s->next);
	while (err == COP_OK && s->at < s->until && s->out.length < COP_REPLICA_PART_BYTES) {
		err = read_one(s, &record);
		if (err != COP_OK)
			break;
		cop_bytes_put(&s->out, record.body - COP_JOURNAL_FRAME_HEAD, record.length + COP_JOURNAL_FRAME_HEAD);
		s->count++;
	}
	return s->count > 0 ? s->out.err : err;
}

static cop_err open_file(cop_replica_source *s)
{
	char name[COP_CHECKPOINT_NAME_ROOM], path[PATH + COP_CHECKPOINT_NAME_ROOM + 16];
	uint64_t *all = NULL;
	size_t count = 0;
	close_file(s);
	if (s->model[0] != '\0') {
		char prefix[sizeof COP_STATE_DIR_CHALLENGER + COP_CONFIG_NAME_MAX];
		(void)snprintf(prefix, sizeof prefix, COP_STATE_DIR_CHALLENGER "%s", s->model);
		cop_checkpoint_name(prefix, s->number, name);
		(void)snprintf(path, sizeof path, "%s/" COP_STATE_DIR_CHALLENGERS "/%s", s->state_dir, name);
	} else {
		cop_err err = cop_checkpoint_list(s->state_dir, COP_STATE_DIR_CHECKPOINT, &all, &count, &s->why);
		s->number = count > 0 ? all[0] : 0;
		cop_mem_free(all);
		if (err != COP_OK || count == 0)
			return err == COP_OK ? COP_ENOTFOUND : err;
		cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, s->number, name);
		(void)snprintf(path, sizeof path, "%s/%s", s->state_dir, name);
	}
	s->file = open(path, O_RDONLY | O_CLOEXEC);
	if (s->file >= 0)
		return COP_OK;
	cop_diag_of(&s->why, path, "cannot be opened: %s", strerror(errno));
	return errno == ENOENT ? COP_ENOTFOUND : COP_EIO;
}

/* A file is opened for its first part and stays open, so that it may go meanwhile. */
static cop_err read_part(cop_replica_source *s)
{
	struct stat is;
	cop_err err = s->offset == 0 || s->file < 0 ? open_file(s) : COP_OK;
	if (err != COP_OK)
		return err;
	cop_bytes_reserve(&s->out, COP_REPLICA_PART_BYTES);
	if (s->out.err != COP_OK)
		return s->out.err;
	ssize_t got =
	        fstat(s->file, &is) == 0 ? pread(s->file, s->out.data, COP_REPLICA_PART_BYTES, (off_t)s->offset) : -1;
	if (got < 0) {
		cop_diag_message(&s->why, "cannot be read: %s", strerror(errno));
		return COP_EIO;
	}
	s->size = (uint64_t)is.st_size;
	s->out.length = (size_t)got;
	return COP_OK;
}

static void work(void *context)
{
	cop_replica_source *s = context;
	s->err = s->task == COP_REPLICA_TASK_PLACE     ? find_place(s)
	         : s->task == COP_REPLICA_TASK_RECORDS ? read_records(s)
	                                               : read_part(s);
}

cop_err cop_replica_source_start(cop_replica_source *source, cop_replica_task task)
{
	source->task = task;
	source->why = (cop_diag){ 0 };
	source->count = source->size = 0;
	cop_bytes_clear(&source->out);
	return cop_job_start(&source->job, work, source);
}

cop_replica_task cop_replica_source_take(cop_replica_source *source)
{
	if (!source->job.started || cop_job_is_busy(&source->job))
		return COP_REPLICA_TASK_NONE;
	cop_job_finish(&source->job);
	return source->task;
}

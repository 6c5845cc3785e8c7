/* Invariants: fd holds records base to written and is `size` bytes long (or the writer finds that it is not, and is
 * broken); base - 1 <= durable <= written; all segments before it are durable. A segment is made under a temporary
 * name, synced, renamed, the folder synced, and only then is the one before it closed. A mark (journal_segment.h) goes
 * before the first batch that follows a sync. */
#include "store/journal_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "store/journal_make.h"
#include "store/journal_walk.h"

#define COPY_CHUNK ((size_t)1 << 20)

typedef enum trouble {
	NONE,
	AFTER_WRITE, /* what was written before is intact and may be synced */
	AFTER_SYNC,  /* what is not durable may be anything */
	GONE,        /* the segment or the folder is not there any more, or the segment was cut */
} trouble;

struct cop_journal_writer {
	char *path;
	int folder;
	int fd;
	cop_bytes model_set;
	uint64_t segment_bytes;
	bool preallocate;
	uint64_t epoch; /* of the segments to come */
	uint64_t base;
	uint64_t size;
	uint64_t written;
	uint64_t durable;
	uint64_t forgotten; /* bytes of the segment that were given back from the page cache */
	uint64_t marked;    /* the last mark's sequence, or base - 1 */
	bool stray; /* a segment got its name, but the folder was not synced: it may lie ahead of the next one */
	trouble broken;
	cop_diag why; /* it is broken */
};

uint64_t cop_journal_writer_written(const cop_journal_writer *writer) { return writer->written; }
uint64_t cop_journal_writer_durable(const cop_journal_writer *writer) { return writer->durable; }
bool cop_journal_writer_broken(const cop_journal_writer *writer) { return writer->broken != NONE; }
bool cop_journal_writer_gone(const cop_journal_writer *writer) { return writer->broken == GONE; }
uint64_t cop_journal_writer_epoch(const cop_journal_writer *writer) { return writer->epoch; }
uint64_t cop_journal_writer_base(const cop_journal_writer *writer) { return writer->base; }
uint64_t cop_journal_writer_bytes(const cop_journal_writer *writer) { return writer->size; }

/* Errors name the segment of this base. */
static cop_err refused(const cop_journal_writer *writer, uint64_t base, const char *what, cop_diag *diag)
{
	return cop_journal_make_refused(writer->path, base, what, diag);
}

static cop_err out_of_memory(const cop_journal_writer *writer, cop_diag *diag)
{
	cop_diag_of(diag, writer->path, "out of memory");
	return COP_ENOMEM;
}

/* Cuts off what is not wholly written, and gives back what was preallocated; if that fails, readers pass over it. */
static void trim(const cop_journal_writer *writer)
{
	if (ftruncate(writer->fd, (off_t)writer->size) != 0)
		return;
}

/* A segment that somebody cut is not made longer again. */
static void trim_whole(const cop_journal_writer *writer)
{
	if (writer->broken != GONE)
		trim(writer);
}

/* Passes the error on after noting it; the writer stands still from here on. */
static cop_err broke(cop_journal_writer *writer, trouble kind, cop_err err, const cop_diag *why, cop_diag *diag)
{
	writer->broken = kind;
	writer->why = *why;
	if (diag != NULL)
		*diag = *why;
	return err;
}

static cop_err still_broken(const cop_journal_writer *writer, cop_diag *diag)
{
	cop_diag_at_offset(diag, writer->why.source, writer->why.offset, "the journal stands still since: %.400s",
	        writer->why.message);
	return COP_EIO;
}

static bool is_gone(int fd, uint64_t size)
{
	struct stat status;
	return fstat(fd, &status) == 0 && (status.st_nlink == 0 || (uint64_t)status.st_size < size);
}

static cop_err broke_gone(cop_journal_writer *writer, const char *what, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	cop_diag why;
	cop_journal_name(writer->base, false, name);
	cop_diag_of(&why, writer->path, "%s: %s", name, what);
	return broke(writer, GONE, COP_EIO, &why, diag);
}

#define SEGMENT_GONE "the segment being written was removed or cut"

/* Whether the name, taken in the folder `at`, is not this file's. */
static bool is_other(int at, const char *name, int fd)
{
	struct stat named, open;
	if (fstat(fd, &open) != 0)
		return false;
	if (fstatat(at, name, &named, 0) != 0)
		return errno == ENOENT || errno == ENOTDIR;
	return named.st_ino != open.st_ino || named.st_dev != open.st_dev;
}

cop_err cop_journal_writer_check(cop_journal_writer *writer, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	if (writer->broken != NONE)
		return still_broken(writer, diag);
	if (is_gone(writer->fd, writer->size))
		return broke_gone(writer, SEGMENT_GONE, diag);
	cop_journal_name(writer->base, false, name);
	if (is_other(writer->folder, name, writer->fd))
		return broke_gone(writer, "the segment being written has lost its name", diag);
	if (is_other(AT_FDCWD, writer->path, writer->folder))
		return broke_gone(writer, "the journal's folder was removed or moved away", diag);
	return COP_OK;
}

static cop_err begin_made(const cop_journal_writer *writer, uint64_t base, cop_journal_make *made, cop_diag *diag)
{
	cop_bytes header;
	made->fd = -1;
	cop_bytes_init(&header);
	cop_journal_segment_header_put(&header, base, writer->epoch, writer->model_set.data, writer->model_set.length);
	cop_err err = header.err;
	if (err != COP_OK)
		cop_diag_of(diag, writer->path, "%s", cop_err_text(err));
	else
		err = cop_journal_make_begin(made, writer->path, writer->folder, base,
		        writer->preallocate ? writer->segment_bytes : 0, diag);
	if (err == COP_OK)
		err = cop_journal_make_append(made, header.data, header.length, diag);
	cop_bytes_fini(&header);
	return err;
}

/* From then on the new segment takes the place of whatever records others hold from its base on. */
static cop_err finish_made(cop_journal_writer *writer, cop_journal_make *made, cop_diag *diag)
{
	cop_err err = cop_journal_make_finish(made, &writer->stray, diag);
	if (err != COP_OK)
		return err;
	if (writer->fd >= 0) {
		trim_whole(writer);
		(void)close(writer->fd);
	}
	writer->fd = made->fd;
	writer->base = made->base;
	writer->size = made->size;
	writer->forgotten = 0;
	writer->marked = made->base - 1;
	return COP_OK;
}

static cop_err begin_segment(cop_journal_writer *writer, uint64_t base, cop_diag *diag)
{
	cop_journal_make made;
	cop_err err = begin_made(writer, base, &made, diag);
	return err == COP_OK ? finish_made(writer, &made, diag) : err;
}

/* A segment that begins at or behind `next` may be there only without a record: an earlier start got no further. */
static cop_err check_newest(
        const cop_journal_writer *writer, const cop_journal_file *newest, uint64_t next, cop_diag *diag)
{
	if (newest->base < next)
		return COP_OK;
	cop_err err = COP_OK;
	if (newest->base == next && !newest->compressed) {
		cop_journal_walk walk;
		cop_journal_record record;
		err = cop_journal_walk_open(&walk, writer->path, newest, UINT64_MAX, diag);
		if (err == COP_OK)
			err = cop_journal_walk_next(&walk, &record, diag);
		cop_journal_walk_close(&walk);
		if (err != COP_OK)
			return err == COP_EEND ? COP_OK : err;
	}
	cop_diag_of(diag, writer->path,
	        "records from %" PRIu64 " on are to be written, but a segment with records begins with %" PRIu64, next,
	        newest->base);
	return COP_EEXIST;
}

/* That of the newest segment whose header can be read, if it is higher; readers report those that cannot. */
static cop_err raise_epoch(cop_journal_writer *writer, const cop_journal_file *files, size_t count, cop_diag *diag)
{
	cop_err err = COP_EFORMAT;
	for (size_t i = count; i > 0 && err == COP_EFORMAT; i--) {
		cop_journal_walk walk;
		err = cop_journal_walk_open(&walk, writer->path, &files[i - 1], UINT64_MAX, diag);
		if (err == COP_OK && walk.ended)
			err = COP_EFORMAT;
		if (err == COP_OK && walk.epoch > writer->epoch)
			writer->epoch = walk.epoch;
		cop_journal_walk_close(&walk);
	}
	return err == COP_EFORMAT ? COP_OK : err;
}

/* Makes what an earlier process left durable. */
static cop_err settle_newest(const cop_journal_writer *writer, const cop_journal_file *newest, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(newest->base, newest->compressed, name);
	int fd = openat(writer->folder, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return refused(writer, newest->base, "the newest segment cannot be opened", diag);
	cop_err err = cop_journal_make_sync_data(fd)
	                      ? COP_OK
	                      : refused(writer, newest->base, "the newest segment cannot be synced", diag);
	(void)close(fd);
	return err;
}

static cop_err start(cop_journal_writer *writer, uint64_t next, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	writer->folder = open(writer->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writer->folder < 0)
		return cop_journal_segment_refused(writer->path, "the folder cannot be opened", diag);
	cop_err err = cop_journal_list(writer->path, &files, &count, diag);
	if (err == COP_OK && count > 0)
		err = check_newest(writer, &files[count - 1], next, diag);
	if (err == COP_OK && count > 0)
		err = settle_newest(writer, &files[count - 1], diag);
	if (err == COP_OK)
		err = raise_epoch(writer, files, count, diag);
	cop_mem_free(files);
	if (err == COP_OK)
		err = cop_journal_segment_drop_temporary(writer->path, UINT64_MAX, diag);
	if (err == COP_OK)
		err = begin_segment(writer, next, diag);
	return err;
}

static void free_writer(cop_journal_writer *writer)
{
	if (writer->fd >= 0)
		(void)close(writer->fd);
	if (writer->folder >= 0)
		(void)close(writer->folder);
	cop_bytes_fini(&writer->model_set);
	cop_mem_free(writer->path);
	cop_mem_free(writer);
}

cop_err cop_journal_writer_open(const char *folder, const cop_journal_settings *settings, uint64_t next_sequence,
        cop_journal_writer **out, cop_diag *diag)
{
	*out = NULL;
	bool numbered = next_sequence > 0 && next_sequence <= COP_JOURNAL_BASE_MAX;
	if (!numbered || settings->model_set_length > COP_JOURNAL_MODEL_SET_MAX) {
		cop_diag_of(diag, folder, "%s",
		        !numbered ? "sequence numbers are from 1 to 9999999999999999999" : "the model set is too long");
		return COP_EINVAL;
	}
	cop_journal_writer *writer = cop_mem_alloc(1, sizeof *writer);
	cop_err err = writer == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK) {
		writer->fd = -1;
		writer->folder = -1;
		writer->segment_bytes = settings->segment_bytes;
		writer->preallocate = settings->preallocate;
		writer->epoch = settings->epoch;
		writer->written = next_sequence - 1;
		writer->durable = next_sequence - 1;
		writer->path = cop_mem_strdup(folder);
		cop_bytes_put(&writer->model_set, settings->model_set, settings->model_set_length);
		err = writer->path == NULL ? COP_ENOMEM : writer->model_set.err;
	}
	if (err != COP_OK)
		cop_diag_of(diag, folder, "out of memory");
	else
		err = start(writer, next_sequence, diag);
	if (err == COP_OK)
		*out = writer;
	else if (writer != NULL)
		free_writer(writer);
	return err;
}

cop_err cop_journal_writer_sync(cop_journal_writer *writer, cop_diag *diag)
{
	if (writer->broken != NONE)
		return still_broken(writer, diag);
	if (writer->durable == writer->written)
		return COP_OK;
	bool synced = cop_journal_make_sync_data(writer->fd);
	if (synced && is_gone(writer->fd, writer->size))
		return broke_gone(writer, SEGMENT_GONE, diag);
	if (synced) {
		writer->durable = writer->written;
		return COP_OK;
	}
	cop_diag why;
	cop_err err = refused(writer, writer->base, "cannot be synced", &why);
	return broke(writer, AFTER_SYNC, err, &why, diag);
}

cop_err cop_journal_writer_sync_begin(cop_journal_writer *writer, cop_journal_ticket *ticket)
{
	if (writer->broken != NONE)
		return COP_EINVAL;
	*ticket = (cop_journal_ticket){
		.base = writer->base, .sequence = writer->written, .bytes = writer->size, .forgotten = writer->forgotten
	};
	ticket->fd = fcntl(writer->fd, F_DUPFD_CLOEXEC, 0);
	return ticket->fd < 0 ? COP_EIO : COP_OK;
}

cop_err cop_journal_writer_sync_extend(cop_journal_writer *writer, cop_journal_ticket *ticket)
{
	cop_journal_ticket fresh;
	if (ticket->base == writer->base && writer->broken == NONE) {
		ticket->sequence = writer->written;
		ticket->bytes = writer->size;
		return COP_OK;
	}
	cop_err err = cop_journal_writer_sync_begin(writer, &fresh);
	if (err != COP_OK)
		return err;
	(void)close(ticket->fd);
	*ticket = fresh;
	return COP_OK;
}

void cop_journal_writer_sync_run(cop_journal_ticket *ticket)
{
	ticket->error = cop_journal_make_sync_data(ticket->fd) ? 0 : errno;
	ticket->gone = ticket->error == 0 && is_gone(ticket->fd, ticket->bytes);
	if (ticket->error == 0)
		ticket->forgotten = cop_journal_make_forget(ticket->fd, ticket->forgotten, ticket->bytes);
}

/* A segment that is no longer written to was synced as a whole when it was left: its ticket changes nothing. */
cop_err cop_journal_writer_sync_end(cop_journal_writer *writer, cop_journal_ticket *ticket, cop_diag *diag)
{
	(void)close(ticket->fd);
	ticket->fd = -1;
	if (writer->broken != NONE)
		return still_broken(writer, diag);
	if (ticket->base != writer->base)
		return COP_OK;
	if (ticket->gone)
		return broke_gone(writer, SEGMENT_GONE, diag);
	if (ticket->error == 0) {
		writer->forgotten = ticket->forgotten;
		if (ticket->sequence > writer->durable)
			writer->durable = ticket->sequence;
		return COP_OK;
	}
	errno = ticket->error;
	cop_diag why;
	cop_err err = refused(writer, writer->base, "cannot be synced", &why);
	return broke(writer, AFTER_SYNC, err, &why, diag);
}

cop_err cop_journal_writer_roll(cop_journal_writer *writer, cop_diag *diag)
{
	cop_err err = cop_journal_writer_check(writer, diag);
	if (err == COP_OK)
		err = cop_journal_writer_sync(writer, diag);
	if (err != COP_OK)
		return err;
	cop_diag why;
	err = begin_segment(writer, writer->written + 1, &why);
	return err == COP_OK ? COP_OK : broke(writer, AFTER_WRITE, err, &why, diag);
}

/* Parts of what is written now: a mark, when a sync came after the last one, then the batch. */
static bool put_batch(cop_journal_writer *writer, const void *batch, size_t length)
{
	uint8_t mark[COP_JOURNAL_FRAME_HEAD];
	bool marks = writer->durable > writer->marked;
	cop_journal_segment_mark_make(writer->durable, mark);
	struct iovec parts[2] = { cop_journal_make_part(mark, marks ? sizeof mark : 0),
		cop_journal_make_part(batch, length) };
	if (!cop_journal_make_write_at(writer->fd, parts, 2, writer->size))
		return false;
	writer->size += length + (marks ? sizeof mark : 0);
	writer->marked = writer->durable > writer->marked ? writer->durable : writer->marked;
	return true;
}

cop_err cop_journal_writer_write(cop_journal_writer *writer, const void *batch, size_t length, uint64_t first_sequence,
        uint64_t count, cop_diag *diag)
{
	if (writer->broken != NONE)
		return still_broken(writer, diag);
	if (first_sequence != writer->written + 1) {
		cop_diag_of(diag, writer->path, "record %" PRIu64 " is to be written; expected %" PRIu64,
		        first_sequence, writer->written + 1);
		return COP_EINVAL;
	}
	if (is_gone(writer->fd, writer->size))
		return broke_gone(writer, SEGMENT_GONE, diag);
	bool empty = writer->written + 1 == writer->base;
	if (writer->segment_bytes > 0 && !empty && writer->size + length > writer->segment_bytes) {
		cop_err err = cop_journal_writer_roll(writer, diag);
		if (err != COP_OK)
			return err;
	}
	if (put_batch(writer, batch, length)) {
		writer->written += count;
		return COP_OK;
	}
	cop_diag why;
	cop_err err = refused(writer, writer->base, "cannot be written", &why);
	trim(writer);
	return broke(writer, AFTER_WRITE, err, &why, diag);
}

cop_err cop_journal_writer_set_models(cop_journal_writer *writer, const void *model_set, size_t length)
{
	if (length > COP_JOURNAL_MODEL_SET_MAX)
		return COP_EINVAL;
	cop_bytes copy;
	cop_bytes_init(&copy);
	cop_bytes_put(&copy, model_set, length);
	if (copy.err != COP_OK) {
		cop_bytes_fini(&copy);
		return COP_ENOMEM;
	}
	cop_bytes_fini(&writer->model_set);
	writer->model_set = copy;
	return COP_OK;
}

cop_err cop_journal_writer_set_epoch(cop_journal_writer *writer, uint64_t epoch)
{
	if (epoch < writer->epoch)
		return COP_EINVAL;
	writer->epoch = epoch;
	return COP_OK;
}

/* Appends `record`, head and all, in large pieces; NULL: what is gathered. */
static cop_err gather(const cop_journal_writer *writer, cop_bytes *chunk, const cop_journal_record *record,
        cop_journal_make *to, cop_diag *diag)
{
	if (record != NULL)
		cop_bytes_put(chunk, record->body - COP_JOURNAL_FRAME_HEAD, COP_JOURNAL_FRAME_HEAD + record->length);
	if (chunk->err != COP_OK)
		return out_of_memory(writer, diag);
	if (record != NULL && chunk->length < COPY_CHUNK)
		return COP_OK;
	cop_err err = cop_journal_make_append(to, chunk->data, chunk->length, diag);
	cop_bytes_clear(chunk);
	return err;
}

/* The records from `first` up to, and without, `end` of the broken segment. */
static cop_err read_back(
        const cop_journal_writer *writer, uint64_t first, uint64_t end, cop_journal_make *to, cop_diag *diag)
{
	if (first >= end)
		return COP_OK;
	cop_journal_file file = { .base = writer->base };
	cop_journal_walk walk;
	cop_journal_record record;
	cop_bytes chunk;
	cop_bytes_init(&chunk);
	cop_err err = cop_journal_walk_open(&walk, writer->path, &file, end, diag);
	while (err == COP_OK && (err = cop_journal_walk_next(&walk, &record, diag)) == COP_OK)
		if (record.sequence >= first)
			err = gather(writer, &chunk, &record, to, diag);
	if (err == COP_EEND && walk.end != COP_JOURNAL_END_WHOLE) {
		cop_journal_walk_diag(&walk, walk.end_offset, "what was written last cannot be read back", diag);
		err = COP_EFORMAT;
	} else if (err == COP_EEND) {
		err = gather(writer, &chunk, NULL, to, diag);
	}
	cop_journal_walk_close(&walk);
	cop_bytes_fini(&chunk);
	return err;
}

cop_err cop_journal_writer_recover(cop_journal_writer *writer, const void *batch, size_t length,
        uint64_t first_sequence, uint64_t count, cop_diag *diag)
{
	COP_ASSERT(writer->broken != NONE);
	if (first_sequence == 0 || first_sequence > writer->written + 1 || first_sequence < writer->base ||
	        first_sequence + count <= writer->written) {
		cop_diag_of(diag, writer->path,
		        "a batch of records %" PRIu64 " to %" PRIu64 " cannot follow durable %" PRIu64, first_sequence,
		        first_sequence + count - 1, writer->durable);
		return COP_EINVAL;
	}
	if (writer->broken == GONE) {
		cop_diag_of(diag, writer->why.source, "%.400s", writer->why.message);
		return COP_ENOTFOUND;
	}
	/* Never after a failed sync: a second one would succeed without what was lost. */
	if (writer->broken == AFTER_WRITE && writer->durable < writer->written) {
		if (cop_journal_make_sync_data(writer->fd))
			writer->durable = writer->written;
		else
			writer->broken = AFTER_SYNC;
	}
	uint64_t base = first_sequence <= writer->durable ? first_sequence : writer->durable + 1;
	cop_journal_make made;
	cop_err err = begin_made(writer, base, &made, diag);
	if (err == COP_OK)
		err = read_back(writer, base, first_sequence, &made, diag);
	if (err == COP_OK)
		err = cop_journal_make_append(&made, batch, length, diag);
	if (err == COP_OK)
		err = finish_made(writer, &made, diag);
	else
		cop_journal_make_drop(&made);
	if (err != COP_OK)
		return err;
	writer->written = first_sequence + count - 1;
	writer->durable = writer->written;
	writer->broken = NONE;
	return COP_OK;
}

/* A mark at the end records, if it gets to the disk, that nothing is missing. */
cop_err cop_journal_writer_close(cop_journal_writer *writer, cop_diag *diag)
{
	if (writer == NULL)
		return COP_OK;
	cop_err err = COP_OK;
	if (writer->broken == NONE)
		err = cop_journal_writer_sync(writer, diag);
	if (writer->broken == NONE && writer->durable > writer->marked && !put_batch(writer, NULL, 0))
		trim(writer);
	if (writer->preallocate)
		trim_whole(writer);
	free_writer(writer);
	return err;
}

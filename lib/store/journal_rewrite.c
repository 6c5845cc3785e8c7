/* The steps of one segment: the new file under BASE.journal.tmp (or .tmp.zst), read back and compared, synced; the name
 * BASE.journal.tmp.old for the old file; the new one takes the old one's name; the folder is synced; the old file is
 * overwritten, then its other name removed. A kill before the folder's sync leaves the old file under two names, or the
 * old one under its second alone: which of them, the number of its names tells (store/journal_wipe.c). */
#include "store/journal_rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/journal_walk.h"
#include "store/journal_wipe.h"

#define BATCH ((size_t)1 << 20)

typedef struct rewrite {
	const char *path;                 /* of the folder */
	int folder;                       /* the same, open */
	const cop_journal_editor *editor; /* NULL: nothing is changed */
	cop_journal_file file;
	uint64_t limit; /* base of the segment behind it */
	char name[COP_JOURNAL_NAME_ROOM];
	char temporary[COP_JOURNAL_NAME_ROOM];
	char old[COP_JOURNAL_NAME_ROOM];
	char *target; /* path of the temporary file */
	cop_bytes batch;
	uint8_t *other;   /* BATCH bytes, to compare with */
	uint64_t changed; /* records, in the last pass */
	cop_diag *diag;
} rewrite;

static cop_err out_of_memory(const rewrite *r)
{
	cop_diag_of(r->diag, r->path, "out of memory");
	return COP_ENOMEM;
}

static cop_err refused(const rewrite *r, const char *what)
{
	int code = errno;
	char *path = cop_journal_path(r->path, r->name);
	errno = code;
	cop_err err = cop_journal_segment_refused(path == NULL ? r->name : path, what, r->diag);
	cop_mem_free(path);
	return err;
}

/* ---- what becomes of it ---- */

/* The next record and what it is to be. COP_EEND: none. */
static cop_err next(
        rewrite *r, cop_journal_walk *walk, cop_journal_record *record, cop_journal_record *out, bool *edited)
{
	cop_err err = cop_journal_walk_next(walk, record, r->diag);
	if (err != COP_OK)
		return err;
	*out = *record;
	*edited = false;
	if (r->editor != NULL)
		err = r->editor->edit(r->editor->context, record, out, edited);
	if (err != COP_OK)
		cop_diag_of(r->diag, r->path, "%s", cop_err_text(err));
	return err;
}

/* Behind the last record that counts only marks may be. COP_EEND: so it is. */
static cop_err find_rest(cop_journal_walk *walk, cop_diag *diag)
{
	cop_journal_record frame;
	cop_err err;
	while ((err = cop_journal_scan_frame(&walk->scan, &frame)) == COP_OK && frame.type == COP_JOURNAL_MARK)
		cop_journal_scan_pass(&walk->scan, &frame);
	if (err == COP_ENOMEM)
		cop_journal_walk_diag(walk, walk->scan.offset, cop_err_text(err), diag);
	else if (err == COP_EIO)
		cop_journal_walk_diag(walk, walk->scan.offset, cop_stream_diag(walk->scan.stream)->message, diag);
	return err == COP_EFORMAT ? COP_OK : err;
}

/* What is to be done to a segment. */
typedef struct work {
	bool edit;
	bool drop; /* the rest behind its last record */
} work;

static cop_err examine(rewrite *r, work *out)
{
	cop_journal_walk walk;
	cop_journal_record record, other;
	bool edited = false;
	cop_err err = cop_journal_walk_open(&walk, r->path, &r->file, r->limit, r->diag);
	if (err != COP_OK)
		return err;
	while (err == COP_OK && (err = next(r, &walk, &record, &other, &edited)) == COP_OK)
		out->edit = out->edit || edited;
	if (err == COP_EEND && walk.end == COP_JOURNAL_END_WHOLE) {
		err = find_rest(&walk, r->diag);
		out->drop = err == COP_OK;
	}
	cop_journal_walk_close(&walk);
	return err == COP_EEND ? COP_OK : err;
}

/* Writes the batch, or compares it with what `back` gives; exactly one of the two is there. */
static cop_err flush(rewrite *r, cop_stream *write, cop_stream *back)
{
	size_t got = 0;
	if (r->batch.err != COP_OK)
		return out_of_memory(r);
	cop_err err = COP_OK;
	if (write != NULL)
		err = cop_stream_write(write, r->batch.data, r->batch.length);
	for (size_t at = 0; back != NULL && err == COP_OK && at < r->batch.length; at += got) {
		size_t left = r->batch.length - at;
		err = cop_stream_read(back, r->other, left < BATCH ? left : BATCH, &got);
		if (err == COP_EEND || (err == COP_OK && memcmp(r->other, r->batch.data + at, got) != 0)) {
			cop_diag_of(r->diag, r->target, "it does not read back as it was written");
			return COP_EIO;
		}
	}
	if (err != COP_OK && r->diag != NULL)
		*r->diag = *cop_stream_diag(write != NULL ? write : back);
	cop_bytes_clear(&r->batch);
	return err;
}

static void put_record(rewrite *r, const cop_journal_record *record, const cop_journal_record *out, bool edited)
{
	r->changed += edited;
	if (edited)
		cop_journal_record_put(&r->batch, record->sequence, out->type, out->body, out->length);
	else
		cop_bytes_put(
		        &r->batch, record->body - COP_JOURNAL_FRAME_HEAD, COP_JOURNAL_FRAME_HEAD + record->length);
}

/* All of the new segment, to one of the two. All of it is synced before it has its name, as its last mark says. */
static cop_err produce(rewrite *r, cop_stream *write, cop_stream *back)
{
	cop_journal_walk walk;
	cop_journal_record record, out;
	bool edited;
	uint8_t mark[COP_JOURNAL_FRAME_HEAD];
	r->changed = 0;
	cop_err err = cop_journal_walk_open(&walk, r->path, &r->file, r->limit, r->diag);
	if (err != COP_OK)
		return err;
	cop_bytes_clear(&r->batch);
	cop_journal_segment_header_put(&r->batch, r->file.base, walk.epoch, walk.model_set.data, walk.model_set.length);
	while (err == COP_OK && (err = next(r, &walk, &record, &out, &edited)) == COP_OK) {
		put_record(r, &record, &out, edited);
		if (r->batch.length >= BATCH)
			err = flush(r, write, back);
	}
	if (err == COP_EEND && walk.expected > r->file.base) {
		cop_journal_segment_mark_make(walk.expected - 1, mark);
		cop_bytes_put(&r->batch, mark, sizeof mark);
	}
	cop_journal_walk_close(&walk);
	return err == COP_EEND ? flush(r, write, back) : err;
}

/* ---- the files ---- */

static cop_err write_new(rewrite *r)
{
	cop_stream *stream;
	cop_err err = cop_stream_open_write(r->target, &stream, r->diag);
	if (err != COP_OK)
		return err;
	err = produce(r, stream, NULL);
	if (err == COP_OK)
		return cop_stream_close(stream, r->diag);
	cop_stream_free(stream);
	return err;
}

static cop_err compare_new(rewrite *r)
{
	cop_stream *stream;
	cop_err err = cop_stream_open_read(r->target, &stream, r->diag);
	if (err != COP_OK)
		return err;
	err = produce(r, NULL, stream);
	cop_stream_free(stream);
	return err;
}

static cop_err sync_folder(const rewrite *r)
{
	return fsync(r->folder) == 0 ? COP_OK
	                             : cop_journal_segment_refused(r->path, "the folder cannot be synced", r->diag);
}

/* A crash while it was compressed left it in both forms; the one that does not count goes. */
static cop_err drop_twin(rewrite *r)
{
	char twin[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(r->file.base, true, twin);
	if (r->file.compressed)
		return COP_OK;
	if (renameat(r->folder, twin, r->folder, r->old) != 0)
		return errno == ENOENT ? COP_OK : refused(r, "its compressed copy cannot be renamed");
	cop_err err = sync_folder(r);
	if (err == COP_OK && !cop_journal_wipe_file(r->folder, r->old))
		err = refused(r, "its compressed copy cannot be removed");
	return err;
}

/* The new file takes the old one's place, whose bytes `fd` still has. */
static cop_err take_place(rewrite *r, int fd)
{
	bool named = linkat(r->folder, r->name, r->folder, r->old, 0) == 0;
	if (renameat(r->folder, r->temporary, r->folder, r->name) != 0) {
		cop_err err = refused(r, "cannot be replaced");
		if (named)
			(void)unlinkat(r->folder, r->old, 0);
		return err;
	}
	cop_err err = sync_folder(r);
	if (err != COP_OK) /* which file has the name is not certain */
		return err;
	(void)cop_journal_wipe_bytes(fd);
	return unlinkat(r->folder, r->old, 0) == 0 || errno == ENOENT
	               ? COP_OK
	               : refused(r, "what it was before cannot be removed");
}

static cop_err replace(rewrite *r, cop_journal_rewritten *done)
{
	struct stat status = { 0 };
	int fd = openat(r->folder, r->name, O_RDWR | O_CLOEXEC);
	cop_err err = fd >= 0 ? COP_OK : refused(r, "cannot be opened");
	if (err == COP_OK)
		err = write_new(r);
	if (err == COP_OK)
		err = compare_new(r);
	if (err == COP_OK)
		err = cop_journal_segment_settle(r->target, fd, r->diag);
	if (err == COP_OK && fstatat(r->folder, r->temporary, &status, 0) != 0)
		err = refused(r, "its size cannot be read");
	if (err == COP_OK)
		err = drop_twin(r);
	if (err == COP_OK)
		err = take_place(r, fd);
	if (err != COP_OK && fd >= 0)
		(void)cop_journal_wipe_file(r->folder, r->temporary);
	if (fd >= 0)
		(void)close(fd);
	if (err != COP_OK)
		return err;
	done->records += r->changed;
	done->segments++;
	done->before += r->file.bytes;
	done->after += (uint64_t)status.st_size;
	return COP_OK;
}

static void enter(rewrite *r, const cop_journal_file *file)
{
	char plain[COP_JOURNAL_NAME_ROOM];
	r->file = *file;
	r->limit = file[1].base;
	cop_journal_name(file->base, false, plain);
	cop_journal_name(file->base, file->compressed, r->name);
	(void)snprintf(r->temporary, sizeof r->temporary, "%.36s.tmp%s", plain, file->compressed ? ".zst" : "");
	(void)snprintf(r->old, sizeof r->old, "%.36s.tmp.old", plain);
}

static cop_err rewrite_one(rewrite *r, const cop_journal_file *file, cop_journal_rewritten *done)
{
	enter(r, file);
	r->target = cop_journal_path(r->path, r->temporary);
	cop_err err = r->target == NULL ? out_of_memory(r) : replace(r, done);
	cop_mem_free(r->target);
	return err;
}

/* files[0, count), behind which another one is. A rest goes before what it repeats does: afterwards nothing in the
 * journal would lead to it. */
static cop_err rewrite_all(rewrite *r, const cop_journal_file *files, size_t count, cop_journal_rewritten *done)
{
	cop_err err = COP_OK;
	bool any = false;
	work *todo = cop_mem_alloc(count + 1, sizeof *todo);
	if (todo == NULL)
		return out_of_memory(r);
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		enter(r, &files[i]);
		err = examine(r, &todo[i]);
		any = any || todo[i].edit;
	}
	const cop_journal_editor *editor = r->editor;
	r->editor = NULL;
	for (size_t i = 0; i < count && err == COP_OK && any; i++)
		if (todo[i].drop)
			err = rewrite_one(r, &files[i], done);
	r->editor = editor;
	for (size_t i = count; i-- > 0 && err == COP_OK;)
		if (todo[i].edit)
			err = rewrite_one(r, &files[i], done);
	cop_mem_free(todo);
	return err;
}

static cop_err rewrite_closed(rewrite *r, uint64_t last, cop_journal_rewritten *done)
{
	cop_journal_file *files;
	size_t count, closed = 0;
	cop_err err = cop_journal_list(r->path, &files, &count, r->diag);
	if (err != COP_OK || count == 0)
		return err;
	/* The writer may be making the segment behind the newest one. */
	err = cop_journal_segment_drop_temporary(r->path, files[count - 1].base, r->diag);
	while (closed + 1 < count && files[closed].base <= last)
		closed++;
	if (err == COP_OK)
		err = rewrite_all(r, files, closed, done);
	cop_mem_free(files);
	return err;
}

cop_err cop_journal_rewrite(
        const char *folder, uint64_t last, const cop_journal_editor *editor, cop_journal_rewritten *out, cop_diag *diag)
{
	rewrite r = { .path = folder, .editor = editor, .diag = diag };
	*out = (cop_journal_rewritten){ 0 };
	r.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r.folder < 0)
		return cop_journal_segment_refused(folder, "the folder cannot be opened", diag);
	cop_bytes_init(&r.batch);
	r.other = cop_mem_alloc(BATCH, 1);
	cop_err err = r.other == NULL ? out_of_memory(&r) : rewrite_closed(&r, last, out);
	cop_mem_free(r.other);
	cop_bytes_fini(&r.batch);
	(void)close(r.folder);
	return err;
}

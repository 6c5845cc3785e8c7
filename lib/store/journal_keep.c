/* Whatever is replaced or removed: first the new file is durable under its name, then the old one goes. */
#include "store/journal_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/stream.h"
#include "store/journal_walk.h"

#define COPY_CHUNK ((size_t)256 << 10)

static cop_err out_of_memory(const char *folder, cop_diag *diag)
{
	cop_diag_of(diag, folder, "out of memory");
	return COP_ENOMEM;
}

static cop_err sync_folder(const char *folder, cop_diag *diag)
{
	return cop_folder_sync(folder) == COP_OK
	               ? COP_OK
	               : cop_journal_segment_refused(folder, "the folder cannot be synced", diag);
}

/* To its first `tail->offset` bytes, on the disk. The size is compared first: what is named as a plain segment and
 * holds compressed data was read at other offsets. */
static cop_err cut_file(const char *path, const cop_journal_tail *tail, cop_diag *diag)
{
	struct stat status;
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return cop_journal_segment_refused(path, "cannot be opened", diag);
	cop_err err = COP_OK;
	if (fstat(fd, &status) != 0) {
		err = cop_journal_segment_refused(path, "its size cannot be read", diag);
	} else if ((uint64_t)status.st_size != tail->offset + tail->bytes) {
		cop_diag_at_offset(diag, path, tail->offset, "its size is not that of what was read; nothing is cut");
		err = COP_EFORMAT;
	} else if (ftruncate(fd, (off_t)tail->offset) != 0 || fsync(fd) != 0) {
		err = cop_journal_segment_refused(path, "its torn tail cannot be cut", diag);
	}
	(void)close(fd);
	return err;
}

static cop_err cut(const char *folder, const cop_journal_tail *tail, cop_diag *diag)
{
	char *path = cop_journal_path(folder, tail->file);
	if (path == NULL)
		return out_of_memory(folder, diag);
	cop_err err = COP_OK;
	if (tail->offset > 0)
		err = cut_file(path, tail, diag);
	else if (unlink(path) != 0)
		err = cop_journal_segment_refused(path, "cannot be removed", diag);
	cop_mem_free(path);
	return err == COP_OK ? sync_folder(folder, diag) : err;
}

cop_err cop_journal_keep_cut_tail(const char *folder, cop_journal_tail *tail, cop_diag *diag)
{
	cop_journal_reader *reader = NULL;
	cop_journal_record record;
	memset(tail, 0, sizeof *tail);
	cop_err err = cop_journal_reader_open(folder, UINT64_MAX, false, &reader, diag);
	if (err != COP_OK)
		return err;
	while (err == COP_OK)
		err = cop_journal_next(reader, &record, diag);
	*tail = *cop_journal_reader_tail(reader);
	cop_journal_reader_close(reader);
	if (err != COP_EEND)
		return err;
	if (tail->file[0] == '\0')
		tail->next_sequence = 1;
	return tail->torn || tail->bytes > 0 ? cut(folder, tail, diag) : COP_OK;
}

/* Both paths of a segment, and the temporary one. */
typedef struct paths {
	char *plain;
	char *compressed;
	char *temporary;
} paths;

static void free_paths(paths *p)
{
	cop_mem_free(p->plain);
	cop_mem_free(p->compressed);
	cop_mem_free(p->temporary);
}

static bool make_paths(const char *folder, uint64_t base, paths *p)
{
	char name[COP_JOURNAL_NAME_ROOM];
	char temporary[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(base, false, name);
	(void)snprintf(temporary, sizeof temporary, "%.36s.tmp.zst", name);
	p->plain = cop_journal_path(folder, name);
	p->temporary = cop_journal_path(folder, temporary);
	cop_journal_name(base, true, name);
	p->compressed = cop_journal_path(folder, name);
	if (p->plain != NULL && p->compressed != NULL && p->temporary != NULL)
		return true;
	free_paths(p);
	return false;
}

/* Copies `from` through the stream, or (write NULL) compares it with what the stream `read` gives. */
static cop_err pump(int from, cop_stream *write, cop_stream *read, uint8_t *chunk, const char *path, cop_diag *diag)
{
	uint8_t *other = chunk + COPY_CHUNK;
	for (uint64_t offset = 0;;) {
		ssize_t n = pread(from, chunk, COPY_CHUNK, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cop_journal_segment_refused(path, "cannot be read", diag);
		cop_err err = COP_OK;
		size_t got = 0;
		if (write != NULL)
			err = cop_stream_write(write, chunk, (size_t)n);
		else
			err = cop_stream_read(read, other, n == 0 ? 1 : (size_t)n, &got);
		if (n == 0 && (write != NULL || err == COP_EEND))
			return COP_OK;
		if (err != COP_OK && err != COP_EEND) {
			if (diag != NULL)
				*diag = *cop_stream_diag(write != NULL ? write : read);
			return err;
		}
		if (write == NULL && (got != (size_t)n || memcmp(chunk, other, got) != 0)) {
			cop_diag_at_offset(diag, path, offset, "its compressed copy is not equal to it");
			return COP_EFORMAT;
		}
		offset += (uint64_t)n;
	}
}

/* Writes the compressed file, with the plain one's time and permissions, and makes it durable. */
static cop_err write_compressed(int from, const paths *p, uint8_t *chunk, cop_diag *diag)
{
	cop_stream *stream;
	cop_err err = cop_stream_open_write(p->temporary, &stream, diag);
	if (err != COP_OK)
		return err;
	err = pump(from, stream, NULL, chunk, p->plain, diag);
	if (err == COP_OK)
		err = cop_stream_close(stream, diag);
	else
		cop_stream_free(stream);
	return err == COP_OK ? cop_journal_segment_settle(p->temporary, from, diag) : err;
}

static cop_err compare(int from, const paths *p, uint8_t *chunk, cop_diag *diag)
{
	cop_stream *stream;
	cop_err err = cop_stream_open_read(p->temporary, &stream, diag);
	if (err != COP_OK)
		return err;
	err = pump(from, NULL, stream, chunk, p->plain, diag);
	cop_stream_free(stream);
	return err;
}

static cop_err compress(const char *folder, const paths *p, cop_diag *diag)
{
	uint8_t *chunk = cop_mem_alloc(2, COPY_CHUNK);
	if (chunk == NULL)
		return out_of_memory(folder, diag);
	int from = open(p->plain, O_RDONLY | O_CLOEXEC);
	cop_err err = from >= 0 ? COP_OK : cop_journal_segment_refused(p->plain, "cannot be opened", diag);
	if (err == COP_OK)
		err = write_compressed(from, p, chunk, diag);
	if (err == COP_OK)
		err = compare(from, p, chunk, diag);
	if (err == COP_OK && rename(p->temporary, p->compressed) != 0)
		err = cop_journal_segment_refused(p->compressed, "cannot be named", diag);
	if (err != COP_OK && from >= 0)
		(void)unlink(p->temporary);
	if (err == COP_OK)
		err = sync_folder(folder, diag);
	if (err == COP_OK && unlink(p->plain) != 0)
		err = cop_journal_segment_refused(p->plain, "cannot be removed", diag);
	if (from >= 0)
		(void)close(from);
	cop_mem_free(chunk);
	return err;
}

/* The segment of this base must be there, and not be the newest. */
static cop_err find_closed(const char *folder, uint64_t base, cop_journal_file *out, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	cop_err err = cop_journal_list(folder, &files, &count, diag);
	if (err != COP_OK)
		return err;
	size_t i = 0;
	while (i < count && files[i].base != base)
		i++;
	if (i == count) {
		cop_diag_of(diag, folder, "no segment begins with record %llu", (unsigned long long)base);
		err = COP_ENOTFOUND;
	} else if (i + 1 == count) {
		cop_diag_of(diag, folder, "the newest segment is not closed yet");
		err = COP_EINVAL;
	} else {
		*out = files[i];
	}
	cop_mem_free(files);
	return err;
}

cop_err cop_journal_keep_compress(const char *folder, uint64_t base, cop_diag *diag)
{
	cop_journal_file file;
	paths p;
	cop_err err = find_closed(folder, base, &file, diag);
	if (err != COP_OK || file.compressed)
		return err;
	if (!make_paths(folder, base, &p))
		return out_of_memory(folder, diag);
	err = compress(folder, &p, diag);
	free_paths(&p);
	return err;
}

/* Both forms of it: a crash may have left both. */
static cop_err remove_segment(const char *folder, uint64_t base, cop_diag *diag)
{
	paths p;
	if (!make_paths(folder, base, &p))
		return out_of_memory(folder, diag);
	cop_err err = COP_OK;
	if ((unlink(p.compressed) != 0 && errno != ENOENT) || (unlink(p.plain) != 0 && errno != ENOENT))
		err = cop_journal_segment_refused(p.plain, "an old segment cannot be removed", diag);
	free_paths(&p);
	return err;
}

cop_err cop_journal_keep_retain(
        const char *folder, uint64_t keep_bytes, uint64_t keep_from_sequence, size_t *removed, cop_diag *diag)
{
	cop_journal_file *files;
	size_t count;
	size_t gone = 0;
	uint64_t total = 0;
	cop_err err = cop_journal_list(folder, &files, &count, diag);
	for (size_t i = 0; i < count; i++)
		total += files[i].bytes;
	while (err == COP_OK && gone + 1 < count && total > keep_bytes && files[gone + 1].base <= keep_from_sequence) {
		err = remove_segment(folder, files[gone].base, diag);
		if (err == COP_OK)
			total -= files[gone++].bytes;
	}
	cop_mem_free(files);
	if (gone > 0) {
		cop_err synced = sync_folder(folder, err == COP_OK ? diag : NULL);
		err = err == COP_OK ? synced : err;
	}
	if (removed != NULL)
		*removed = gone;
	return err;
}

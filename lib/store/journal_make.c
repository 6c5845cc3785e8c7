/* Order of events: the data is on the disk before it has its name, and the name before anyone relies on it. */
#include "store/journal_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

cop_err cop_journal_make_refused(const char *path, uint64_t base, const char *what, cop_diag *diag)
{
	int code = errno;
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(base, false, name);
	char *whole = cop_journal_path(path, name);
	errno = code;
	cop_err err = cop_journal_segment_refused(whole == NULL ? name : whole, what, diag);
	cop_mem_free(whole);
	return err == COP_EFULL ? err : COP_EIO;
}

#define FORGET_PIECE ((uint64_t)1 << 20) /* a multiple of the page size */

/* A signal may interrupt a sync on network file systems. */
bool cop_journal_make_sync_data(int fd)
{
	int status;
	do
		status = fdatasync(fd);
	while (status != 0 && errno == EINTR);
	return status == 0;
}

/* Nobody reads a journal soon; and pages that it gives back are the ones it gets next, which are at hand, while new
 * ones may have to come from a hypervisor first, two megabytes in milliseconds. */
uint64_t cop_journal_make_forget(int fd, uint64_t from, uint64_t to)
{
	to -= to % FORGET_PIECE;
	if (to <= from)
		return from;
	(void)posix_fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
	return to;
}

static bool sync_all(int fd)
{
	int status;
	do
		status = fsync(fd);
	while (status != 0 && errno == EINTR);
	return status == 0;
}

struct iovec cop_journal_make_part(const void *data, size_t length)
{
	struct iovec iov = { .iov_len = length };
	memcpy(&iov.iov_base, &data, sizeof data); /* pwritev only reads it */
	return iov;
}

/* Takes n bytes off the front of the parts. */
static void use_up(struct iovec **parts, int *count, size_t n)
{
	while (*count > 0 && n >= (*parts)->iov_len) {
		n -= (*parts)->iov_len;
		(*parts)++;
		(*count)--;
	}
	if (*count > 0 && n > 0) {
		(*parts)->iov_base = (uint8_t *)(*parts)->iov_base + n;
		(*parts)->iov_len -= n;
	}
}

bool cop_journal_make_write_at(int fd, struct iovec *parts, int count, uint64_t offset)
{
	use_up(&parts, &count, 0);
	while (count > 0) {
		ssize_t n = pwritev(fd, parts, count, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			return false;
		offset += (uint64_t)n;
		use_up(&parts, &count, (size_t)n);
	}
	return true;
}

cop_err cop_journal_make_begin(
        cop_journal_make *make, const char *path, int folder, uint64_t base, uint64_t room, cop_diag *diag)
{
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(base, false, name);
	(void)snprintf(make->temporary, sizeof make->temporary, "%.40s.tmp", name);
	make->path = path;
	make->folder = folder;
	make->base = base;
	make->size = 0;
	make->fd = openat(folder, make->temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (make->fd < 0)
		return cop_journal_make_refused(path, base, "a new segment cannot be created", diag);
	if (room > 0 && room <= INT64_MAX)
		(void)fallocate(make->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)room);
	return COP_OK;
}

void cop_journal_make_drop(cop_journal_make *make)
{
	if (make->fd < 0)
		return;
	(void)close(make->fd);
	(void)unlinkat(make->folder, make->temporary, 0);
	make->fd = -1;
}

cop_err cop_journal_make_append(cop_journal_make *make, const void *data, size_t length, cop_diag *diag)
{
	struct iovec iov = cop_journal_make_part(data, length);
	if (cop_journal_make_write_at(make->fd, &iov, 1, make->size)) {
		make->size += length;
		return COP_OK;
	}
	cop_err err = cop_journal_make_refused(make->path, make->base, "a new segment cannot be written", diag);
	cop_journal_make_drop(make);
	return err;
}

/* Segments that begin behind this one: left by earlier attempts, and nothing that was called durable. */
static bool drop_later(const cop_journal_make *make)
{
	cop_journal_file *files;
	size_t count;
	bool ok = true;
	if (cop_journal_list(make->path, &files, &count, NULL) != COP_OK)
		return false;
	for (size_t i = count; i > 0 && files[i - 1].base > make->base; i--) {
		char name[COP_JOURNAL_NAME_ROOM];
		cop_journal_name(files[i - 1].base, false, name);
		ok = ok && unlinkat(make->folder, name, 0) == 0;
	}
	cop_mem_free(files);
	return ok;
}

/* NULL, or what could not be done (errno). */
static const char *put_in_place(const cop_journal_make *make, bool *stray)
{
	char name[COP_JOURNAL_NAME_ROOM];
	cop_journal_name(make->base, false, name);
	if (!sync_all(make->fd))
		return "a new segment cannot be synced";
	if (renameat(make->folder, make->temporary, make->folder, name) != 0)
		return "a new segment cannot be named";
	bool before = *stray;
	*stray = true;
	if (before && !drop_later(make))
		return "an unfinished segment cannot be removed";
	if (!sync_all(make->folder))
		return "the folder cannot be synced";
	*stray = false;
	return NULL;
}

cop_err cop_journal_make_finish(cop_journal_make *make, bool *stray, cop_diag *diag)
{
	const char *what = put_in_place(make, stray);
	if (what == NULL)
		return COP_OK;
	cop_err err = cop_journal_make_refused(make->path, make->base, what, diag);
	cop_journal_make_drop(make);
	return err;
}

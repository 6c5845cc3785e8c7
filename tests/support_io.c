/* The wrappers sit between the library and libc: count first, then fail or pass on. */
#include "support_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
ssize_t __real_read(int fd, void *data, size_t length);
ssize_t __real_pread(int fd, void *data, size_t length, off_t offset);
ssize_t __real_pwritev(int fd, const struct iovec *parts, int count, off_t offset);
ssize_t __real_write(int fd, const void *data, size_t length);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_rename(const char *from, const char *to);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __real_ftruncate(int fd, off_t length);
int __real_unlink(const char *path);
int __real_unlinkat(int folder, const char *path, int flags);

int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
ssize_t __wrap_read(int fd, void *data, size_t length);
ssize_t __wrap_pread(int fd, void *data, size_t length, off_t offset);
ssize_t __wrap_pwritev(int fd, const struct iovec *parts, int count, off_t offset);
ssize_t __wrap_write(int fd, const void *data, size_t length);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __wrap_ftruncate(int fd, off_t length);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int folder, const char *path, int flags);

static struct {
	unsigned kinds;
	unsigned long n;
	unsigned long count;
	bool forever;
	bool failed;
	int code;
	void (*lost)(int fd);
	ino_t unsynced; /* file whose fdatasync was made to fail; 0: none */
	bool synced_again;
} io;

void cop_test_io_fail(unsigned kinds, unsigned long n, bool forever, int code)
{
	void (*lost)(int fd) = io.lost;
	io = (__typeof__(io)){ .kinds = kinds, .n = n, .forever = forever, .code = code, .lost = lost };
}

unsigned long cop_test_io_count(void) { return io.count; }
bool cop_test_io_failed(void) { return io.failed; }
void cop_test_io_on_lost(void (*lost)(int fd)) { io.lost = lost; }
bool cop_test_io_synced_again(void) { return io.synced_again; }

static bool fails(unsigned kind)
{
	if ((io.kinds & kind) == 0)
		return false;
	io.count++;
	if (io.n == 0 || io.count < io.n || (io.count > io.n && !io.forever))
		return false;
	io.failed = true;
	errno = io.code;
	return true;
}

static mode_t mode_of(int flags, va_list arguments)
{
	return (flags & O_CREAT) != 0 ? (mode_t)va_arg(arguments, unsigned) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return fails(COP_TEST_IO_OPEN) ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return fails(COP_TEST_IO_OPEN) ? -1 : __real_openat(folder, path, flags, mode);
}

ssize_t __wrap_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	if (!fails(COP_TEST_IO_WRITE))
		return __real_pwritev(fd, parts, count, offset);
	if (count > 0 && pwrite(fd, parts[0].iov_base, parts[0].iov_len / 2, offset) < 0)
		perror("pwrite");
	errno = io.code;
	return -1;
}

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
	return fails(COP_TEST_IO_WRITE) ? -1 : __real_write(fd, data, length);
}

ssize_t __wrap_read(int fd, void *data, size_t length)
{
	return fails(COP_TEST_IO_READ) ? -1 : __real_read(fd, data, length);
}

ssize_t __wrap_pread(int fd, void *data, size_t length, off_t offset)
{
	return fails(COP_TEST_IO_READ) ? -1 : __real_pread(fd, data, length, offset);
}

static bool sync_fails(int fd, bool data_only)
{
	struct stat status = { 0 };
	bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	if (regular && status.st_ino == io.unsynced)
		io.synced_again = true;
	if (!fails(COP_TEST_IO_SYNC))
		return false;
	if (regular && data_only)
		io.unsynced = status.st_ino;
	if (io.lost != NULL)
		io.lost(fd);
	errno = io.code;
	return true;
}

int __wrap_fsync(int fd) { return sync_fails(fd, false) ? -1 : __real_fsync(fd); }
int __wrap_fdatasync(int fd) { return sync_fails(fd, true) ? -1 : __real_fdatasync(fd); }

int __wrap_rename(const char *from, const char *to) { return fails(COP_TEST_IO_RENAME) ? -1 : __real_rename(from, to); }

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	if (fails(COP_TEST_IO_RENAME))
		return -1;
	io.unsynced = 0; /* another file takes its place, and may get its number */
	return __real_renameat(from_folder, from, to_folder, to);
}

int __wrap_ftruncate(int fd, off_t length) { return fails(COP_TEST_IO_CUT) ? -1 : __real_ftruncate(fd, length); }
int __wrap_unlink(const char *path) { return fails(COP_TEST_IO_REMOVE) ? -1 : __real_unlink(path); }

int __wrap_unlinkat(int folder, const char *path, int flags)
{
	return fails(COP_TEST_IO_REMOVE) ? -1 : __real_unlinkat(folder, path, flags);
}

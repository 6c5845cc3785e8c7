/* The wrappers sit between the library and libc: count first, then fail or pass on. */
#include "support_io.h"

#include <dirent.h>
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
int __real_fcntl(int fd, int command, ...);
int __real_stat(const char *path, struct stat *out);
int __real_lstat(const char *path, struct stat *out);
int __real_fstat(int fd, struct stat *out);
int __real_fstatat(int folder, const char *path, struct stat *out, int flags);
DIR *__real_opendir(const char *path);
struct dirent *__real_readdir(DIR *dir);
int __real_close(int fd);
int __real_fchmod(int fd, mode_t mode);
int __real_futimens(int fd, const struct timespec times[2]);

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
int __wrap_fcntl(int fd, int command, ...);
int __wrap_stat(const char *path, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fstatat(int folder, const char *path, struct stat *out, int flags);
DIR *__wrap_opendir(const char *path);
struct dirent *__wrap_readdir(DIR *dir);
int __wrap_close(int fd);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_futimens(int fd, const struct timespec times[2]);

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
	size_t limit;
} io;

static void (*on_call)(void);

void cop_test_io_fail(unsigned kinds, unsigned long n, bool forever, int code)
{
	void (*lost)(int fd) = io.lost;
	size_t limit = io.limit;
	io = (__typeof__(io)){ .kinds = kinds, .n = n, .forever = forever, .code = code, .lost = lost, .limit = limit };
}

unsigned long cop_test_io_count(void) { return io.count; }
bool cop_test_io_failed(void) { return io.failed; }
void cop_test_io_on_lost(void (*lost)(int fd)) { io.lost = lost; }
bool cop_test_io_synced_again(void) { return io.synced_again; }
void cop_test_io_limit(size_t bytes) { io.limit = bytes; }
void cop_test_io_on_call(void (*called)(void)) { on_call = called; }

unsigned cop_test_io_descriptors(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += __real_fcntl(fd, F_GETFD) >= 0;
	return count;
}

static bool fails(unsigned kind)
{
	if ((io.kinds & kind) == 0)
		return false;
	io.count++;
	if (on_call != NULL)
		on_call();
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

int __wrap_fcntl(int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	int value = va_arg(arguments, int);
	va_end(arguments);
	bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
	return copies && fails(COP_TEST_IO_OPEN) ? -1 : __real_fcntl(fd, command, value);
}

static size_t limited(size_t length) { return io.limit > 0 && length > io.limit ? io.limit : length; }

static ssize_t failed(void)
{
	errno = io.code;
	return io.code == 0 ? 0 : -1;
}

ssize_t __wrap_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	bool failing = fails(COP_TEST_IO_WRITE);
	if (failing && io.code != 0 && count > 0 && pwrite(fd, parts[0].iov_base, parts[0].iov_len / 2, offset) < 0)
		perror("pwrite");
	if (failing)
		return failed();
	size_t length = 0;
	for (int i = 0; i < count; i++)
		length += parts[i].iov_len;
	if (limited(length) == length)
		return __real_pwritev(fd, parts, count, offset);
	/* Enough parts, the last of them cut: what is written may span two. */
	struct iovec some[2] = { parts[0], count > 1 ? parts[1] : (struct iovec){ 0 } };
	some[0].iov_len = limited(some[0].iov_len);
	size_t left = io.limit - some[0].iov_len;
	some[1].iov_len = left < some[1].iov_len ? left : some[1].iov_len;
	return __real_pwritev(fd, some, 2, offset);
}

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
	return fails(COP_TEST_IO_WRITE) ? failed() : __real_write(fd, data, limited(length));
}

ssize_t __wrap_read(int fd, void *data, size_t length)
{
	return fails(COP_TEST_IO_READ) ? failed() : __real_read(fd, data, limited(length));
}

ssize_t __wrap_pread(int fd, void *data, size_t length, off_t offset)
{
	return fails(COP_TEST_IO_READ) ? failed() : __real_pread(fd, data, limited(length), offset);
}

int __wrap_stat(const char *path, struct stat *out) { return fails(COP_TEST_IO_STAT) ? -1 : __real_stat(path, out); }
int __wrap_lstat(const char *path, struct stat *out) { return fails(COP_TEST_IO_STAT) ? -1 : __real_lstat(path, out); }
int __wrap_fstat(int fd, struct stat *out) { return fails(COP_TEST_IO_STAT) ? -1 : __real_fstat(fd, out); }

int __wrap_fstatat(int folder, const char *path, struct stat *out, int flags)
{
	return fails(COP_TEST_IO_STAT) ? -1 : __real_fstatat(folder, path, out, flags);
}

DIR *__wrap_opendir(const char *path) { return fails(COP_TEST_IO_LIST) ? NULL : __real_opendir(path); }
struct dirent *__wrap_readdir(DIR *dir) { return fails(COP_TEST_IO_LIST) ? NULL : __real_readdir(dir); }
int __wrap_fchmod(int fd, mode_t mode) { return fails(COP_TEST_IO_MODE) ? -1 : __real_fchmod(fd, mode); }

int __wrap_futimens(int fd, const struct timespec times[2])
{
	return fails(COP_TEST_IO_MODE) ? -1 : __real_futimens(fd, times);
}

int __wrap_close(int fd)
{
	bool failing = fails(COP_TEST_IO_CLOSE);
	int code = errno;
	int status = __real_close(fd);
	errno = failing ? code : errno;
	return failing ? -1 : status;
}

static bool sync_fails(int fd, bool data_only)
{
	struct stat status = { 0 };
	bool regular = __real_fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
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

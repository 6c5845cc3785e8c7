/* LD_PRELOADed into coppiced by the tests here: makes chosen calls to the operating system fail, or the process die in
 * them, and turns its clocks.
 *
 * COPPICE_FAULT names a file of sizeof(control) bytes that the test and the process map together, so that a fault
 * begins and ends while the process runs. Calls of the chosen kinds on files whose path contains `path` are counted; of
 * these the calls nth, nth + 1, … nth + times - 1 fail with errno `code`, or, if `code` is 0, kill the process. A write
 * that fails or kills has written the first half. Without the variable every call passes. Any thread.
 *
 * What the calls do to files and names is recorded as well (disk_log.h), for machine kills. */
#include "disk_log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PATH   512
#define SYNCED 64 /* files whose synced length is known */

enum kind {
	OPEN = 1,
	WRITE = 2,
	SYNC = 4,
	RENAME = 8,
	CUT = 16,
	REMOVE = 32,
	READ = 64,
	RESERVE = 128,
	FOLDER = 256, /* mkdir */
	MEMORY = 512, /* aligned_alloc, whatever the path */
};

enum flag {
	LOSE = 1, /* a sync that fails has lost what was written since the file's last good one: it reads as zero */
	HANG = 2, /* the call does not fail: it waits until the flag is taken back */
};

/* Shared with the tests (faults.py has the same). */
typedef struct control {
	uint64_t kinds, code, nth, times;
	uint64_t count, failed; /* out: calls of these kinds, and how many of them failed */
	uint64_t flags;
	double real;  /* not 0: what CLOCK_REALTIME and CLOCK_BOOTTIME say */
	double ahead; /* added to CLOCK_MONOTONIC */
	char path[PATH];
} control;

static control *shared;
static struct {
	ino_t file;
	off_t length;
} synced[SYNCED];
static unsigned next_synced;
static pthread_mutex_t synced_lock = PTHREAD_MUTEX_INITIALIZER;

/* The function behind ours; ISO C has no way from void * to a function. */
#define REAL(name)                                                                                                     \
	static __typeof__(name) *real;                                                                                 \
	if (real == NULL) {                                                                                            \
		void *symbol = dlsym(RTLD_NEXT, #name);                                                                \
		memcpy(&real, &symbol, sizeof real);                                                                   \
	}

__attribute__((constructor)) static void map_control(void)
{
	const char *path = getenv("COPPICE_FAULT");
	int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	void *map = mmap(NULL, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (map != MAP_FAILED)
		shared = map;
}

static bool watches(uint64_t kind)
{
	return shared != NULL && (__atomic_load_n(&shared->kinds, __ATOMIC_SEQ_CST) & kind) != 0;
}

static bool strikes(void)
{
	uint64_t n = __atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
	uint64_t nth = __atomic_load_n(&shared->nth, __ATOMIC_SEQ_CST);
	if (nth == 0 || n < nth || n - nth >= __atomic_load_n(&shared->times, __ATOMIC_SEQ_CST))
		return false;
	(void)__atomic_add_fetch(&shared->failed, 1, __ATOMIC_SEQ_CST);
	const struct timespec pause = { .tv_nsec = 1000000 };
	bool hung = false;
	while ((__atomic_load_n(&shared->flags, __ATOMIC_SEQ_CST) & HANG) != 0) {
		hung = true;
		(void)nanosleep(&pause, NULL);
	}
	return !hung;
}

/* True: the call is to fail, with errno set. */
static bool fails(void)
{
	if (shared->code == 0)
		(void)raise(SIGKILL);
	errno = (int)shared->code;
	return true;
}

static bool path_fails(uint64_t kind, const char *path)
{
	return watches(kind) && strstr(path, shared->path) != NULL && strikes() && fails();
}

static bool path_of(int fd, char out[PATH])
{
	char link[64];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, out, PATH - 1);
	out[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

static bool fd_strikes(uint64_t kind, int fd)
{
	char path[PATH];
	return watches(kind) && path_of(fd, path) && strstr(path, shared->path) != NULL && strikes();
}

static bool fd_fails(uint64_t kind, int fd) { return fd_strikes(kind, fd) && fails(); }

static bool at_fails(uint64_t kind, int folder, const char *name)
{
	char path[2 * PATH];
	if (!watches(kind))
		return false;
	if (name[0] == '/' || folder == AT_FDCWD || !path_of(folder, path))
		return path_fails(kind, name);
	size_t used = strlen(path);
	(void)snprintf(path + used, sizeof path - used, "/%s", name);
	return path_fails(kind, path);
}

static mode_t mode_of(int flags, va_list arguments)
{
	return (flags & O_CREAT) != 0 ? (mode_t)va_arg(arguments, unsigned) : 0;
}

/* A file is made or emptied by its name, or just opened. */
static int opened(__typeof__(openat) *real, int folder, const char *path, int flags, mode_t mode)
{
	if ((flags & (O_CREAT | O_TRUNC)) == 0)
		return real(folder, path, flags, mode);
	disk_log_begin();
	bool there = disk_log_has(folder, path);
	int fd = real(folder, path, flags, mode);
	if (fd >= 0 && !there)
		disk_log_made(folder, path);
	else if (fd >= 0 && (flags & O_TRUNC) != 0)
		disk_log_length(fd);
	disk_log_end();
	return fd;
}

int openat(int folder, const char *path, int flags, ...)
{
	REAL(openat)
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return at_fails(OPEN, folder, path) ? -1 : opened(real, folder, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	static __typeof__(openat) *real;
	if (real == NULL) {
		void *symbol = dlsym(RTLD_NEXT, "openat");
		memcpy(&real, &symbol, sizeof real);
	}
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return path_fails(OPEN, path) ? -1 : opened(real, AT_FDCWD, path, flags, mode);
}

/* At the file's own place. */
static ssize_t put(int fd, const void *data, size_t length)
{
	REAL(write)
	if (!disk_log_takes(fd))
		return real(fd, data, length);
	disk_log_begin();
	ssize_t n = real(fd, data, length);
	if (n > 0) {
		int code = errno;
		off_t end = lseek(fd, 0, SEEK_CUR);
		errno = code;
		disk_log_wrote(fd, end - n, &(struct iovec){ (void *)(uintptr_t)data, length }, 1, n);
	}
	disk_log_end();
	return n;
}

ssize_t write(int fd, const void *data, size_t length)
{
	if (!fd_strikes(WRITE, fd))
		return put(fd, data, length);
	(void)!put(fd, data, length / 2);
	return fails() ? -1 : 0;
}

static ssize_t put_parts(int fd, const struct iovec *parts, int count, off_t offset)
{
	REAL(pwritev)
	disk_log_begin();
	ssize_t n = real(fd, parts, count, offset);
	disk_log_wrote(fd, offset, parts, count, n);
	disk_log_end();
	return n;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	if (!fd_strikes(WRITE, fd))
		return put_parts(fd, parts, count, offset);
	struct iovec half = count > 0 ? parts[count - 1] : (struct iovec){ 0 };
	off_t before = 0;
	for (int i = 0; i + 1 < count; i++)
		before += (off_t)parts[i].iov_len;
	if (before > 0)
		(void)!put_parts(fd, parts, count - 1, offset);
	half.iov_len /= 2;
	(void)!put_parts(fd, &half, 1, offset + before);
	return fails() ? -1 : 0;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset)
{
	return pwritev(fd, &(struct iovec){ (void *)(uintptr_t)data, length }, 1, offset);
}

ssize_t read(int fd, void *data, size_t length)
{
	REAL(read)
	return fd_fails(READ, fd) ? -1 : real(fd, data, length);
}

ssize_t pread(int fd, void *data, size_t length, off_t offset)
{
	REAL(pread)
	return fd_fails(READ, fd) ? -1 : real(fd, data, length, offset);
}

static void note_synced(int fd)
{
	struct stat status;
	if (shared == NULL || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	(void)pthread_mutex_lock(&synced_lock);
	unsigned i = 0;
	while (i < SYNCED && synced[i].file != status.st_ino)
		i++;
	if (i == SYNCED)
		i = next_synced++ % SYNCED;
	synced[i].file = status.st_ino;
	synced[i].length = status.st_size;
	(void)pthread_mutex_unlock(&synced_lock);
}

static void lose(int fd)
{
	static const char zeros[4096];
	char path[PATH];
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !path_of(fd, path))
		return;
	off_t from = 0;
	(void)pthread_mutex_lock(&synced_lock);
	for (unsigned i = 0; i < SYNCED; i++)
		if (synced[i].file == status.st_ino)
			from = synced[i].length;
	(void)pthread_mutex_unlock(&synced_lock);
	for (; from < status.st_size; from += (off_t)sizeof zeros) {
		off_t left = status.st_size - from;
		size_t length = left < (off_t)sizeof zeros ? (size_t)left : sizeof zeros;
		(void)!put_parts(fd, &(struct iovec){ (void *)(uintptr_t)zeros, length }, 1, from);
	}
}

static bool sync_fails(int fd)
{
	if (!fd_strikes(SYNC, fd))
		return false;
	if ((shared->flags & LOSE) != 0)
		lose(fd);
	return fails();
}

static int synced_by(__typeof__(fsync) *real, int fd)
{
	if (sync_fails(fd))
		return -1;
	note_synced(fd);
	uint64_t number = disk_log_syncing(fd);
	int status = real(fd);
	if (status == 0)
		disk_log_synced(fd, number);
	return status;
}

int fsync(int fd)
{
	REAL(fsync)
	return synced_by(real, fd);
}

int fdatasync(int fd)
{
	REAL(fdatasync)
	return synced_by(real, fd);
}

static int renamed(int from_folder, const char *from, int to_folder, const char *to)
{
	REAL(renameat)
	disk_log_begin();
	int status = real(from_folder, from, to_folder, to);
	if (status == 0)
		disk_log_renamed(from_folder, from, to_folder, to);
	disk_log_end();
	return status;
}

int rename(const char *from, const char *to)
{
	return path_fails(RENAME, from) ? -1 : renamed(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	return at_fails(RENAME, from_folder, from) ? -1 : renamed(from_folder, from, to_folder, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
	REAL(linkat)
	disk_log_begin();
	int status = real(from_folder, from, to_folder, to, flags);
	if (status == 0)
		disk_log_linked(to_folder, to);
	disk_log_end();
	return status;
}

int ftruncate(int fd, off_t length)
{
	REAL(ftruncate)
	if (fd_fails(CUT, fd))
		return -1;
	disk_log_begin();
	int status = real(fd, length);
	if (status == 0)
		disk_log_length(fd);
	disk_log_end();
	return status;
}

static int removed(int folder, const char *path, int flags)
{
	REAL(unlinkat)
	disk_log_begin();
	int status = real(folder, path, flags);
	if (status == 0)
		disk_log_removed(folder, path);
	disk_log_end();
	return status;
}

int unlink(const char *path) { return path_fails(REMOVE, path) ? -1 : removed(AT_FDCWD, path, 0); }

int unlinkat(int folder, const char *path, int flags)
{
	return at_fails(REMOVE, folder, path) ? -1 : removed(folder, path, flags);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	REAL(fallocate)
	if (fd_fails(RESERVE, fd))
		return -1;
	disk_log_begin();
	int status = real(fd, mode, offset, length);
	if (status == 0 && mode == 0)
		disk_log_length(fd);
	disk_log_end();
	return status;
}

int mkdir(const char *path, mode_t mode)
{
	REAL(mkdir)
	if (path_fails(FOLDER, path))
		return -1;
	disk_log_begin();
	int status = real(path, mode);
	if (status == 0)
		disk_log_made(AT_FDCWD, path);
	disk_log_end();
	return status;
}

void *aligned_alloc(size_t alignment, size_t length)
{
	REAL(aligned_alloc)
	return watches(MEMORY) && strikes() && fails() ? NULL : real(alignment, length);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	REAL(clock_gettime)
	int status = real(clock, out);
	if (status != 0 || shared == NULL)
		return status;
	double seconds = 0.0;
	if (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)
		seconds = shared->real;
	else if (clock == CLOCK_MONOTONIC && shared->ahead > 0.0)
		seconds = shared->ahead + (double)out->tv_sec + 1e-9 * (double)out->tv_nsec;
	if (seconds > 0.0) {
		out->tv_sec = (time_t)seconds;
		out->tv_nsec = (long)(1e9 * (seconds - (double)out->tv_sec));
	}
	return status;
}

/* The names that programs have who were built for large files everywhere: python, for one. */
#if defined(__GLIBC__) && defined(__LP64__)
#define AS(name) __attribute__((alias(#name)))
int open64(const char *path, int flags, ...) AS(open);
int openat64(int folder, const char *path, int flags, ...) AS(openat);
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) AS(pwrite);
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) AS(pwritev);
int ftruncate64(int fd, off64_t length) AS(ftruncate);
int fallocate64(int fd, int mode, off64_t offset, off64_t length) AS(fallocate);
#endif

/* The log of what happens to the disk: records, each of a head (below), then `size` - sizeof(head) bytes, appended by
 * one writev. Files and folders are named by device and inode; what an inode is anew is told by a record MADE. A record
 * is complete or, of a process that died in it, the log's last. */
#include "disk_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTS 64

/* machine.py has the same. In brackets: which fields of the head are used, and what follows it. */
enum record {
	WROTE = 1,   /* [a: offset] the bytes */
	LENGTH = 2,  /* [a: length] */
	MADE = 3,    /* in the folder [a, b: device and inode of what was made; c: its mode] the name */
	LINKED = 4,  /* the same of what was there already */
	REMOVED = 5, /* from the folder; the name */
	RENAMED = 6, /* from the folder [a, b: the folder to which] both names, each with a zero behind it */
	SYNCING = 7, /* [a: number, b: process] */
	SYNCED = 8,  /* the same */
};

typedef struct head {
	uint32_t size, kind;
	uint64_t device, inode, a, b, c;
} head;

static int log_fd = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static uint64_t syncs;

void disk_log_begin(void)
{
	if (log_fd >= 0)
		(void)pthread_mutex_lock(&order);
}

void disk_log_end(void)
{
	if (log_fd >= 0)
		(void)pthread_mutex_unlock(&order);
}

/* A child must not begin with the lock held by a thread that it does not have. */
__attribute__((constructor)) static void open_log(void)
{
	const char *path = getenv("COPPICE_DISK");
	if (path != NULL)
		log_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (log_fd >= 0)
		(void)pthread_atfork(disk_log_begin, disk_log_end, disk_log_end);
}

/* A log with a hole would make every judgement from it wrong. */
static void put(head *about, const struct iovec *parts, int count, size_t length)
{
	struct iovec all[PARTS + 1] = { { about, sizeof *about } };
	if (count > PARTS || length > UINT32_MAX - sizeof *about)
		abort();
	about->size = (uint32_t)(sizeof *about + length);
	int used = 1;
	for (int i = 0; i < count && length > 0; i++) {
		all[used] = parts[i];
		if (all[used].iov_len > length)
			all[used].iov_len = length;
		length -= all[used++].iov_len;
	}
	int code = errno;
	if (writev(log_fd, all, used) != (ssize_t)about->size)
		abort();
	errno = code;
}

/* False: it is not a file or folder, or there is no log. */
static bool find(int fd, head *about)
{
	struct stat status;
	int code = errno;
	bool found = log_fd >= 0 && fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
	errno = code;
	if (found)
		*about = (head){ .device = status.st_dev, .inode = status.st_ino, .a = (uint64_t)status.st_size };
	return found;
}

bool disk_log_takes(int fd)
{
	head about;
	return find(fd, &about);
}

/* The folder in which the path's last part is, and that part. */
static const char *split(int folder, const char *path, struct stat *out)
{
	const char *slash = strrchr(path, '/');
	char *parent = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
	int code = errno;
	bool found = parent != NULL && fstatat(folder, parent, out, 0) == 0;
	errno = code;
	free(parent);
	return !found ? NULL : slash == NULL ? path : slash + 1;
}

static void put_name(enum record kind, int folder, const char *path, const struct stat *what)
{
	struct stat in;
	const char *name = log_fd < 0 ? NULL : split(folder, path, &in);
	if (name == NULL)
		return;
	head about = { .kind = kind, .device = in.st_dev, .inode = in.st_ino };
	if (what != NULL) {
		about.a = what->st_dev;
		about.b = what->st_ino;
		about.c = what->st_mode;
	}
	const struct iovec part = { (void *)(uintptr_t)name, strlen(name) };
	put(&about, &part, 1, part.iov_len);
}

void disk_log_wrote(int fd, off_t offset, const struct iovec *parts, int count, ssize_t written)
{
	head about;
	if (written <= 0 || !find(fd, &about))
		return;
	about.kind = WROTE;
	about.a = (uint64_t)offset;
	put(&about, parts, count, (size_t)written);
}

void disk_log_length(int fd)
{
	head about;
	if (!find(fd, &about))
		return;
	about.kind = LENGTH;
	put(&about, NULL, 0, 0);
}

static bool look(int folder, const char *path, struct stat *out)
{
	int code = errno;
	bool found = fstatat(folder, path, out, AT_SYMLINK_NOFOLLOW) == 0;
	errno = code;
	return found;
}

bool disk_log_has(int folder, const char *path)
{
	struct stat status;
	return log_fd >= 0 && look(folder, path, &status);
}

void disk_log_made(int folder, const char *path)
{
	struct stat status;
	if (log_fd >= 0 && look(folder, path, &status))
		put_name(MADE, folder, path, &status);
}

void disk_log_linked(int folder, const char *path)
{
	struct stat status;
	if (log_fd >= 0 && look(folder, path, &status))
		put_name(LINKED, folder, path, &status);
}

void disk_log_removed(int folder, const char *path) { put_name(REMOVED, folder, path, NULL); }

void disk_log_renamed(int from_folder, const char *from, int to_folder, const char *to)
{
	struct stat old, new;
	const char *before = log_fd < 0 ? NULL : split(from_folder, from, &old);
	const char *after = before == NULL ? NULL : split(to_folder, to, &new);
	if (after == NULL)
		return;
	head about = { .kind = RENAMED, .device = old.st_dev, .inode = old.st_ino, .a = new.st_dev, .b = new.st_ino };
	const struct iovec parts[] = {
		{ (void *)(uintptr_t)before, strlen(before) + 1 },
		{ (void *)(uintptr_t)after, strlen(after) + 1 },
	};
	put(&about, parts, 2, parts[0].iov_len + parts[1].iov_len);
}

static void put_sync(enum record kind, int fd, uint64_t number)
{
	head about;
	if (!find(fd, &about))
		return;
	about.kind = kind;
	about.a = number;
	about.b = (uint64_t)getpid();
	put(&about, NULL, 0, 0);
}

uint64_t disk_log_syncing(int fd)
{
	disk_log_begin();
	uint64_t number = ++syncs;
	put_sync(SYNCING, fd, number);
	disk_log_end();
	return number;
}

void disk_log_synced(int fd, uint64_t number)
{
	disk_log_begin();
	put_sync(SYNCED, fd, number);
	disk_log_end();
}

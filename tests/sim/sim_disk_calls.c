/* The calls by which the daemon changes names and syncs, each noted beside the real one. A call takes some time, in
 * which others run; a machine that is to die in one dies before it or behind it. Descriptors are noted with their
 * machine, so that those of one that died are closed, with the locks that they hold. */
#include "tests/sim/sim.h"
#include "tests/sim/sim_disk_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FDS 4096

int __real_open(const char *path, int flags, ...);
int __real_openat(int at, const char *path, int flags, ...);
int __real_close(int fd);
int __real_dup(int fd);
int __real_eventfd(unsigned count, int flags);
int __real_closedir(DIR *folder);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __real_rmdir(const char *path);
int __real_unlinkat(int at, const char *path, int flags);
int __real_mkdir(const char *path, mode_t mode);
int __real_linkat(int at, const char *from, int to_at, const char *to, int flags);
int __real_renameat(int at, const char *from, int to_at, const char *to);
ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __real_pwritev(int fd, const struct iovec *parts, int count, off_t offset);

int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_dup(int fd);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_closedir(DIR *folder);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_unlinkat(int at, const char *path, int flags);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_linkat(int at, const char *from, int to_at, const char *to, int flags);
int __wrap_renameat(int at, const char *from, int to_at, const char *to);
ssize_t __wrap_write(int fd, const void *data, size_t length);
ssize_t __wrap_pwritev(int fd, const struct iovec *parts, int count, off_t offset);

static signed char owners[MOST_FDS]; /* machine and 1; 0: nobody's */

static sim_disk *mine(void)
{
	int node = sim_node();
	return node >= 0 && node < SIM_DAEMONS ? sim_disk_of(node) : NULL;
}

static int own(int fd)
{
	if (fd >= 0 && fd < MOST_FDS && mine() != NULL)
		owners[fd] = (signed char)(sim_node() + 1);
	return fd;
}

static void disown(int fd)
{
	if (fd >= 0 && fd < MOST_FDS)
		owners[fd] = 0;
}

void sim_disk_close(int node)
{
	for (int fd = 0; fd < MOST_FDS; fd++)
		if (owners[fd] == node + 1) {
			(void)__real_close(fd);
			owners[fd] = 0;
		}
	sim_disk_of(node)->dies_in = 0;
}

void sim_disk_die_at(int node, uint64_t nth) { sim_disk_of(node)->dies_in = nth; }

/* Before a call and behind it. */
static void pass(sim_disk *disk, uint64_t ns)
{
	if (disk == NULL)
		return;
	if (disk->dies_in > 0 && --disk->dies_in == 0) {
		sim_trace("dies in a call");
		sim_die();
	}
	int code = errno;
	if (ns > 0)
		sim_sleep(sim_draw(ns));
	errno = code;
}

void sim_disk_remove(const char *path)
{
	char below[SIM_PATH];
	struct dirent *entry;
	DIR *folder = opendir(path);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		(void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && __real_unlink(below) != 0)
			sim_disk_remove(below);
	}
	if (folder != NULL)
		(void)__real_closedir(folder);
	(void)__real_rmdir(path);
}

/* ---- names ---- */

/* The folder's inode (0: not of this disk), and the name in it. */
static ino_t split(const sim_disk *disk, int at, const char *path, char name[SIM_NAME])
{
	char parent[SIM_PATH];
	struct stat status;
	const char *slash = strrchr(path, '/');
	size_t length = slash == NULL ? 0 : (size_t)(slash - path);
	if (length >= sizeof parent || strlen(slash == NULL ? path : slash + 1) >= SIM_NAME)
		abort();
	memcpy(parent, slash == NULL ? "." : path, slash == NULL ? 1 : length);
	parent[slash == NULL ? 1 : length] = '\0';
	(void)snprintf(name, SIM_NAME, "%s", slash == NULL ? path : slash + 1);
	int code = errno;
	bool found = fstatat(at, slash == path ? "/" : parent, &status, 0) == 0;
	errno = code;
	for (size_t i = 0; found && i < disk->inode_count; i++)
		if (disk->inodes[i].number == status.st_ino && disk->inodes[i].folder)
			return status.st_ino;
	return 0;
}

static bool look(int at, const char *path, struct stat *status)
{
	int code = errno;
	bool there = fstatat(at, path, status, AT_SYMLINK_NOFOLLOW) == 0;
	errno = code;
	return there;
}

static void note_made(sim_disk *disk, int at, const char *path)
{
	struct stat status;
	sim_change change = { 0 };
	if (!look(at, path, &status) || (change.to_folder = split(disk, at, path, change.to)) == 0)
		return;
	change.inode = status.st_ino;
	(void)sim_disk_inode(disk, status.st_ino, S_ISDIR(status.st_mode));
	sim_disk_change(disk, &change);
}

/* Its bytes, before it loses a name. */
static void keep_bytes(sim_disk *disk, int at, const char *path)
{
	struct stat status;
	if (!look(at, path, &status) || !S_ISREG(status.st_mode))
		return;
	sim_inode *inode = sim_disk_inode(disk, status.st_ino, false);
	int fd = __real_openat(at, path, O_RDONLY | O_CLOEXEC);
	free(inode->last);
	inode->last = malloc((size_t)status.st_size + 1);
	ssize_t length = inode->last == NULL ? -1 : pread(fd, inode->last, (size_t)status.st_size, 0);
	inode->last_length = length < 0 ? 0 : (size_t)length;
	(void)__real_close(fd);
}

static int open_file(int at, const char *path, int flags, mode_t mode)
{
	sim_disk *disk = mine();
	struct stat status;
	bool makes = disk != NULL && (flags & O_CREAT) != 0 && !look(at, path, &status);
	int fd = own(__real_openat(at, path, flags, mode));
	if (fd >= 0 && makes) {
		note_made(disk, at, path);
		pass(disk, 0);
	}
	return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_file(AT_FDCWD, path, flags, mode);
}

int __wrap_openat(int at, const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_file(at, path, flags, mode);
}

int __wrap_close(int fd)
{
	disown(fd);
	return __real_close(fd);
}

int __wrap_closedir(DIR *folder)
{
	disown(dirfd(folder));
	return __real_closedir(folder);
}

int __wrap_dup(int fd) { return own(__real_dup(fd)); }
int __wrap_eventfd(unsigned count, int flags) { return own(__real_eventfd(count, flags)); }

int __wrap_renameat(int at, const char *from, int to_at, const char *to)
{
	sim_disk *disk = mine();
	struct stat status;
	sim_change change = { 0 };
	pass(disk, 0);
	bool notes = disk != NULL && look(at, from, &status);
	if (notes) {
		change.from_folder = split(disk, at, from, change.from);
		change.to_folder = split(disk, to_at, to, change.to);
		change.inode = status.st_ino;
		keep_bytes(disk, to_at, to);
	}
	int failed = __real_renameat(at, from, to_at, to);
	if (failed == 0 && notes)
		sim_disk_change(disk, &change);
	pass(disk, 0);
	return failed;
}

int __wrap_rename(const char *from, const char *to) { return __wrap_renameat(AT_FDCWD, from, AT_FDCWD, to); }

int __wrap_unlinkat(int at, const char *path, int flags)
{
	sim_disk *disk = mine();
	sim_change change = { 0 };
	pass(disk, 0);
	if (disk != NULL) {
		change.from_folder = split(disk, at, path, change.from);
		keep_bytes(disk, at, path);
	}
	int failed = __real_unlinkat(at, path, flags);
	if (failed == 0 && change.from_folder != 0)
		sim_disk_change(disk, &change);
	pass(disk, 0);
	return failed;
}

int __wrap_unlink(const char *path) { return __wrap_unlinkat(AT_FDCWD, path, 0); }
int __wrap_rmdir(const char *path) { return __wrap_unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int __wrap_mkdir(const char *path, mode_t mode)
{
	sim_disk *disk = mine();
	int failed = __real_mkdir(path, mode);
	if (failed == 0 && disk != NULL) {
		note_made(disk, AT_FDCWD, path);
		pass(disk, 0);
	}
	return failed;
}

int __wrap_linkat(int at, const char *from, int to_at, const char *to, int flags)
{
	sim_disk *disk = mine();
	int failed = __real_linkat(at, from, to_at, to, flags);
	if (failed == 0 && disk != NULL) {
		note_made(disk, to_at, to);
		pass(disk, 0);
	}
	return failed;
}

/* ---- bytes ---- */

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
	ssize_t written = __real_write(fd, data, length);
	if (sim_node() >= 0) /* it may be what a poll waits for */
		sim_wake(sim_wake_key(sim_node()));
	return written;
}

ssize_t __wrap_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	sim_disk *disk = mine();
	pass(disk, 0);
	ssize_t written = __real_pwritev(fd, parts, count, offset);
	pass(disk, 3000);
	return written;
}

/* What it covers is what there was when it began. */
static int sync_file(sim_disk *disk, int fd, const struct stat *status)
{
	char path[32], *bytes = NULL; /* it may be open for writing alone */
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	size_t length = sim_disk_read(path, &bytes);
	if (bytes == NULL || length != (size_t)status->st_size)
		abort();
	const uint64_t slow = sim_chance(0.02) ? 200 * SIM_MS : 3 * SIM_MS;
	pass(disk, slow);
	sim_inode *inode = sim_disk_inode(disk, status->st_ino, false);
	free(inode->synced);
	inode->synced = bytes;
	inode->length = length;
	return 0;
}

int __wrap_fsync(int fd)
{
	sim_disk *disk = mine();
	struct stat status;
	if (disk == NULL)
		return __real_fsync(fd);
	if (fstat(fd, &status) != 0)
		return -1;
	if (sim_run.plant == SIM_PLANT_LYING_DISK)
		return 0;
	if (!S_ISDIR(status.st_mode))
		return sync_file(disk, fd, &status);
	pass(disk, 500000);
	sim_disk_sync_folder(disk, status.st_ino);
	pass(disk, 0);
	return 0;
}

int __wrap_fdatasync(int fd) { return __wrap_fsync(fd); }

/* Invariant: `folder` and `file` are -1 or locked. Names are compared with what is open by device and inode: a lock
 * belongs to the file, and a name may have come to stand for another one. */
#include "daemon/durable/state_lock.h"
#include "base/folder.h"
#include "store/state_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void cop_state_lock_init(cop_state_lock *lock, const char *path)
{
	*lock = (cop_state_lock){ .path = path, .folder = -1, .file = -1 };
}

static cop_err taken(const cop_state_lock *lock, cop_diag *diag)
{
	cop_diag_of(diag, lock->path, "another coppiced is running with this state folder");
	return COP_EEXIST;
}

static cop_err refused(const cop_state_lock *lock, const char *what, cop_diag *diag)
{
	cop_diag_of(diag, lock->path, "%s: %s", what, strerror(errno));
	return COP_EIO;
}

static void drop(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Whether the name, taken in the folder `at`, stands for what is open; where that cannot be told, it is believed. */
static bool is_same(int at, const char *name, int fd)
{
	struct stat named, open;
	if (fd < 0)
		return false;
	if (fstat(fd, &open) != 0)
		return true;
	if (fstatat(at, name, &named, 0) != 0)
		return errno != ENOENT && errno != ENOTDIR;
	return named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

/* Some file systems have no locks on folders: the file's has to do there. */
static cop_err lock_folder(const cop_state_lock *lock, int *folder, cop_diag *diag)
{
	*folder = open(lock->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*folder < 0)
		return refused(lock, "the state folder cannot be opened", diag);
	if (flock(*folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return COP_OK;
	drop(folder);
	return taken(lock, diag);
}

static cop_err lock_file(cop_state_lock *lock, cop_diag *diag)
{
	drop(&lock->file);
	lock->file = openat(lock->folder, COP_STATE_DIR_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (lock->file < 0 && errno == ENOSPC) /* the folder's keeps others out */
		return COP_OK;
	if (lock->file < 0)
		return refused(lock,
		        "cannot open " COP_STATE_DIR_LOCK " in it, expected a state folder that can be written", diag);
	if (flock(lock->file, LOCK_EX | LOCK_NB) == 0)
		return COP_OK;
	drop(&lock->file);
	return taken(lock, diag);
}

/* The folder around one that was there already may be one that we may not read, or that cannot be synced. */
static cop_err make_folder(const cop_state_lock *lock, cop_diag *diag)
{
	bool made = mkdir(lock->path, 0750) == 0;
	if (!made && errno != EEXIST)
		return refused(lock, "cannot make the state folder", diag);
	if (cop_folder_sync_parent(lock->path) != COP_OK && (made || (errno != EACCES && errno != EINVAL)))
		return refused(lock, "cannot sync the folder that the state folder lies in", diag);
	return COP_OK;
}

cop_err cop_state_lock_open(cop_state_lock *lock, cop_diag *diag)
{
	cop_err err = make_folder(lock, diag);
	if (err == COP_OK)
		err = lock_folder(lock, &lock->folder, diag);
	return err == COP_OK ? lock_file(lock, diag) : err;
}

void cop_state_lock_close(cop_state_lock *lock)
{
	drop(&lock->file);
	drop(&lock->folder);
}

cop_err cop_state_lock_check(cop_state_lock *lock, cop_diag *diag)
{
	if (!is_same(AT_FDCWD, lock->path, lock->folder)) {
		cop_diag_of(diag, lock->path, "the state folder was removed or moved away");
		return COP_ENOTFOUND;
	}
	return is_same(lock->folder, COP_STATE_DIR_LOCK, lock->file) ? COP_OK : lock_file(lock, diag);
}

/* Whether nothing is in the folder; false also when it cannot be read. */
static bool is_empty(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool empty = dir != NULL;
	const struct dirent *entry;
	if (dir == NULL) {
		drop(&fd);
		return false;
	}
	errno = 0;
	while (empty && (entry = readdir(dir)) != NULL)
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	empty = empty && errno == 0;
	(void)closedir(dir);
	return empty;
}

cop_err cop_state_lock_renew(cop_state_lock *lock, cop_diag *diag)
{
	int folder = -1;
	cop_err err = cop_state_lock_check(lock, diag);
	if (err != COP_ENOTFOUND)
		return err;
	err = make_folder(lock, diag);
	if (err == COP_OK)
		err = lock_folder(lock, &folder, diag);
	if (err == COP_OK && !is_empty(folder)) {
		cop_diag_of(diag, lock->path,
		        "another folder is in the state folder's place; expected the former one, or an empty one, or a "
		        "restart with this one");
		err = COP_EEXIST;
	}
	if (err != COP_OK) {
		drop(&folder);
		return err;
	}
	drop(&lock->folder);
	lock->folder = folder;
	return lock_file(lock, diag);
}

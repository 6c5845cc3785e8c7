/* At any moment the name stands for a complete file, the old one or the new one: the temporary file is synced before
 * the rename, and the folder after it, so a power cut cannot leave the name with a part of the content.
 *
 * Links are followed by hand, since rename replaces a link itself, and realpath does not resolve a link whose target
 * does not exist yet. */
#include "base/file_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define LINKS     40  /* most that are followed, as the kernel does */
#define ATTEMPTS  100 /* names for the temporary file */
#define NAME_ROOM 64  /* for the temporary file's own name */

struct cop_file_atomic {
	char *name;      /* as the caller gave it */
	char *path;      /* the file that is replaced, links followed */
	char *temporary; /* NULL: none was made */
	int fd;
};

static cop_err failed(const char *path, cop_diag *diag, const char *doing)
{
	int saved = errno;
	cop_diag_of(diag, path, "cannot %s: %s", doing, strerror(saved));
	errno = saved;
	return COP_EIO;
}

static cop_err out_of_memory(const char *path, cop_diag *diag)
{
	cop_diag_of(diag, path, "out of memory");
	return COP_ENOMEM;
}

/* Length of the path's folder with its slash; 0: the current folder. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Replaces *path, a link, by what the link names. COP_EIO, COP_ENOMEM. */
static cop_err follow(char **path)
{
	char target[PATH_MAX];
	ssize_t length = readlink(*path, target, sizeof target - 1);
	if (length < 0)
		return COP_EIO;
	target[length] = '\0';
	size_t folder = target[0] == '/' ? 0 : folder_length(*path);
	char *joined = cop_mem_alloc(folder + (size_t)length + 1, 1);
	if (joined == NULL)
		return COP_ENOMEM;
	memcpy(joined, *path, folder);
	memcpy(joined + folder, target, (size_t)length + 1);
	cop_mem_free(*path);
	*path = joined;
	return COP_OK;
}

/* Follows the links of file->path and looks at what is there; *mode is 0 where there is nothing yet. */
static cop_err resolve(cop_file_atomic *file, struct stat *status, cop_diag *diag)
{
	for (int links = 0;; links++) {
		if (lstat(file->path, status) != 0) {
			status->st_mode = 0;
			return errno == ENOENT ? COP_OK : failed(file->name, diag, "look at the file");
		}
		if (!S_ISLNK(status->st_mode))
			break;
		errno = ELOOP;
		cop_err err = links == LINKS ? COP_EIO : follow(&file->path);
		if (err != COP_OK)
			return err == COP_ENOMEM ? out_of_memory(file->name, diag)
			                         : failed(file->name, diag, "follow the link");
	}
	if (S_ISREG(status->st_mode))
		return COP_OK;
	cop_diag_of(diag, file->name, "%s; expected a regular file, or a name that is free",
	        S_ISDIR(status->st_mode) ? "is a folder" : "is no regular file");
	errno = S_ISDIR(status->st_mode) ? EISDIR : EINVAL;
	return COP_EIO;
}

/* The name is short and hidden, so that it fits wherever the file's own name fits. */
static cop_err make_temporary(cop_file_atomic *file, cop_diag *diag)
{
	size_t folder = folder_length(file->path);
	file->temporary = cop_mem_alloc(folder + NAME_ROOM, 1);
	if (file->temporary == NULL)
		return out_of_memory(file->name, diag);
	memcpy(file->temporary, file->path, folder);
	for (int i = 0; i < ATTEMPTS && file->fd < 0; i++) {
		(void)snprintf(file->temporary + folder, NAME_ROOM, ".coppice.%ld.%d.tmp", (long)getpid(), i);
		file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (file->fd < 0 && errno != EEXIST && errno != EINTR)
			break;
	}
	if (file->fd >= 0)
		return COP_OK;
	cop_err err = failed(file->name, diag, "make a temporary file in its folder");
	cop_mem_free(file->temporary);
	file->temporary = NULL;
	return err;
}

/* Mode and owner of the file that is replaced; without the right to set the owner, the new file is the process's. */
static cop_err keep_mode(const cop_file_atomic *file, const struct stat *status, cop_diag *diag)
{
	if (status->st_mode == 0)
		return COP_OK;
	(void)!fchown(file->fd, status->st_uid, status->st_gid);
	return fchmod(file->fd, status->st_mode & 07777) == 0 ? COP_OK : failed(file->name, diag, "set the mode");
}

cop_err cop_file_atomic_begin(const char *path, cop_file_atomic **out, cop_diag *diag)
{
	*out = NULL;
	cop_file_atomic *file = cop_mem_alloc(1, sizeof *file);
	if (file == NULL)
		return out_of_memory(path, diag);
	struct stat status = { 0 };
	file->fd = -1;
	file->name = cop_mem_strdup(path);
	file->path = cop_mem_strdup(path);
	cop_err err = file->name == NULL || file->path == NULL ? out_of_memory(path, diag) : COP_OK;
	if (err == COP_OK)
		err = resolve(file, &status, diag);
	if (err == COP_OK)
		err = make_temporary(file, diag);
	if (err == COP_OK)
		err = keep_mode(file, &status, diag);
	if (err == COP_OK) {
		*out = file;
		return COP_OK;
	}
	int saved = errno;
	cop_file_atomic_abandon(file);
	errno = saved;
	return err;
}

int cop_file_atomic_fd(const cop_file_atomic *file) { return file->fd; }

cop_err cop_file_write_all(int fd, const void *data, size_t length)
{
	const uint8_t *at = data;
	while (length > 0) {
		ssize_t n = write(fd, at, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			return COP_EIO;
		at += n;
		length -= (size_t)n;
	}
	return COP_OK;
}

cop_err cop_file_atomic_write(cop_file_atomic *file, const void *data, size_t length, cop_diag *diag)
{
	return cop_file_write_all(file->fd, data, length) == COP_OK ? COP_OK : failed(file->name, diag, "write");
}

/* The folder that the file lies in. */
static bool sync_folder(cop_file_atomic *file)
{
	size_t length = folder_length(file->path);
	if (length > 1)
		length--;
	file->path[length] = '\0';
	int fd = open(length == 0 ? "." : file->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool ok = fsync(fd) == 0;
	int saved = errno;
	(void)close(fd);
	errno = saved;
	return ok;
}

cop_err cop_file_atomic_commit(cop_file_atomic *file, cop_diag *diag)
{
	cop_err err = fsync(file->fd) == 0 ? COP_OK : failed(file->name, diag, "write");
	int fd = file->fd;
	file->fd = -1;
	if (close(fd) != 0 && err == COP_OK)
		err = failed(file->name, diag, "write");
	if (err == COP_OK && rename(file->temporary, file->path) != 0)
		err = failed(file->name, diag, "rename the new file to its name");
	if (err == COP_OK) {
		cop_mem_free(file->temporary);
		file->temporary = NULL;
		if (!sync_folder(file))
			err = failed(file->name, diag, "sync the folder");
	}
	int saved = errno;
	cop_file_atomic_abandon(file);
	errno = saved;
	return err;
}

void cop_file_atomic_abandon(cop_file_atomic *file)
{
	if (file == NULL)
		return;
	if (file->fd >= 0)
		(void)close(file->fd);
	if (file->temporary != NULL)
		(void)unlink(file->temporary);
	cop_mem_free(file->temporary);
	cop_mem_free(file->path);
	cop_mem_free(file->name);
	cop_mem_free(file);
}

cop_err cop_file_atomic_save(const char *path, const void *data, size_t length, cop_diag *diag)
{
	cop_file_atomic *file = NULL;
	cop_err err = cop_file_atomic_begin(path, &file, diag);
	if (err != COP_OK)
		return err;
	err = cop_file_atomic_write(file, data, length, diag);
	if (err == COP_OK)
		return cop_file_atomic_commit(file, diag);
	int saved = errno;
	cop_file_atomic_abandon(file);
	errno = saved;
	return err;
}

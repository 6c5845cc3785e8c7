/* Whether a socket's file is served is found by connecting to it: the kernel refuses when nobody listens. The own file
 * is known again by device and inode, so that the file of a process that took the path over stays. */
#include "daemon/serve/ipc_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* NULL for other transports, and for names that have no file. */
static const char *path_of(const char *endpoint)
{
	static const char scheme[] = "ipc://";
	const char *path = endpoint + sizeof scheme - 1;
	return strncmp(endpoint, scheme, sizeof scheme - 1) == 0 && *path != '@' && *path != '*' ? path : NULL;
}

static cop_err fail(cop_diag *diag, cop_err err, const char *path, const char *why)
{
	cop_diag_message(diag, "sockets: ipc://%.128s: %s", path, why);
	return err;
}

/* 0 when somebody accepts connections, else why not. */
static int probe(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address.sun_path)
		return ENAMETOOLONG;
	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	int why = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
	(void)close(fd);
	return why == EAGAIN ? 0 : why; /* many wait to be accepted */
}

cop_err cop_ipc_file_clear(const char *endpoint, cop_diag *diag)
{
	const char *path = path_of(endpoint);
	struct stat found;
	if (path == NULL)
		return COP_OK;
	if (lstat(path, &found) != 0)
		return errno == ENOENT || errno == ENOTDIR ? COP_OK : fail(diag, COP_EIO, path, strerror(errno));
	if (!S_ISSOCK(found.st_mode))
		return fail(diag, COP_EEXIST, path, "is there and no socket; expected a free path or a socket's");
	int why = probe(path);
	if (why == 0)
		return fail(diag, COP_EEXIST, path, "another process serves it; expected a path of this daemon's own");
	if (why != ECONNREFUSED && why != ENOENT)
		return fail(diag, COP_EIO, path, strerror(why));
	return unlink(path) == 0 || errno == ENOENT ? COP_OK : fail(diag, COP_EIO, path, strerror(errno));
}

void cop_ipc_file_note(cop_ipc_file *file, const char *endpoint)
{
	struct stat made;
	const char *path = path_of(endpoint);
	*file = (cop_ipc_file){ 0 };
	if (path != NULL && lstat(path, &made) == 0)
		*file = (cop_ipc_file){ .path = path, .device = made.st_dev, .inode = made.st_ino };
}

cop_err cop_ipc_file_guard(const cop_ipc_file *file, cop_diag *diag)
{
	return file->path == NULL || chmod(file->path, 0660) == 0 ? COP_OK
	                                                          : fail(diag, COP_EIO, file->path, strerror(errno));
}

void cop_ipc_file_remove(cop_ipc_file *file)
{
	struct stat there;
	if (file->path != NULL && lstat(file->path, &there) == 0 && there.st_dev == file->device &&
	        there.st_ino == file->inode)
		(void)unlink(file->path);
	file->path = NULL;
}

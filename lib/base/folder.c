/* Rule: a name lasts when the folder that holds it was synced, whatever was synced behind the name. */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static cop_err sync_and_close(int folder)
{
	bool ok = folder >= 0 && fsync(folder) == 0;
	int code = errno;
	if (folder >= 0)
		(void)close(folder);
	errno = code;
	return ok ? COP_OK : COP_EIO;
}

cop_err cop_folder_sync(const char *path) { return sync_and_close(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

cop_err cop_folder_sync_parent(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return COP_EIO;
	int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cop_err err = sync_and_close(parent);
	int code = errno;
	(void)close(folder);
	errno = code;
	return err;
}

cop_err cop_folder_make(const char *path, mode_t mode)
{
	if (mkdir(path, mode) != 0 && errno != EEXIST)
		return COP_EIO;
	return cop_folder_sync_parent(path);
}

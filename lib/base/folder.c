/* Rule: a name lasts when the folder that holds it was synced, whatever was synced behind the name. */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

cop_err cop_folder_sync_parent(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return COP_EIO;
	int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = parent >= 0 && fsync(parent) == 0;
	int code = errno;
	(void)close(folder);
	if (parent >= 0)
		(void)close(parent);
	errno = code;
	return ok ? COP_OK : COP_EIO;
}

cop_err cop_folder_make(const char *path, mode_t mode)
{
	if (mkdir(path, mode) != 0 && errno != EEXIST)
		return COP_EIO;
	return cop_folder_sync_parent(path);
}

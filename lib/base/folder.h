/* base/folder.h: folders whose names are on the disk, so that a power cut does not take what is synced in them.
 *
 * Any thread. Errors are COP_EIO, with errno. */
#ifndef COP_BASE_FOLDER_H
#define COP_BASE_FOLDER_H

#include <sys/types.h>

#include "base/err.h"

/* The folder is there, made now or before, and the one that it lies in is synced: who made it may have died before. */
COP_CHECK cop_err cop_folder_make(const char *path, mode_t mode);

/* Syncs the names in a folder. */
COP_CHECK cop_err cop_folder_sync(const char *path);
/* Syncs the folder that the folder `path` lies in. */
COP_CHECK cop_err cop_folder_sync_parent(const char *path);

#endif

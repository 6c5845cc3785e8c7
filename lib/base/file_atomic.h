/* base/file_atomic.h: a file that is replaced as a whole, or stays as it was.
 *
 * The content goes to a temporary file in the same folder, which takes the file's name when it is complete and on the
 * disk. A symbolic link stays a link: the file that it points to is replaced. What is no regular file (a device, a
 * FIFO, a socket, a folder) is refused. Mode and, where the process may, owner of a replaced file are kept.
 * One thread per object; two writers of one file do not mix, the last to commit wins. */
#ifndef COP_BASE_FILE_ATOMIC_H
#define COP_BASE_FILE_ATOMIC_H

#include <stddef.h>

#include "base/err.h"

typedef struct cop_file_atomic cop_file_atomic;

/* Creates the temporary file. Caller ends it with commit or abandon; on error *out is NULL, *diag (NULL allowed) names
 * the file and errno is kept.
 * COP_EIO: also where path names something that is no regular file. COP_ENOMEM. */
COP_CHECK cop_err cop_file_atomic_begin(const char *path, cop_file_atomic **out, cop_diag *diag);
/* Descriptor of the temporary file, at its end; owned by the object. */
int cop_file_atomic_fd(const cop_file_atomic *file);
/* Appends to the temporary file. COP_EIO. */
COP_CHECK cop_err cop_file_atomic_write(cop_file_atomic *file, const void *data, size_t length, cop_diag *diag);
/* Syncs the temporary file, renames it, syncs the folder, and frees the object in every case. On error the file is as
 * it was (only when the folder's sync fails it may be the new one already). COP_EIO. */
COP_CHECK cop_err cop_file_atomic_commit(cop_file_atomic *file, cop_diag *diag);
/* Removes the temporary file and frees the object. NULL is allowed. */
void cop_file_atomic_abandon(cop_file_atomic *file);

/* begin, write, commit. */
COP_CHECK cop_err cop_file_atomic_save(const char *path, const void *data, size_t length, cop_diag *diag);

/* Writes all of data to a descriptor, however often it takes; COP_EIO with errno. */
COP_CHECK cop_err cop_file_write_all(int fd, const void *data, size_t length);

#endif

/* tools/ctl/backup_files.h: files and folders of a backup, and the parts of a state folder beside checkpoint and
 * journal.
 *
 * Nothing that is there is overwritten, and every file and folder is on the disk when a call succeeds. One thread.
 * Errors, unless told otherwise: COP_ENOTFOUND, COP_EFULL, COP_EIO, with *diag (NULL allowed) filled; COP_ENOMEM. */
#ifndef COP_TOOLS_CTL_BACKUP_FILES_H
#define COP_TOOLS_CTL_BACKUP_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define COP_BACKUP_FILES_MODE 0750

/* COP_ENOMEM, said. */
COP_CHECK cop_err cop_backup_files_no_memory(cop_diag *diag);
/* *out, which is freed first, is "folder/name"; caller frees by cop_mem_free. */
COP_CHECK cop_err cop_backup_files_join(const char *folder, const char *name, char **out, cop_diag *diag);

/* *made: the folder was not there. COP_EEXIST: it is not empty. */
COP_CHECK cop_err cop_backup_files_make_folder(const char *path, bool *made, cop_diag *diag);
COP_CHECK cop_err cop_backup_files_sync(const char *folder, cop_diag *diag);

/* The file's first `length` bytes; UINT64_MAX: all of it. COP_ENOTFOUND: it is not there. COP_EEND: it is shorter. */
COP_CHECK cop_err cop_backup_files_copy(
        const char *from, const char *to, const char *name, uint64_t length, cop_diag *diag);
void cop_backup_files_discard(const char *folder, const char *name);

/* Challengers, live changes of the models and orders to forget somebody. What the daemon removes meanwhile it does not
 * need. */
COP_CHECK cop_err cop_backup_files_copy_parts(const char *state, const char *to, cop_diag *diag);
void cop_backup_files_discard_parts(const char *folder);

#endif

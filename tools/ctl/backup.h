/* tools/ctl/backup.h: a consistent copy of a running daemon's state, made by the client with its own rights.
 *
 * On the daemon's machine only: a checkpoint is asked for, and it and the journal from its place on are copied out of
 * the state folder that the daemon names. The copy is a state folder: a daemon that starts from it has everything that
 * was acknowledged before the backup began. One thread. */
#ifndef COP_TOOLS_CTL_BACKUP_H
#define COP_TOOLS_CTL_BACKUP_H

#include <stdbool.h>

#include "base/err.h"
#include "clients/c/client_keys.h"

typedef struct cop_backup_request {
	const char *endpoint;
	cop_client_keys keys;
	double timeout;     /* seconds, for each answer */
	const char *folder; /* is not there, or empty */
	bool json;
} cop_backup_request;

/* Copies, reads the copy back, and prints what was copied on standard output. The checkpoint gets its name last, so a
 * folder without one is no backup; when copying fails nothing of it is left.
 * COP_EEXIST: the folder is not empty. COP_ENOTFOUND: the state folder, or what was to be copied, is not there.
 * COP_EFORMAT: damage. COP_EINVAL, COP_EEND, COP_EIO, COP_ENOMEM. *diag is always filled. */
COP_CHECK cop_err cop_backup(const cop_backup_request *request, cop_diag *diag);

#endif

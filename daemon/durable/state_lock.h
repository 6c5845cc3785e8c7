/* daemon/durable/state_lock.h: one daemon for a state folder: locks on the folder and on the file `lock` in it, held
 * until close.
 *
 * The folder's lock cannot be removed with a file; the file's keeps daemons out that know only that one. A folder that
 * was removed or moved away while it was held can be replaced. The loop's thread. */
#ifndef COP_DAEMON_DURABLE_STATE_LOCK_H
#define COP_DAEMON_DURABLE_STATE_LOCK_H

#include "base/err.h"

typedef struct cop_state_lock {
	const char *path; /* kept */
	int folder, file; /* -1: none */
} cop_state_lock;

/* Makes the folder when it is not there. After init or open, whatever it gave, close is allowed. COP_EEXIST: another
 * daemon has it. COP_EIO. */
void cop_state_lock_init(cop_state_lock *lock, const char *path);
COP_CHECK cop_err cop_state_lock_open(cop_state_lock *lock, cop_diag *diag);
void cop_state_lock_close(cop_state_lock *lock);

/* Whether the path still names the folder; a lock file that was removed is made again. COP_ENOTFOUND: another folder or
 * none. COP_EEXIST: another daemon has taken the lock file. COP_EIO. */
COP_CHECK cop_err cop_state_lock_check(cop_state_lock *lock, cop_diag *diag);
/* Takes the folder that the path names now, or makes one, when it is not the one that is held; nothing may be in it
 * yet. COP_EEXIST: something is, or another daemon has it. COP_EIO. */
COP_CHECK cop_err cop_state_lock_renew(cop_state_lock *lock, cop_diag *diag);

#endif

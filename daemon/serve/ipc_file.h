/* daemon/serve/ipc_file.h: the files of ipc:// endpoints: a left one is removed before binding, the own one after
 * closing.
 *
 * A file is left when nobody accepts connections on it. One that a live process serves is never removed. */
#ifndef COP_DAEMON_SERVE_IPC_FILE_H
#define COP_DAEMON_SERVE_IPC_FILE_H

#include <sys/types.h>

#include "base/err.h"

/* The file that a bind made; zeroed: none. */
typedef struct cop_ipc_file {
	const char *path; /* kept */
	dev_t device;
	ino_t inode;
} cop_ipc_file;

/* Before binding to the endpoint (borrowed), which may be of another transport: removes a left socket. COP_EEXIST, with
 * a message: another process serves it, or it is no socket. COP_EIO: it cannot be looked at or removed. */
COP_CHECK cop_err cop_ipc_file_clear(const char *endpoint, cop_diag *diag);
/* After binding: notes what was made. The endpoint is kept. */
void cop_ipc_file_note(cop_ipc_file *file, const char *endpoint);
/* Lets the file's owner and group connect, and nobody else. COP_EIO, with a message. */
COP_CHECK cop_err cop_ipc_file_guard(const cop_ipc_file *file, cop_diag *diag);
/* Removes the file, unless it is another one by now. */
void cop_ipc_file_remove(cop_ipc_file *file);

#endif

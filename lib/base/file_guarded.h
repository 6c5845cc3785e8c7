/* base/file_guarded.h: files that hold secrets, or say who may do what: everybody must not be able to read, or to
 * change, them. */
#ifndef COP_BASE_FILE_GUARDED_H
#define COP_BASE_FILE_GUARDED_H

#include <stdio.h>

#include "base/err.h"

typedef enum cop_file_guard {
	COP_FILE_PUBLIC, /* whoever can read and write it may */
	COP_FILE_RULES,  /* everybody may read it, not write it */
	COP_FILE_SECRET, /* everybody may neither read nor write it */
} cop_file_guard;

/* Opens path for reading; what lies in memory of a secret is the caller's buffer alone. Caller closes with fclose; on
 * error *out is NULL and *diag names the file. COP_EIO: it cannot be opened, or everybody can do what the guard
 * forbids. */
COP_CHECK cop_err cop_file_guarded_open(const char *path, cop_file_guard guard, FILE **out, cop_diag *diag);

#endif

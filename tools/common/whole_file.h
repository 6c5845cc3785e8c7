/* tools/common/whole_file.h: a text file that is printed to with stdio and replaced as a whole (base/file_atomic.h). */
#ifndef COP_TOOLS_COMMON_WHOLE_FILE_H
#define COP_TOOLS_COMMON_WHOLE_FILE_H

#include <stdio.h>

#include "base/file_atomic.h"

typedef struct cop_whole_file {
	cop_file_atomic *file;
	FILE *out; /* print here */
} cop_whole_file;

/* Errors of cop_file_atomic_begin; then nothing is left open. */
COP_CHECK cop_err cop_whole_file_begin(cop_whole_file *whole, const char *path, cop_diag *diag);
/* Replaces the file when all that was printed was written, and closes in every case. COP_EIO. */
COP_CHECK cop_err cop_whole_file_end(cop_whole_file *whole, const char *path, cop_diag *diag);

#endif

/* tools/common/saved_file.h: a file that holds models: a daemon's checkpoint, or what `coppice replay --save` wrote.
 *
 * One thread. */
#ifndef COP_TOOLS_COMMON_SAVED_FILE_H
#define COP_TOOLS_COMMON_SAVED_FILE_H

#include "base/bytes.h"
#include "store/section_file.h"

#define COP_SAVED_FILE_NAME 256 /* bytes of a model's name, with its end */

typedef struct cop_saved_file {
	const char *path; /* kept */
	bool checkpoint;  /* else a model file */
	cop_bytes bytes;
	cop_section_file file;
} cop_saved_file;

/* path is set. COP_EFORMAT: neither of the two, or damaged; COP_EVERSION, COP_ENOTFOUND, COP_EIO, COP_ENOMEM, all with
 * *diag. Finish with close, also after an error. */
COP_CHECK cop_err cop_saved_file_open(cop_saved_file *saved, cop_diag *diag);
void cop_saved_file_close(cop_saved_file *saved);

/* The next model from *at on, which begins at 0: its name, "" in a model file, and its sections (a file of
 * cop_model_save), borrowed. COP_EEND: there are no more. COP_EFORMAT, COP_EVERSION with *diag. */
COP_CHECK cop_err cop_saved_file_next(const cop_saved_file *saved, size_t *at, char name[COP_SAVED_FILE_NAME],
        const void **data, size_t *length, cop_diag *diag);
/* Whether a section of a checkpoint is a model's; its name. */
bool cop_saved_file_names(const cop_model_section *section, char name[COP_SAVED_FILE_NAME]);

#endif

/* tools/whatif/whatif_state.h: a model in a state folder: the checkpoint that has its settings, its name in the
 * journal, and the model as it was at a time. The folder is only read. One thread. */
#ifndef COP_TOOLS_WHATIF_WHATIF_STATE_H
#define COP_TOOLS_WHATIF_WHATIF_STATE_H

#include "online/model.h"
#include "store/section_file.h"
#include "tools/common/saved_file.h"

#define COP_WHATIF_STATE_PATH 4096

typedef struct cop_whatif_state {
	const char *folder; /* kept */
	char journal[COP_WHATIF_STATE_PATH];
	char name[COP_SAVED_FILE_NAME]; /* in the state folder: NAME, or NAME#LIFE */
	cop_bytes checkpoint;
	cop_section_file file;
	const void *data; /* of the model's section */
	size_t length;
	uint64_t next; /* the first record that is not in it; 0: it stands nowhere */
	cop_model_settings was;
} cop_whatif_state;

/* The model called so in the newest checkpoint, in whatever life; NULL: its only one. NAME#LIFE (NAME#0: the first) is
 * looked for in older ones, too. Finish with close, also after an error. COP_ENOTFOUND: there is none. COP_EIO: the
 * newest checkpoint is damaged. Else errors of reading one; all with *diag. */
COP_CHECK cop_err cop_whatif_state_open(const char *folder, const char *model, cop_whatif_state *out, cop_diag *diag);
void cop_whatif_state_close(cop_whatif_state *state);

/* Whether a model stored under that name is called so. */
bool cop_whatif_state_is(const char *stored, const char *model);
/* Its name at that time (unix seconds), as the journal's configurations have it; what opens it. COP_ENOTFOUND: they
 * have none until then. */
COP_CHECK cop_err cop_whatif_state_life(
        const char *folder, const char *model, double time, char out[COP_SAVED_FILE_NAME], cop_diag *diag);
/* A model file of it as it was at that time, byte for byte, and its name in the state folder then. COP_ENOTFOUND: it
 * cannot be known. Else errors of cop_whatif_run. */
COP_CHECK cop_err cop_whatif_state_at(const char *folder, const char *model, double time, cop_bytes *out,
        char name[COP_SAVED_FILE_NAME], cop_diag *diag);

#endif

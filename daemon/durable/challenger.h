/* daemon/durable/challenger.h: the trees that refits made, one file for each challenger, in the state folder's
 * refit/.
 *
 * A durable file (store/checkpoint_file.h) named refit.MODEL.NUMBER, whose body (refit/refit_file.h) is a model
 * file that has the trees' sections. Numbers of a model count from 1 and are never used twice. Journal and checkpoints
 * name challengers by number and the CRC32C of the body, so a file stays for as long as one of them may need it: a
 * record needs it until its segment is removed. Any
 * thread, distinct files. */
#ifndef COP_DAEMON_DURABLE_CHALLENGER_H
#define COP_DAEMON_DURABLE_CHALLENGER_H

#include <stdbool.h>

#include "base/err.h"
#include "tree/trees.h"

/* The folder is made when it is not there. Written and synced as a whole, or not at all. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_challenger_write(
        const char *state_dir, const char *model, uint64_t number, const cop_bytes *body, cop_diag *diag);
/* Caller frees *out. COP_ENOTFOUND, COP_EFORMAT, COP_EVERSION, COP_ENONFINITE, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_challenger_read(
        const char *state_dir, const char *model, uint64_t number, cop_trees **out, uint32_t *crc, cop_diag *diag);
/* The highest number there is; 0: none. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_challenger_newest(const char *state_dir, const char *model, uint64_t *number, cop_diag *diag);
/* All numbers there are, newest first; caller frees with cop_mem_free. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_challenger_list(
        const char *state_dir, const char *model, uint64_t **all, size_t *count, cop_diag *diag);
/* The journal's records between which all lies that the challenger was made from. COP_ENOTFOUND: no such file.
 * COP_EFORMAT, COP_EVERSION: it does not say. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_challenger_window(
        const char *state_dir, const char *model, uint64_t number, uint64_t window[2], cop_diag *diag);
/* Removes one, if it is there, durably. COP_EIO. */
COP_CHECK cop_err cop_challenger_remove(const char *state_dir, const char *model, uint64_t number, cop_diag *diag);
/* Removes what a worker that was killed left. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_challenger_tidy(const char *state_dir, const char *model, cop_diag *diag);
/* Whether that challenger is still needed. */
typedef bool cop_challenger_needed(const void *context, uint64_t number);
typedef struct cop_challenger_pruned {
	size_t removed; /* files */
	uint64_t held;  /* bytes of those beyond the newest that are still needed */
} cop_challenger_pruned;

/* Removes all but the newest `keep` and what is needed. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_challenger_prune(const char *state_dir, const char *model, size_t keep,
        cop_challenger_needed *needed, const void *context, cop_challenger_pruned *pruned, cop_diag *diag);

#endif

/* refit/refit_file.h: what a refit came to, on disk: the trees, whose they are, how they were made and judged.
 *
 * A checkpoint file (store/checkpoint_file.h) whose body is a model file (store/section_file.h) with the sections
 * "refit" (model, settings, report, in the order of their structs but for what other sections hold), "promotion"
 * (cop_promotion_test_save), the window and those of the trees (tree/trees_checkpoint.h). So it outlives crashes whole
 * or not at all, and the sequence in its name is its writer's to choose. Bytes from outside are refused unless
 * everything in them fits together. Distinct objects on distinct threads. */
#ifndef COP_REFIT_REFIT_FILE_H
#define COP_REFIT_REFIT_FILE_H

#include "refit/refit_run.h"

#define COP_REFIT_FILE_SECTION "refit"
#define COP_REFIT_FILE_VERSION 1

typedef struct cop_refit_file {
	cop_refit_settings settings; /* model is NULL; its name is in report.model */
	cop_refit_report report;
	cop_trees *trees; /* owned after open and read, else borrowed */
} cop_refit_file;

/* Appends the body. Errors in bytes->err. */
void cop_refit_file_put(const cop_refit_file *file, cop_bytes *bytes);
/* From a body. Finish with fini; on error *out is zeroed. source (NULL allowed) is for *diag (NULL allowed).
 * COP_EFORMAT: damaged, or parts that do not fit together. COP_EVERSION: of a newer version. COP_ENONFINITE,
 * COP_ENOMEM.
 */
COP_CHECK cop_err cop_refit_file_open(
        const void *data, size_t length, const char *source, cop_refit_file *out, cop_diag *diag);
void cop_refit_file_fini(cop_refit_file *file);

/* As cop_checkpoint_write does: PREFIX.SEQUENCE.checkpoint in the folder. Errors of it; COP_ENOMEM. */
COP_CHECK cop_err cop_refit_file_write(
        const char *folder, const char *prefix, uint64_t sequence, const cop_refit_file *file, cop_diag *diag);
/* Of such a file. Errors of cop_checkpoint_read and cop_refit_file_open. */
COP_CHECK cop_err cop_refit_file_read(const char *path, cop_refit_file *out, cop_diag *diag);

#endif

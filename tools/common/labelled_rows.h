/* tools/common/labelled_rows.h: a file's rows as the batch learners take them: prepared features, and labels or scaled
 * targets.
 *
 * One thread. */
#ifndef COP_TOOLS_COMMON_LABELLED_ROWS_H
#define COP_TOOLS_COMMON_LABELLED_ROWS_H

#include "table/table.h"

typedef struct cop_labelled {
	cop_dataset *data; /* prepared; its target as it stands in the file, or the class */
	size_t classes;    /* K; 0: regression */
	uint32_t *label;   /* classes; 0 where the file has none */
	float *target;     /* regression, to the scale of training; likewise */
	size_t known;      /* rows that have a label or target */
} cop_labelled;

/* A training file; the preparation is fitted on all of it. Caller ends rows with cop_labelled_rows_fini in every case
 * and frees the preparation. Errors of table/table.h. */
COP_CHECK cop_err cop_labelled_rows_train(const char *path, const cop_table_settings *settings, cop_labelled *rows,
        cop_encoder **preparation, cop_diag *diag);
/* Another file with it; labelled false: it may lack the target, and there are no labels or targets then. */
COP_CHECK cop_err cop_labelled_rows_read(
        const char *path, const cop_encoder *preparation, bool labelled, cop_labelled *rows, cop_diag *diag);
void cop_labelled_rows_fini(cop_labelled *rows);

#endif

/* table/dataset_csv.h: a csv file (base/csv.h) as a dense dataset; the last column is the target. One thread per
 * stream. */
#ifndef COP_TABLE_DATASET_CSV_H
#define COP_TABLE_DATASET_CSV_H

#include "base/err.h"
#include "base/stream.h"
#include "table/dataset.h"

/* Reads all rows on from `stream` (borrowed). Caller frees with cop_dataset_free; on error *out is NULL and *diag (NULL
 * allowed) filled. Errors of cop_csv_next; COP_EFORMAT also: no rows, or fewer than two columns; COP_ENONFINITE also: a
 * feature beyond the largest float. COP_EFULL, COP_ENOMEM. */
COP_CHECK cop_err cop_dataset_csv_read(cop_stream *stream, cop_dataset **out, cop_diag *diag);

#endif

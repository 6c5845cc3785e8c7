/* table/libsvm.h: sparse rows as LIBSVM writes them: `target index:value index:value ...`.
 *
 * Fields are separated by blanks, indices ascend within a line, `#` begins a comment, blank lines are skipped. Indices
 * count from 1, so that index 1 is feature 0; a file in which index 0 occurs counts from 0 throughout
 * (cop_dataset_align brings two files together). One thread per stream. */
#ifndef COP_TABLE_LIBSVM_H
#define COP_TABLE_LIBSVM_H

#include "base/err.h"
#include "base/stream.h"
#include "table/dataset.h"

/* All rows as a sparse dataset. Caller frees with cop_dataset_free; on error *out is NULL and *diag (NULL allowed) says
 * where and what. COP_EFORMAT: a line that does not follow the rules, no rows, or no features at all. COP_ENONFINITE:
 * nan, inf, or beyond the largest double (target) or float (value). Errors of cop_stream_line; COP_EFULL, COP_ENOMEM.
 */
COP_CHECK cop_err cop_libsvm_read(cop_stream *stream, cop_dataset **out, cop_diag *diag);

#define COP_LIBSVM_SAYS 200
/* Called with each target, which it may change; or it refuses it with any error but COP_EEND and a reason. */
typedef struct cop_libsvm_judge {
	void *owner;
	cop_err (*judge)(void *owner, double *target, char says[COP_LIBSVM_SAYS]);
} cop_libsvm_judge;
/* The same, and the judge's errors. */
COP_CHECK cop_err cop_libsvm_read_judged(
        cop_stream *stream, const cop_libsvm_judge *judge, cop_dataset **out, cop_diag *diag);

#endif

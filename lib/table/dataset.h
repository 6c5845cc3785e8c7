/* table/dataset.h: labelled rows in memory, all dense or all sparse.
 *
 * n rows of d features. Dense: x is n x d, row-major, contiguous. Sparse: row i has the entries start[i] to start[i +
 * 1] of index (ascending, below d) and value. target has n values: a class 0..K-1 or a number. All values finite.
 * Fields are read freely and changed only by the functions here. Distinct datasets on distinct threads; reading one
 * from many threads is fine. */
#ifndef COP_TABLE_DATASET_H
#define COP_TABLE_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "linalg/row.h"

#define COP_DATASET_MAX_ROWS     UINT32_MAX
#define COP_DATASET_MAX_FEATURES ((size_t)1 << 31)
#define COP_DATASET_MAX_CLASSES  ((size_t)1 << 16)

typedef struct cop_dataset {
	size_t n;
	size_t d;
	bool sparse;
	float *x;        /* n x d; NULL when sparse */
	size_t *start;   /* n + 1; NULL when dense */
	uint32_t *index; /* start[n] */
	float *value;    /* start[n] */
	double *target;  /* n */

	uint64_t odd_line;     /* of the file: its first target that is no class; 0: none, or rows of several files */
	uint32_t index_base;   /* sparse: the file's index of feature 0; 0 or 1 */
	size_t row_capacity;   /* rows that fit before the next allocation */
	size_t entry_capacity; /* entries that fit */
} cop_dataset;

/* No rows yet. Caller frees with cop_dataset_free; on error *out is NULL.
 * COP_EINVAL: d is 0 or above COP_DATASET_MAX_FEATURES. COP_ENOMEM. */
COP_CHECK cop_err cop_dataset_new_dense(size_t d, cop_dataset **out);
/* d grows with the largest index. */
COP_CHECK cop_err cop_dataset_new_sparse(cop_dataset **out);
void cop_dataset_free(cop_dataset *dataset);

/* Adds a row: d values (borrowed). COP_EFULL: COP_DATASET_MAX_ROWS reached. COP_ENOMEM. */
COP_CHECK cop_err cop_dataset_push_dense(cop_dataset *dataset, const float *x, double target);
/* Adds a row of nnz entries, indices ascending and below COP_DATASET_MAX_FEATURES. Errors as above. */
COP_CHECK cop_err cop_dataset_push_sparse(
        cop_dataset *dataset, size_t nnz, const uint32_t *index, const float *value, double target);

/* Room for that many rows in all, so that they are added without moving. COP_EFULL, COP_ENOMEM. */
COP_CHECK cop_err cop_dataset_reserve(cop_dataset *dataset, size_t rows);

/* View of row i < n, valid until the dataset changes. */
void cop_dataset_row(const cop_dataset *dataset, size_t i, cop_row *row);

/* Adds the rows of `more` behind those of `dataset`. Sparse ones are aligned first (below), d becomes the larger.
 * COP_ESHAPE: one is sparse and the other not, or dense with another d. COP_EFULL, COP_ENOMEM. On error unchanged. */
COP_CHECK cop_err cop_dataset_append(cop_dataset *dataset, const cop_dataset *more);

/* Makes feature i mean the same in both (training and test rows, say). Sparse: when only one of them counted from 0,
 * the other did too without showing it, and is moved by one; both get the larger d. COP_ESHAPE as in append. */
COP_CHECK cop_err cop_dataset_align(cop_dataset *a, cop_dataset *b);

/* Sparse rows: features mean from now on what they do where feature 0 has the file's index index_base (0 or 1), and
 * there are d; entries of others are dropped. COP_ESHAPE: dense rows. */
COP_CHECK cop_err cop_dataset_conform(cop_dataset *dataset, size_t d, uint32_t index_base);

/* Is the target an integer in [0, COP_DATASET_MAX_CLASSES)? */
bool cop_dataset_is_class(double target);
/* The number of classes K (largest target + 1) when every target is a class.
 * COP_EINVAL: another target; *diag (NULL allowed) has its line, or names its row, from 1, when odd_line is 0; the
 * source is for the caller to fill in. There must be rows. */
COP_CHECK cop_err cop_dataset_classes(const cop_dataset *dataset, size_t *classes, cop_diag *diag);

/* Smallest and largest target; there must be rows. */
void cop_dataset_target_range(const cop_dataset *dataset, double *min, double *max);

/* Whether the file's name ends in .libsvm or .svm, .gz or .zst aside. */
bool cop_dataset_is_libsvm(const char *path);
/* Reads a file by its name's ending, .gz or .zst aside: .libsvm and .svm as table/libsvm, all others as
 * table/dataset_csv. Caller frees with cop_dataset_free; on error *out is NULL and *diag (NULL allowed) says where and
 * what. Errors of base/stream and of the reader. */
COP_CHECK cop_err cop_dataset_read(const char *path, cop_dataset **out, cop_diag *diag);

#endif

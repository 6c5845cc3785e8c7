/* Rows and entries have room for row_capacity and entry_capacity; both double when they are full. A failed growth
 * leaves some arrays larger than their capacity, never smaller. */
#include "table/dataset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/stream.h"
#include "table/dataset_csv.h"
#include "table/libsvm.h"

#define FIRST_VALUES ((size_t)4096) /* room to begin with */

static cop_err dataset_new(size_t d, bool sparse, cop_dataset **out)
{
	*out = cop_mem_alloc(1, sizeof **out);
	if (*out == NULL)
		return COP_ENOMEM;
	(*out)->d = d;
	(*out)->sparse = sparse;
	return COP_OK;
}

cop_err cop_dataset_new_dense(size_t d, cop_dataset **out)
{
	*out = NULL;
	if (d == 0 || d > COP_DATASET_MAX_FEATURES)
		return COP_EINVAL;
	return dataset_new(d, false, out);
}

cop_err cop_dataset_new_sparse(cop_dataset **out)
{
	cop_err err = dataset_new(0, true, out);
	if (err != COP_OK)
		return err;
	(*out)->start = cop_mem_alloc(1, sizeof *(*out)->start);
	if ((*out)->start != NULL)
		return COP_OK;
	cop_dataset_free(*out);
	*out = NULL;
	return COP_ENOMEM;
}

void cop_dataset_free(cop_dataset *dataset)
{
	if (dataset == NULL)
		return;
	cop_mem_free(dataset->x);
	cop_mem_free(dataset->start);
	cop_mem_free(dataset->index);
	cop_mem_free(dataset->value);
	cop_mem_free(dataset->target);
	cop_mem_free(dataset);
}

/* The array moved to room for `capacity` elements; on failure the array as it was, and *ok false. */
static void *grow(void *array, size_t used, size_t capacity, size_t size, bool *ok)
{
	void *moved = *ok ? cop_mem_resize(array, used, capacity, size) : NULL;
	if (moved != NULL)
		return moved;
	*ok = false;
	return array;
}

static cop_err set_row_capacity(cop_dataset *ds, size_t capacity)
{
	size_t values;
	if (__builtin_mul_overflow(capacity, ds->d, &values))
		return COP_ENOMEM;
	bool ok = true;
	ds->target = grow(ds->target, ds->n, capacity, sizeof *ds->target, &ok);
	if (ds->sparse)
		ds->start = grow(ds->start, ds->n + 1, capacity + 1, sizeof *ds->start, &ok);
	else
		ds->x = grow(ds->x, ds->n * ds->d, values, sizeof *ds->x, &ok);
	if (!ok)
		return COP_ENOMEM;
	ds->row_capacity = capacity;
	return COP_OK;
}

static cop_err reserve_rows(cop_dataset *ds, size_t more)
{
	if (more > COP_DATASET_MAX_ROWS - ds->n)
		return COP_EFULL;
	size_t need = ds->n + more;
	if (need <= ds->row_capacity)
		return COP_OK;
	size_t capacity = ds->row_capacity * 2;
	size_t first = FIRST_VALUES / (ds->d + 1) + 1;
	capacity = capacity < first ? first : capacity;
	capacity = capacity < need ? need : capacity;
	return set_row_capacity(ds, capacity);
}

cop_err cop_dataset_reserve(cop_dataset *dataset, size_t rows)
{
	if (rows > COP_DATASET_MAX_ROWS)
		return COP_EFULL;
	return rows <= dataset->row_capacity ? COP_OK : set_row_capacity(dataset, rows);
}

static cop_err reserve_entries(cop_dataset *ds, size_t more)
{
	size_t used = ds->start[ds->n];
	if (more <= ds->entry_capacity - used)
		return COP_OK;
	size_t capacity = ds->entry_capacity * 2; /* both are of what is in memory already */
	capacity = capacity < FIRST_VALUES ? FIRST_VALUES : capacity;
	capacity = capacity < used + more ? used + more : capacity;
	bool ok = true;
	ds->index = grow(ds->index, used, capacity, sizeof *ds->index, &ok);
	ds->value = grow(ds->value, used, capacity, sizeof *ds->value, &ok);
	if (!ok)
		return COP_ENOMEM;
	ds->entry_capacity = capacity;
	return COP_OK;
}

cop_err cop_dataset_push_dense(cop_dataset *dataset, const float *x, double target)
{
	COP_ASSERT(!dataset->sparse);
	cop_err err = reserve_rows(dataset, 1);
	if (err != COP_OK)
		return err;
	memcpy(dataset->x + dataset->n * dataset->d, x, dataset->d * sizeof *x);
	dataset->target[dataset->n++] = target;
	return COP_OK;
}

cop_err cop_dataset_push_sparse(
        cop_dataset *dataset, size_t nnz, const uint32_t *index, const float *value, double target)
{
	COP_ASSERT(dataset->sparse);
	cop_err err = reserve_rows(dataset, 1);
	if (err == COP_OK)
		err = reserve_entries(dataset, nnz);
	if (err != COP_OK)
		return err;
	size_t at = dataset->start[dataset->n];
	if (nnz > 0) {
		COP_ASSERT(index[nnz - 1] < COP_DATASET_MAX_FEATURES);
		memcpy(dataset->index + at, index, nnz * sizeof *index);
		memcpy(dataset->value + at, value, nnz * sizeof *value);
		if (index[nnz - 1] >= dataset->d)
			dataset->d = (size_t)index[nnz - 1] + 1;
	}
	dataset->target[dataset->n++] = target;
	dataset->start[dataset->n] = at + nnz;
	return COP_OK;
}

void cop_dataset_row(const cop_dataset *dataset, size_t i, cop_row *row)
{
	COP_ASSERT(i < dataset->n);
	*row = (cop_row){ .d = dataset->d };
	if (!dataset->sparse) {
		row->dense = dataset->x + i * dataset->d;
		return;
	}
	size_t at = dataset->start[i];
	row->nnz = dataset->start[i + 1] - at;
	row->index = row->nnz > 0 ? dataset->index + at : NULL;
	row->value = row->nnz > 0 ? dataset->value + at : NULL;
}

static bool same_shape(const cop_dataset *a, const cop_dataset *b)
{
	return a->sparse == b->sparse && (a->sparse || a->d == b->d);
}

/* Counts from 0 from now on: what was feature 0 becomes feature 1. */
static void shift_by_one(cop_dataset *ds)
{
	for (size_t i = 0; i < ds->start[ds->n]; i++)
		ds->index[i]++;
	ds->d++;
	ds->index_base = 0;
}

static cop_err append_sparse(cop_dataset *ds, const cop_dataset *more)
{
	size_t used = ds->start[ds->n];
	size_t count = more->start[more->n];
	cop_err err = reserve_entries(ds, count);
	if (err != COP_OK)
		return err;
	if (ds->index_base > more->index_base)
		shift_by_one(ds);
	uint32_t shift = more->index_base - ds->index_base;
	for (size_t i = 0; i < count; i++)
		ds->index[used + i] = more->index[i] + shift;
	if (count > 0)
		memcpy(ds->value + used, more->value, count * sizeof *more->value);
	for (size_t i = 1; i <= more->n; i++)
		ds->start[ds->n + i] = used + more->start[i];
	ds->d = ds->d > more->d + shift ? ds->d : more->d + shift;
	return COP_OK;
}

cop_err cop_dataset_append(cop_dataset *dataset, const cop_dataset *more)
{
	if (!same_shape(dataset, more))
		return COP_ESHAPE;
	if (more->n == 0)
		return COP_OK;
	cop_err err = reserve_rows(dataset, more->n);
	if (err == COP_OK && dataset->sparse)
		err = append_sparse(dataset, more);
	if (err != COP_OK)
		return err;
	if (!dataset->sparse)
		memcpy(dataset->x + dataset->n * dataset->d, more->x, more->n * more->d * sizeof *more->x);
	memcpy(dataset->target + dataset->n, more->target, more->n * sizeof *more->target);
	dataset->n += more->n;
	dataset->odd_line = 0;
	return COP_OK;
}

cop_err cop_dataset_align(cop_dataset *a, cop_dataset *b)
{
	if (!same_shape(a, b))
		return COP_ESHAPE;
	if (!a->sparse)
		return COP_OK;
	if (a->index_base > b->index_base)
		shift_by_one(a);
	if (b->index_base > a->index_base)
		shift_by_one(b);
	a->d = b->d = a->d > b->d ? a->d : b->d;
	return COP_OK;
}

cop_err cop_dataset_conform(cop_dataset *dataset, size_t d, uint32_t index_base)
{
	if (!dataset->sparse)
		return COP_ESHAPE;
	uint32_t down = index_base > dataset->index_base ? index_base - dataset->index_base : 0;
	uint32_t up = dataset->index_base > index_base ? dataset->index_base - index_base : 0;
	size_t kept = 0;
	for (size_t i = 0, e = 0; i < dataset->n; i++) {
		for (; e < dataset->start[i + 1]; e++) {
			uint32_t index = dataset->index[e];
			if (index < down || (size_t)(index - down) + up >= d)
				continue;
			dataset->index[kept] = index - down + up;
			dataset->value[kept++] = dataset->value[e];
		}
		dataset->start[i + 1] = kept;
	}
	dataset->d = d;
	dataset->index_base = index_base;
	return COP_OK;
}

bool cop_dataset_is_class(double target)
{
	return target >= 0 && target < (double)COP_DATASET_MAX_CLASSES && target == floor(target);
}

static cop_err no_class(const cop_dataset *dataset, size_t i, cop_diag *diag)
{
	char row[32] = "";
	if (dataset->odd_line == 0)
		(void)snprintf(row, sizeof row, "row %zu: ", i + 1);
	cop_diag_at_line(diag, "", dataset->odd_line, "%starget %.17g is no class; expected an integer from 0 to %zu",
	        row, dataset->target[i], COP_DATASET_MAX_CLASSES - 1);
	return COP_EINVAL;
}

cop_err cop_dataset_classes(const cop_dataset *dataset, size_t *classes, cop_diag *diag)
{
	COP_ASSERT(dataset->n > 0);
	double largest = 0;
	*classes = 0;
	for (size_t i = 0; i < dataset->n; i++) {
		double t = dataset->target[i];
		if (!cop_dataset_is_class(t))
			return no_class(dataset, i, diag);
		largest = t > largest ? t : largest;
	}
	*classes = (size_t)largest + 1;
	return COP_OK;
}

void cop_dataset_target_range(const cop_dataset *dataset, double *min, double *max)
{
	COP_ASSERT(dataset->n > 0);
	*min = *max = dataset->target[0];
	for (size_t i = 1; i < dataset->n; i++) {
		double t = dataset->target[i];
		*min = t < *min ? t : *min;
		*max = t > *max ? t : *max;
	}
}

static bool ends_with(const char *path, size_t length, const char *ending)
{
	size_t n = strlen(ending);
	return length > n && memcmp(path + length - n, ending, n) == 0;
}

bool cop_dataset_is_libsvm(const char *path)
{
	size_t length = strlen(path);
	if (ends_with(path, length, ".gz"))
		length -= 3;
	else if (ends_with(path, length, ".zst"))
		length -= 4;
	return ends_with(path, length, ".libsvm") || ends_with(path, length, ".svm");
}

cop_err cop_dataset_read(const char *path, cop_dataset **out, cop_diag *diag)
{
	*out = NULL;
	cop_stream *stream;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_dataset_is_libsvm(path) ? cop_libsvm_read(stream, out, diag)
	                                  : cop_dataset_csv_read(stream, out, diag);
	cop_stream_free(stream);
	return err;
}

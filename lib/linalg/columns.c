/* Rows become columns in two passes: entries of each column are counted, then placed, rows ascending. Sums over a
 * column run in a fixed number of lanes. */
#include "linalg/columns.h"

#include <limits.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define BAND        16 /* rows that are transposed together: one cache line of a column */
#define DENSE_SHARE 4  /* sparse when at most one entry in this many is there */

static size_t row_of(const uint32_t *row, size_t i) { return row != NULL ? row[i] : i; }

static void sum_squares(cop_columns *c)
{
	for (size_t j = 0; j < c->d; j++) {
		const float *v = c->dense != NULL ? c->dense + j * c->stride : c->value + c->start[j];
		size_t n = c->dense != NULL ? c->n : c->start[j + 1] - c->start[j];
		double sum = 0.0;
#pragma omp simd reduction(+ : sum)
		for (size_t i = 0; i < n; i++)
			sum += (double)v[i] * (double)v[i];
		c->square[j] = sum;
	}
}

static cop_err begin(cop_columns *out, size_t n, size_t d)
{
	COP_ASSERT(n <= UINT32_MAX);
	*out = (cop_columns){ .n = n, .d = d, .kernel = cop_kernel_best() };
	out->square = cop_mem_alloc(d, sizeof *out->square);
	out->start = cop_mem_alloc(d + 1, sizeof *out->start);
	return out->square != NULL && out->start != NULL ? COP_OK : COP_ENOMEM;
}

/* Whether n x d values with so many entries are gone through faster when sparse. */
static bool better_sparse(size_t n, size_t d, size_t entries) { return entries <= n * d / DENSE_SHARE; }

static cop_err begin_dense(cop_columns *out)
{
	cop_mem_free(out->start);
	out->start = NULL;
	out->stride = cop_kernel_pad(out->n);
	if (out->stride != 0 && out->d > SIZE_MAX / out->stride)
		return COP_ENOMEM;
	out->dense = cop_mem_alloc(out->stride * out->d, sizeof *out->dense);
	return out->dense != NULL ? COP_OK : COP_ENOMEM;
}

/* Counts in start[1..d] become the places where columns begin, shifted by one: start[j + 1] is where j begins, and ends
 * as where it ends once its entries are placed. */
static cop_err begin_sparse(cop_columns *out)
{
	size_t sum = 0;
	for (size_t j = 0; j < out->d; j++) {
		size_t count = out->start[j + 1];
		out->start[j + 1] = sum;
		sum += count;
	}
	out->row = cop_mem_alloc(sum, sizeof *out->row);
	out->value = cop_mem_alloc(sum, sizeof *out->value);
	return out->row != NULL && out->value != NULL ? COP_OK : COP_ENOMEM;
}

static void place(cop_columns *out, size_t i, size_t j, float value)
{
	size_t at = out->start[j + 1]++;
	out->row[at] = (uint32_t)i;
	out->value[at] = value;
}

static void transpose(cop_columns *out, const uint32_t *row, const float *x)
{
	size_t n = out->n;
	size_t d = out->d;
	for (size_t i = 0; i < n; i += BAND) {
		const float *from[BAND];
		size_t rows = n - i < BAND ? n - i : BAND;
		for (size_t k = 0; k < rows; k++)
			from[k] = x + row_of(row, i + k) * d;
		for (size_t j = 0; j < d; j++)
			for (size_t k = 0; k < rows; k++)
				out->dense[j * out->stride + i + k] = from[k][j];
	}
}

/* Without a branch on the value: present holds d + 1. */
static void place_rows(cop_columns *out, const uint32_t *row, const float *x, uint32_t *present)
{
	size_t d = out->d;
	for (size_t i = 0; i < out->n; i++) {
		const float *from = x + row_of(row, i) * d;
		size_t count = 0;
		for (size_t j = 0; j < d; j++) {
			present[count] = (uint32_t)j;
			count += from[j] != 0.0F;
		}
		for (size_t k = 0; k < count; k++)
			place(out, i, present[k], from[present[k]]);
	}
}

static size_t count_dense(cop_columns *out, const uint32_t *row, const float *x, uint32_t *count)
{
	size_t d = out->d;
	size_t sum = 0;
	for (size_t i = 0; i < out->n; i++) {
		const float *from = x + row_of(row, i) * d;
#pragma omp simd
		for (size_t j = 0; j < d; j++)
			count[j] += from[j] != 0.0F;
	}
	for (size_t j = 0; j < d; j++) {
		out->start[j + 1] = count[j];
		sum += count[j];
	}
	return sum;
}

cop_err cop_columns_from_dense(cop_columns *out, size_t n, const uint32_t *row, size_t d, const float *x)
{
	COP_ASSERT(d < UINT32_MAX);
	uint32_t *scratch = NULL;
	cop_err err = begin(out, n, d);
	if (err == COP_OK && (scratch = cop_mem_alloc(d + 1, sizeof *scratch)) == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK && better_sparse(n, d, count_dense(out, row, x, scratch))) {
		err = begin_sparse(out);
		if (err == COP_OK)
			place_rows(out, row, x, scratch);
	} else if (err == COP_OK) {
		err = begin_dense(out);
		if (err == COP_OK)
			transpose(out, row, x);
	}
	if (err == COP_OK)
		sum_squares(out);
	cop_mem_free(scratch);
	return err;
}

cop_err cop_columns_from_sparse(cop_columns *out, size_t n, const uint32_t *row, size_t d, const size_t *start,
        const uint32_t *index, const float *value)
{
	cop_err err = begin(out, n, d);
	if (err != COP_OK)
		return err;
	size_t entries = 0;
	for (size_t i = 0; i < n; i++) {
		size_t at = row_of(row, i);
		entries += start[at + 1] - start[at];
		for (size_t k = start[at]; k < start[at + 1]; k++)
			out->start[index[k] + 1]++;
	}
	bool sparse = better_sparse(n, d, entries);
	err = sparse ? begin_sparse(out) : begin_dense(out);
	for (size_t i = 0; i < n && err == COP_OK; i++) {
		size_t at = row_of(row, i);
		for (size_t k = start[at]; k < start[at + 1]; k++)
			if (sparse)
				place(out, i, index[k], value[k]);
			else
				out->dense[index[k] * out->stride + i] = value[k];
	}
	if (err == COP_OK)
		sum_squares(out);
	return err;
}

void cop_columns_fini(cop_columns *columns)
{
	cop_mem_free(columns->dense);
	cop_mem_free(columns->start);
	cop_mem_free(columns->row);
	cop_mem_free(columns->value);
	cop_mem_free(columns->square);
	*columns = (cop_columns){ 0 };
}

float cop_columns_dot(const cop_columns *columns, size_t j, const float *v)
{
	if (columns->dense != NULL)
		return columns->kernel->dot(columns->stride, columns->dense + j * columns->stride, v);
	const size_t n = columns->start[j + 1] - columns->start[j];
	const uint32_t *row = columns->row + columns->start[j];
	const float *value = columns->value + columns->start[j];
	float s[4] = { 0.0F, 0.0F, 0.0F, 0.0F };
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		s[0] += value[i] * v[row[i]];
		s[1] += value[i + 1] * v[row[i + 1]];
		s[2] += value[i + 2] * v[row[i + 2]];
		s[3] += value[i + 3] * v[row[i + 3]];
	}
	for (; i < n; i++)
		s[0] += value[i] * v[row[i]];
	return (s[0] + s[1]) + (s[2] + s[3]);
}

void cop_columns_add(const cop_columns *columns, size_t j, float step, float *v)
{
	if (columns->dense != NULL) {
		const float *x = columns->dense + j * columns->stride;
#pragma omp simd
		for (size_t i = 0; i < columns->stride; i++)
			v[i] += step * x[i];
		return;
	}
	for (size_t i = columns->start[j]; i < columns->start[j + 1]; i++)
		v[columns->row[i]] += step * columns->value[i];
}

void cop_columns_add_weighted(const cop_columns *columns, size_t j, float step, const float *h, float *v)
{
	if (columns->dense != NULL) {
		const float *x = columns->dense + j * columns->stride;
#pragma omp simd
		for (size_t i = 0; i < columns->stride; i++)
			v[i] += step * (h[i] * x[i]);
		return;
	}
	for (size_t i = columns->start[j]; i < columns->start[j + 1]; i++) {
		uint32_t at = columns->row[i];
		v[at] += step * (h[at] * columns->value[i]);
	}
}

void cop_columns_moments(const cop_columns *columns, size_t j, const float *h, double *first, double *second)
{
	double one = 0.0;
	double two = 0.0;
	if (columns->dense != NULL) {
		const float *x = columns->dense + j * columns->stride;
#pragma omp simd reduction(+ : one, two)
		for (size_t i = 0; i < columns->stride; i++) {
			float product = h[i] * x[i];
			one += (double)product;
			two += (double)(product * x[i]);
		}
	} else {
		for (size_t i = columns->start[j]; i < columns->start[j + 1]; i++) {
			float product = h[columns->row[i]] * columns->value[i];
			one += (double)product;
			two += (double)(product * columns->value[i]);
		}
	}
	*first = one;
	*second = two;
}

void cop_columns_group(
        const cop_columns *columns, size_t j, const float *v, const uint32_t *group, size_t groups, double *out)
{
	memset(out, 0, groups * sizeof *out);
	if (columns->dense != NULL) {
		const float *x = columns->dense + j * columns->stride;
		for (size_t i = 0; i < columns->n; i++)
			out[group[i]] += (double)(v[i] * x[i]);
		return;
	}
	for (size_t i = columns->start[j]; i < columns->start[j + 1]; i++) {
		uint32_t at = columns->row[i];
		out[group[at]] += (double)(v[at] * columns->value[i]);
	}
}

/* How much rounding can amount to, with u = 2^-24 and d terms in a product:
 * - a sum of d products, in any order, fused or not, is off by at most d u / (1 - d u) |q| |p|;
 * - taking the mean off moves q and p by u |q| and u |p|, the squared distance by at most 4 u (|q|^2 + |p|^2);
 * - the bound itself is three more operations.
 * SLACK u |p|^2, SLACK u |q| |p| and SLACK u |q|^2 hold all but the first. */
#include "graph/bounds.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "graph/nearest.h"
#include "linalg/blas.h"

#define UNIT          0x1p-24
#define SLACK         16.0
#define FLOATS        ((size_t)4 << 20) /* of a block of dense queries, at most */
#define SPARSE_FLOATS ((size_t)2 << 20)
#define COLUMNS       1024
#define ROWS          512
#define LEAST         64

/* ---- what all threads share ---- */

static void take_mean(const cop_points *points, double *sum, float *mean)
{
	for (size_t i = 0; i < points->n; i++) {
		const float *x = points->x + cop_nearest_row(points, i) * points->d;
#pragma omp simd
		for (size_t j = 0; j < points->d; j++)
			sum[j] += (double)x[j];
	}
	for (size_t j = 0; j < points->d; j++)
		mean[j] = (float)(sum[j] / (double)points->n);
}

/* Terms of the longest product. */
static size_t longest(const cop_points *points)
{
	size_t most = 0;
	if (points->x != NULL)
		return points->d;
	for (size_t i = 0; i < points->n; i++) {
		size_t row = cop_nearest_row(points, i);
		size_t entries = points->start[row + 1] - points->start[row];
		most = entries > most ? entries : most;
	}
	return most;
}

static size_t between(size_t least, size_t value, size_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* Blocks that stay in the caches, small enough that every thread has some. */
static void choose_blocks(cop_bounds_shared *shared, unsigned threads)
{
	size_t d = shared->points->d;
	size_t fair = shared->queries->n / (2 * (size_t)threads) + 1;
	bool dense = shared->points->x != NULL;
	size_t columns = dense ? between(LEAST, FLOATS / d, COLUMNS) : between(1, SPARSE_FLOATS / d, COLUMNS / 4);
	shared->columns = cop_kernel_pad(columns < fair ? columns : fair);
	shared->rows = dense ? between(LEAST, FLOATS / d, ROWS) : LEAST;
}

cop_err cop_bounds_shared_init(
        cop_bounds_shared *shared, const cop_points *points, const cop_points *queries, unsigned threads)
{
	*shared = (cop_bounds_shared){ .points = points, .queries = queries, .kernel = cop_kernel_best() };
	double terms = (double)longest(points);
	shared->rounding = terms * UNIT < 0.5 ? terms * UNIT / (1.0 - terms * UNIT) : (double)INFINITY;
	shared->underflow = 4.0 * (terms + 1.0) * 0x1p-126;
	choose_blocks(shared, threads);
	if (points->x == NULL)
		return COP_OK;
	double *sum = cop_mem_alloc(points->d, sizeof *sum);
	shared->mean = cop_mem_alloc(points->d, sizeof *shared->mean);
	if (sum != NULL && shared->mean != NULL)
		take_mean(points, sum, shared->mean);
	cop_mem_free(sum);
	return sum != NULL && shared->mean != NULL ? COP_OK : COP_ENOMEM;
}

void cop_bounds_shared_fini(cop_bounds_shared *shared) { cop_mem_free(shared->mean); }

/* ---- of one thread ---- */

cop_err cop_bounds_init(cop_bounds *bounds, const cop_bounds_shared *shared)
{
	*bounds = (cop_bounds){ .shared = shared };
	size_t columns = shared->columns, rows = shared->rows, d = shared->points->d;
	if (d > SIZE_MAX / sizeof(float) / (columns > rows ? columns : rows))
		return COP_ENOMEM;
	bounds->query = cop_mem_alloc(columns * d, sizeof *bounds->query);
	bounds->point = cop_mem_alloc(shared->mean != NULL ? rows * d : 0, sizeof *bounds->point);
	bounds->product = cop_mem_alloc(rows * columns, sizeof *bounds->product);
	bounds->slope = cop_mem_alloc(columns, sizeof *bounds->slope);
	bounds->square = cop_mem_alloc(columns, sizeof *bounds->square);
	bounds->square_of = cop_mem_alloc(rows, sizeof *bounds->square_of);
	bounds->length_of = cop_mem_alloc(rows, sizeof *bounds->length_of);
	bounds->limit = cop_mem_alloc(columns, sizeof *bounds->limit);
	bool all = bounds->query != NULL && bounds->point != NULL && bounds->product != NULL && bounds->slope != NULL &&
	           bounds->square != NULL && bounds->square_of != NULL && bounds->length_of != NULL &&
	           bounds->limit != NULL;
	return all ? COP_OK : COP_ENOMEM;
}

void cop_bounds_fini(cop_bounds *bounds)
{
	cop_mem_free(bounds->query);
	cop_mem_free(bounds->point);
	cop_mem_free(bounds->product);
	cop_mem_free(bounds->slope);
	cop_mem_free(bounds->square);
	cop_mem_free(bounds->square_of);
	cop_mem_free(bounds->length_of);
	cop_mem_free(bounds->limit);
	*bounds = (cop_bounds){ .count = 0 };
}

/* Row i less the mean into out; its squared length. */
static double pack(const cop_points *points, size_t i, const float *mean, float *out)
{
	const float *x = points->x + cop_nearest_row(points, i) * points->d;
	double sum = 0.0;
#pragma omp simd reduction(+ : sum)
	for (size_t j = 0; j < points->d; j++) {
		float v = x[j] - mean[j];
		out[j] = v;
		sum += (double)v * (double)v;
	}
	return sum;
}

static double sparse_square(const cop_points *points, size_t row)
{
	double sum = 0.0;
	for (size_t e = points->start[row]; e < points->start[row + 1]; e++)
		sum += (double)points->value[e] * (double)points->value[e];
	return sum;
}

/* -2 times the entries of a row become a column; its squared length. */
static double spread(const cop_points *points, size_t i, size_t columns, float *out)
{
	size_t row = cop_nearest_row(points, i);
	for (size_t e = points->start[row]; e < points->start[row + 1]; e++)
		out[points->index[e] * columns] = -2.0f * points->value[e];
	return sparse_square(points, row);
}

void cop_bounds_load(cop_bounds *bounds, size_t count, const uint32_t *query)
{
	const cop_bounds_shared *s = bounds->shared;
	size_t d = s->points->d, columns = s->columns;
	COP_ASSERT(count <= columns);
	memset(bounds->query, 0, columns * d * sizeof *bounds->query);
	memset(bounds->slope, 0, columns * sizeof *bounds->slope);
	memset(bounds->limit, 0, columns * sizeof *bounds->limit);
	bounds->count = count;
	for (size_t i = 0; i < count; i++) {
		double square = s->mean != NULL ? pack(s->queries, query[i], s->mean, bounds->query + i * d)
		                                : spread(s->queries, query[i], columns, bounds->query + i);
		bounds->square[i] = square;
		bounds->slope[i] = (float)((2.002 * s->rounding + SLACK * UNIT) * sqrt(square));
	}
}

/* Products of the points from `first` on with all queries. */
static void multiply(cop_bounds *bounds, size_t first, size_t rows)
{
	const cop_bounds_shared *s = bounds->shared;
	const cop_points *points = s->points;
	size_t columns = s->columns;
	if (s->mean == NULL)
		memset(bounds->product, 0, rows * columns * sizeof *bounds->product);
	for (size_t r = 0; r < rows; r++) {
		size_t row = cop_nearest_row(points, first + r);
		double square;
		if (s->mean != NULL) {
			square = pack(points, first + r, s->mean, bounds->point + r * points->d);
		} else {
			size_t at = points->start[row];
			square = sparse_square(points, row);
			s->kernel->forward_sparse(points->start[row + 1] - at, points->index + at, points->value + at,
			        columns, bounds->query, bounds->product + r * columns);
		}
		bounds->square_of[r] = (float)(square * (1.0 - SLACK * UNIT) - s->underflow);
		bounds->length_of[r] = (float)(sqrt(square) * (1.0 + SLACK * UNIT));
	}
	if (s->mean != NULL)
		cop_blas_gemm(false, true, rows, columns, points->d, -2.0f, bounds->point, bounds->query, 0.0f,
		        bounds->product);
}

/* Whether any of a row's next COP_KERNEL_LANES bounds is to be shown. */
static bool any_inside(const float *product, const float *slope, const float *limit, float square, float length)
{
	int any = 0;
#pragma omp simd reduction(| : any)
	for (size_t i = 0; i < COP_KERNEL_LANES; i++)
		any |= !(product[i] + (square - slope[i] * length) >= limit[i]);
	return any != 0;
}

static void show_row(cop_bounds *bounds, size_t r, uint32_t point, cop_bounds_show *show, void *context)
{
	const float *product = bounds->product + r * bounds->shared->columns;
	for (size_t at = 0; at < bounds->count; at += COP_KERNEL_LANES) {
		if (!any_inside(product + at, bounds->slope + at, bounds->limit + at, bounds->square_of[r],
		            bounds->length_of[r]))
			continue;
		for (size_t i = at; i < at + COP_KERNEL_LANES && i < bounds->count; i++) {
			float bound = product[i] + (bounds->square_of[r] - bounds->slope[i] * bounds->length_of[r]);
			if (!(bound >= bounds->limit[i]))
				show(context, i, point, bound);
		}
	}
}

void cop_bounds_sweep(cop_bounds *bounds, cop_bounds_show *show, void *context)
{
	const cop_bounds_shared *s = bounds->shared;
	for (size_t first = 0; first < s->points->n; first += s->rows) {
		size_t rows = s->points->n - first < s->rows ? s->points->n - first : s->rows;
		multiply(bounds, first, rows);
		for (size_t r = 0; r < rows; r++)
			show_row(bounds, r, (uint32_t)(first + r), show, context);
	}
}

float cop_bounds_beyond(const cop_bounds *bounds, size_t column, double distance2)
{
	double square = bounds->square[column];
	/* distance2 was measured, and rounded to a float. */
	double bound = distance2 * (1.0 + SLACK * UNIT) - square * (1.0 - SLACK * UNIT);
	return nextafterf((float)bound, INFINITY);
}

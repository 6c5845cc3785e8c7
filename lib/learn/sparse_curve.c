/* A row holds w_j, then the upper triangle of P_j, row by row, then how many events it has taken in. A row that no
 * event has touched is all zeros, and stands for w_j = 0 and P_j = I / ridge: p[0] of one that was touched is above 0.
 */
#include "learn/sparse_curve.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define DEGREES      COP_SPARSE_CURVE_DEGREES
#define TRIANGLE     (DEGREES * (DEGREES + 1) / 2)
#define WIDTH        (DEGREES + TRIANGLE + 1)
#define LARGEST_STEP 1e15
#define MOST         1e6f /* events that are counted */

struct cop_sparse_curve {
	size_t inputs;
	float start; /* 1 / ridge */
	float *row;  /* inputs x WIDTH */
};

cop_err cop_sparse_curve_new(size_t inputs, double ridge, cop_sparse_curve **out)
{
	*out = NULL;
	if (inputs == 0 || !(ridge > 0.0))
		return COP_EINVAL;
	cop_sparse_curve *c = cop_mem_alloc(1, sizeof *c);
	if (c == NULL)
		return COP_ENOMEM;
	c->inputs = inputs;
	c->start = (float)(1.0 / ridge);
	c->row = cop_mem_alloc(inputs, WIDTH * sizeof *c->row);
	if (c->row == NULL) {
		cop_sparse_curve_free(c);
		return COP_ENOMEM;
	}
	*out = c;
	return COP_OK;
}

void cop_sparse_curve_free(cop_sparse_curve *c)
{
	if (c == NULL)
		return;
	cop_mem_free(c->row);
	cop_mem_free(c);
}

double cop_sparse_curve_footprint(size_t inputs)
{
	return (double)sizeof(cop_sparse_curve) + (double)inputs * WIDTH * sizeof(float);
}

static float *row_of(const cop_sparse_curve *c, size_t j) { return c->row + j * WIDTH; }

void cop_sparse_curve_coefficients(const cop_sparse_curve *c, const cop_row *x, double *out)
{
	memset(out, 0, DEGREES * sizeof *out);
	for (size_t i = 0; i < x->nnz; i++)
		for (size_t n = 0; n < DEGREES; n++)
			out[n] += (double)row_of(c, x->index[i])[n] * (double)x->value[i];
}

/* ---- steps ---- */

static void begin(const cop_sparse_curve *c, float *p)
{
	memset(p, 0, TRIANGLE * sizeof *p);
	for (size_t n = 0, at = 0; n < DEGREES; at += DEGREES - n, n++)
		p[at] = c->start;
}

/* P a; aᵀ P a. */
static double spread_of(const float *p, const double *a, double *pa)
{
	double sum = 0.0;
	memset(pa, 0, DEGREES * sizeof *pa);
	for (size_t n = 0; n < DEGREES; n++)
		for (size_t m = n; m < DEGREES; m++, p++) {
			pa[n] += (double)*p * a[m];
			if (m > n)
				pa[m] += (double)*p * a[n];
		}
	for (size_t n = 0; n < DEGREES; n++)
		sum += a[n] * pa[n];
	return sum;
}

/* The spread of an input whose P is sound from here on. */
static double look(cop_sparse_curve *c, size_t j, const double *a, double *pa)
{
	float *p = row_of(c, j) + DEGREES;
	double spread = p[0] > 0.0f ? spread_of(p, a, pa) : -1.0;
	if (spread >= 0.0)
		return spread;
	begin(c, p); /* the first time, or rounding has spoiled it */
	return spread_of(p, a, pa);
}

static void step(cop_sparse_curve *c, size_t j, double x, const double *a, double gain)
{
	double pa[DEGREES];
	float *w = row_of(c, j), *p = w + DEGREES, *count = p + TRIANGLE;
	double weight = x * x / sqrt((double)*count + 1.0);
	double spread = look(c, j, a, pa), shrink = weight / (1.0 + weight * spread);
	*count = fminf(*count + 1.0f, MOST);
	for (size_t n = 0; n < DEGREES; n++) {
		w[n] = (float)((double)w[n] + gain * x * pa[n]);
		for (size_t m = n; m < DEGREES; m++, p++)
			*p = (float)((double)*p - shrink * pa[n] * pa[m]);
	}
	p = row_of(c, j) + DEGREES;
	p[0] = fmaxf(p[0], FLT_MIN);
}

cop_err cop_sparse_curve_learn(cop_sparse_curve *c, const cop_row *x, const double *a, double loss)
{
	double coefficient[DEGREES], pa[DEGREES], spread = 1.0;
	cop_sparse_curve_coefficients(c, x, coefficient);
	for (size_t n = 0; n < DEGREES; n++)
		loss -= coefficient[n] * a[n];
	if (!(fabs(loss) <= LARGEST_STEP))
		return COP_EDIVERGED;
	for (size_t i = 0; i < x->nnz; i++)
		spread += (double)x->value[i] * (double)x->value[i] * look(c, x->index[i], a, pa);
	if (!isfinite(spread))
		return COP_EDIVERGED;
	for (size_t i = 0; i < x->nnz; i++)
		step(c, x->index[i], (double)x->value[i], a, loss / spread);
	return COP_OK;
}

/* ---- saved state ---- */

static bool is_touched(const cop_sparse_curve *c, size_t j) { return row_of(c, j)[DEGREES] > 0.0f; }

void cop_sparse_curve_save(const cop_sparse_curve *c, cop_bytes *bytes)
{
	uint64_t count = 0;
	for (size_t j = 0; j < c->inputs; j++)
		count += is_touched(c, j) ? 1 : 0;
	cop_bytes_put_u64(bytes, c->inputs);
	cop_bytes_put_u64(bytes, count);
	for (size_t j = 0; j < c->inputs; j++)
		if (is_touched(c, j)) {
			cop_bytes_put_u32(bytes, (uint32_t)j);
			cop_bytes_put_f32s(bytes, row_of(c, j), WIDTH);
		}
}

cop_err cop_sparse_curve_load(cop_sparse_curve *c, cop_cursor *cursor)
{
	uint64_t inputs = cop_cursor_u64(cursor), count = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (inputs != c->inputs || count > inputs)
		return COP_ESHAPE;
	memset(c->row, 0, c->inputs * WIDTH * sizeof *c->row);
	for (uint64_t i = 0, next = 0; i < count; i++) {
		uint32_t j = cop_cursor_u32(cursor);
		if (cursor->err == COP_OK && (j < next || j >= inputs))
			return COP_EFORMAT;
		if (cursor->err != COP_OK)
			return cursor->err;
		cop_cursor_f32s(cursor, row_of(c, j), WIDTH);
		if (cursor->err == COP_OK && !is_touched(c, j))
			return COP_EFORMAT;
		next = (uint64_t)j + 1;
	}
	return cursor->err;
}

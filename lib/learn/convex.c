/* With at most COP_CONVEX_MOST predictors every non-empty set is tried: v = (E + more I)^-1 1 by Cholesky's factors,
 * and a set counts only if no entry of v is negative. The sum of v is 1 / the least squared error of that set, so the
 * largest sum wins and v over its sum are the weights. E is divided by its largest variance first. Without any error,
 * or if no set can be solved, the weights are equal. */
#include "learn/convex.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

void cop_convex_settle(cop_convex *convex, double kept, const double *error)
{
	for (size_t i = 0; i < convex->count; i++)
		for (size_t j = 0; j < convex->count; j++)
			convex->together[i][j] = kept * convex->together[i][j] + error[i] * error[j];
}

/* v = M^-1 1 by Cholesky's factors, M n x n; false: it is not positive definite. */
static bool solve(size_t n, double m[COP_CONVEX_MOST][COP_CONVEX_MOST], double *v)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++) {
			for (size_t k = 0; k < j; k++)
				m[i][j] -= m[i][k] * m[j][k];
			if (i == j && !(m[i][j] > 0.0))
				return false;
			m[i][j] = i == j ? sqrt(m[i][j]) : m[i][j] / m[j][j];
		}
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = 1.0;
		for (size_t k = 0; k < i; k++)
			v[i] -= m[i][k] * v[k];
		v[i] /= m[i][i];
	}
	for (size_t i = n; i-- > 0;) {
		for (size_t k = i + 1; k < n; k++)
			v[i] -= m[k][i] * v[k];
		v[i] /= m[i][i];
	}
	return true;
}

/* 1 / the least squared error with the predictors of a set, or 0 where that would need a negative weight. E is counted
 * in units of its largest variance. */
static double try(const cop_convex *convex, unsigned set, double unit, double more, double *weight)
{
	double m[COP_CONVEX_MOST][COP_CONVEX_MOST], v[COP_CONVEX_MOST], sum = 0.0;
	size_t who[COP_CONVEX_MOST], n = 0;
	for (size_t i = 0; i < convex->count; i++)
		if ((set >> i & 1) != 0)
			who[n++] = i;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			m[i][j] = convex->together[who[i]][who[j]] / unit + (i == j ? more / unit + DBL_EPSILON : 0.0);
	if (!solve(n, m, v))
		return 0.0;
	for (size_t i = 0; i < n; i++) {
		if (!(v[i] >= 0.0))
			return 0.0;
		sum += v[i];
	}
	memset(weight, 0, convex->count * sizeof *weight);
	for (size_t i = 0; i < n; i++)
		weight[who[i]] = v[i] / sum;
	return isfinite(sum) ? sum : 0.0;
}

void cop_convex_weights(const cop_convex *convex, double more, double *weight)
{
	double unit = more, best = 0.0, some[COP_CONVEX_MOST];
	for (size_t i = 0; i < convex->count; i++) {
		unit = fmax(unit, convex->together[i][i]);
		weight[i] = 1.0 / (double)convex->count;
	}
	for (unsigned set = 1; unit > 0.0 && set < 1u << convex->count; set++) {
		double value = try(convex, set, unit, more, some);
		if (value > best) {
			best = value;
			memcpy(weight, some, convex->count * sizeof *weight);
		}
	}
}

void cop_convex_save(const cop_convex *convex, cop_bytes *bytes)
{
	for (size_t i = 0; i < convex->count; i++)
		cop_bytes_put_f64s(bytes, convex->together[i], convex->count);
}

cop_err cop_convex_load(cop_convex *convex, cop_cursor *cursor)
{
	bool sound = true;
	for (size_t i = 0; i < convex->count; i++)
		cop_cursor_f64s(cursor, convex->together[i], convex->count);
	if (cursor->err != COP_OK)
		return cursor->err;
	for (size_t i = 0; i < convex->count; i++)
		for (size_t j = 0; j < convex->count; j++)
			sound = sound && isfinite(convex->together[i][j]) && convex->together[i][i] >= 0.0 &&
			        convex->together[i][j] == convex->together[j][i];
	return sound ? COP_OK : COP_EFORMAT;
}

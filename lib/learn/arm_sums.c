/* Row j of S begins behind those of the features before it, each one number shorter than the last. */
#include "learn/arm_sums.h"

#include <string.h>

#define LACKING (-1.0)

size_t cop_arm_sums_width(size_t d) { return 2 + 2 * d + d * (d + 1) / 2; }

bool cop_arm_sums_features(size_t width, size_t *d)
{
	size_t n = 0;
	while (n < COP_ARM_SUMS_FEATURES && cop_arm_sums_width(n) < width)
		n++;
	*d = n;
	return cop_arm_sums_width(n) == width;
}

static size_t row_at(size_t d, size_t j) { return 2 + 2 * d + j * d - (j * (j + 1) / 2 - j); }

void cop_arm_sums_add(double *restrict sum, const float *restrict x, size_t d, double r)
{
	sum[0] += 1.0;
	sum[1] += r;
	double *restrict s = sum + 2, *restrict g = s + d, *restrict row = g + d;
	for (size_t j = 0; j < d; j++) {
		const double v = (double)x[j];
		s[j] += v;
		g[j] += r * v;
		for (size_t l = j; l < d; l++)
			row[l - j] += v * (double)x[l];
		row += d - j;
	}
}

void cop_arm_sums_fix(double *sum, size_t d, size_t j, double value)
{
	double *s = sum + 2, *g = s + d, *row = g + d;
	s[j] = value * sum[0];
	g[j] = value * sum[1];
	for (size_t i = 0; i < j; i++) {
		row[j - i] = value * s[i];
		row += d - i;
	}
	for (size_t l = j; l < d; l++)
		row[l - j] = value * s[l];
}

void cop_arm_sums_miss(double *sum, size_t d, size_t j)
{
	cop_arm_sums_fix(sum, d, j, 0.0);
	sum[row_at(d, j)] = LACKING;
}

bool cop_arm_sums_lacks(const double *sum, size_t d, size_t j) { return sum[row_at(d, j)] < 0.0; }

void cop_arm_sums_place(const double *sum, size_t from, double *out, size_t d)
{
	const size_t shared = from < d ? from : d;
	memset(out, 0, cop_arm_sums_width(d) * sizeof *out);
	out[0] = sum[0];
	out[1] = sum[1];
	memcpy(out + 2, sum + 2, shared * sizeof *out);
	memcpy(out + 2 + d, sum + 2 + from, shared * sizeof *out);
	for (size_t j = 0; j < shared; j++)
		memcpy(out + row_at(d, j), sum + row_at(from, j), (shared - j) * sizeof *out);
	for (size_t j = shared; j < d; j++)
		out[row_at(d, j)] = LACKING;
}

/* exp(v) is 2^whole times a polynomial of the rest; log(1 + e), e in [0, 1], is 2 artanh(e / (2 + e)). */
#include "optim/l1_loss.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LEAST_CURVATURE 1e-4F
#define FAR             87.0F /* exp(-FAR) is still a normal number */
#define BLOCK           256

/* |v| <= FAR. */
static inline __attribute__((always_inline)) float exp_near(float v)
{
	const float magic = 12582912.0F; /* 1.5 * 2^23: adding it rounds to a whole number */
	float shifted = v * 1.44269504F + magic;
	float whole = shifted - magic;
	float rest = (v - whole * 0.693359375F) + whole * 2.12194440e-4F;
	float p = 1.0F / 5040.0F;
	p = p * rest + 1.0F / 720.0F;
	p = p * rest + 1.0F / 120.0F;
	p = p * rest + 1.0F / 24.0F;
	p = p * rest + 1.0F / 6.0F;
	p = p * rest + 0.5F;
	p = p * rest + 1.0F;
	p = p * rest + 1.0F;
	uint32_t bits; /* the whole number stands in the lowest bits */
	float scale;
	memcpy(&bits, &shifted, sizeof bits);
	bits = (bits + 127U) << 23;
	memcpy(&scale, &bits, sizeof scale);
	return p * scale;
}

static inline __attribute__((always_inline)) float log_one_plus(float e)
{
	float s = e / (2.0F + e);
	float q = s * s;
	float p = 2.0F / 15.0F;
	p = p * q + 2.0F / 13.0F;
	p = p * q + 2.0F / 11.0F;
	p = p * q + 2.0F / 9.0F;
	p = p * q + 2.0F / 7.0F;
	p = p * q + 2.0F / 5.0F;
	p = p * q + 2.0F / 3.0F;
	p = p * q + 2.0F;
	return p * s;
}

/* v normal and positive: exponent and a mantissa in [0.75, 1.5), whose logarithm is 2 artanh((m - 1) / (m + 1)). */
static inline __attribute__((always_inline)) float log_positive(float v)
{
	uint32_t bits;
	memcpy(&bits, &v, sizeof bits);
	uint32_t over = bits - 0x3f400000U;
	int32_t exponent = (int32_t)over >> 23;
	bits = (over & 0x007fffffU) + 0x3f400000U;
	float m;
	memcpy(&m, &bits, sizeof m);
	float s = (m - 1.0F) / (m + 1.0F);
	float q = s * s;
	float p = 2.0F / 9.0F;
	p = p * q + 2.0F / 7.0F;
	p = p * q + 2.0F / 5.0F;
	p = p * q + 2.0F / 3.0F;
	p = p * q + 2.0F;
	return (float)exponent * 0.693147181F + p * s;
}

/* Up to BLOCK rows, so that the losses in between stay near. */
static double block_loss(size_t n, const float *a, const float *s, const float *c, float *r, float *h)
{
	float loss[BLOCK];
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		float margin = a[i] * s[i];
		float size = fabsf(margin);
		float e = exp_near(size > FAR ? -FAR : -size);
		float one = 1.0F / (1.0F + e);
		float wrong = margin < 0.0F ? one : e * one; /* 1 / (1 + exp(margin)) */
		float curvature = e * one * one;
		loss[i] = c[i] * (log_one_plus(e) + (margin < 0.0F ? size : 0.0F));
		r[i] = -c[i] * s[i] * wrong;
		h[i] = c[i] * (curvature > LEAST_CURVATURE ? curvature : LEAST_CURVATURE);
	}
	double sum = 0.0;
#pragma omp simd reduction(+ : sum)
	for (size_t i = 0; i < n; i++)
		sum += (double)loss[i];
	return sum;
}

double cop_l1_loss(size_t n, const float *a, const float *s, const float *c, float *r, float *h)
{
	double sum = 0.0;
	for (size_t i = 0; i < n; i += BLOCK)
		sum += block_loss(n - i < BLOCK ? n - i : BLOCK, a + i, s + i, c + i, r + i, h + i);
	return sum;
}

void cop_l1_loss_exp(size_t n, const float *a, const float *most, float *e, double *sum)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		float v = a[i] - most[i];
		v = v > FAR ? FAR : v;
		e[i] = exp_near(v < -FAR ? -FAR : v);
		sum[i] += (double)e[i];
	}
}

double cop_l1_loss_exps(size_t n, const float *a, float most, float *e)
{
	double sum = 0.0;
	for (size_t from = 0; from < n; from += BLOCK) {
		size_t to = n - from < BLOCK ? n : from + BLOCK;
		float part = 0.0F;
#pragma omp simd reduction(+ : part)
		for (size_t k = from; k < to; k++) {
			float v = a[k] - most;
			e[k] = exp_near(v < -FAR ? -FAR : v > FAR ? FAR : v);
			part += e[k];
		}
		sum += (double)part;
	}
	return sum;
}

void cop_l1_loss_odds(size_t n, const float *a, const float *most, const float *e, const double *sum, float *margin)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		float others = (float)(sum[i] - (double)e[i]);
		margin[i] = (a[i] - most[i]) - log_positive(others > FLT_MIN ? others : FLT_MIN);
	}
}

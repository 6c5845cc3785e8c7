/* exp(v), v <= 0, is 2^whole times a polynomial of the rest; log(1 + e), e in [0, 1], is 2 artanh(e / (2 + e)). */
#include "optim/l1_loss.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LEAST_CURVATURE 1e-4F
#define FAR             87.0F /* exp(-FAR) is still a normal number */
#define BLOCK           256

static inline __attribute__((always_inline)) float exp_negative(float v)
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

/* Up to BLOCK rows, so that the losses in between stay near. */
static double block_loss(size_t n, const float *a, const float *s, const float *c, float *r, float *h)
{
	float loss[BLOCK];
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		float margin = a[i] * s[i];
		float size = fabsf(margin);
		float e = exp_negative(size > FAR ? -FAR : -size);
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

/* Two passes over the heap. Bottom-up, U(t) of the decision nodes goes to the workspace (the leaves' U is u itself).
 * Top-down, da[t] holds P(t) until node t is visited; there the children get theirs and da[t] becomes the gradient. */
#include "tree/dgt.h"

#include <math.h>

#include "base/assert.h"

float cop_dgt_agree(double fac) { return (float)(1.0 / (1.0 + exp(-2.0 * fac))); }

void cop_dgt_leaves(unsigned h, size_t m, const float *a, uint32_t *leaf)
{
	COP_ASSERT(h >= 1 && h <= COP_DGT_MAX_HEIGHT);
	uint32_t n = (UINT32_C(1) << h) - 1;
	for (size_t j = 0; j < m; j++) {
		uint32_t t = 0;
		while (t < n)
			t = 2 * t + 1 + (a[t * m + j] >= 0.0f);
		leaf[j] = t - n;
	}
}

size_t cop_dgt_work(unsigned h, size_t m)
{
	COP_ASSERT(h >= 1 && h <= COP_DGT_MAX_HEIGHT);
	return (((size_t)1 << h) - 1) * m;
}

/* One node of the bottom-up pass. */
static void gather(size_t m, float p, const float *restrict a, const float *restrict left, const float *restrict right,
        float *restrict out)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		float to_right = a[j] >= 0.0f ? p : q;
		float to_left = a[j] >= 0.0f ? q : p;
		out[j] = to_left * left[j] + to_right * right[j];
	}
}

/* One node of the top-down pass: da holds P(t) on entry, the gradient on exit; p_left, p_right get the children's P. */
static void spread(size_t m, float p, const float *restrict a, const float *restrict root, const float *restrict left,
        const float *restrict right, float *restrict da, float *restrict p_left, float *restrict p_right)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		float pr = da[j] * (a[j] >= 0.0f ? p : q);
		float pl = da[j] * (a[j] >= 0.0f ? q : p);
		float d = pr * (right[j] - root[j]) - pl * (left[j] - root[j]);
		p_left[j] = pl;
		p_right[j] = pr;
		da[j] = fabsf(a[j]) <= 1.0f ? d : 0.0f;
	}
}

/* The same for a node whose children are leaves: nobody wants their P. */
static void spread_last(size_t m, float p, const float *restrict a, const float *restrict root,
        const float *restrict left, const float *restrict right, float *restrict da)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t j = 0; j < m; j++) {
		float pr = da[j] * (a[j] >= 0.0f ? p : q);
		float pl = da[j] * (a[j] >= 0.0f ? q : p);
		float d = pr * (right[j] - root[j]) - pl * (left[j] - root[j]);
		da[j] = fabsf(a[j]) <= 1.0f ? d : 0.0f;
	}
}

void cop_dgt_backward(unsigned h, size_t m, float p, const float *a, const float *u, float *work, float *da)
{
	COP_ASSERT(h >= 1 && h <= COP_DGT_MAX_HEIGHT);
	size_t n = ((size_t)1 << h) - 1;
	size_t inner = n / 2; /* nodes [inner, n) have leaves as children, the first of them leaf 2t+1-n */
	for (size_t t = n; t-- > inner;)
		gather(m, p, a + t * m, u + (2 * t + 1 - n) * m, u + (2 * t + 2 - n) * m, work + t * m);
	for (size_t t = inner; t-- > 0;)
		gather(m, p, a + t * m, work + (2 * t + 1) * m, work + (2 * t + 2) * m, work + t * m);
	for (size_t j = 0; j < m; j++)
		da[j] = 1.0f;
	for (size_t t = 0; t < inner; t++) {
		size_t left = (2 * t + 1) * m, right = (2 * t + 2) * m;
		spread(m, p, a + t * m, work, work + left, work + right, da + t * m, da + left, da + right);
	}
	for (size_t t = inner; t < n; t++) {
		size_t left = (2 * t + 1 - n) * m, right = (2 * t + 2 - n) * m;
		spread_last(m, p, a + t * m, work, u + left, u + right, da + t * m);
	}
}

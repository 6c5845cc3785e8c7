/* linalg/kernel_simd.h: the kernels' one source; each kernel_<isa>.c defines COP_KERNEL_NAME and COP_KERNEL_SYMBOL,
 * is compiled with that instruction set, and includes it once.
 *
 * A vec is always 16 lanes, whatever registers hold it, so the order of every sum is the same everywhere. Columns are
 * taken in panels of WIDE vecs that stay in registers while the features stream by. */
#include <math.h>
#include <string.h>

#include "linalg/kernel.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#ifdef __AVX512F__
#define WIDE 8
#else
#define WIDE 4
#endif

#define LANES COP_KERNEL_LANES

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vec_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float vec_block __attribute__((vector_size(4 * LANES), aligned(64), may_alias));

#define LOAD(p)     (*(const vec_block *)(p))
#define LOAD_ANY(p) (*(const vec_any *)(p))
#define STORE(p, v) (*(vec_block *)(p) = (v))
#define INLINE      static inline __attribute__((always_inline))

/* 1/sqrt(v), v > 0, to about 22 bits where the processor estimates it, exact otherwise. */
INLINE void rsqrt(const vec *v, vec *out)
{
#ifdef __AVX512F__
	__m512 x;
	memcpy(&x, v, sizeof x);
	__m512 estimate = _mm512_rsqrt14_ps(x);
	memcpy(out, &estimate, sizeof *out);
	*out = *out * (1.5f - 0.5f * *v * *out * *out);
#elif defined(__AVX2__)
	__m256 x[2];
	memcpy(x, v, sizeof x);
	x[0] = _mm256_rsqrt_ps(x[0]);
	x[1] = _mm256_rsqrt_ps(x[1]);
	memcpy(out, x, sizeof *out);
	*out = *out * (1.5f - 0.5f * *v * *out * *out);
#else
	for (int i = 0; i < LANES; i++)
		(*out)[i] = 1.0f / sqrtf((*v)[i]);
#endif
}

INLINE float fold(const vec *v)
{
	float lane[LANES];
	memcpy(lane, v, sizeof lane);
	for (int half = LANES / 2; half > 0; half /= 2)
		for (int i = 0; i < half; i++)
			lane[i] += lane[i + half];
	return lane[0];
}

static float dot(size_t n, const float *x, const float *y)
{
	vec s0 = { 0 };
	vec s1 = { 0 };
	size_t i = 0;
	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		s0 += LOAD_ANY(x + i) * LOAD_ANY(y + i);
		s1 += LOAD_ANY(x + i + LANES) * LOAD_ANY(y + i + LANES);
	}
	for (; i < n; i += LANES) {
		size_t left = n - i < LANES ? n - i : LANES;
		float tail[2][LANES] = { { 0 } };
		memcpy(tail[0], x + i, left * sizeof *x);
		memcpy(tail[1], y + i, left * sizeof *y);
		s0 += LOAD_ANY(tail[0]) * LOAD_ANY(tail[1]);
	}
	s0 += s1;
	return fold(&s0);
}

/* One panel of `width` vecs: index NULL means all features in order. */
INLINE void forward_panel(
        int width, size_t d, const uint32_t *index, const float *x, size_t n, const float *w, float *a)
{
	vec sum[WIDE];
	for (int v = 0; v < width; v++)
		sum[v] = LOAD(a + v * LANES);
	for (size_t j = 0; j < d; j++) {
		const float *row = w + (index == NULL ? j : index[j]) * n;
		for (int v = 0; v < width; v++)
			sum[v] += x[j] * LOAD(row + v * LANES);
	}
	for (int v = 0; v < width; v++)
		STORE(a + v * LANES, sum[v]);
}

INLINE void forward_any(size_t d, const uint32_t *index, const float *x, size_t n, const float *w, float *a)
{
	size_t i = 0;
	for (; i + WIDE * LANES <= n; i += WIDE * LANES)
		forward_panel(WIDE, d, index, x, n, w + i, a + i);
	for (; i + 2 * LANES <= n; i += 2 * LANES)
		forward_panel(2, d, index, x, n, w + i, a + i);
	for (; i < n; i += LANES)
		forward_panel(1, d, index, x, n, w + i, a + i);
}

static void forward(size_t d, size_t n, const float *x, const float *w, float *a) { forward_any(d, NULL, x, n, w, a); }

static void forward_sparse(size_t nnz, const uint32_t *index, const float *x, size_t n, const float *w, float *a)
{
	forward_any(nnz, index, x, n, w, a);
}

INLINE void rank1_any(size_t d, const uint32_t *index, const float *x, size_t n, const float *g, float *w)
{
	for (size_t j = 0; j < d; j++) {
		float *row = w + (index == NULL ? j : index[j]) * n;
		for (size_t i = 0; i < n; i += LANES)
			STORE(row + i, LOAD(row + i) + x[j] * LOAD(g + i));
	}
}

static void rank1(size_t d, size_t n, const float *x, const float *g, float *w) { rank1_any(d, NULL, x, n, g, w); }

static void rank1_sparse(size_t nnz, const uint32_t *index, const float *x, size_t n, const float *g, float *w)
{
	rank1_any(nnz, index, x, n, g, w);
}

INLINE void adagrad_any(
        size_t d, const uint32_t *index, const float *x, size_t n, const float *g, float eta, float *w, float *s)
{
	for (size_t j = 0; j < d; j++) {
		size_t at = (index == NULL ? j : index[j]) * n;
		for (size_t i = 0; i < n; i += LANES) {
			vec gradient = x[j] * LOAD(g + i);
			vec sum = LOAD(s + at + i) + gradient * gradient;
			vec scale;
			rsqrt(&sum, &scale);
			STORE(s + at + i, sum);
			STORE(w + at + i, LOAD(w + at + i) - eta * gradient * scale);
		}
	}
}

static void adagrad(size_t d, size_t n, const float *x, const float *g, float eta, float *w, float *s)
{
	adagrad_any(d, NULL, x, n, g, eta, w, s);
}

static void adagrad_sparse(
        size_t nnz, const uint32_t *index, const float *x, size_t n, const float *g, float eta, float *w, float *s)
{
	adagrad_any(nnz, index, x, n, g, eta, w, s);
}

const cop_kernel COP_KERNEL_SYMBOL = {
	.name = COP_KERNEL_NAME,
	.dot = dot,
	.forward = forward,
	.forward_sparse = forward_sparse,
	.rank1 = rank1,
	.rank1_sparse = rank1_sparse,
	.adagrad = adagrad,
	.adagrad_sparse = adagrad_sparse,
};

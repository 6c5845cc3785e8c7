/* linalg/kernel_simd.h: the kernels' one source; each kernel_<isa>.c defines COP_KERNEL_NAME and COP_KERNEL_SYMBOL,
 * is compiled with that instruction set, and includes it once.
 *
 * A vec is one register of LANES floats. Columns are independent of one another, so their sums do not depend on LANES;
 * a dot product always runs in COP_KERNEL_LANES lanes, whatever number of registers holds them. Columns are taken in
 * panels of WIDE vecs that stay in registers while the features stream by. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/kernel.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#ifdef __AVX512F__
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#define WIDE  8
#define SPLIT (COP_KERNEL_LANES / LANES) /* vecs that a dot product's lanes take */

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES))); /* all bits of a lane, or none */
typedef float vec_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float vec_block __attribute__((vector_size(4 * LANES), aligned(4 * LANES), may_alias));

#define LOAD(p)     (*(const vec_block *)(p))
#define LOAD_ANY(p) (*(const vec_any *)(p))
#define STORE(p, v) (*(vec_block *)(p) = (v))
#define INLINE      static inline __attribute__((always_inline))

/* 1/sqrt(v), v in (0, FLT_MAX], to about 22 bits where the processor estimates it, exact otherwise. */
INLINE vec rsqrt(vec v)
{
#ifdef __AVX512F__
	vec estimate = (vec)_mm512_rsqrt14_ps((__m512)v);
	return estimate * (1.5f - 0.5f * v * estimate * estimate);
#elif defined(__AVX2__)
	vec estimate = (vec)_mm256_rsqrt_ps((__m256)v);
	return estimate * (1.5f - 0.5f * v * estimate * estimate);
#else
	vec out;
	for (int i = 0; i < LANES; i++)
		out[i] = 1.0f / sqrtf(v[i]);
	return out;
#endif
}

INLINE vec root(vec v)
{
#ifdef __AVX512F__
	return (vec)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
	return (vec)_mm256_sqrt_ps((__m256)v);
#else
	vec out;
	for (int i = 0; i < LANES; i++)
		out[i] = sqrtf(v[i]);
	return out;
#endif
}

/* Lanes above FLT_MAX, and NaN, become FLT_MAX: the square root of infinity would make a weight NaN. */
INLINE vec capped(vec v)
{
#ifdef __AVX512F__
	return (vec)_mm512_min_ps((__m512)v, _mm512_set1_ps(FLT_MAX));
#elif defined(__AVX2__)
	return (vec)_mm256_min_ps((__m256)v, _mm256_set1_ps(FLT_MAX));
#else
	mask fits = v < FLT_MAX;
	return (vec)((fits & (mask)v) | (~fits & (mask)((vec){ 0 } + FLT_MAX)));
#endif
}

INLINE float fold(const vec *v)
{
	float lane[COP_KERNEL_LANES];
	memcpy(lane, v, sizeof lane);
	for (int half = COP_KERNEL_LANES / 2; half > 0; half /= 2)
		for (int i = 0; i < half; i++)
			lane[i] += lane[i + half];
	return lane[0];
}

INLINE void dot_block(const float *x, const float *y, vec *sum)
{
	for (int v = 0; v < SPLIT; v++)
		sum[v] += LOAD_ANY(x + v * LANES) * LOAD_ANY(y + v * LANES);
}

/* Two rows of lanes, taken in turn. */
static float dot(size_t n, const float *x, const float *y)
{
	vec even[SPLIT] = { { 0 } };
	vec odd[SPLIT] = { { 0 } };
	size_t i = 0;
	for (; i + 2 * COP_KERNEL_LANES <= n; i += 2 * COP_KERNEL_LANES) {
		dot_block(x + i, y + i, even);
		dot_block(x + i + COP_KERNEL_LANES, y + i + COP_KERNEL_LANES, odd);
	}
	for (; i < n; i += COP_KERNEL_LANES) {
		size_t left = n - i < COP_KERNEL_LANES ? n - i : COP_KERNEL_LANES;
		float tail[2][COP_KERNEL_LANES] = { { 0 } };
		memcpy(tail[0], x + i, left * sizeof *x);
		memcpy(tail[1], y + i, left * sizeof *y);
		dot_block(tail[0], tail[1], even);
	}
	for (int v = 0; v < SPLIT; v++)
		even[v] += odd[v];
	return fold(even);
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
			vec sum = capped(LOAD(s + at + i) + gradient * gradient);
			STORE(s + at + i, sum);
			STORE(w + at + i, LOAD(w + at + i) - eta * gradient * rsqrt(sum));
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

INLINE void rmsprop_lanes(const cop_kernel_rmsprop *c, vec g, vec *w, vec *s)
{
	*s = c->alpha * *s + c->rest * (g * g);
	*w -= c->lr * g / (root(*s + c->in) + c->out);
}

static void rmsprop(size_t n, const cop_kernel_rmsprop *c, const float *g, float *w, float *s)
{
	size_t i = 0;
	vec weight, state;
	for (; i + LANES <= n; i += LANES) {
		weight = LOAD_ANY(w + i);
		state = LOAD_ANY(s + i);
		rmsprop_lanes(c, LOAD_ANY(g + i), &weight, &state);
		*(vec_any *)(w + i) = weight;
		*(vec_any *)(s + i) = state;
	}
	if (i == n)
		return;
	float tail[3][LANES] = { { 0 } };
	size_t bytes = (n - i) * sizeof *w;
	memcpy(tail[0], g + i, bytes);
	memcpy(tail[1], w + i, bytes);
	memcpy(tail[2], s + i, bytes);
	weight = LOAD_ANY(tail[1]);
	state = LOAD_ANY(tail[2]);
	rmsprop_lanes(c, LOAD_ANY(tail[0]), &weight, &state);
	memcpy(w + i, &weight, bytes);
	memcpy(s + i, &state, bytes);
}

/* Nodes of one level, their children's values side by side. */
INLINE void gather_level(
        size_t nodes, float p, const float *restrict a, const float *restrict child, float *restrict out)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t i = 0; i < nodes; i++) {
		float left = child[2 * i];
		float right = child[2 * i + 1];
		out[i] = a[i] >= 0.0f ? q * left + p * right : p * left + q * right;
	}
}

/* da holds P on entry, the gradient on exit; p_child (NULL under the last level) gets the children's P. */
INLINE void spread_level(size_t nodes, float p, float root, const float *restrict a, const float *restrict child,
        float *restrict da, float *restrict p_child)
{
	float q = 1.0f - p;
#pragma omp simd
	for (size_t i = 0; i < nodes; i++) {
		float pr = da[i] * (a[i] >= 0.0f ? p : q);
		float pl = da[i] * (a[i] >= 0.0f ? q : p);
		float d = pr * (child[2 * i + 1] - root) - pl * (child[2 * i] - root);
		if (p_child != NULL) {
			p_child[2 * i] = pl;
			p_child[2 * i + 1] = pr;
		}
		da[i] = fabsf(a[i]) <= 1.0f ? d : 0.0f;
	}
}

static void tree_backward(unsigned h, float p, const float *a, const float *u, float *work, float *da)
{
	size_t first = ((size_t)1 << (h - 1)) - 1;
	gather_level(first + 1, p, a + first, u, work + first);
	for (size_t nodes = (first + 1) / 2; nodes > 0; nodes /= 2)
		gather_level(nodes, p, a + nodes - 1, work + 2 * nodes - 1, work + nodes - 1);
	da[0] = 1.0f;
	for (size_t nodes = 1; nodes <= first; nodes *= 2)
		spread_level(
		        nodes, p, work[0], a + nodes - 1, work + 2 * nodes - 1, da + nodes - 1, da + 2 * nodes - 1);
	spread_level(first + 1, p, work[0], a + first, u, da + first, NULL);
}

static void standardise(size_t d, double count, const double *restrict mean, const double *restrict m2,
        float *restrict shift, float *restrict scale)
{
	const double largest = 1.0 / (double)FLT_MIN; /* beyond it, a float is or soon becomes infinite */
	double share = 1.0 / count;
#pragma omp simd
	for (size_t j = 0; j < d; j++) {
		double variance = m2[j] * share;
		double inverse = 1.0 / sqrt(variance > 0.0 ? variance : 1.0);
		inverse = variance > 1e-12 * (mean[j] * mean[j]) ? inverse : 0.0;
		inverse = inverse <= largest ? inverse : 0.0;
		shift[j] = (float)mean[j];
		scale[j] = (float)inverse;
	}
}

/* Without their sign, floats compare as integers, and NaN is above all. */
static bool within(size_t n, const float *x, float bound)
{
	int32_t most = 0;
	int32_t limit;
	memcpy(&limit, &bound, sizeof limit);
#pragma omp simd reduction(max : most)
	for (size_t i = 0; i < n; i++) {
		int32_t bits;
		memcpy(&bits, x + i, sizeof bits);
		bits &= INT32_MAX;
		most = bits > most ? bits : most;
	}
	return most <= limit;
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
	.rmsprop = rmsprop,
	.tree_backward = tree_backward,
	.standardise = standardise,
	.within = within,
};

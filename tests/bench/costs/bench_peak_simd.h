/* tests/bench/costs/bench_peak_simd.h: the one source of the peaks; each bench_peak_<isa>.c defines PEAK_NAME and
 * PEAK_SYMBOL, is compiled with that instruction set, and includes it once. */
#include <stdint.h>

#include "bench_peak.h"

#ifdef __AVX512F__
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#define CHAINS 12 /* covers the latency of two units, within 16 registers */
#define STREAM 8

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t bits __attribute__((vector_size(4 * LANES)));
typedef float vec_block __attribute__((vector_size(4 * LANES), aligned(4 * LANES), may_alias));

static double multiply_add(size_t rounds, float *sink)
{
	vec sum[CHAINS];
	vec factor = { 0 }, step = { 0 };
	factor += sink[0];
	step += sink[1];
	for (int i = 0; i < CHAINS; i++)
		sum[i] = step * (float)i;
	for (size_t r = 0; r < rounds; r++)
		for (int i = 0; i < CHAINS; i++)
			sum[i] = sum[i] * factor + step;
	vec all = { 0 };
	for (int i = 0; i < CHAINS; i++)
		all += sum[i];
	sink[2] = all[0];
	return 2.0 * LANES * CHAINS * (double)rounds;
}

static inline void load_lanes(size_t n, const float *x, bits *any)
{
	size_t i = 0;
	for (; i + (size_t)STREAM * LANES <= n; i += (size_t)STREAM * LANES)
		for (size_t k = 0; k < STREAM; k++)
			any[k] |= (bits) * (const vec_block *)(x + i + k * LANES);
	for (; i + (size_t)STREAM / 2 * LANES <= n; i += (size_t)STREAM / 2 * LANES)
		for (size_t k = 0; k < STREAM / 2; k++)
			any[k] |= (bits) * (const vec_block *)(x + i + k * LANES);
	for (; i < n; i += LANES)
		any[0] |= (bits) * (const vec_block *)(x + i);
}

/* Makes the compiler believe that what was read matters. */
static inline void use(const bits *any)
{
	for (int k = 0; k < STREAM; k++)
		__asm__ volatile("" : : "m"(any[k]));
}

static void load(size_t n, const float *x)
{
	bits any[STREAM] = { { 0 } };
	load_lanes(n, x, any);
	use(any);
}

static inline void ask(const float *row, size_t n)
{
	for (size_t i = 0; i < n; i += 16)
		__builtin_prefetch(row + i);
}

static void load_rows(size_t count, const uint32_t *index, size_t ahead, size_t n, const float *x)
{
	bits any[STREAM] = { { 0 } };
	for (size_t j = 0; j < count; j++) {
		if (ahead > 0 && j + ahead < count)
			ask(x + index[j + ahead] * n, n);
		load_lanes(n, x + index[j] * n, any);
	}
	use(any);
}

static inline void update_lanes(size_t n, float *x, vec zero)
{
	size_t i = 0;
	for (; i + (size_t)STREAM * LANES <= n; i += (size_t)STREAM * LANES)
		for (size_t k = 0; k < STREAM; k++)
			*(vec_block *)(x + i + k * LANES) += zero;
	for (; i + (size_t)STREAM / 2 * LANES <= n; i += (size_t)STREAM / 2 * LANES)
		for (size_t k = 0; k < STREAM / 2; k++)
			*(vec_block *)(x + i + k * LANES) += zero;
	for (; i < n; i += LANES)
		*(vec_block *)(x + i) += zero;
}

/* Nothing, which the compiler does not know. */
static inline vec hidden_zero(void)
{
	vec zero = { 0 };
	__asm__ volatile("" : "+m"(zero));
	return zero;
}

static void update(size_t n, float *x) { update_lanes(n, x, hidden_zero()); }

static void update_rows(size_t count, const uint32_t *index, size_t ahead, size_t n, float *x)
{
	vec zero = hidden_zero();
	for (size_t j = 0; j < count; j++) {
		if (ahead > 0 && j + ahead < count)
			ask(x + index[j + ahead] * n, n);
		update_lanes(n, x + index[j] * n, zero);
	}
}

const cop_bench_peak PEAK_SYMBOL = {
	.name = PEAK_NAME,
	.multiply_add = multiply_add,
	.load = load,
	.update = update,
	.load_rows = load_rows,
	.update_rows = update_rows,
};

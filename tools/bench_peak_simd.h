/* tools/bench_peak_simd.h: the one source of the peaks; each bench_peak_<isa>.c defines PEAK_NAME and PEAK_SYMBOL, is
 * compiled with that instruction set, and includes it once. */
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
typedef int32_t bits_block __attribute__((vector_size(4 * LANES), aligned(4 * LANES), may_alias));

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

static void load(size_t n, const float *x, float *sink)
{
	bits any[STREAM] = { { 0 } };
	for (size_t i = 0; i < n; i += (size_t)STREAM * LANES)
		for (size_t k = 0; k < STREAM; k++)
			any[k] |= *(const bits_block *)(x + i + k * LANES);
	for (int k = 1; k < STREAM; k++)
		any[0] |= any[k];
	sink[2] = (float)any[0][0];
}

static void update(size_t n, float *x)
{
	vec zero = { 0 };
	__asm__ volatile("" : "+m"(zero)); /* an addition that is not seen to change nothing */
	for (size_t i = 0; i < n; i += (size_t)STREAM * LANES)
		for (size_t k = 0; k < STREAM; k++)
			*(vec_block *)(x + i + k * LANES) += zero;
}

const cop_bench_peak PEAK_SYMBOL = {
	.name = PEAK_NAME,
	.multiply_add = multiply_add,
	.load = load,
	.update = update,
};

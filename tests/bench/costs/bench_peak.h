/* tests/bench/costs/bench_peak.h: what the processor can do at most, measured: multiply-adds out of registers, and
 * reading or rewriting so many bytes in order. One row per instruction set, named as the kernels' tables
 * (linalg/kernel.h). */
#ifndef COP_COSTS_BENCH_PEAK_H
#define COP_COSTS_BENCH_PEAK_H

#include <stddef.h>
#include <stdint.h>

typedef struct cop_bench_peak {
	const char *name;
	/* `rounds` times so many independent multiply-adds; returns the floating-point operations done. */
	double (*multiply_add)(size_t rounds, float *sink);
	/* Reads, or rewrites each with its own value, n floats in order; x aligned to 64 bytes, n a multiple of 16. */
	void (*load)(size_t n, const float *x);
	void (*update)(size_t n, float *x);
	/* The same of `count` rows of n floats in the order of their indices, asking for a row `ahead` rows before its
	 * turn (0: not at all). */
	void (*load_rows)(size_t count, const uint32_t *index, size_t ahead, size_t n, const float *x);
	void (*update_rows)(size_t count, const uint32_t *index, size_t ahead, size_t n, float *x);
} cop_bench_peak;

extern const cop_bench_peak cop_bench_peak_plain;
#ifdef __x86_64__
extern const cop_bench_peak cop_bench_peak_avx2;
extern const cop_bench_peak cop_bench_peak_avx512;
#endif
#ifdef __aarch64__
extern const cop_bench_peak cop_bench_peak_neon;
#endif

/* Of the kernels of that name; NULL when there is none. */
const cop_bench_peak *cop_bench_peak_find(const char *name);

/* Measured, the best of some rounds: multiply-adds, and bytes read, or rewritten (which counts each twice), in order in
 * an array of n floats (n a multiple of 16, borrowed). */
double cop_bench_peak_gflops(const cop_bench_peak *peak);
double cop_bench_peak_read_gbytes(const cop_bench_peak *peak, size_t n, const float *x);
double cop_bench_peak_rewrite_gbytes(const cop_bench_peak *peak, size_t n, float *x);

#endif

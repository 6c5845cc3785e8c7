/* tests/bench/costs/bench_peak_neon.c: compiled for that instruction set; empty elsewhere. */
#include "bench_peak.h"

#ifdef __aarch64__
#define PEAK_NAME   "neon"
#define PEAK_SYMBOL cop_bench_peak_neon
#include "bench_peak_simd.h"
#else
typedef int cop_bench_peak_neon_absent;
#endif

/* tests/bench/costs/bench_peak_avx512.c: compiled for that instruction set; empty elsewhere. */
#include "bench_peak.h"

#ifdef __x86_64__
#define PEAK_NAME   "avx512"
#define PEAK_SYMBOL cop_bench_peak_avx512
#include "bench_peak_simd.h"
#else
typedef int cop_bench_peak_avx512_absent;
#endif

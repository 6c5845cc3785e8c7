/* tests/bench/costs/bench_peak_plain.c: portable C. */
#define PEAK_NAME   "plain"
#define PEAK_SYMBOL cop_bench_peak_plain
#include "bench_peak_simd.h"

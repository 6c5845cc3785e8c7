/* Every column on its own: m2 gains (x - mean before) (x - mean after), which is never negative up to rounding. The
 * vector forms divide and multiply in the same order for each column as the plain one, four or eight columns at a
 * time; those beyond d are read as 0 and lie in padding. */
#include "linalg/welford.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static void add_plain(size_t d, const float *x, double *rows, double *mean, double *m2)
{
#pragma omp simd
	for (size_t j = 0; j < d; j++) {
		double value = (double)x[j];
		double before = value - mean[j];
		rows[j] += 1.0;
		mean[j] += before * (1.0 / rows[j]);
		m2[j] += before * (value - mean[j]);
	}
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_avx2(size_t d, const float *x, double *rows, double *mean, double *m2)
{
	const __m256d one = _mm256_set1_pd(1.0);
	for (size_t j = 0; j < d; j += 4) {
		float last[4] = { 0.0F };
		if (d - j < 4)
			memcpy(last, x + j, (d - j) * sizeof *x);
		__m256d value = _mm256_cvtps_pd(_mm_loadu_ps(d - j < 4 ? last : x + j));
		__m256d before = _mm256_sub_pd(value, _mm256_loadu_pd(mean + j));
		__m256d count = _mm256_add_pd(_mm256_loadu_pd(rows + j), one);
		__m256d part = _mm256_div_pd(one, count);
		__m256d now = _mm256_add_pd(_mm256_loadu_pd(mean + j), _mm256_mul_pd(before, part));
		__m256d product = _mm256_mul_pd(before, _mm256_sub_pd(value, now));
		_mm256_storeu_pd(rows + j, count);
		_mm256_storeu_pd(mean + j, now);
		_mm256_storeu_pd(m2 + j, _mm256_add_pd(_mm256_loadu_pd(m2 + j), product));
	}
}

__attribute__((target("avx512f,avx512vl"))) static void add_avx512(
        size_t d, const float *x, double *rows, double *mean, double *m2)
{
	const __m512d one = _mm512_set1_pd(1.0);
	for (size_t j = 0; j < d; j += 8) {
		unsigned there = d - j < 8 ? (1u << (d - j)) - 1 : 0xffu;
		__m512d value = _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)there, x + j));
		__m512d before = _mm512_sub_pd(value, _mm512_loadu_pd(mean + j));
		__m512d count = _mm512_add_pd(_mm512_loadu_pd(rows + j), one);
		__m512d part = _mm512_div_pd(one, count);
		__m512d now = _mm512_add_pd(_mm512_loadu_pd(mean + j), _mm512_mul_pd(before, part));
		__m512d product = _mm512_mul_pd(before, _mm512_sub_pd(value, now));
		_mm512_storeu_pd(rows + j, count);
		_mm512_storeu_pd(mean + j, now);
		_mm512_storeu_pd(m2 + j, _mm512_add_pd(_mm512_loadu_pd(m2 + j), product));
	}
}
#endif

cop_welford_add *cop_welford_plain(void) { return add_plain; }

cop_welford_add *cop_welford_best(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		return add_avx512;
	if (__builtin_cpu_supports("avx2"))
		return add_avx2;
#endif
	return add_plain;
}

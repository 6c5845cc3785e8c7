/* Without a branch on what the sizes are: each entry, with its place in the row, sinks through the three heaviest so
 * far of each column. */
#include "linalg/top_terms.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define COLUMNS COP_TOP_TERMS_COLUMNS

_Static_assert(COP_TOP_TERMS_MOST == 3, "the vector variant has two registers for each");
_Static_assert(COP_TOP_TERMS_COLUMNS == 8, "the vector variant has a lane for each");

static void find_plain(cop_top_terms *h, const cop_row *x)
{
	size_t entries = cop_row_entries(x);
	for (size_t c = 0; c < COLUMNS; c++) {
		float size[3] = { 0.0F, 0.0F, 0.0F };
		int32_t entry[3] = { -1, -1, -1 };
		for (size_t i = 0; i < entries; i++) {
			const float *w = h->w + cop_row_index(x, i) * h->stride;
			float one = fabsf(w[h->column[c]] * cop_row_value(x, i));
			size_t at = one > size[0] ? 0 : one > size[1] ? 1 : one > size[2] ? 2 : 3;
			for (size_t k = 2; k > at; k--) {
				size[k] = size[k - 1];
				entry[k] = entry[k - 1];
			}
			if (at < 3) {
				size[at] = one;
				entry[at] = (int32_t)i;
			}
		}
		for (size_t k = 0; k < 3; k++)
			h->entry[k][c] = entry[k];
	}
}

#if defined(__x86_64__)
typedef struct ranks {
	__m256 size[3];
	__m256 entry[3]; /* bits of integers */
} ranks;

__attribute__((target("avx2"), always_inline)) static inline void sink(ranks *r, __m256 size, __m256 entry)
{
	__m256 above0 = _mm256_cmp_ps(size, r->size[0], _CMP_GT_OQ);
	__m256 above1 = _mm256_cmp_ps(size, r->size[1], _CMP_GT_OQ);
	__m256 above2 = _mm256_cmp_ps(size, r->size[2], _CMP_GT_OQ);
	__m256 two = _mm256_min_ps(r->size[0], size);
	__m256 three = _mm256_min_ps(r->size[1], two);
	r->entry[2] = _mm256_blendv_ps(_mm256_blendv_ps(r->entry[2], entry, above2), r->entry[1], above1);
	r->entry[1] = _mm256_blendv_ps(_mm256_blendv_ps(r->entry[1], entry, above1), r->entry[0], above0);
	r->entry[0] = _mm256_blendv_ps(r->entry[0], entry, above0);
	r->size[2] = _mm256_max_ps(r->size[2], three);
	r->size[1] = _mm256_max_ps(r->size[1], two);
	r->size[0] = _mm256_max_ps(r->size[0], size);
}

__attribute__((target("avx2"))) static void find_avx2(cop_top_terms *h, const cop_row *x)
{
	const __m256 sign = _mm256_set1_ps(-0.0F);
	const __m256 none = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
	const __m256 zero = _mm256_setzero_ps();
	ranks r = { { zero, zero, zero }, { none, none, none } };
	const int32_t *at = h->column; /* read one by one: a gather takes twice as long (Zen 5) */
	size_t entries = cop_row_entries(x);
	for (size_t i = 0; i < entries; i++) {
		const float *w = h->w + cop_row_index(x, i) * h->stride;
		__m256 weights =
		        _mm256_setr_ps(w[at[0]], w[at[1]], w[at[2]], w[at[3]], w[at[4]], w[at[5]], w[at[6]], w[at[7]]);
		__m256 value = _mm256_set1_ps(cop_row_value(x, i));
		__m256 size = _mm256_andnot_ps(sign, _mm256_mul_ps(weights, value));
		sink(&r, size, _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)i)));
	}
	for (size_t k = 0; k < 3; k++)
		memcpy(h->entry[k], &r.entry[k], sizeof h->entry[k]);
}
#endif

cop_top_terms_find *cop_top_terms_plain(void) { return find_plain; }

cop_top_terms_find *cop_top_terms_best(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return find_avx2;
#endif
	return find_plain;
}

/* Without a branch on what the sizes are: each entry's size sinks through the three heaviest, the smaller of two going
 * on; only then is each entry's compared with the last of them. */
#include "linalg/heaviest.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MOST    COP_HEAVIEST_MOST
#define COLUMNS COP_HEAVIEST_COLUMNS

_Static_assert(COP_HEAVIEST_MOST == 3, "the vector variant has a register for each");
_Static_assert(COP_HEAVIEST_COLUMNS == 8, "a hit is a bit of a byte");

static void block_plain(cop_heaviest *h, const cop_row *x, size_t first, size_t count, uint8_t *hits)
{
	float size[COP_HEAVIEST_BLOCK];
	memset(hits, 0, count);
	for (size_t c = 0; c < COLUMNS; c++) {
		float a = h->size[0][c];
		float b = h->size[1][c];
		float last = h->size[2][c];
		for (size_t i = 0; i < count; i++) {
			const float *w = h->w + cop_row_index(x, first + i) * h->stride;
			float one = fabsf(w[h->column[c]] * cop_row_value(x, first + i));
			size[i] = one;
			float two = a < one ? a : one;
			float three = b < two ? b : two;
			a = a > one ? a : one;
			b = b > two ? b : two;
			last = last > three ? last : three;
		}
		for (size_t i = 0; i < count; i++)
			hits[i] = (uint8_t)(hits[i] | (size[i] >= last ? 1u << c : 0u));
		h->size[0][c] = a;
		h->size[1][c] = b;
		h->size[2][c] = last;
	}
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void block_avx2(
        cop_heaviest *h, const cop_row *x, size_t first, size_t count, uint8_t *hits)
{
	float size[COP_HEAVIEST_BLOCK][COLUMNS];
	const __m256 sign = _mm256_set1_ps(-0.0F);
	__m256i column;
	memcpy(&column, h->column, sizeof column);
	__m256 a = _mm256_loadu_ps(h->size[0]);
	__m256 b = _mm256_loadu_ps(h->size[1]);
	__m256 last = _mm256_loadu_ps(h->size[2]);
	for (size_t i = 0; i < count; i++) {
		const float *w = h->w + cop_row_index(x, first + i) * h->stride;
		__m256 value = _mm256_set1_ps(cop_row_value(x, first + i));
		__m256 one = _mm256_andnot_ps(sign, _mm256_mul_ps(_mm256_i32gather_ps(w, column, 4), value));
		_mm256_storeu_ps(size[i], one);
		__m256 two = _mm256_min_ps(a, one);
		__m256 three = _mm256_min_ps(b, two);
		a = _mm256_max_ps(a, one);
		b = _mm256_max_ps(b, two);
		last = _mm256_max_ps(last, three);
	}
	for (size_t i = 0; i < count; i++)
		hits[i] = (uint8_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(size[i]), last, _CMP_GE_OQ));
	_mm256_storeu_ps(h->size[0], a);
	_mm256_storeu_ps(h->size[1], b);
	_mm256_storeu_ps(h->size[2], last);
}
#endif

cop_heaviest_block *cop_heaviest_plain(void) { return block_plain; }

cop_heaviest_block *cop_heaviest_best(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return block_avx2;
#endif
	return block_plain;
}

/* linalg/kernel_lanes_private.h: what the kernels' sources are written in: registers of LANES floats of the instruction
 * set that includes it. */
#ifndef COP_LINALG_KERNEL_LANES_PRIVATE_H
#define COP_LINALG_KERNEL_LANES_PRIVATE_H

#include <stdint.h>

#include "linalg/kernel.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif
#ifdef COP_KERNEL_NEON
#include <arm_neon.h>
#endif

#ifdef __AVX512F__
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#define SPLIT (COP_KERNEL_LANES / LANES) /* vecs that a dot product's lanes take */

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES))); /* all bits of a lane, or none */
typedef float vec_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float vec_block __attribute__((vector_size(4 * LANES), aligned(4 * LANES), may_alias));

#define LOAD(p)     (*(const vec_block *)(p))
#define LOAD_ANY(p) (*(const vec_any *)(p))
#define STORE(p, v) (*(vec_block *)(p) = (v))
#define INLINE      static inline __attribute__((always_inline))

/* Of each lane whether something holds, in the form that the instruction set works with. */
#ifdef __AVX512F__
typedef __mmask16 holds;
#else
typedef mask holds;
#endif

/* False for NaN. */
INLINE holds not_negative(vec x)
{
#ifdef __AVX512F__
	return _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_GE_OQ);
#else
	return x >= 0.0f;
#endif
}

/* |x| <= 1; false for NaN. */
INLINE holds within_one(vec x)
{
	vec size = (vec)((mask)x & INT32_MAX);
#ifdef __AVX512F__
	return _mm512_cmp_ps_mask((__m512)size, _mm512_set1_ps(1.0f), _CMP_LE_OQ);
#else
	return size <= 1.0f;
#endif
}

INLINE vec choose(holds chosen, vec yes, vec no)
{
#ifdef __AVX512F__
	return (vec)_mm512_mask_blend_ps(chosen, (__m512)no, (__m512)yes);
#else
	return (vec)((chosen & (mask)yes) | (~chosen & (mask)no));
#endif
}

#endif

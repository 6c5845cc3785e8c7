/* linalg/kernel_avx2.c: AVX2 and FMA: a vec is one 256-bit register. */
#include "linalg/kernel_table.h"

#ifdef __x86_64__
#define COP_KERNEL_NAME   "avx2"
#define COP_KERNEL_SYMBOL cop_kernel_avx2
#include "linalg/kernel_simd_private.h"
#else
typedef int cop_kernel_avx2_absent;
#endif

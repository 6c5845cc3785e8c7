/* linalg/kernel_avx512.c: AVX-512 (F, VL, DQ, BW): a vec is one 512-bit register. */
#include "linalg/kernel_table.h"

#ifdef __x86_64__
#define COP_KERNEL_NAME   "avx512"
#define COP_KERNEL_SYMBOL cop_kernel_avx512
#include "linalg/kernel_simd_private.h"
#else
typedef int cop_kernel_avx512_absent;
#endif

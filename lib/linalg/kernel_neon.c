/* linalg/kernel_neon.c: NEON of 64-bit ARM: a vec is one 128-bit register, of which there are 32. */
#include "linalg/kernel_table.h"

#ifdef __aarch64__
#define COP_KERNEL_NAME   "neon"
#define COP_KERNEL_SYMBOL cop_kernel_neon
#define COP_KERNEL_NEON   /* which plain C on such a processor does without */
#include "linalg/kernel_simd_private.h"
#else
typedef int cop_kernel_neon_absent;
#endif

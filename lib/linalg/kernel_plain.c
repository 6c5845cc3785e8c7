/* linalg/kernel_plain.c: portable C; the reference of the others. */
#include "linalg/kernel_table.h"

#define COP_KERNEL_NAME   "plain"
#define COP_KERNEL_SYMBOL cop_kernel_plain
#include "linalg/kernel_simd.h"

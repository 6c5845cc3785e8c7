/* Portable C, without vector instructions of one processor: what the other tables are compared with. */
#include "linalg/kernel_table.h"

#define COP_KERNEL_NAME   "plain"
#define COP_KERNEL_SYMBOL cop_kernel_plain
#include "linalg/kernel_simd_private.h"

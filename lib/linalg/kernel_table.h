/* linalg/kernel_table.h: the variants, for kernel.c alone; an instruction set foreign to the build has none. */
#ifndef COP_LINALG_KERNEL_TABLE_H
#define COP_LINALG_KERNEL_TABLE_H

#include "linalg/kernel.h"

extern const cop_kernel cop_kernel_plain;
#ifdef __x86_64__
extern const cop_kernel cop_kernel_avx2;
extern const cop_kernel cop_kernel_avx512;
#endif
#ifdef __aarch64__
extern const cop_kernel cop_kernel_neon;
#endif

#endif

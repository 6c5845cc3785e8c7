/* Variants are listed widest first; the first one the processor runs is the best. */
#include "linalg/kernel.h"

#include <stdbool.h>
#include <string.h>

#include "linalg/kernel_table.h"

#ifdef __x86_64__
static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

static bool always(void) { return true; }

static const struct {
	const cop_kernel *kernel;
	bool (*runs)(void);
} variants[] = {
#ifdef __x86_64__
	{ &cop_kernel_avx512, has_avx512 },
	{ &cop_kernel_avx2, has_avx2 },
#endif
#ifdef __aarch64__
	{ &cop_kernel_neon, always }, /* a part of the architecture */
#endif
	{ &cop_kernel_plain, always },
};

const cop_kernel *cop_kernel_best(void)
{
	size_t i = 0;
	while (!variants[i].runs())
		i++;
	return variants[i].kernel;
}

const cop_kernel *cop_kernel_find(const char *name)
{
	for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
		if (strcmp(variants[i].kernel->name, name) == 0 && variants[i].runs())
			return variants[i].kernel;
	return NULL;
}

void cop_kernel_forward_row(const cop_kernel *kernel, const cop_row *row, size_t n, const float *w, float *a)
{
	if (row->dense != NULL)
		kernel->forward(row->d, n, row->dense, w, a);
	else
		kernel->forward_sparse(row->nnz, row->index, row->value, n, w, a);
}

void cop_kernel_rank1_row(const cop_kernel *kernel, const cop_row *row, size_t n, const float *g, float *w)
{
	if (row->dense != NULL)
		kernel->rank1(row->d, n, row->dense, g, w);
	else
		kernel->rank1_sparse(row->nnz, row->index, row->value, n, g, w);
}

void cop_kernel_adagrad_row(
        const cop_kernel *kernel, const cop_row *row, size_t n, const float *g, float eta, float *w, float *s)
{
	if (row->dense != NULL)
		kernel->adagrad(row->d, n, row->dense, g, eta, w, s);
	else
		kernel->adagrad_sparse(row->nnz, row->index, row->value, n, g, eta, w, s);
}

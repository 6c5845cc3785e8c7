#include "bench_peak.h"

#include <stdbool.h>
#include <string.h>

#include "tools/common/command.h"

#define ROUNDS 20000
#define TRIES  40
#define ENOUGH ((size_t)1 << 20) /* floats of a sample, at least */

static const cop_bench_peak *const peaks[] = {
#ifdef __x86_64__
	&cop_bench_peak_avx512,
	&cop_bench_peak_avx2,
#endif
#ifdef __aarch64__
	&cop_bench_peak_neon,
#endif
	&cop_bench_peak_plain,
};

const cop_bench_peak *cop_bench_peak_find(const char *name)
{
	for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
		if (strcmp(peaks[i]->name, name) == 0)
			return peaks[i];
	return NULL;
}

double cop_bench_peak_gflops(const cop_bench_peak *peak)
{
	volatile float start[] = { 0.5F, 1.0F, 0.0F };
	float sink[] = { start[0], start[1], start[2] };
	double best = 0.0;
	for (int i = 0; i < TRIES; i++) {
		double before = cop_command_now();
		double flops = peak->multiply_add(ROUNDS, sink);
		double rate = flops / (cop_command_now() - before) / 1e9;
		best = rate > best ? rate : best;
	}
	return best;
}

/* x is written when `written`. */
static double gbytes(const cop_bench_peak *peak, size_t n, float *x, const float *only_read, bool written)
{
	size_t calls = n < ENOUGH ? ENOUGH / n : 1;
	double best = 0.0;
	for (int i = 0; i < TRIES; i++) {
		double before = cop_command_now();
		for (size_t k = 0; k < calls; k++)
			if (written)
				peak->update(n, x);
			else
				peak->load(n, only_read);
		double bytes = (double)(calls * n * sizeof(float)) * (written ? 2.0 : 1.0);
		double rate = bytes / (cop_command_now() - before) / 1e9;
		best = rate > best ? rate : best;
	}
	return best;
}

double cop_bench_peak_read_gbytes(const cop_bench_peak *peak, size_t n, const float *x)
{
	return gbytes(peak, n, NULL, x, false);
}

double cop_bench_peak_rewrite_gbytes(const cop_bench_peak *peak, size_t n, float *x)
{
	return gbytes(peak, n, x, x, true);
}

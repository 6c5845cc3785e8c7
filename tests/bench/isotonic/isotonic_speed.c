/* The solver of optim/tree_isotonic.h timed on one problem: isotonic_speed DEPTH N LAMBDA FILE
 *
 * Scores are those of N random rows on random splits: s is normal, q of a child is the least of the signed s on its
 * path. Prints microseconds of the solution and of its gradient (of the sum of a), each the median of REPEATS, and
 * writes to FILE, for whom it is compared with: q (nodes x N float32), a (nodes float64), gradient (as q). */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "optim/tree_isotonic.h"

#define SEED    5
#define REPEATS 25

typedef struct problem {
	size_t n, nodes;
	float *q, *gradient;
	double *a, *ones;
} problem;

static void draw(problem *p)
{
	cop_rng rng;
	cop_rng_init(&rng, SEED, 0);
	for (size_t i = 0; i < p->n; i++) {
		p->q[i] = 1.0f;
		for (size_t t = 0; t < p->nodes / 2; t++) {
			const float s = (float)cop_rng_normal(&rng), q = p->q[t * p->n + i];
			p->q[(2 * t + 1) * p->n + i] = fminf(q, -s);
			p->q[(2 * t + 2) * p->n + i] = fminf(q, s);
		}
	}
}

static double now_us(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void run(const problem *p, cop_tree_isotonic *iso, double lambda, double median[2])
{
	double times[2][REPEATS];
	for (size_t r = 0; r < REPEATS; r++) {
		double begun = now_us();
		cop_tree_isotonic_solve(iso, p->n, p->q, lambda, NULL, p->a);
		double solved = now_us();
		memset(p->gradient, 0, p->nodes * p->n * sizeof *p->gradient);
		cop_tree_isotonic_gradient(iso, p->q, p->ones, p->gradient);
		times[0][r] = solved - begun;
		times[1][r] = now_us() - solved;
	}
	for (size_t k = 0; k < 2; k++) {
		qsort(times[k], REPEATS, sizeof **times, compare);
		median[k] = times[k][REPEATS / 2];
	}
}

static bool write_all(const problem *p, const char *path)
{
	FILE *file = fopen(path, "wb");
	if (file == NULL)
		return false;
	size_t cells = p->nodes * p->n;
	bool good = fwrite(p->q, sizeof *p->q, cells, file) == cells &&
	            fwrite(p->a, sizeof *p->a, p->nodes, file) == p->nodes &&
	            fwrite(p->gradient, sizeof *p->gradient, cells, file) == cells;
	return fclose(file) == 0 && good;
}

int main(int argc, char **argv)
{
	long depth = argc == 5 ? strtol(argv[1], NULL, 10) : -1, n = argc == 5 ? strtol(argv[2], NULL, 10) : 0;
	double lambda = argc == 5 ? strtod(argv[3], NULL) : 0.0;
	cop_tree_isotonic *iso;
	if (depth < 0 || depth > COP_TREE_ISOTONIC_MAX_DEPTH || n < 1 || !(lambda > 0.0) ||
	        cop_tree_isotonic_new((unsigned)depth, &iso) != COP_OK) {
		(void)fputs("usage: isotonic_speed DEPTH N LAMBDA FILE\n", stderr);
		return 2;
	}
	problem p = { .n = (size_t)n, .nodes = cop_tree_isotonic_nodes(iso) };
	p.q = cop_mem_alloc(p.nodes * p.n, sizeof *p.q);
	p.gradient = cop_mem_alloc(p.nodes * p.n, sizeof *p.gradient);
	p.a = cop_mem_alloc(p.nodes, sizeof *p.a);
	p.ones = cop_mem_alloc(p.nodes, sizeof *p.ones);
	bool good = p.q != NULL && p.gradient != NULL && p.a != NULL && p.ones != NULL;
	if (good) {
		double median[2];
		for (size_t t = 0; t < p.nodes; t++)
			p.ones[t] = 1.0;
		draw(&p);
		run(&p, iso, lambda, median);
		(void)printf("%.3f %.3f\n", median[0], median[1]);
		good = write_all(&p, argv[4]) && fflush(stdout) == 0;
	}
	cop_mem_free(p.q);
	cop_mem_free(p.gradient);
	cop_mem_free(p.a);
	cop_mem_free(p.ones);
	cop_tree_isotonic_free(iso);
	if (!good)
		(void)fputs("isotonic_speed: out of memory, or the file cannot be written\n", stderr);
	return good ? 0 : 1;
}

/* Reads a weighted problem from standard input and prints its fit, for the comparison with scikit-learn.
 *
 * First line: logistic|linear|softmax n d classes lambda tolerance steps. Then one row a line: weight, target (a sign,
 * a number or a class), d features. Printed: objective, steps, then a line of weights and the bias for each output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "optim/l1_linear.h"
#include "optim/l1_logistic.h"
#include "optim/l1_softmax.h"

typedef struct problem {
	char kind[16];
	size_t n, d, classes;
	double lambda, tolerance;
	unsigned steps;
	float *x, *weight, *target, *w, *b;
	uint32_t *label;
	int8_t *sign;
} problem;

static int read_problem(problem *p)
{
	if (scanf("%15s %zu %zu %zu %lf %lf %u", p->kind, &p->n, &p->d, &p->classes, &p->lambda, &p->tolerance,
	            &p->steps) != 7)
		return 0;
	p->x = cop_mem_alloc(p->n * p->d, sizeof *p->x);
	p->weight = cop_mem_alloc(p->n, sizeof *p->weight);
	p->target = cop_mem_alloc(p->n, sizeof *p->target);
	p->label = cop_mem_alloc(p->n, sizeof *p->label);
	p->sign = cop_mem_alloc(p->n, sizeof *p->sign);
	p->w = cop_mem_alloc(p->classes * p->d, sizeof *p->w);
	p->b = cop_mem_alloc(p->classes, sizeof *p->b);
	if (!p->x || !p->weight || !p->target || !p->label || !p->sign || !p->w || !p->b)
		return 0;
	for (size_t i = 0; i < p->n; i++) {
		if (scanf("%f %f", &p->weight[i], &p->target[i]) != 2)
			return 0;
		p->sign[i] = p->target[i] > 0.0F ? 1 : -1;
		p->label[i] = p->target[i] > 0.0F ? (uint32_t)p->target[i] : 0;
		for (size_t j = 0; j < p->d; j++)
			if (scanf("%f", &p->x[i * p->d + j]) != 1)
				return 0;
	}
	return 1;
}

static cop_err fit(problem *p, const cop_columns *x, cop_l1_report *report)
{
	if (strcmp(p->kind, "logistic") == 0) {
		cop_l1_settings s = { p->lambda, p->tolerance, p->steps };
		return cop_l1_logistic_fit(&s, x, p->sign, p->weight, p->w, p->b, report);
	}
	if (strcmp(p->kind, "linear") == 0) {
		cop_l1_settings s = { p->lambda, p->tolerance, p->steps };
		return cop_l1_linear_fit(&s, x, p->target, p->weight, p->w, p->b, report);
	}
	cop_l1_settings s = { p->lambda, p->tolerance, p->steps };
	return cop_l1_softmax_fit(&s, x, p->classes, p->label, p->weight, p->w, p->b, report);
}

int main(void)
{
	problem p = { .n = 0 };
	cop_columns x = { 0 };
	cop_l1_report report = { 0 };
	if (!read_problem(&p) || cop_columns_from_dense(&x, p.n, NULL, p.d, p.x) != COP_OK)
		return EXIT_FAILURE;
	cop_err err = fit(&p, &x, &report);
	cop_columns_fini(&x);
	if (err != COP_OK) {
		fprintf(stderr, "%s\n", cop_err_text(err));
		return EXIT_FAILURE;
	}
	printf("%.17g %u\n", report.objective, report.steps);
	for (size_t k = 0; k < p.classes; k++) {
		for (size_t j = 0; j < p.d; j++)
			printf("%.9g ", (double)p.w[k * p.d + j]);
		printf("%.9g\n", (double)p.b[k]);
	}
	cop_mem_free(p.x);
	cop_mem_free(p.weight);
	cop_mem_free(p.target);
	cop_mem_free(p.label);
	cop_mem_free(p.sign);
	cop_mem_free(p.w);
	cop_mem_free(p.b);
	return EXIT_SUCCESS;
}

/* A random weighted problem for the L1 solvers, its objective and gradient in double, and a slow reference: accelerated
 * proximal gradient with backtracking and restarts (Beck and Teboulle; O'Donoghue and Candes). */
#ifndef COP_TESTS_L1_FIXTURE_H
#define COP_TESTS_L1_FIXTURE_H

#include "support.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "linalg/columns.h"
#include "optim/l1_linear.h"
#include "optim/l1_logistic.h"
#include "optim/l1_softmax.h"

#define L1_N 3000
#define L1_D 70
#define L1_K 5
#define L1_P (L1_K * (L1_D + 1)) /* parameters: of each output d weights and the bias */

typedef enum l1_kind { L1_LOGISTIC, L1_LINEAR, L1_SOFTMAX, L1_KINDS } l1_kind;

typedef struct l1_problem {
	l1_kind kind;
	size_t n, d, k;
	double lambda;
	float x[L1_N * L1_D];
	float weight[L1_N];
	float y[L1_N];
	int8_t sign[L1_N];
	uint32_t label[L1_N];
} l1_problem;

/* n rows of d features (0: few, drawn). share: of the features that are not 0; offset: their mean. Weights over four
 * orders; what is told depends on x. */
static inline void l1_draw_sized(
        l1_problem *p, l1_kind kind, uint64_t seed, double share, double offset, size_t n, size_t d)
{
	cop_rng rng;
	double truth[L1_P];
	cop_rng_init(&rng, seed, 7);
	p->kind = kind;
	p->n = n != 0 ? n : 20 + (size_t)cop_rng_below(&rng, 141);
	p->d = d != 0 ? d : 1 + (size_t)cop_rng_below(&rng, 24);
	p->k = kind == L1_SOFTMAX ? 2 + (size_t)cop_rng_below(&rng, L1_K - 1) : 1;
	p->lambda = pow(10.0, 2.0 * cop_rng_unit(&rng) - 1.5);
	for (size_t i = 0; i < L1_P; i++)
		truth[i] = cop_rng_unit(&rng) < 0.5 ? 0.0 : cop_rng_normal(&rng);
	for (size_t i = 0; i < p->n; i++) {
		double best = -HUGE_VAL;
		for (size_t j = 0; j < p->d; j++)
			p->x[i * p->d + j] = cop_rng_unit(&rng) < share ? (float)(cop_rng_normal(&rng) + offset) : 0.0F;
		p->weight[i] = (float)pow(10.0, 4.0 * cop_rng_unit(&rng) - 3.0);
		for (size_t k = 0; k < p->k; k++) {
			double a = 1.5 * cop_rng_normal(&rng) + 0.3;
			for (size_t j = 0; j < p->d; j++)
				a += truth[k * p->d + j] * ((double)p->x[i * p->d + j] - offset);
			p->label[i] = a > best ? (uint32_t)k : p->label[i];
			best = fmax(best, a);
			p->y[i] = (float)(a + 10.0);
			p->sign[i] = a > 0.0 ? 1 : -1;
		}
	}
	p->sign[0] = 1;
	p->sign[1] = -1;
	p->label[0] = 0;
	p->label[1] = 1;
}

/* Few rows and features, by the seed dense or sparse, centred or not; every class is there. */
static inline void l1_draw(l1_problem *p, l1_kind kind, uint64_t seed)
{
	l1_draw_sized(p, kind, seed, seed % 2 == 0 ? 1.0 : 0.15, seed % 3 == 0 ? 3.0 : 0.0, 0, 0);
	for (size_t k = 0; k < p->k; k++)
		p->label[k] = (uint32_t)k;
}

/* Loss of row i's predictions a, and its derivatives by them. */
static inline double l1_row_loss(const l1_problem *p, size_t i, const double *a, double *by)
{
	if (p->kind == L1_LINEAR) {
		by[0] = a[0] - (double)p->y[i];
		return 0.5 * by[0] * by[0];
	}
	if (p->kind == L1_LOGISTIC) {
		double m = a[0] * p->sign[i];
		by[0] = -p->sign[i] / (1.0 + exp(m));
		return m > 0.0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
	}
	double most = a[0];
	double sum = 0.0;
	for (size_t k = 1; k < p->k; k++)
		most = fmax(most, a[k]);
	for (size_t k = 0; k < p->k; k++)
		sum += exp(a[k] - most);
	for (size_t k = 0; k < p->k; k++)
		by[k] = exp(a[k] - most) / sum - (k == p->label[i] ? 1.0 : 0.0);
	return log(sum) + most - a[p->label[i]];
}

/* Loss at v (each output's d weights and bias), its gradient (may be NULL). */
static inline double l1_loss(const l1_problem *p, const double *v, double *gradient)
{
	size_t width = p->d + 1;
	double loss = 0.0;
	for (size_t i = 0; gradient != NULL && i < p->k * width; i++)
		gradient[i] = 0.0;
	for (size_t i = 0; i < p->n; i++) {
		const float *x = p->x + i * p->d;
		double a[L1_K] = { 0 };
		double by[L1_K];
		for (size_t k = 0; k < p->k; k++) {
			a[k] = v[k * width + p->d];
			for (size_t j = 0; j < p->d; j++)
				a[k] += v[k * width + j] * (double)x[j];
		}
		loss += (double)p->weight[i] * l1_row_loss(p, i, a, by);
		for (size_t k = 0; gradient != NULL && k < p->k; k++) {
			double g = (double)p->weight[i] * by[k];
			for (size_t j = 0; j < p->d; j++)
				gradient[k * width + j] += g * (double)x[j];
			gradient[k * width + p->d] += g;
		}
	}
	return loss;
}

static inline double l1_penalty(const l1_problem *p, const double *v)
{
	double sum = 0.0;
	for (size_t k = 0; k < p->k; k++)
		for (size_t j = 0; j < p->d; j++)
			sum += fabs(v[k * (p->d + 1) + j]);
	return p->lambda * sum;
}

static inline void l1_join(const l1_problem *p, const float *w, const float *b, double *v)
{
	for (size_t k = 0; k < p->k; k++) {
		for (size_t j = 0; j < p->d; j++)
			v[k * (p->d + 1) + j] = (double)w[k * p->d + j];
		v[k * (p->d + 1) + p->d] = (double)b[k];
	}
}

static inline double l1_objective(const l1_problem *p, const float *w, const float *b)
{
	double v[L1_P] = { 0 };
	l1_join(p, w, b, v);
	return l1_loss(p, v, NULL) + l1_penalty(p, v);
}

/* Largest violation of the optimality conditions at (w, b). */
static inline double l1_violation(const l1_problem *p, const float *w, const float *b)
{
	double v[L1_P] = { 0 };
	double gradient[L1_P] = { 0 };
	double worst = 0.0;
	l1_join(p, w, b, v);
	(void)l1_loss(p, v, gradient);
	for (size_t i = 0; i < p->k * (p->d + 1); i++) {
		double lambda = i % (p->d + 1) == p->d ? 0.0 : p->lambda;
		double at = v[i] > 0.0   ? fabs(gradient[i] + lambda)
		            : v[i] < 0.0 ? fabs(gradient[i] - lambda)
		                         : fmax(0.0, fabs(gradient[i]) - lambda);
		worst = fmax(worst, at);
	}
	return worst;
}

/* to = the proximal step of length t from `from`; returns the loss there less its quadratic bound. */
static inline double l1_proximal(
        const l1_problem *p, const double *from, const double *gradient, double loss, double t, double *to)
{
	double bound = loss;
	for (size_t i = 0; i < p->k * (p->d + 1); i++) {
		double lambda = i % (p->d + 1) == p->d ? 0.0 : p->lambda * t;
		double v = from[i] - t * gradient[i];
		to[i] = v > lambda ? v - lambda : v < -lambda ? v + lambda : 0.0;
		double step = to[i] - from[i];
		bound += gradient[i] * step + step * step / (2.0 * t);
	}
	return l1_loss(p, to, NULL) - bound;
}

/* The least objective, by many small steps. */
static inline double l1_reference(const l1_problem *p)
{
	double v[L1_P] = { 0 };
	double ahead[L1_P] = { 0 };
	double next[L1_P] = { 0 };
	double gradient[L1_P] = { 0 };
	double t = 1.0;
	double momentum = 1.0;
	double objective = HUGE_VAL;
	for (unsigned step = 0; step < 6000; step++) {
		double loss = l1_loss(p, ahead, gradient);
		while (l1_proximal(p, ahead, gradient, loss, t, next) > 1e-12 * fabs(loss))
			t *= 0.7;
		double now = l1_loss(p, next, NULL) + l1_penalty(p, next);
		double later = now > objective ? 1.0 : 0.5 + sqrt(0.25 + momentum * momentum);
		double share = now > objective ? 0.0 : (momentum - 1.0) / later;
		for (size_t i = 0; i < p->k * (p->d + 1); i++) {
			ahead[i] = next[i] + share * (next[i] - v[i]);
			v[i] = next[i];
		}
		bool done = fabs(objective - now) <= 1e-10 * now && momentum > 20.0;
		momentum = later;
		objective = now;
		if (done)
			break;
	}
	return objective;
}

/* The best biases at w = 0. */
static inline void l1_best_biases(const l1_problem *p, float *b)
{
	double total = 0.0, sum = 0.0, positive = 0.0, mass[L1_K] = { 0 };
	for (size_t i = 0; i < p->n; i++) {
		double weight = (double)p->weight[i];
		total += weight;
		sum += weight * (double)p->y[i];
		positive += p->sign[i] > 0 ? weight : 0.0;
		mass[p->label[i]] += weight;
	}
	b[0] = (float)(p->kind == L1_LINEAR ? sum / total : log(positive / (total - positive)));
	for (size_t k = 0; p->kind == L1_SOFTMAX && k < p->k; k++)
		b[k] = (float)log(mass[k]);
}

/* Violation and objective there. */
static inline double l1_violation_at_zero(const l1_problem *p)
{
	float w[L1_K * L1_D] = { 0 };
	float b[L1_K];
	l1_best_biases(p, b);
	return l1_violation(p, w, b);
}

static inline double l1_objective_at_zero(const l1_problem *p)
{
	float w[L1_K * L1_D] = { 0 };
	float b[L1_K];
	l1_best_biases(p, b);
	return l1_objective(p, w, b);
}

static inline void l1_columns(const l1_problem *p, cop_columns *x)
{
	assert_int_equal(cop_columns_from_dense(x, p->n, NULL, p->d, p->x), COP_OK);
}

/* The solver of the problem's kind; w: k x d, b: k. */
static inline cop_err l1_solve(const l1_problem *p, const cop_l1_settings *settings, const cop_columns *x, float *w,
        float *b, cop_l1_report *report)
{
	if (p->kind == L1_LINEAR)
		return cop_l1_linear_fit(settings, x, p->y, p->weight, w, b, report);
	if (p->kind == L1_LOGISTIC)
		return cop_l1_logistic_fit(settings, x, p->sign, p->weight, w, b, report);
	return cop_l1_softmax_fit(settings, x, p->k, p->label, p->weight, w, b, report);
}

static inline cop_err l1_fit_to(
        const l1_problem *p, double tolerance, unsigned steps, float *w, float *b, cop_l1_report *report)
{
	cop_columns x;
	cop_l1_settings settings = { .lambda = p->lambda, .tolerance = tolerance, .max_steps = steps };
	l1_columns(p, &x);
	cop_err err = l1_solve(p, &settings, &x, w, b, report);
	cop_columns_fini(&x);
	return err;
}

/* As exactly as floats allow. */
static inline cop_err l1_fit(const l1_problem *p, float *w, float *b, cop_l1_report *report)
{
	return p->kind == L1_LINEAR ? l1_fit_to(p, 1e-6, 2000, w, b, report) : l1_fit_to(p, 1e-5, 1000, w, b, report);
}

#endif

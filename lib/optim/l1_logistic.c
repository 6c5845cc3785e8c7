/* Proximal Newton steps with a line search. Weights and lambda are divided by the largest weight, so that nothing
 * depends on the scale of either; logarithm and exponential are float polynomials (a vector at a time). */
#include "optim/l1_logistic.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "optim/l1_loss.h"
#include "optim/l1_model.h"

#define ONE_SIDED_BIAS 10.0F
#define PASSES         8U   /* over columns, most in one step */
#define PAYS           12.0 /* passes that making products of features may cost */
#define LEAST_SHARE    1e-6 /* of the largest gradient: violations below are rounding */

typedef struct fit {
	cop_l1_model model;
	cop_l1_gram gram;
	const cop_columns *x;
	float *weight;       /* n, the largest 1 */
	float *sign;         /* n */
	float *prediction;   /* n */
	float *trial;        /* n */
	double lambda, unit; /* unit: what weights were divided by */
	double objective;
	double zero; /* objective at w = 0, b best */
	float bias_at_zero;
	double reference; /* violation at w = 0 */
	double largest;   /* gradient at w = 0 */
} fit;

static void fit_fini(fit *f)
{
	cop_l1_model_fini(&f->model);
	cop_l1_gram_fini(&f->gram);
	cop_mem_free(f->weight);
	cop_mem_free(f->sign);
	cop_mem_free(f->prediction);
	cop_mem_free(f->trial);
}

static cop_err fit_init(fit *f, const cop_columns *x, const int8_t *sign, const float *weight, double lambda)
{
	size_t n = cop_kernel_pad(x->n);
	*f = (fit){ .x = x };
	cop_err err = cop_l1_model_init(&f->model, x, lambda);
	f->weight = cop_mem_alloc(n, sizeof *f->weight);
	f->sign = cop_mem_alloc(n, sizeof *f->sign);
	f->prediction = cop_mem_alloc(n, sizeof *f->prediction);
	f->trial = cop_mem_alloc(n, sizeof *f->trial);
	if (err != COP_OK || f->weight == NULL || f->sign == NULL || f->prediction == NULL || f->trial == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < x->n; i++)
		f->sign[i] = sign[i] > 0 ? 1.0F : -1.0F;
	err = cop_l1_model_weights(x->n, weight, f->weight, &f->unit);
	f->lambda = lambda / f->unit;
	f->model.lambda = f->lambda;
	return err;
}

/* Sums of the weights of either sign. */
static void weigh(const fit *f, double *positive, double *negative)
{
	*positive = 0.0;
	*negative = 0.0;
	for (size_t i = 0; i < f->x->n; i++)
		*(f->sign[i] > 0.0F ? positive : negative) += (double)f->weight[i];
}

/* Violation and objective at w = 0 with the best bias there, log(positive / negative). */
static void measure_zero(fit *f, double positive, double negative)
{
	double total = positive + negative;
	f->bias_at_zero = (float)log(positive / negative);
	f->zero = positive * log(total / positive) + negative * log(total / negative);
	float up = (float)(negative / (positive + negative)); /* minus the derivative of a row of positive sign */
	float down = (float)(positive / (positive + negative));
	for (size_t i = 0; i < f->x->n; i++)
		f->model.r[i] = f->weight[i] * (f->sign[i] > 0.0F ? -up : down);
	f->largest = 0.0;
	for (size_t j = 0; j < f->x->d; j++)
		f->largest = fmax(f->largest, fabs((double)cop_columns_dot(f->x, j, f->model.r)));
	f->reference = fmax(0.0, f->largest - f->lambda);
}

/* prediction, r, h and objective at (w, b). */
static void begin(fit *f, const float *w, float b)
{
	for (size_t i = 0; i < f->x->n; i++)
		f->prediction[i] = b;
	for (size_t j = 0; j < f->x->d; j++)
		if (w[j] != 0.0F)
			cop_columns_add(f->x, j, w[j], f->prediction);
	f->objective = cop_l1_loss(f->x->n, f->prediction, f->sign, f->weight, f->model.r, f->model.h) +
	               f->lambda * cop_l1_model_norm(f->x->d, w);
}

/* Goes along the model's step as far as it helps; false: not at all. */
static bool search(fit *f, float *w, float *b)
{
	cop_l1_model *m = &f->model;
	cop_l1_line line = { f->prediction, f->sign, f->weight, f->trial, f->objective };
	float t = cop_l1_model_search(m, w, &line);
	if (!(t > 0.0F))
		return false;
	for (size_t j = 0; j < f->x->d; j++)
		w[j] += t * m->dw[j];
	*b += t * (float)m->db;
	float *last = f->prediction;
	f->prediction = f->trial;
	f->trial = last;
	f->objective = line.objective;
	return true;
}

/* *steps: those taken. */
static cop_err descend(fit *f, const cop_l1_settings *settings, float *w, float *b, unsigned *steps)
{
	cop_l1_progress state = { .passes = PASSES, .pays = PAYS };
	state.enough = fmax(settings->tolerance * f->reference, LEAST_SHARE * f->largest);
	for (*steps = 0; *steps < settings->max_steps; ++*steps) {
		state.violation = cop_l1_model_gradient(&f->model, w);
		if (!(state.violation > state.enough))
			break;
		cop_err err = cop_l1_model_propose(&f->model, &f->gram, &state, w);
		if (err != COP_OK)
			return err;
		state.failed = !(f->model.change < 0.0 && search(f, w, b));
		if (state.failed && !state.by_products)
			break;
		if (state.failed) /* r and h are as they were last tried */
			(void)cop_l1_loss(f->x->n, f->prediction, f->sign, f->weight, f->model.r, f->model.h);
	}
	return COP_OK;
}

static cop_err fit_two_sided(fit *f, const cop_l1_settings *settings, float *w, float *b, cop_l1_report *report)
{
	size_t d = f->x->d;
	float *best = cop_mem_alloc(d, sizeof *best);
	if (best == NULL)
		return COP_ENOMEM;
	for (size_t j = 0; j < d; j++)
		best[j] = w[j];
	float bias = *b;
	begin(f, best, bias);
	if (f->zero < f->objective) { /* a start that is worse than none */
		memset(best, 0, d * sizeof *best);
		bias = f->bias_at_zero;
		begin(f, best, bias);
	}
	cop_err err = descend(f, settings, best, &bias, &report->steps);
	bool finite = isfinite(f->objective) && isfinite(bias) && cop_l1_model_finite(d, best);
	for (size_t j = 0; finite && err == COP_OK && j < d; j++)
		w[j] = best[j];
	cop_mem_free(best);
	if (err != COP_OK)
		return err;
	if (!finite)
		return COP_ENONFINITE;
	*b = bias;
	report->objective = f->objective * f->unit;
	return COP_OK;
}

static void fit_one_sided(fit *f, bool positive, float *w, float *b, cop_l1_report *report)
{
	for (size_t j = 0; j < f->x->d; j++)
		w[j] = 0.0F;
	*b = positive ? fmaxf(*b, ONE_SIDED_BIAS) : fminf(*b, -ONE_SIDED_BIAS);
	begin(f, w, *b);
	report->objective = f->objective * f->unit;
}

cop_err cop_l1_logistic_fit(const cop_l1_settings *settings, const cop_columns *x, const int8_t *sign,
        const float *weight, float *w, float *b, cop_l1_report *report)
{
	if (!cop_l1_settings_valid(settings))
		return COP_EINVAL;
	if (!isfinite(*b) || !cop_l1_model_finite(x->d, w))
		return COP_ENONFINITE;
	fit f;
	cop_l1_report out = { 0 };
	cop_err err = fit_init(&f, x, sign, weight, settings->lambda);
	if (err == COP_OK) {
		double positive;
		double negative;
		weigh(&f, &positive, &negative);
		if (positive > 0.0 && negative > 0.0) {
			measure_zero(&f, positive, negative);
			err = fit_two_sided(&f, settings, w, b, &out);
		} else if (positive + negative > 0.0) {
			fit_one_sided(&f, positive > 0.0, w, b, &out);
		} else { /* nothing counts */
			for (size_t j = 0; j < x->d; j++)
				w[j] = 0.0F;
		}
	}
	fit_fini(&f);
	if (err == COP_OK && report != NULL) {
		out.nonzeros = cop_l1_model_nonzeros(x->d, w);
		*report = out;
	}
	return err;
}

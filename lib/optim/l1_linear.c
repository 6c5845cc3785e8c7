/* The loss is its own quadratic model: h = c and r = c (prediction - y). Some passes over the features that move, then
 * the gradient of all, which gives the duality gap: with r summing to 0, theta = -t r is dual feasible for t =
 * min(1, lambda / max_j |gradient_j|), and the dual objective is sum_i theta_i y_i - theta_i^2 / (2 c_i). */
#include "optim/l1_linear.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "optim/l1_model.h"

#define PASSES   10U  /* between two looks at the gap */
#define ROUNDING 1e-7 /* of the objective at w = 0: less may be rounding */
#define NEAR     0.1  /* a feature is tried when its gradient is within this share of lambda */

typedef struct fit {
	cop_l1_model model;
	const float *y;
	double lambda, unit; /* unit: what weights were divided by */
	double centre;       /* mean of y */
	double zero;         /* objective at w = 0, b best */
	double objective, gap;
} fit;

static cop_err fit_init(fit *f, const cop_columns *x, const float *y, const float *weight, double lambda)
{
	*f = (fit){ .y = y };
	cop_err err = cop_l1_model_init(&f->model, x, lambda);
	if (err == COP_OK)
		err = cop_l1_model_weights(x->n, weight, f->model.h, &f->unit);
	if (err != COP_OK)
		return err;
	f->lambda = lambda / f->unit;
	f->model.lambda = f->lambda;
	double sum = 0.0;
	double total = 0.0;
	const float *h = f->model.h;
	for (size_t i = 0; i < x->n; i++) {
		total += (double)h[i];
		sum += h[i] > 0.0F ? (double)h[i] * (double)y[i] : 0.0;
	}
	f->centre = total > 0.0 ? sum / total : 0.0;
	for (size_t i = 0; i < x->n; i++) {
		double from = (double)y[i] - f->centre;
		f->zero += h[i] > 0.0F ? 0.5 * (double)h[i] * from * from : 0.0;
	}
	for (size_t j = 0; j < x->d; j++)
		f->model.active[j] = (uint32_t)j;
	f->model.active_count = x->d;
	cop_l1_model_curve(&f->model);
	return COP_OK;
}

/* r at (w, b). */
static void begin(fit *f, const float *w, float b)
{
	const cop_columns *x = f->model.x;
	float *r = f->model.r;
	for (size_t i = 0; i < x->n; i++)
		r[i] = b;
	for (size_t j = 0; j < x->d; j++)
		if (w[j] != 0.0F)
			cop_columns_add(x, j, w[j], r);
	for (size_t i = 0; i < x->n; i++)
		r[i] = f->model.h[i] > 0.0F ? f->model.h[i] * (r[i] - f->y[i]) : 0.0F;
}

/* Objective and duality gap, from r and the gradient. */
static void measure(fit *f, const float *w)
{
	const cop_l1_model *m = &f->model;
	double squares = 0.0;
	double product = 0.0;
	for (size_t i = 0; i < m->x->n; i++)
		if (m->h[i] > 0.0F) {
			squares += (double)m->r[i] * (double)m->r[i] / (double)m->h[i];
			product -= (double)m->r[i] * ((double)f->y[i] - f->centre);
		}
	double largest = 0.0;
	for (size_t j = 0; j < m->x->d; j++)
		largest = fmax(largest, fabs(m->gradient[j]));
	double t = largest > f->lambda ? f->lambda / largest : 1.0;
	f->objective = 0.5 * squares + f->lambda * cop_l1_model_norm(m->x->d, w);
	f->gap = f->objective - (t * product - 0.5 * t * t * squares);
}

static void move_bias(cop_l1_model *m, double db, double *bias)
{
	for (size_t i = 0; i < m->x->n; i++)
		m->r[i] += (float)db * m->h[i];
	*bias += db;
}

/* Returns the passes made. */
static unsigned descend(fit *f, const cop_l1_settings *settings, float *w, double *bias)
{
	cop_l1_model *m = &f->model;
	unsigned passes = 0;
	double violation = cop_l1_model_gradient(m, w);
	move_bias(m, -m->gradient_b / m->total, bias);
	violation = cop_l1_model_gradient(m, w);
	measure(f, w);
	while (passes < settings->max_steps && f->gap > settings->tolerance * f->zero) {
		double before = f->objective;
		unsigned left = settings->max_steps - passes;
		cop_l1_model_choose(m, w, NEAR * f->lambda);
		passes += cop_l1_model_minimise(m, w, 0.1 * violation, left < PASSES ? left : PASSES);
		move_bias(m, m->db, bias);
		for (size_t j = 0; j < m->x->d; j++)
			w[j] += m->dw[j];
		violation = cop_l1_model_gradient(m, w);
		measure(f, w);
		if (!(f->objective < before - ROUNDING * f->zero))
			break;
	}
	return passes;
}

/* Objective at (w, b) from the rows themselves. */
static double objective_at(fit *f, const float *w, float b)
{
	begin(f, w, b);
	double squares = 0.0;
	for (size_t i = 0; i < f->model.x->n; i++)
		if (f->model.h[i] > 0.0F)
			squares += (double)f->model.r[i] * (double)f->model.r[i] / (double)f->model.h[i];
	return 0.5 * squares + f->lambda * cop_l1_model_norm(f->model.x->d, w);
}

static cop_err run(fit *f, const cop_l1_settings *settings, float *w, float *b, cop_l1_report *report)
{
	size_t d = f->model.x->d;
	float *best = cop_mem_alloc(d, sizeof *best);
	if (best == NULL)
		return COP_ENOMEM;
	for (size_t j = 0; j < d; j++)
		best[j] = w[j];
	double start = objective_at(f, w, *b);
	double bias = (double)*b;
	if (f->zero < start) { /* a start that is worse than none */
		memset(best, 0, d * sizeof *best);
		bias = f->centre;
		(void)objective_at(f, best, (float)bias);
	}
	report->steps = descend(f, settings, best, &bias);
	double end = objective_at(f, best, (float)bias);
	report->objective = fmin(start, end) * f->unit;
	bool finite = isfinite(start) && isfinite(end) && isfinite((float)bias) && cop_l1_model_finite(d, best);
	if (finite && end <= start) {
		for (size_t j = 0; j < d; j++)
			w[j] = best[j];
		*b = (float)bias;
	}
	cop_mem_free(best);
	return finite ? COP_OK : COP_ENONFINITE;
}

cop_err cop_l1_linear_fit(const cop_l1_settings *settings, const cop_columns *x, const float *y, const float *weight,
        float *w, float *b, cop_l1_report *report)
{
	if (!cop_l1_settings_valid(settings))
		return COP_EINVAL;
	if (!isfinite(*b) || !cop_l1_model_finite(x->d, w))
		return COP_ENONFINITE;
	fit f;
	cop_l1_report out = { 0 };
	cop_err err = fit_init(&f, x, y, weight, settings->lambda);
	if (err == COP_OK)
		err = run(&f, settings, w, b, &out);
	cop_l1_model_fini(&f.model);
	if (err == COP_OK && report != NULL) {
		out.nonzeros = cop_l1_model_nonzeros(x->d, w);
		*report = out;
	}
	return err;
}

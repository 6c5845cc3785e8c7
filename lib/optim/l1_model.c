/* Coordinate descent on the quadratic model. The first pass goes over all active features, those after it over the
 * ones that are not 0 or have just moved; the caller's next gradient finds what was left out. */
#include "optim/l1_model.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "optim/l1_loss.h"

#define INNER_SHARE     0.25 /* the model is minimised until its violation is this share of the objective's */
#define GRAM_PASSES     100U
#define GRAM_SHARE      0.1   /* INNER_SHARE by products */
#define LEFT_OUT        0.3   /* products are made again when a feature they lack is violated by this share */
#define FEW             48U   /* features, for which no products are made */
#define NEAR            0.3   /* products are made of features whose gradient is within this share of lambda */
#define SLOW            0.75  /* products are made again when the violation fell to no less than this share */
#define HALVINGS        12U   /* of a step */
#define SUFFICIENT      0.01  /* Armijo: share of the predicted fall */
#define ROUNDING        1e-7  /* share of the objective that may be rounding */
#define LEAST_WEIGHT    1e-30 /* as a share of the largest */
#define LEAST_CURVATURE 1e-7  /* of a feature, as a share of its uncentred one */

cop_err cop_l1_model_init(cop_l1_model *model, const cop_columns *x, double lambda)
{
	size_t n = cop_kernel_pad(x->n);
	size_t d = x->d;
	*model = (cop_l1_model){ .x = x, .lambda = lambda };
	model->r = cop_mem_alloc(n, sizeof *model->r);
	model->h = cop_mem_alloc(n, sizeof *model->h);
	model->z = cop_mem_alloc(n, sizeof *model->z);
	model->gradient = cop_mem_alloc(d, sizeof *model->gradient);
	model->mean = cop_mem_alloc(d, sizeof *model->mean);
	model->curvature = cop_mem_alloc(d, sizeof *model->curvature);
	model->dw = cop_mem_alloc(d, sizeof *model->dw);
	model->q = cop_mem_alloc(d + COP_L1_GRAM_FEATURES, sizeof *model->q);
	model->active = cop_mem_alloc(d, sizeof *model->active);
	bool all = model->r != NULL && model->h != NULL && model->z != NULL && model->gradient != NULL &&
	           model->mean != NULL && model->curvature != NULL && model->dw != NULL && model->q != NULL &&
	           model->active != NULL;
	return all ? COP_OK : COP_ENOMEM;
}

void cop_l1_model_fini(cop_l1_model *model)
{
	cop_mem_free(model->r);
	cop_mem_free(model->h);
	cop_mem_free(model->z);
	cop_mem_free(model->gradient);
	cop_mem_free(model->mean);
	cop_mem_free(model->curvature);
	cop_mem_free(model->dw);
	cop_mem_free(model->q);
	cop_mem_free(model->active);
	*model = (cop_l1_model){ 0 };
}

static double sum(size_t n, const float *v)
{
	double s = 0.0;
#pragma omp simd reduction(+ : s)
	for (size_t i = 0; i < n; i++)
		s += (double)v[i];
	return s;
}

static double violation_of(double lambda, float w, double gradient)
{
	if (w != 0.0F)
		return fabs(gradient + (w > 0.0F ? lambda : -lambda));
	return fabs(gradient) > lambda ? fabs(gradient) - lambda : 0.0;
}

double cop_l1_model_gradient(cop_l1_model *model, const float *w)
{
	model->gradient_b = sum(model->x->n, model->r);
	double worst = fabs(model->gradient_b);
	for (size_t j = 0; j < model->x->d; j++) {
		double g = (double)cop_columns_dot(model->x, j, model->r);
		model->gradient[j] = g;
		worst = fmax(worst, violation_of(model->lambda, w[j], g));
	}
	return worst;
}

void cop_l1_model_choose(cop_l1_model *model, const float *w, double margin)
{
	size_t count = 0;
	for (size_t j = 0; j < model->x->d; j++) {
		bool near = fabs(model->gradient[j]) > model->lambda - margin && model->x->square[j] > 0.0;
		if (near || w[j] != 0.0F)
			model->active[count++] = (uint32_t)j;
	}
	model->active_count = count;
}

/* The best w_j + dw_j when the others stay; g is the model's derivative, at is where it stands now. */
static float best_at(double lambda, double curvature, float at, double g)
{
	double v = curvature * (double)at - g;
	return (float)(v > lambda ? (v - lambda) / curvature : v < -lambda ? (v + lambda) / curvature : 0.0);
}

/* One pass over active[0..*count): those that may move on come first afterwards, in order; *count is their number.
 * Returns the largest violation met. */
static double pass(cop_l1_model *model, const float *w, size_t *count)
{
	double worst = 0.0;
	size_t kept = 0;
	for (size_t k = 0; k < *count; k++) {
		uint32_t j = model->active[k];
		float at = w[j] + model->dw[j];
		double g = (double)cop_columns_dot(model->x, j, model->r) + model->db * model->total * model->mean[j];
		worst = fmax(worst, violation_of(model->lambda, at, g));
		float to = best_at(model->lambda, model->curvature[j], at, g);
		float dw = to - w[j];
		float move = dw - model->dw[j];
		if (move != 0.0F) {
			model->dw[j] = dw;
			cop_columns_add_weighted(model->x, j, move, model->h, model->r);
			model->db -= (double)move * model->mean[j];
		}
		if (to != 0.0F || move != 0.0F)
			model->active[kept++] = j;
	}
	*count = kept;
	return worst;
}

void cop_l1_model_curve(cop_l1_model *model)
{
	model->total = fmax(sum(model->x->n, model->h), (double)FLT_MIN);
	for (size_t k = 0; k < model->active_count; k++) {
		uint32_t j = model->active[k];
		double first;
		double second;
		cop_columns_moments(model->x, j, model->h, &first, &second);
		model->mean[j] = first / model->total;
		model->curvature[j] = fmax(second - first * model->mean[j], LEAST_CURVATURE * second);
		if (!(model->curvature[j] > 0.0)) /* the products were too small for a float */
			model->curvature[j] = (double)FLT_MIN;
	}
}

void cop_l1_model_step(cop_l1_model *model, const float *w)
{
	const cop_columns *x = model->x;
	double change = model->gradient_b * model->db;
	float db = (float)model->db;
	for (size_t i = 0; i < x->n; i++)
		model->z[i] = db;
	for (size_t j = 0; j < x->d; j++)
		if (model->dw[j] != 0.0F) {
			change += model->gradient[j] * (double)model->dw[j] +
			          model->lambda * (fabs((double)(w[j] + model->dw[j])) - fabs((double)w[j]));
			cop_columns_add(x, j, model->dw[j], model->z);
		}
	model->change = change;
}

unsigned cop_l1_model_minimise(cop_l1_model *model, const float *w, double violation, unsigned passes)
{
	memset(model->dw, 0, model->x->d * sizeof *model->dw);
	model->db = -model->gradient_b / model->total;
	size_t count = model->active_count;
	unsigned done = 0;
	while (done < passes && count > 0) {
		done++;
		if (pass(model, w, &count) <= violation)
			break;
	}
	return done;
}

/* One pass over list[0..*count) of gram's features, as `pass`; model->q: the model's derivatives. */
static double gram_pass(cop_l1_model *model, const cop_l1_gram *gram, const float *w, uint32_t *list, size_t *count)
{
	float *q = model->q;
	double worst = 0.0;
	size_t kept = 0;
	for (size_t i = 0; i < *count; i++) {
		uint32_t k = list[i];
		uint32_t j = gram->feature[k];
		const float *row = gram->matrix + k * gram->stride;
		float at = w[j] + model->dw[j];
		worst = fmax(worst, violation_of(model->lambda, at, (double)q[k]));
		float to = best_at(model->lambda, (double)row[k], at, (double)q[k]);
		float dw = to - w[j];
		float move = dw - model->dw[j];
		if (move != 0.0F) {
			model->dw[j] = dw;
#pragma omp simd
			for (size_t l = 0; l < gram->stride; l++)
				q[l] += move * row[l];
		}
		if (to != 0.0F || move != 0.0F)
			list[kept++] = k;
	}
	*count = kept;
	return worst;
}

/* dw by gram: passes over all its features, and between them over those that move. */
static void gram_minimise(cop_l1_model *model, const cop_l1_gram *gram, const float *w, double violation)
{
	uint32_t *list = model->active;
	float *q = model->q;
	unsigned passes = 0;
	memset(model->dw, 0, model->x->d * sizeof *model->dw);
	for (size_t k = 0; k < gram->count; k++)
		q[k] = (float)(model->gradient[gram->feature[k]] - (double)gram->mean[k] * model->gradient_b);
	for (double worst = HUGE_VAL; worst > violation && passes < GRAM_PASSES;) {
		size_t count = gram->count;
		for (size_t k = 0; k < count; k++)
			list[k] = (uint32_t)k;
		worst = gram_pass(model, gram, w, list, &count);
		passes++;
		for (double rest = worst; rest > 0.5 * violation && passes < GRAM_PASSES; passes++)
			rest = gram_pass(model, gram, w, list, &count);
	}
}

/* z of dw, then the best db for it. */
static void gram_step(cop_l1_model *model, const float *w)
{
	const size_t n = model->x->n;
	model->db = 0.0;
	cop_l1_model_step(model, w);
	double total = 0.0;
	double slope = model->gradient_b;
	for (size_t i = 0; i < n; i++) {
		total += (double)model->h[i];
		slope += (double)(model->h[i] * model->z[i]);
	}
	model->db = -slope / fmax(total, (double)FLT_MIN);
	model->change += model->gradient_b * model->db;
	for (size_t i = 0; i < n; i++)
		model->z[i] += (float)model->db;
}

/* Largest violation among features that gram does not have; those it has are marked in model->dw by 1. */
static double left_out(cop_l1_model *model, const cop_l1_gram *gram, const float *w)
{
	double worst = 0.0;
	memset(model->dw, 0, model->x->d * sizeof *model->dw);
	for (size_t k = 0; k < gram->count; k++)
		model->dw[gram->feature[k]] = 1.0F;
	for (size_t j = 0; j < model->x->d; j++)
		if (model->dw[j] == 0.0F)
			worst = fmax(worst, violation_of(model->lambda, w[j], model->gradient[j]));
	return worst;
}

/* Makes gram if that pays, *use telling so. */
static cop_err prepare_gram(cop_l1_model *model, cop_l1_gram *gram, cop_l1_progress *state, const float *w, bool *use)
{
	bool slow = state->age > 0 && state->violation > SLOW * state->before;
	*use = true;
	if (gram->matrix != NULL && !slow &&
	        left_out(model, gram, w) <= fmax(LEFT_OUT * state->violation, state->enough))
		return COP_OK;
	cop_l1_model_choose(model, w, NEAR * model->lambda);
	size_t n = model->x->n;
	size_t count = model->active_count;
	size_t rows = cop_l1_gram_rows(n, count);
	if (slow && rows < 2 * state->rows)
		rows = 2 * state->rows < n ? 2 * state->rows : n;
	*use = count >= FEW && count <= COP_L1_GRAM_FEATURES &&
	       cop_l1_gram_cost(rows, count) < state->pays * cop_l1_gram_columns_cost(model->x, count, model->active);
	if (!*use)
		return COP_OK;
	state->age = 0;
	state->rows = rows;
	return cop_l1_gram_build(gram, model->x, model->h, rows, count, model->active);
}

cop_err cop_l1_model_propose(cop_l1_model *model, cop_l1_gram *gram, cop_l1_progress *state, const float *w)
{
	bool use = false;
	if (!(state->failed && state->by_products)) {
		cop_err err = prepare_gram(model, gram, state, w, &use);
		if (err != COP_OK)
			return err;
	}
	if (use) {
		gram_minimise(model, gram, w, fmax(GRAM_SHARE * state->violation, 0.5 * GRAM_SHARE * state->enough));
		gram_step(model, w);
		use = model->change < 0.0;
	}
	if (!use) {
		double share = fmax(INNER_SHARE * state->violation, 0.5 * state->enough);
		cop_l1_model_choose(model, w, INNER_SHARE * state->violation);
		cop_l1_model_curve(model);
		(void)cop_l1_model_minimise(model, w, share, state->passes);
		cop_l1_model_step(model, w);
	}
	state->by_products = use;
	state->failed = false;
	state->before = state->violation;
	state->age++;
	return COP_OK;
}

float cop_l1_model_search(cop_l1_model *model, const float *w, cop_l1_line *line)
{
	const cop_columns *x = model->x;
	float t = 1.0F;
	for (unsigned k = 0; k < HALVINGS; k++, t *= 0.5F) {
		for (size_t i = 0; i < x->n; i++)
			line->trial[i] = line->prediction[i] + t * model->z[i];
		double objective = cop_l1_loss(x->n, line->trial, line->sign, line->weight, model->r, model->h) +
		                   model->lambda * cop_l1_model_norm_along(x->d, w, model->dw, t);
		if (objective <= line->objective + SUFFICIENT * (double)t * model->change) {
			line->objective = objective;
			return t;
		}
		if (-model->change <= ROUNDING * line->objective)
			break;
	}
	return 0.0F;
}

cop_err cop_l1_model_weights(size_t n, const float *weight, float *to, double *unit)
{
	double most = 0.0;
	*unit = 1.0;
	for (size_t i = 0; i < n && weight != NULL; i++) {
		if (!isfinite(weight[i]))
			return COP_ENONFINITE;
		most = fmax(most, (double)weight[i]);
	}
	if (most > 0.0)
		*unit = most;
	for (size_t i = 0; i < n; i++) {
		double share = weight != NULL ? (double)weight[i] / *unit : 1.0;
		to[i] = share < LEAST_WEIGHT ? 0.0F : (float)share;
	}
	return COP_OK;
}

double cop_l1_model_norm_along(size_t d, const float *w, const float *dw, float t)
{
	double s = 0.0;
	for (size_t j = 0; j < d; j++)
		s += fabs((double)(w[j] + t * dw[j]));
	return s;
}

double cop_l1_model_norm(size_t d, const float *w)
{
	double s = 0.0;
	for (size_t j = 0; j < d; j++)
		s += fabs((double)w[j]);
	return s;
}

size_t cop_l1_model_nonzeros(size_t d, const float *w)
{
	size_t count = 0;
	for (size_t j = 0; j < d; j++)
		count += w[j] != 0.0F;
	return count;
}

bool cop_l1_model_finite(size_t d, const float *w)
{
	for (size_t j = 0; j < d; j++)
		if (!isfinite(w[j]))
			return false;
	return true;
}

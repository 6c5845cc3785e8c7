/* A feature's weights stand as sums z of what gradients asked for, from which the penalty that the feature had so far
 * is taken off where a weight is needed (follow the regularised leader: McMahan, 2011). So a weight is 0 unless its
 * gradients outweigh the penalty over many rows, not just the last one. A step has the length RATE (1 - progress) /
 * sqrt(the feature's squared gradients so far). Small weights that the last steps left are cleared at the end, as long
 * as the objective does not rise. */
#include "optim/l1_softmax_rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "optim/l1_loss.h"
#include "optim/l1_model.h"

#define RATE   4.0   /* length of a feature's first step */
#define STIFF  0.1   /* of a feature that one row has, before its first step */
#define CLEAN  0.02  /* the first bound below which weights are taken for noise; the next ones are twice as high */
#define CLEANS 6     /* bounds, at most */
#define ABSENT 30.0F /* how far below all others the bias of a class without weight begins */
#define SEED   20211107U

/* What a feature's weights are made of, with their sums z: w = sign(z) max(|z| - spent, 0) / stiff. */
typedef struct feature {
	double share;  /* 1 / n_j */
	double square; /* of its gradients so far */
	double stiff;  /* 1 / the length of a step */
	double spent;  /* lambda times the passes that it had */
} feature;

typedef struct fit {
	const cop_l1_softmax_rows *rows;
	const cop_l1_softmax_pairs *pairs;
	double lambda;
	feature *feature; /* d */
	double bias_square;
	uint32_t *order; /* n */
	float *a, *g;    /* classes */
	float *start_w, *start_b;
	float *w, *b; /* w: of the pairs, or their sums */
} fit;

static void fit_fini(fit *f)
{
	void *arrays[] = { f->feature, f->order, f->a, f->g, f->start_w, f->start_b };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
}

static size_t entries(const fit *f) { return f->pairs->start[f->rows->d]; }

/* w stands for itself. */
static void as_weights(fit *f)
{
	for (size_t j = 0; j < f->rows->d; j++) {
		f->feature[j].stiff = 1.0;
		f->feature[j].spent = 0.0;
	}
}

static cop_err fit_init(fit *f)
{
	const cop_l1_softmax_rows *rows = f->rows;
	f->feature = cop_mem_alloc(rows->d, sizeof *f->feature);
	f->order = cop_mem_alloc(rows->n, sizeof *f->order);
	f->a = cop_mem_alloc(rows->classes, sizeof *f->a);
	f->g = cop_mem_alloc(rows->classes, sizeof *f->g);
	f->start_w = cop_mem_alloc(entries(f), sizeof *f->start_w);
	f->start_b = cop_mem_alloc(rows->classes, sizeof *f->start_b);
	if (f->feature == NULL || f->order == NULL || f->a == NULL || f->g == NULL || f->start_w == NULL ||
	        f->start_b == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < rows->n; i++) {
		f->order[i] = (uint32_t)i;
		for (size_t e = rows->start[i]; e < rows->start[i + 1] && rows->weight[i] > 0.0F; e++)
			f->feature[rows->index[e]].share += 1.0;
	}
	for (size_t j = 0; j < rows->d; j++)
		f->feature[j].share = 1.0 / fmax(f->feature[j].share, 1.0);
	as_weights(f);
	return COP_OK;
}

/* ---- scores ---- */

static inline __attribute__((always_inline)) float weight_at(float z, float spent, float inverse)
{
	float size = fabsf(z) - spent;
	return copysignf(size > 0.0F ? size * inverse : 0.0F, z);
}

/* a becomes the scores of row i; returns the greatest. */
static float predict(fit *f, size_t i)
{
	const cop_l1_softmax_rows *rows = f->rows;
	float *a = f->a;
	memcpy(a, f->b, rows->classes * sizeof *a);
	for (size_t e = rows->start[i]; e < rows->start[i + 1]; e++) {
		const feature *at = &f->feature[rows->index[e]];
		const size_t to = f->pairs->start[rows->index[e] + 1];
		float spent = (float)at->spent, inverse = (float)(1.0 / at->stiff), x = rows->value[e];
		for (size_t p = f->pairs->start[rows->index[e]]; p < to; p++)
			a[f->pairs->class[p]] += x * weight_at(f->w[p], spent, inverse);
	}
	float most = -FLT_MAX;
#pragma omp simd reduction(max : most)
	for (size_t k = 0; k < rows->classes; k++)
		most = a[k] > most ? a[k] : most;
	return most;
}

/* w stands for itself. */
static double objective(fit *f)
{
	double sum = 0.0;
	for (size_t i = 0; i < f->rows->n; i++) {
		float most = predict(f, i);
		double all = cop_l1_loss_exps(f->rows->classes, f->a, most, f->g);
		sum += (double)f->rows->weight[i] * (log(all) + (double)most - (double)f->a[f->rows->label[i]]);
	}
	return sum + f->lambda * cop_l1_model_norm(entries(f), f->w);
}

/* ---- steps ---- */

/* Feature j's sums take in the gradient x g, `length` being its g's square. rate: how long steps are, before they are
 * divided. */
static void add_gradient(fit *f, size_t j, float x, double length, double rate)
{
	feature *at = &f->feature[j];
	const uint32_t *class = f->pairs->class;
	const size_t to = f->pairs->start[j + 1];
	float spent = (float)at->spent, inverse = (float)(1.0 / at->stiff);
	at->square += (double)x * (double)x * length;
	double stiff = fmax(sqrt(at->square) / rate, at->stiff);
	float more = (float)(stiff - at->stiff);
	for (size_t p = f->pairs->start[j]; p < to; p++)
		f->w[p] += more * weight_at(f->w[p], spent, inverse) - x * f->g[class[p]];
	at->stiff = stiff;
	at->spent += f->lambda * at->share;
}

static void take_row(fit *f, size_t i, double rate)
{
	const cop_l1_softmax_rows *rows = f->rows;
	float c = rows->weight[i];
	float *g = f->g;
	if (!(c > 0.0F))
		return;
	float most = predict(f, i);
	float scale = (float)((double)c / cop_l1_loss_exps(rows->classes, f->a, most, g));
	float length = 0.0F;
#pragma omp simd
	for (size_t k = 0; k < rows->classes; k++)
		g[k] *= scale;
	g[rows->label[i]] -= c;
#pragma omp simd reduction(+ : length)
	for (size_t k = 0; k < rows->classes; k++)
		length += g[k] * g[k];
	if (!(length > 0.0F))
		return;
	for (size_t e = rows->start[i]; e < rows->start[i + 1]; e++)
		add_gradient(f, rows->index[e], rows->value[e], (double)length, rate);
	f->bias_square += (double)length;
	float step = (float)(rate / sqrt(f->bias_square));
#pragma omp simd
	for (size_t k = 0; k < rows->classes; k++)
		f->b[k] -= step * g[k];
}

static void to_sums(fit *f)
{
	for (size_t j = 0; j < f->rows->d; j++) {
		feature *at = &f->feature[j];
		at->stiff = STIFF / sqrt(at->share);
		for (size_t p = f->pairs->start[j]; p < f->pairs->start[j + 1]; p++)
			f->w[p] *= (float)at->stiff;
	}
}

static void to_weights(fit *f)
{
	for (size_t j = 0; j < f->rows->d; j++) {
		const feature *at = &f->feature[j];
		for (size_t p = f->pairs->start[j]; p < f->pairs->start[j + 1]; p++)
			f->w[p] = weight_at(f->w[p], (float)at->spent, (float)(1.0 / at->stiff));
	}
	as_weights(f);
}

/* ---- begin and end ---- */

/* The best biases where W = 0. False: no row has weight. COP_ENOMEM. */
static cop_err best_biases(const cop_l1_softmax_rows *rows, float *b, bool *any)
{
	double total = 0.0, least = (double)INFINITY;
	double *mass = cop_mem_alloc(rows->classes, sizeof *mass);
	if (mass == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < rows->n; i++)
		mass[rows->label[i]] += (double)rows->weight[i];
	for (size_t k = 0; k < rows->classes; k++) {
		total += mass[k];
		least = mass[k] > 0.0 ? fmin(least, mass[k]) : least;
	}
	*any = total > 0.0;
	for (size_t k = 0; k < rows->classes && *any; k++)
		b[k] = (float)log((mass[k] > 0.0 ? mass[k] : least) / total) - (mass[k] > 0.0 ? 0.0F : ABSENT);
	cop_mem_free(mass);
	return COP_OK;
}

static void keep(fit *f)
{
	memcpy(f->start_w, f->w, entries(f) * sizeof *f->w);
	memcpy(f->start_b, f->b, f->rows->classes * sizeof *f->b);
}

static void restore(fit *f)
{
	memcpy(f->w, f->start_w, entries(f) * sizeof *f->w);
	memcpy(f->b, f->start_b, f->rows->classes * sizeof *f->b);
}

/* The better of the start and W = 0 is kept, and is what the passes begin with. */
static cop_err begin(fit *f, double *least, bool *any)
{
	double start = objective(f);
	keep(f);
	cop_err err = best_biases(f->rows, f->b, any);
	if (err != COP_OK || !*any)
		return err;
	memset(f->w, 0, entries(f) * sizeof *f->w);
	*least = objective(f);
	if (start < *least) {
		*least = start;
		restore(f);
	}
	keep(f);
	return COP_OK;
}

static bool is_noise(float weight, float bound) { return weight != 0.0F && fabsf(weight) < bound; }

/* Weights below a bound become 0, for as long as the objective does not rise. */
static void clear_noise(fit *f, double *least)
{
	float bound = (float)CLEAN;
	for (unsigned k = 0; k < CLEANS; k++, bound *= 2.0F) {
		keep(f);
		for (size_t e = 0; e < entries(f); e++)
			f->w[e] = is_noise(f->w[e], bound) ? 0.0F : f->w[e];
		double without = objective(f);
		if (without > *least) {
			restore(f);
			return;
		}
		*least = without;
	}
}

static cop_err run(fit *f, unsigned passes, cop_l1_report *report)
{
	cop_rng rng;
	bool any = false;
	size_t n = f->rows->n, taken = 0;
	cop_err err = begin(f, &report->objective, &any);
	if (err != COP_OK || !any)
		return err;
	cop_rng_init(&rng, SEED, 0);
	to_sums(f);
	for (; report->steps < passes; report->steps++) {
		cop_rng_shuffle(&rng, n, f->order);
		for (size_t i = 0; i < n; i++, taken++)
			take_row(f, f->order[i], RATE * (1.0 - (double)taken / ((double)n * passes)));
	}
	to_weights(f);
	double end = objective(f);
	if (!(end <= report->objective)) { /* NaN too */
		restore(f);
		return COP_OK;
	}
	report->objective = end;
	if (f->lambda > 0.0)
		clear_noise(f, &report->objective);
	return COP_OK;
}

cop_err cop_l1_softmax_rows_fit(const cop_l1_settings *settings, const cop_l1_softmax_rows *rows,
        cop_l1_softmax_pairs *pairs, float *b, cop_l1_report *report)
{
	cop_l1_report out = { 0 };
	if (!cop_l1_settings_valid(settings))
		return COP_EINVAL;
	fit f = { .rows = rows, .pairs = pairs, .lambda = settings->lambda, .w = pairs->w, .b = b };
	if (!cop_l1_model_finite(rows->classes, b) || !cop_l1_model_finite(entries(&f), f.w))
		return COP_ENONFINITE;
	cop_err err = fit_init(&f);
	if (err == COP_OK)
		err = run(&f, settings->max_steps, &out);
	if (err == COP_OK && report != NULL) {
		out.nonzeros = cop_l1_model_nonzeros(entries(&f), f.w);
		*report = out;
	}
	fit_fini(&f);
	return err;
}

/* Class by class: with the others' predictions fixed, the loss of class k's is, but for a constant, that of logistic
 * regression of "k or not" whose margin is a_k - log sum over the other classes of exp(a_l). One Newton step of it (by
 * l1_model) for each class in turn is a cycle; a class whose optimality conditions hold is passed over. Classes without
 * weight take no part. */
#include "optim/l1_softmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "optim/l1_loss.h"
#include "optim/l1_model.h"

#define PASSES      4U    /* over columns, most in one step */
#define PAYS        4.0   /* passes that making products of features may cost */
#define FARTHEST    16.0F /* how far a cycle's way is followed, in cycles */
#define LEAST_SHARE 1e-6  /* of the largest gradient: violations below are rounding */
#define ABSENT      30.0F /* how far below all others the bias of a class without weight is */

typedef struct fit {
	cop_l1_model model;
	cop_l1_gram *gram;      /* classes */
	cop_l1_progress *state; /* classes */
	const cop_columns *x;
	const uint32_t *label;
	size_t classes, stride;
	double *mass;               /* classes: weight of each */
	float *weight;              /* n, the largest 1 */
	float *a;                   /* classes x stride: predictions */
	float *e;                   /* classes x stride: exp(a - most) */
	float *most;                /* n: largest prediction of the row, as it was at the start of the cycle */
	double *sum;                /* n: of e over classes */
	float *sign, *odds, *trial; /* n: of the class at hand */
	float *w_before, *b_before, *a_before; /* as w, b and a: at the start of the cycle, then the way since */
	float *sorted;                         /* classes: scratch */
	float *w, *b;                          /* what is fitted: classes x d, classes */
	double lambda, unit;
	double zero; /* objective at W = 0, the biases best */
} fit;

static void fit_fini(fit *f)
{
	for (size_t k = 0; k < f->classes && f->gram != NULL; k++)
		cop_l1_gram_fini(&f->gram[k]);
	cop_l1_model_fini(&f->model);
	void *arrays[] = { f->gram, f->state, f->mass, f->weight, f->a, f->e, f->most, f->sum, f->sign, f->odds,
		f->trial, f->sorted, f->w, f->b, f->w_before, f->b_before, f->a_before };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
}

static cop_err fit_allocate(fit *f)
{
	size_t k = f->classes;
	size_t n = f->stride;
	cop_err err = cop_l1_model_init(&f->model, f->x, f->lambda);
	f->mass = cop_mem_alloc(k, sizeof *f->mass);
	f->gram = cop_mem_alloc(k, sizeof *f->gram);
	f->state = cop_mem_alloc(k, sizeof *f->state);
	f->weight = cop_mem_alloc(n, sizeof *f->weight);
	if (n != 0 && k > SIZE_MAX / n)
		return COP_ENOMEM;
	f->a = cop_mem_alloc(k * n, sizeof *f->a);
	f->e = cop_mem_alloc(k * n, sizeof *f->e);
	f->most = cop_mem_alloc(n, sizeof *f->most);
	f->sum = cop_mem_alloc(n, sizeof *f->sum);
	f->sign = cop_mem_alloc(n, sizeof *f->sign);
	f->odds = cop_mem_alloc(n, sizeof *f->odds);
	f->trial = cop_mem_alloc(n, sizeof *f->trial);
	f->sorted = cop_mem_alloc(k, sizeof *f->sorted);
	f->w = cop_mem_alloc(k * f->x->d, sizeof *f->w);
	f->b = cop_mem_alloc(k, sizeof *f->b);
	f->w_before = cop_mem_alloc(k * f->x->d, sizeof *f->w);
	f->b_before = cop_mem_alloc(k, sizeof *f->b);
	f->a_before = cop_mem_alloc(k * n, sizeof *f->a);
	bool all = f->gram != NULL && f->state != NULL && f->mass != NULL && f->weight != NULL && f->a != NULL &&
	           f->e != NULL && f->most != NULL && f->sum != NULL && f->sign != NULL && f->odds != NULL &&
	           f->trial != NULL && f->sorted != NULL && f->w != NULL && f->b != NULL && f->w_before != NULL &&
	           f->b_before != NULL && f->a_before != NULL;
	return all ? err : COP_ENOMEM;
}

static cop_err fit_init(
        fit *f, const cop_columns *x, size_t classes, const uint32_t *label, const float *weight, double lambda)
{
	*f = (fit){ .x = x, .label = label, .classes = classes, .stride = cop_kernel_pad(x->n), .lambda = lambda };
	cop_err err = fit_allocate(f);
	if (err == COP_OK)
		err = cop_l1_model_weights(x->n, weight, f->weight, &f->unit);
	if (err != COP_OK)
		return err;
	f->lambda = lambda / f->unit;
	f->model.lambda = f->lambda;
	for (size_t i = 0; i < x->n; i++)
		f->mass[label[i]] += (double)f->weight[i];
	return COP_OK;
}

/* What is enough, from the violation at W = 0 with the best biases there, and the objective there: class k's
 * derivatives are then c_i (share_k - [y_i = k]). */
static cop_err measure_zero(fit *f, double tolerance)
{
	double *sums = cop_mem_alloc(f->classes, sizeof *sums);
	if (sums == NULL)
		return COP_ENOMEM;
	double total = 0.0;
	for (size_t k = 0; k < f->classes; k++)
		total += f->mass[k];
	f->zero = 0.0;
	for (size_t k = 0; k < f->classes; k++)
		f->zero += f->mass[k] > 0.0 ? f->mass[k] * log(total / f->mass[k]) : 0.0;
	double largest = 0.0;
	for (size_t j = 0; j < f->x->d; j++) {
		double all = 0.0;
		cop_columns_group(f->x, j, f->weight, f->label, f->classes, sums);
		for (size_t k = 0; k < f->classes; k++)
			all += sums[k];
		for (size_t k = 0; k < f->classes; k++)
			largest = fmax(largest, fabs(f->mass[k] / total * all - sums[k]));
	}
	double enough = fmax(tolerance * (largest - f->lambda), LEAST_SHARE * largest);
	for (size_t k = 0; k < f->classes; k++)
		f->state[k] = (cop_l1_progress){ .passes = PASSES, .pays = PAYS, .enough = enough };
	cop_mem_free(sums);
	return COP_OK;
}

/* a at (w, b), of the classes that take part. */
static void predict(fit *f)
{
	for (size_t k = 0; k < f->classes; k++) {
		float *a = f->a + k * f->stride;
		for (size_t i = 0; i < f->x->n; i++)
			a[i] = f->b[k];
		for (size_t j = 0; f->mass[k] > 0.0 && j < f->x->d; j++)
			if (f->w[k * f->x->d + j] != 0.0F)
				cop_columns_add(f->x, j, f->w[k * f->x->d + j], a);
	}
}

/* most, e and sum from a. Returns the objective. */
static double refresh(fit *f)
{
	size_t n = f->x->n;
	for (size_t i = 0; i < n; i++)
		f->most[i] = -FLT_MAX;
	memset(f->sum, 0, n * sizeof *f->sum);
	double objective = 0.0;
	for (size_t k = 0; k < f->classes; k++) {
		const float *a = f->a + k * f->stride;
		for (size_t i = 0; f->mass[k] > 0.0 && i < n; i++)
			f->most[i] = a[i] > f->most[i] ? a[i] : f->most[i];
	}
	for (size_t k = 0; k < f->classes; k++)
		if (f->mass[k] > 0.0) {
			cop_l1_loss_exp(n, f->a + k * f->stride, f->most, f->e + k * f->stride, f->sum);
			objective += f->lambda * cop_l1_model_norm(f->x->d, f->w + k * f->x->d);
		}
	for (size_t i = 0; i < n; i++)
		if (f->weight[i] > 0.0F)
			objective += (double)f->weight[i] *
			             (log(f->sum[i]) + (double)(f->most[i] - f->a[f->label[i] * f->stride + i]));
	return objective;
}

/* Adding t to a feature's weights for all classes changes no probability; the penalty is least where their median is 0.
 * Predictions keep what they had in common. */
static void centre_weights(fit *f)
{
	for (size_t j = 0; j < f->x->d; j++) {
		size_t count = 0;
		for (size_t k = 0; k < f->classes; k++)
			if (f->mass[k] > 0.0) { /* sorted by insertion */
				float v = f->w[k * f->x->d + j];
				size_t at = count++;
				for (; at > 0 && f->sorted[at - 1] > v; at--)
					f->sorted[at] = f->sorted[at - 1];
				f->sorted[at] = v;
			}
		float low = f->sorted[(count - 1) / 2];
		float high = f->sorted[count / 2];
		float middle = low > 0.0F ? low : high < 0.0F ? high : 0.0F;
		for (size_t k = 0; k < f->classes && middle != 0.0F; k++)
			if (f->mass[k] > 0.0)
				f->w[k * f->x->d + j] -= middle;
	}
}

/* Takes class k's step as far as it helps. loss: of k against the others, where it stands. */
static bool search(fit *f, size_t k, double loss)
{
	cop_l1_model *m = &f->model;
	size_t n = f->x->n;
	float *w = f->w + k * f->x->d;
	float *a = f->a + k * f->stride;
	float *e = f->e + k * f->stride;
	double before = loss + f->lambda * cop_l1_model_norm(f->x->d, w);
	cop_l1_line line = { f->odds, f->sign, f->weight, f->trial, before };
	float t = cop_l1_model_search(m, w, &line);
	if (!(t > 0.0F))
		return false;
	for (size_t j = 0; j < f->x->d; j++)
		w[j] += t * m->dw[j];
	f->b[k] += t * (float)m->db;
	for (size_t i = 0; i < n; i++) {
		a[i] += t * m->z[i];
		f->sum[i] -= (double)e[i];
	}
	cop_l1_loss_exp(n, a, f->most, e, f->sum);
	return true;
}

/* One step of class k; *moved becomes true unless there is nothing to gain. */
static cop_err improve(fit *f, size_t k, bool *moved)
{
	cop_l1_model *m = &f->model;
	size_t n = f->x->n;
	const float *w = f->w + k * f->x->d;
	for (size_t i = 0; i < n; i++)
		f->sign[i] = f->label[i] == k ? 1.0F : -1.0F;
	cop_l1_loss_odds(n, f->a + k * f->stride, f->most, f->e + k * f->stride, f->sum, f->odds);
	double loss = cop_l1_loss(n, f->odds, f->sign, f->weight, m->r, m->h);
	cop_l1_progress *state = &f->state[k];
	state->violation = cop_l1_model_gradient(m, w);
	if (!(state->violation > state->enough))
		return COP_OK;
	cop_err err = cop_l1_model_propose(m, &f->gram[k], state, w);
	state->failed = err == COP_OK && !(m->change < 0.0 && search(f, k, loss));
	if (!state->failed || state->by_products) /* which may yet move by columns */
		*moved = true;
	return err;
}

static void add(size_t n, float t, const float *step, float *v)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		v[i] += t * step[i];
}

static void subtract(size_t n, const float *v, float *from_before)
{
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		from_before[i] = v[i] - from_before[i];
}

static void keep(fit *f)
{
	memcpy(f->w_before, f->w, f->classes * f->x->d * sizeof *f->w);
	memcpy(f->b_before, f->b, f->classes * sizeof *f->b);
	memcpy(f->a_before, f->a, f->classes * f->stride * sizeof *f->a);
}

/* Goes t times what `before` holds by now, the way of the last cycle. Returns the objective there. */
static double go_on(fit *f, float t)
{
	add(f->classes * f->x->d, t, f->w_before, f->w);
	add(f->classes, t, f->b_before, f->b);
	add(f->classes * f->stride, t, f->a_before, f->a);
	return refresh(f);
}

/* Classes hinder one another, so that cycles take many small steps the same way: goes on that way for as long as it
 * helps. Returns the objective. */
static double extrapolate(fit *f, double objective)
{
	subtract(f->classes * f->x->d, f->w, f->w_before);
	subtract(f->classes, f->b, f->b_before);
	subtract(f->classes * f->stride, f->a, f->a_before);
	for (float t = 1.0F; t <= FARTHEST; t *= 2.0F) {
		double there = go_on(f, t);
		if (!(there < objective))
			return go_on(f, -t);
		objective = there;
	}
	return objective;
}

/* Cycles until no class has anything to gain; *steps is their number. *objective is that of the start, then of what was
 * reached. */
static cop_err descend(fit *f, unsigned max_steps, double *objective, unsigned *steps)
{
	bool moved = true;
	while (*steps < max_steps && moved) {
		moved = false;
		centre_weights(f);
		keep(f);
		for (size_t k = 0; k < f->classes; k++) {
			cop_err err = f->mass[k] > 0.0 ? improve(f, k, &moved) : COP_OK;
			if (err != COP_OK)
				return err;
		}
		*objective = refresh(f);
		*steps += moved;
		if (moved && *steps > 1)
			*objective = extrapolate(f, *objective);
	}
	return COP_OK;
}

/* Classes without weight: no weights, and a bias that makes them as good as impossible. */
static void put_absent(fit *f)
{
	float least = FLT_MAX;
	for (size_t k = 0; k < f->classes; k++)
		if (f->mass[k] > 0.0)
			least = fminf(least, f->b[k]);
	for (size_t k = 0; k < f->classes; k++)
		if (!(f->mass[k] > 0.0)) {
			f->b[k] = least - ABSENT;
			memset(f->w + k * f->x->d, 0, f->x->d * sizeof *f->w);
		}
}

static cop_err run(fit *f, const cop_l1_settings *settings, float *w, float *b, cop_l1_report *report)
{
	size_t d = f->x->d;
	cop_err err = measure_zero(f, settings->tolerance);
	if (err != COP_OK)
		return err;
	memcpy(f->w, w, f->classes * d * sizeof *w);
	memcpy(f->b, b, f->classes * sizeof *b);
	predict(f);
	double start = refresh(f);
	if (f->zero < start) { /* a start that is worse than none */
		memset(f->w, 0, f->classes * d * sizeof *w);
		for (size_t k = 0; k < f->classes; k++)
			f->b[k] = f->mass[k] > 0.0 ? (float)log(f->mass[k]) : 0.0F;
		predict(f);
		start = refresh(f);
	}
	double objective = start;
	err = isfinite(start) ? descend(f, settings->max_steps, &objective, &report->steps) : COP_OK;
	if (err != COP_OK)
		return err;
	put_absent(f);
	if (!isfinite(objective) || !cop_l1_model_finite(f->classes * d, f->w) ||
	        !cop_l1_model_finite(f->classes, f->b))
		return COP_ENONFINITE;
	report->objective = fmin(start, objective) * f->unit;
	if (objective > start) /* by rounding */
		return COP_OK;
	memcpy(w, f->w, f->classes * d * sizeof *w);
	memcpy(b, f->b, f->classes * sizeof *b);
	return COP_OK;
}

static size_t present(const fit *f)
{
	size_t count = 0;
	for (size_t k = 0; k < f->classes; k++)
		count += f->mass[k] > 0.0;
	return count;
}

/* Rows of one class, or none that counts: W = 0 is the best. */
static void settle(fit *f, float *w, float *b)
{
	memset(w, 0, f->classes * f->x->d * sizeof *w);
	for (size_t k = 0; k < f->classes; k++)
		b[k] = f->mass[k] > 0.0 || present(f) == 0 ? 0.0F : -ABSENT;
}

static cop_err check(const cop_l1_settings *settings, const cop_columns *x, size_t classes, const uint32_t *label)
{
	if (!cop_l1_settings_valid(settings) || classes < 2 || (x->d != 0 && classes > SIZE_MAX / x->d))
		return COP_EINVAL;
	for (size_t i = 0; i < x->n; i++)
		if (label[i] >= classes)
			return COP_EINVAL;
	return COP_OK;
}

cop_err cop_l1_softmax_fit(const cop_l1_settings *settings, const cop_columns *x, size_t classes, const uint32_t *label,
        const float *weight, float *w, float *b, cop_l1_report *report)
{
	cop_err err = check(settings, x, classes, label);
	if (err != COP_OK)
		return err;
	if (!cop_l1_model_finite(classes, b) || !cop_l1_model_finite(classes * x->d, w))
		return COP_ENONFINITE;
	fit f;
	cop_l1_report out = { 0 };
	err = fit_init(&f, x, classes, label, weight, settings->lambda);
	if (err == COP_OK && present(&f) > 1)
		err = run(&f, settings, w, b, &out);
	else if (err == COP_OK)
		settle(&f, w, b);
	fit_fini(&f);
	if (err == COP_OK && report != NULL) {
		out.nonzeros = cop_l1_model_nonzeros(classes * x->d, w);
		*report = out;
	}
	return err;
}

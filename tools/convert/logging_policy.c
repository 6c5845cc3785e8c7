/* The base regresses every arm's cost, 0 for the class and 1 for the others, on standardised rows: full information,
 * as a supervised model that was there before the log began. */
#include "logging_policy.h"

#include <math.h>
#include <stdbool.h>

#include "bandit/policy.h"
#include "base/mem.h"
#include "events/logged_event.h"
#include "learn/additive.h"
#include "linalg/kernel.h"

#define EPOCHS         8
#define TREES          16
#define HEIGHT         5
#define SPLIT_RATE     0.1f
#define LEAF_RATE      0.3f
#define LINEAR_RATE    0.3f
#define MOST_MEMORY    2e9
#define MOST_MAGNITUDE 10.0f /* of a standardised value: rows beyond the fitted ones move no further */

struct cop_logging_policy {
	cop_logging_settings set;
	size_t arms;
	cop_rng rng;
	double *p; /* arms */

	cop_additive *model; /* NULL: none is needed */
	size_t d;
	float *mean, *scale; /* d; sparse rows are not centred */
	float *scores;       /* padded */
	float *value;        /* d + 1, the standardised row */
	uint32_t *index;     /* d + 1, when sparse */
};

void cop_logging_policy_free(cop_logging_policy *policy)
{
	if (policy == NULL)
		return;
	cop_additive_free(policy->model);
	cop_mem_free(policy->p);
	cop_mem_free(policy->mean);
	cop_mem_free(policy->scale);
	cop_mem_free(policy->scores);
	cop_mem_free(policy->value);
	cop_mem_free(policy->index);
	cop_mem_free(policy);
}

static float bounded(float v) { return fminf(fmaxf(v, -MOST_MAGNITUDE), MOST_MAGNITUDE); }

/* The row, standardised, with the constant behind it. */
static void prepare(cop_logging_policy *policy, const cop_row *x, cop_row *out)
{
	size_t d = policy->d;
	*out = (cop_row){ .d = d + 1 };
	if (x->dense != NULL) {
		for (size_t i = 0; i < d; i++)
			policy->value[i] = bounded((x->dense[i] - policy->mean[i]) * policy->scale[i]);
		policy->value[d] = 1.0f;
		out->dense = policy->value;
		return;
	}
	for (size_t i = 0; i < x->nnz; i++) {
		policy->index[i] = x->index[i];
		policy->value[i] = bounded(x->value[i] * policy->scale[x->index[i]]);
	}
	policy->index[x->nnz] = (uint32_t)d;
	policy->value[x->nnz] = 1.0f;
	out->nnz = x->nnz + 1;
	out->index = policy->index;
	out->value = policy->value;
}

/* Dense: mean and 1 / deviation; sparse: 1 / root mean square of what is there. 0 for what does not vary. */
static cop_err fit_scale(cop_logging_policy *policy, const cop_dataset *data, const uint32_t *order, size_t rows)
{
	size_t d = policy->d;
	double *sum = cop_mem_alloc(3 * d, sizeof *sum);
	if (sum == NULL)
		return COP_ENOMEM;
	double *square = sum + d;
	double *count = square + d;
	for (size_t i = 0; i < rows; i++) {
		cop_row x;
		cop_dataset_row(data, order[i], &x);
		for (size_t k = 0; k < cop_row_entries(&x); k++) {
			size_t place = cop_row_index(&x, k);
			double v = (double)cop_row_value(&x, k);
			sum[place] += v;
			square[place] += v * v;
			count[place]++;
		}
	}
	for (size_t i = 0; i < d; i++) {
		double mean = count[i] > 0 && !data->sparse ? sum[i] / count[i] : 0.0;
		double variance = count[i] > 0 ? square[i] / count[i] - mean * mean : 0.0;
		policy->mean[i] = (float)mean;
		policy->scale[i] = variance > 1e-12 * (1.0 + mean * mean) ? (float)(1.0 / sqrt(variance)) : 0.0f;
	}
	cop_mem_free(sum);
	return COP_OK;
}

static cop_err fit(cop_logging_policy *policy, const cop_dataset *data, const uint32_t *order, size_t rows)
{
	cop_err err = fit_scale(policy, data, order, rows);
	for (size_t i = 0; i < EPOCHS * rows && err == COP_OK; i++) {
		cop_row x;
		cop_row standard;
		cop_dataset_row(data, order[i % rows], &x);
		prepare(policy, &x, &standard);
		cop_additive_scores(policy->model, &standard, policy->scores);
		for (size_t k = 0; k < policy->arms && err == COP_OK; k++) {
			float cost = data->target[order[i % rows]] == (double)k ? 0.0f : 1.0f;
			err = cop_additive_update(policy->model, &standard, k, policy->scores[k] - cost);
			err = err == COP_EDIVERGED ? COP_OK : err; /* that step was not taken */
		}
	}
	return err;
}

static cop_err make_model(cop_logging_policy *policy, const cop_dataset *data, cop_diag *diag)
{
	size_t d = data->d;
	bool trees = policy->set.base == COP_LOGGING_TREES;
	cop_additive_settings settings = {
		.kernel = cop_kernel_best(),
		.inputs = d + 1,
		.typical = data->sparse ? data->start[data->n] / data->n + 1 : d + 1,
		.outputs = policy->arms,
		.trees = trees ? TREES : 0,
		.height = HEIGHT,
		.split_rate = SPLIT_RATE,
		.leaf_rate = LEAF_RATE,
		.linear_rate = LINEAR_RATE,
	};
	if (cop_additive_footprint(&settings) > MOST_MEMORY) {
		cop_diag_message(diag,
		        "%zu features and %zu classes are too many for a learned base, expected --base ARM or "
		        "--logging "
		        "uniform",
		        d, policy->arms);
		return COP_EINVAL;
	}
	policy->d = d;
	policy->mean = cop_mem_alloc(d, sizeof *policy->mean);
	policy->scale = cop_mem_alloc(d, sizeof *policy->scale);
	policy->value = cop_mem_alloc(d + 1, sizeof *policy->value);
	policy->index = cop_mem_alloc(data->sparse ? d + 1 : 1, sizeof *policy->index);
	policy->scores = cop_mem_alloc(cop_kernel_pad(policy->arms), sizeof *policy->scores);
	if (policy->mean == NULL || policy->scale == NULL || policy->value == NULL || policy->index == NULL ||
	        policy->scores == NULL)
		return COP_ENOMEM;
	cop_rng start;
	cop_rng_init(&start, policy->set.seed, 3);
	return cop_additive_new(&settings, &start, &policy->model);
}

static bool needs_model(const cop_logging_settings *s)
{
	return (s->kind == COP_LOGGING_EPSILON || s->kind == COP_LOGGING_SOFTMAX) && s->base != COP_LOGGING_ARM;
}

static bool needs_arm(const cop_logging_settings *s)
{
	return s->kind == COP_LOGGING_CONSTANT || (s->kind != COP_LOGGING_UNIFORM && s->base == COP_LOGGING_ARM);
}

cop_err cop_logging_policy_new(const cop_logging_settings *settings, const cop_dataset *data, size_t arms,
        const uint32_t *order, cop_logging_policy **out, cop_diag *diag)
{
	*out = NULL;
	if (needs_arm(settings) && settings->arm >= arms) {
		cop_diag_message(diag, "arm %llu is none of the %zu classes, which count from 0",
		        (unsigned long long)settings->arm, arms);
		return COP_EINVAL;
	}
	bool mixes = settings->kind == COP_LOGGING_EPSILON && settings->epsilon > 0.0;
	if (mixes && settings->epsilon / (double)arms < COP_LOGGED_PROBABILITY_MIN) {
		cop_diag_message(diag,
		        "epsilon %g leaves each of %zu arms less than %g, which no log may hold; expected 0 or more",
		        settings->epsilon, arms, COP_LOGGED_PROBABILITY_MIN);
		return COP_EINVAL;
	}
	cop_logging_policy *policy = cop_mem_alloc(1, sizeof *policy);
	cop_err err = policy == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK) {
		policy->set = *settings;
		policy->arms = arms;
		cop_rng_init(&policy->rng, settings->seed, 2);
		policy->p = cop_mem_alloc(arms, sizeof *policy->p);
		err = policy->p == NULL ? COP_ENOMEM : COP_OK;
	}
	if (err == COP_OK && needs_model(settings)) {
		size_t rows = settings->rows < data->n ? settings->rows : data->n;
		err = make_model(policy, data, diag);
		if (err == COP_OK)
			err = fit(policy, data, order, rows);
	}
	if (err == COP_OK) {
		*out = policy;
		return COP_OK;
	}
	if (err == COP_ENOMEM)
		cop_diag_message(diag, "out of memory");
	cop_logging_policy_free(policy);
	return err;
}

/* ---- deciding ---- */

static void score(cop_logging_policy *policy, const cop_row *x)
{
	cop_row standard;
	prepare(policy, x, &standard);
	cop_additive_scores(policy->model, &standard, policy->scores);
}

static size_t base_arm(cop_logging_policy *policy, const cop_row *x)
{
	size_t best = 0;
	if (policy->model == NULL)
		return (size_t)policy->set.arm;
	score(policy, x);
	for (size_t k = 1; k < policy->arms; k++)
		if (policy->scores[k] < policy->scores[best])
			best = k;
	return best;
}

/* What is too small for a log is never drawn; the others share it. */
static void cut_small(cop_logging_policy *policy)
{
	double kept = 0.0;
	for (size_t k = 0; k < policy->arms; k++) {
		if (policy->p[k] < COP_LOGGED_PROBABILITY_MIN)
			policy->p[k] = 0.0;
		kept += policy->p[k];
	}
	for (size_t k = 0; k < policy->arms; k++)
		policy->p[k] = fmin(policy->p[k] / kept, 1.0);
}

static void softmax(cop_logging_policy *policy, const cop_row *x)
{
	double share = policy->set.epsilon / (double)policy->arms;
	double sum = 0.0;
	size_t best = base_arm(policy, x);
	for (size_t k = 0; k < policy->arms; k++) {
		double gap = policy->model != NULL ? (double)(policy->scores[k] - policy->scores[best]) : k != best;
		policy->p[k] = exp(-gap / policy->set.temperature);
		sum += policy->p[k];
	}
	for (size_t k = 0; k < policy->arms; k++)
		policy->p[k] = (1.0 - policy->set.epsilon) * policy->p[k] / sum + share;
	cut_small(policy);
}

void cop_logging_policy_draw(cop_logging_policy *policy, const cop_row *x, uint32_t *arm, double *p)
{
	double even = 1.0 / (double)policy->arms;
	switch (policy->set.kind) {
	case COP_LOGGING_CONSTANT:
		*arm = (uint32_t)policy->set.arm;
		*p = 1.0;
		return;
	case COP_LOGGING_UNIFORM:
		*arm = (uint32_t)cop_rng_below(&policy->rng, policy->arms);
		*p = even;
		return;
	case COP_LOGGING_EPSILON: {
		size_t base = base_arm(policy, x);
		bool explore = cop_rng_unit(&policy->rng) < policy->set.epsilon;
		size_t other = (size_t)cop_rng_below(&policy->rng, policy->arms);
		*arm = (uint32_t)(explore ? other : base);
		*p = fmin(policy->set.epsilon * even + (*arm == base ? 1.0 - policy->set.epsilon : 0.0), 1.0);
		return;
	}
	default:
		softmax(policy, x);
		*arm = (uint32_t)cop_policy_draw(policy->arms, policy->p, &policy->rng);
		*p = policy->p[*arm];
	}
}

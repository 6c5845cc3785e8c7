/* Plain loops over separate arrays, so that they vectorise; the order of operations within an element is fixed. */
#include "optim/optim_private.h"

#include <float.h>
#include <math.h>

static unsigned none(const cop_optim_settings *settings)
{
	(void)settings;
	return 0;
}

static unsigned one(const cop_optim_settings *settings)
{
	(void)settings;
	return 1;
}

static unsigned two(const cop_optim_settings *settings)
{
	(void)settings;
	return 2;
}

static unsigned one_or_momentum(const cop_optim_settings *settings) { return settings->momentum > 0.0 ? 2 : 1; }

static void decay_nothing(const cop_optim_settings *settings, double decay[2])
{
	(void)settings;
	decay[0] = decay[1] = 1.0;
}

static void decay_momentum(const cop_optim_settings *settings, double decay[2])
{
	decay[0] = settings->momentum;
	decay[1] = 1.0;
}

static void decay_rmsprop(const cop_optim_settings *settings, double decay[2])
{
	decay[0] = settings->alpha;
	decay[1] = settings->momentum;
}

static void decay_adam(const cop_optim_settings *settings, double decay[2])
{
	decay[0] = settings->beta1;
	decay[1] = settings->beta2;
}

static void sgd(const cop_optim_coefficients *c, size_t n, float *restrict w, const float *restrict g,
        float *restrict s1, float *restrict s2)
{
	(void)s1;
	(void)s2;
	float lr = c->lr;
#pragma omp simd
	for (size_t i = 0; i < n; i++)
		w[i] -= lr * g[i];
}

/* 0 below FLT_MIN: what only decays does not stay among the subnormal numbers, with which some processors are twenty
 * times as slow. */
static inline float settled(float x) { return fabsf(x) < FLT_MIN ? 0.0f : x; }

static void momentum(const cop_optim_coefficients *c, size_t n, float *restrict w, const float *restrict g,
        float *restrict s1, float *restrict s2)
{
	(void)s2;
	float lr = c->lr, mu = c->momentum;
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		s1[i] = settled(mu * s1[i] + g[i]);
		w[i] -= lr * s1[i];
	}
}

static void rmsprop(const cop_optim_coefficients *c, size_t n, float *restrict w, const float *restrict g,
        float *restrict s1, float *restrict s2)
{
	if (s2 == NULL) {
		const cop_kernel_rmsprop k = { c->lr, c->alpha, c->rest_alpha, c->eps_in, c->eps_out };
		c->kernel->rmsprop(n, &k, g, w, s1);
		return;
	}
	float lr = c->lr, alpha = c->alpha, rest = c->rest_alpha, in = c->eps_in, out = c->eps_out, mu = c->momentum;
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		s1[i] = settled(alpha * s1[i] + rest * (g[i] * g[i]));
		s2[i] = settled(mu * s2[i] + g[i] / (sqrtf(s1[i] + in) + out));
		w[i] -= lr * s2[i];
	}
}

static void adagrad(const cop_optim_coefficients *c, size_t n, float *restrict w, const float *restrict g,
        float *restrict s1, float *restrict s2)
{
	(void)s2;
	float lr = c->lr, in = c->eps_in, out = c->eps_out;
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		s1[i] += g[i] * g[i];
		w[i] -= lr * g[i] / (sqrtf(s1[i] + in) + out);
	}
}

static void adam(const cop_optim_coefficients *c, size_t n, float *restrict w, const float *restrict g,
        float *restrict s1, float *restrict s2)
{
	float b1 = c->beta1, rest1 = c->rest_beta1, b2 = c->beta2, rest2 = c->rest_beta2;
	float lr = c->lr_unbiased, unbias2 = c->unbias2, in = c->eps_in, out = c->eps_out;
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		s1[i] = settled(b1 * s1[i] + rest1 * g[i]);
		s2[i] = settled(b2 * s2[i] + rest2 * (g[i] * g[i]));
		w[i] -= lr * s1[i] / (sqrtf(s2[i] * unbias2 + in) + out);
	}
}

static void qhadam(const cop_optim_coefficients *c, size_t n, float *restrict w, const float *restrict g,
        float *restrict s1, float *restrict s2)
{
	float b1 = c->beta1, rest1 = c->rest_beta1, b2 = c->beta2, rest2 = c->rest_beta2, lr = c->lr;
	float old1 = c->average1, new1 = c->rest_nu1, old2 = c->average2, new2 = c->rest_nu2;
	float in = c->eps_in, out = c->eps_out;
#pragma omp simd
	for (size_t i = 0; i < n; i++) {
		float square = g[i] * g[i];
		s1[i] = settled(b1 * s1[i] + rest1 * g[i]);
		s2[i] = settled(b2 * s2[i] + rest2 * square);
		w[i] -= lr * (new1 * g[i] + old1 * s1[i]) / (sqrtf(new2 * square + old2 * s2[i] + in) + out);
	}
}

static const cop_optim_rule rules[] = {
	{ "sgd", { .lr = 1e-2, .eps = 1e-8 }, false, false, none, decay_nothing, sgd },
	{ "momentum", { .lr = 1e-2, .momentum = 0.9, .eps = 1e-8 }, false, false, one, decay_momentum, momentum },
	{ "rmsprop", { .lr = 1e-2, .alpha = 0.99, .eps = 1e-5 }, true, false, one_or_momentum, decay_rmsprop, rmsprop },
	{ "adagrad", { .lr = 1e-1, .eps = 1e-8 }, true, false, one, decay_nothing, adagrad },
	{ "adam", { .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 }, false, true, two, decay_adam, adam },
	{ "qhadam", { .lr = 1e-3, .beta1 = 0.995, .beta2 = 0.999, .nu1 = 0.7, .nu2 = 1.0, .eps = 1e-8 }, false, true,
	        two, decay_adam, qhadam },
};

const cop_optim_rule *cop_optim_rules(size_t *count)
{
	*count = sizeof rules / sizeof *rules;
	return rules;
}

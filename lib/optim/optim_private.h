/* optim/optim_private.h: what an optimiser is made of (private to lib/optim): one table row, one update kernel.
 *
 * Up to two state arrays beside the weights, s1 and s2, elementwise. Between touches of a row each state decays by a
 * constant factor per step, which is all that step_rows needs to catch up. */
#ifndef COP_OPTIM_OPTIM_PRIVATE_H
#define COP_OPTIM_OPTIM_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "linalg/kernel.h"
#include "optim/optim.h"

/* The settings in the form that a kernel takes, for one step. */
typedef struct cop_optim_coefficients {
	const cop_kernel *kernel;
	float lr;
	float momentum;
	float alpha, rest_alpha; /* alpha and 1 - alpha; so below */
	float beta1, rest_beta1;
	float beta2, rest_beta2;
	float eps_in, eps_out;    /* sqrt(s + eps_in) + eps_out: one of them is 0 */
	float lr_unbiased;        /* lr / (1 - beta1^t) */
	float unbias2;            /* 1 / (1 - beta2^t) */
	float average1, rest_nu1; /* nu1 / (1 - beta1^t) and 1 - nu1, */
	float average2, rest_nu2; /* nu2 / (1 - beta2^t) and 1 - nu2 */
} cop_optim_coefficients;

typedef struct cop_optim_rule {
	const char *name;
	cop_optim_settings defaults;
	bool squares1, squares2; /* s1, s2 hold squares: never negative */
	/* Number of state arrays with these settings: 0, 1 or 2. */
	unsigned (*states)(const cop_optim_settings *settings);
	/* What s1 and s2 are multiplied by in a step whose gradient is zero. */
	void (*decay)(const cop_optim_settings *settings, double decay[2]);
	/* One step on n weights; an absent state is NULL. No array overlaps another. */
	void (*update)(const cop_optim_coefficients *c, size_t n, float *w, const float *g, float *s1, float *s2);
} cop_optim_rule;

/* All rules; *count of them. */
const cop_optim_rule *cop_optim_rules(size_t *count);

#endif

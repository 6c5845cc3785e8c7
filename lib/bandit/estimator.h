/* bandit/estimator.h: gradient estimates from loss feedback, and scaling of losses.
 *
 * Arms: the score theta of the played arm is a logit, and 1 - sigmoid(theta) is the predicted loss.
 *   squared_ips  eq. (8) of Karthikeyan et al.: g = 2/p (l - (1 - s)) s (1 - s), s = sigmoid(theta)
 *   direct       logistic loss without 1/p: g = l - (1 - s)
 * Values: y is played with a perturbation of delta.
 *   one-point    eq. (9): g = (l - baseline) u / delta, u = +1 or -1 (the baseline leaves the mean as it is)
 *   two-point    eq. (10): g = (l+ - l-) / (2 delta)
 * Losses are in [0, 1] for arms. Pure functions; any thread. */
#ifndef COP_BANDIT_ESTIMATOR_H
#define COP_BANDIT_ESTIMATOR_H

#include "base/err.h"

typedef struct cop_estimator {
	const char *name;
	/* d loss / d theta for the played arm; p is its propensity in (0, 1]. */
	double (*gradient)(double theta, double loss, double p);
} cop_estimator;

/* "squared_ips" or "direct"; NULL when there is none of that name. */
const cop_estimator *cop_estimator_find(const char *name);

double cop_estimator_sigmoid(double x);
double cop_estimator_one_point(double loss, double baseline, int u, double delta);
double cop_estimator_two_point(double loss_plus, double loss_minus, double delta);

/* (loss - low) / (high - low). */
double cop_estimator_scale(double loss, double low, double high);
/* The same for a loss from outside. COP_ENONFINITE: it is not finite. COP_EINVAL: outside [low, high]. *scaled is left
 * alone then. */
COP_CHECK cop_err cop_estimator_scale_loss(double loss, double low, double high, double *scaled);

#endif

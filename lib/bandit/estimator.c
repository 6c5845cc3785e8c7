/* The sigmoid is computed from exp of a number of at most 0, so it never overflows. Estimators of arms are rows of a
 * table found by name; a new one is a function and a row. */
#include "bandit/estimator.h"

#include <math.h>
#include <string.h>

double cop_estimator_sigmoid(double x)
{
	if (x >= 0.0)
		return 1.0 / (1.0 + exp(-x));
	double e = exp(x);
	return e / (1.0 + e);
}

static double squared_ips(double theta, double loss, double p)
{
	double s = cop_estimator_sigmoid(theta);
	return 2.0 / p * (loss - (1.0 - s)) * s * (1.0 - s);
}

static double direct(double theta, double loss, double p)
{
	(void)p;
	return loss - (1.0 - cop_estimator_sigmoid(theta));
}

static const cop_estimator estimators[] = {
	{ "squared_ips", squared_ips },
	{ "direct", direct },
};

const cop_estimator *cop_estimator_find(const char *name)
{
	for (size_t i = 0; i < sizeof estimators / sizeof *estimators; i++)
		if (strcmp(estimators[i].name, name) == 0)
			return &estimators[i];
	return NULL;
}

double cop_estimator_one_point(double loss, double baseline, int u, double delta)
{
	return (loss - baseline) * (double)u / delta;
}

double cop_estimator_two_point(double loss_plus, double loss_minus, double delta)
{
	return (loss_plus - loss_minus) / (2.0 * delta);
}

double cop_estimator_scale(double loss, double low, double high) { return (loss - low) / (high - low); }

cop_err cop_estimator_scale_loss(double loss, double low, double high, double *scaled)
{
	if (!isfinite(loss))
		return COP_ENONFINITE;
	if (loss < low || loss > high)
		return COP_EINVAL;
	*scaled = cop_estimator_scale(loss, low, high);
	return COP_OK;
}

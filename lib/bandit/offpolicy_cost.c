/* Everything is checked before the row is touched. */
#include "bandit/offpolicy_cost.h"

#include <math.h>
#include <string.h>

#define SLACK   (1.0 + 1e-6) /* propensities that were stored as float */
#define LARGEST 1e12

static const cop_offpolicy_cost costs[] = { { "ips", false }, { "dr", true } };

const cop_offpolicy_cost *cop_offpolicy_cost_find(const char *name)
{
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
		if (strcmp(costs[i].name, name) == 0)
			return &costs[i];
	return NULL;
}

static cop_err check_event(double clip, size_t arms, const cop_offpolicy_cost_event *e)
{
	if (isnan(clip) || !isfinite(e->p) || (e->answered && !isfinite(e->loss)))
		return COP_ENONFINITE;
	if (clip < 1.0 || e->arm >= arms || !(e->p > 0.0) || e->p > SLACK || e->p * LARGEST < 1.0)
		return COP_EINVAL;
	if ((e->answered && (e->loss < 0.0 || e->loss > 1.0)) || (e->mask != NULL && e->mask[e->arm] == 0))
		return COP_EINVAL;
	return COP_OK;
}

static cop_err check_model(size_t arms, const float *model)
{
	cop_err err = model != NULL ? COP_OK : COP_EINVAL;
	for (size_t k = 0; k < arms && err == COP_OK; k++) {
		if (!isfinite(model[k]))
			err = COP_ENONFINITE;
		else if (model[k] < 0.0F || model[k] > 1.0F)
			err = COP_EINVAL;
	}
	return err;
}

static bool is_eligible(const cop_offpolicy_cost_event *e, size_t k) { return e->mask == NULL || e->mask[k] != 0; }

static void fill_masked(size_t arms, const cop_offpolicy_cost_event *e, float *row)
{
	float dearest = row[e->arm];
	for (size_t k = 0; k < arms; k++)
		if (is_eligible(e, k) && row[k] > dearest)
			dearest = row[k];
	for (size_t k = 0; k < arms; k++)
		if (!is_eligible(e, k))
			row[k] = dearest;
}

cop_err cop_offpolicy_cost_row(
        const cop_offpolicy_cost *cost, double clip, size_t arms, const cop_offpolicy_cost_event *event, float *row)
{
	cop_err err = check_event(clip, arms, event);
	if (err == COP_OK && cost->needs_model)
		err = check_model(arms, event->model);
	if (err != COP_OK)
		return err;
	for (size_t k = 0; k < arms; k++)
		row[k] = cost->needs_model ? event->model[k] : 0.0F;
	if (event->answered) {
		double known = (double)row[event->arm];
		row[event->arm] = (float)(known + fmin(1.0 / event->p, clip) * (event->loss - known));
	}
	fill_masked(arms, event, row);
	return COP_OK;
}

cop_err cop_offpolicy_cost_labels(
        double clip, size_t arms, const cop_offpolicy_cost_event *event, float *target, float *weight)
{
	cop_err err = check_event(clip, arms, event);
	if (err != COP_OK)
		return err;
	for (size_t k = 0; k < arms; k++)
		target[k] = weight[k] = 0.0F;
	if (event->answered) {
		target[event->arm] = (float)event->loss;
		weight[event->arm] = (float)fmin(1.0 / event->p, clip);
	}
	return COP_OK;
}

/* Regression trees: of the loss of played candidates, and of better values. Targets are standardised, for penalties
 * mean the same then whatever their scale; the raw tree has them as they were. */
#include <math.h>

#include "base/mem.h"
#include "refit/refit_parts.h"

static void standardise(cop_refit_problem *p)
{
	double weight = 0.0, sum = 0.0, square = 0.0;
	for (size_t i = 0; i < p->n; i++) {
		weight += (double)p->weight[i];
		sum += (double)p->weight[i] * (double)p->target[i];
	}
	p->middle = sum / weight;
	for (size_t i = 0; i < p->n; i++)
		square += (double)p->weight[i] * pow((double)p->target[i] - p->middle, 2.0);
	p->spread = sqrt(square / weight);
	if (!(p->spread > 1e-6))
		p->spread = 1.0;
	for (size_t i = 0; i < p->n; i++)
		p->target[i] = (float)(((double)p->target[i] - p->middle) / p->spread);
}

static cop_err make_targets(cop_refit_problem *p)
{
	p->target = cop_mem_alloc(p->n, sizeof *p->target);
	p->weight = cop_mem_alloc(p->n, sizeof *p->weight);
	return p->target == NULL || p->weight == NULL ? COP_ENOMEM : COP_OK;
}

static cop_err fit_regression(cop_refit_problem *p, size_t n, double alpha, cop_tao_leaves leaves,
        const cop_tree *start, cop_tree **scaled, cop_tree **raw)
{
	cop_tao_settings set;
	cop_rng rng = cop_refit_rng(p);
	const cop_sample sample = {
		.rows = p->rows, .n = n, .task = COP_TASK_VALUES, .outputs = 1, .target = p->target, .weight = p->weight
	};
	double square = 0.0;
	*scaled = *raw = NULL;
	for (size_t i = 0; i < n; i++)
		square += (double)p->weight[i] * (double)p->weight[i];
	cop_refit_tao(p, COP_TASK_VALUES, alpha * sqrt(square), &set);
	set.leaves = leaves;
	cop_err err = cop_tao_fit(&set, &sample, start, p->pool, &rng, p->progress, NULL, scaled);
	return err == COP_OK ? cop_refit_unscale(p, *scaled, NULL, raw) : err;
}

/* ---- candidates ---- */

static cop_err prepare_candidates(cop_refit_problem *p)
{
	cop_err err = make_targets(p);
	for (size_t i = 0; i < p->n && err == COP_OK; i++) {
		const cop_refit_event *e = cop_refit_problem_event(p, i);
		p->target[i] = (float)e->loss;
		p->weight[i] = (float)fmin(1.0 / e->p, p->settings->clip);
	}
	if (err == COP_OK)
		standardise(p);
	return err;
}

static cop_err fit_candidates(
        cop_refit_problem *p, size_t n, double alpha, const cop_tree *start, cop_tree **scaled, cop_tree **raw)
{
	return fit_regression(p, n, alpha, COP_TAO_LINEAR, start, scaled, raw);
}

const cop_refit_kind cop_refit_candidates = {
	.prepare = prepare_candidates, .fit = fit_candidates, .value = cop_refit_greedy_loss
};

/* ---- values ---- */

static double mean_loss(const cop_refit_problem *p)
{
	double sum = 0.0;
	for (size_t i = 0; i < p->n; i++)
		sum += cop_refit_problem_event(p, i)->loss;
	return sum / (double)p->n;
}

static cop_err prepare_values(cop_refit_problem *p)
{
	const cop_refit_settings *set = p->settings;
	double delta = p->window->model.delta, reach = set->trust * delta, mean = mean_loss(p);
	cop_err err = make_targets(p);
	for (size_t i = 0; i < p->n && err == COP_OK; i++) {
		const cop_refit_event *e = cop_refit_problem_event(p, i);
		double move = -set->step * cop_refit_slope(&p->window->model, e, mean);
		double t = e->y + fmin(fmax(move, -reach), reach);
		p->target[i] = (float)fmin(fmax(t, 0.0), 1.0);
		p->weight[i] = 1.0f;
	}
	if (err == COP_OK)
		standardise(p);
	return err;
}

static cop_err fit_values(
        cop_refit_problem *p, size_t n, double alpha, const cop_tree *start, cop_tree **scaled, cop_tree **raw)
{
	return fit_regression(p, n, alpha, COP_TAO_CONSTANT, start, scaled, raw);
}

static cop_err squared_error(cop_refit_problem *p, const cop_tree *raw, double *out)
{
	double sum = 0.0;
	for (size_t i = p->train; i < p->n; i++) {
		float t;
		(void)cop_tree_predict(raw, &cop_refit_problem_event(p, i)->x, &t);
		sum += pow((double)t - p->middle - p->spread * (double)p->target[i], 2.0);
	}
	*out = sum / (double)(p->n - p->train);
	return COP_OK;
}

const cop_refit_kind cop_refit_values = { .prepare = prepare_values, .fit = fit_values, .value = squared_error };

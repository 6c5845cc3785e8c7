/* Arms: TAO on costs, and LapTAO with a mask for each arm. */
#include <math.h>
#include <string.h>

#include "bandit/offpolicy_cost.h"
#include "base/mem.h"
#include "graph/affinity.h"
#include "refit/refit_parts.h"
#include "train/laptao.h"

/* ---- the model of losses ---- */

static cop_err ask_serving(cop_refit_problem *p)
{
	p->model = cop_mem_alloc(p->n * p->outputs, sizeof *p->model);
	if (p->model == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		float *f = p->model + i * p->outputs;
		cop_err err = p->serving->losses(p->serving->context, &cop_refit_problem_event(p, i)->x, p->outputs, f);
		if (err != COP_OK)
			return err;
		for (size_t k = 0; k < p->outputs; k++)
			f[k] = isfinite(f[k]) ? fminf(fmaxf(f[k], 0.0f), 1.0f) : 0.5f;
	}
	return COP_OK;
}

/* Self-normalised mean losses, of arms that were never played that of all. */
static cop_err mean_losses(cop_refit_problem *p)
{
	double *weight = cop_mem_alloc(p->outputs, sizeof *weight), all = 0.0, all_loss = 0.0;
	p->mean_loss = cop_mem_alloc(p->outputs, sizeof *p->mean_loss);
	p->played = cop_mem_alloc(p->outputs, sizeof *p->played);
	if (weight == NULL || p->mean_loss == NULL || p->played == NULL) {
		cop_mem_free(weight);
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < p->n; i++) {
		const cop_refit_event *e = cop_refit_problem_event(p, i);
		double w = e->answered ? fmin(1.0 / e->p, p->settings->clip) : 0.0;
		p->mean_loss[e->action] += w * e->loss;
		weight[e->action] += w;
		all += w;
		all_loss += w * e->loss;
	}
	for (size_t k = 0; k < p->outputs; k++) {
		p->played[k] = weight[k] > 0.0;
		p->mean_loss[k] = p->played[k] ? p->mean_loss[k] / weight[k] : all_loss / all;
	}
	cop_mem_free(weight);
	return COP_OK;
}

static cop_offpolicy_cost_event event_of(const cop_refit_event *e)
{
	return (cop_offpolicy_cost_event){
		.arm = e->action, .p = e->p, .answered = e->answered, .loss = e->loss, .mask = e->mask
	};
}

/* ---- tao ---- */

cop_err cop_refit_prepare_losses(cop_refit_problem *p)
{
	cop_err err = mean_losses(p);
	return err == COP_OK && p->serving != NULL ? ask_serving(p) : err;
}

static cop_err prepare_tao(cop_refit_problem *p)
{
	bool dr = p->settings->costs == COP_REFIT_DR;
	const cop_offpolicy_cost *cost = cop_offpolicy_cost_find(dr ? "dr" : "ips");
	cop_err err = cop_refit_prepare_losses(p);
	float *constant = cop_mem_alloc(p->outputs, sizeof *constant);
	p->target = cop_mem_alloc(p->n * p->outputs, sizeof *p->target);
	if (err == COP_OK && (constant == NULL || p->target == NULL))
		err = COP_ENOMEM;
	for (size_t k = 0; k < p->outputs && err == COP_OK; k++)
		constant[k] = (float)p->mean_loss[k];
	for (size_t i = 0; i < p->n && err == COP_OK; i++) {
		cop_offpolicy_cost_event e = event_of(cop_refit_problem_event(p, i));
		e.model = p->model != NULL ? p->model + i * p->outputs : constant;
		err = cop_offpolicy_cost_row(cost, p->settings->clip, p->outputs, &e, p->target + i * p->outputs);
	}
	cop_mem_free(constant);
	return err;
}

/* The spread of each row's costs. */
static cop_err cost_noise(const cop_refit_problem *p, size_t n, double **out)
{
	*out = cop_mem_alloc(n, sizeof **out);
	if (*out == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const float *c = p->target + i * p->outputs;
		float low = c[0], high = c[0];
		for (size_t k = 1; k < p->outputs; k++) {
			low = fminf(low, c[k]);
			high = fmaxf(high, c[k]);
		}
		(*out)[i] = (double)(high - low);
	}
	return COP_OK;
}

cop_err cop_refit_refill(
        cop_refit_problem *p, const cop_tree *scaled, size_t n, const cop_refit_filling *how, cop_tree **raw)
{
	cop_tree *splits;
	float *leaf = cop_mem_alloc(cop_tree_leaves(scaled) * p->outputs, sizeof *leaf);
	*raw = NULL;
	if (leaf == NULL)
		return COP_ENOMEM;
	cop_err err = cop_refit_unscale(p, scaled, leaf, &splits);
	if (err == COP_OK)
		err = cop_refit_fill(p, splits, n, how, leaf);
	cop_tree_free(splits);
	if (err == COP_OK)
		err = cop_refit_unscale(p, scaled, leaf, raw);
	cop_mem_free(leaf);
	return err;
}

static cop_err fit_tao(
        cop_refit_problem *p, size_t n, double alpha, const cop_tree *start, cop_tree **scaled, cop_tree **raw)
{
	cop_tao_settings set;
	cop_rng rng = cop_refit_rng(p);
	const cop_refit_filling how = { p->settings->clip, p->settings->prior };
	double *noise;
	const cop_sample sample = {
		.rows = p->rows, .n = n, .task = COP_TASK_COSTS, .outputs = p->outputs, .target = p->target
	};
	*scaled = *raw = NULL;
	cop_err err = cost_noise(p, n, &noise);
	if (err != COP_OK)
		return err;
	cop_refit_tao(p, COP_TASK_COSTS, cop_refit_penalty(alpha, noise, n), &set);
	cop_mem_free(noise);
	err = cop_tao_fit(&set, &sample, start, p->pool, &rng, p->progress, NULL, scaled);
	return err == COP_OK ? cop_refit_refill(p, *scaled, n, &how, raw) : err;
}

const cop_refit_kind cop_refit_arms_tao = { .prepare = prepare_tao, .fit = fit_tao, .value = cop_refit_greedy_loss };

/* ---- laptao ---- */

#define SMOOTHED 0.2 /* what trees are fitted to is smoother than the labels */

static cop_err make_graph(cop_refit_problem *p)
{
	cop_neighbours near;
	cop_points points = { .n = p->n,
		.d = p->rows->d,
		.x = p->rows->x,
		.start = p->rows->start,
		.index = p->rows->index,
		.value = p->rows->value };
	size_t k = p->settings->neighbours < p->n ? p->settings->neighbours : p->n - 1;
	cop_err err = cop_neighbours_find(&points, NULL, k, (uint32_t)p->settings->seed, p->pool, &near);
	if (err != COP_OK)
		return err;
	float *weight = cop_mem_alloc(p->n * k, sizeof *weight);
	err = weight == NULL ? COP_ENOMEM
	                     : cop_affinity_entropic(&near, fmin(p->settings->perplexity, (double)k), p->pool, weight);
	if (err == COP_OK)
		err = cop_graph_new(&near, weight, &p->graph);
	cop_mem_free(weight);
	cop_neighbours_fini(&near);
	return err;
}

/* Targets less the arm's mean, so that what the graph does not reach says the mean; weights of mean 1, so that gamma
 * means the same whatever the propensities. */
static cop_err prepare_laptao(cop_refit_problem *p)
{
	cop_err err = mean_losses(p);
	p->target = cop_mem_alloc(p->n * p->outputs, sizeof *p->target);
	p->weight = cop_mem_alloc(p->n * p->outputs, sizeof *p->weight);
	if (err == COP_OK && (p->target == NULL || p->weight == NULL))
		err = COP_ENOMEM;
	double sum = 0.0, labels = 0.0;
	for (size_t i = 0; i < p->n && err == COP_OK; i++) {
		cop_offpolicy_cost_event e = event_of(cop_refit_problem_event(p, i));
		float *target = p->target + i * p->outputs, *weight = p->weight + i * p->outputs;
		err = cop_offpolicy_cost_labels(p->settings->clip, p->outputs, &e, target, weight);
		target[e.arm] -= e.answered ? (float)p->mean_loss[e.arm] : 0.0f;
		sum += (double)weight[e.arm];
		labels += e.answered;
	}
	for (size_t i = 0; i < p->n * p->outputs && err == COP_OK; i++)
		p->weight[i] = (float)((double)p->weight[i] * labels / sum);
	return err == COP_OK ? make_graph(p) : err;
}

static cop_err laptao_leaves(cop_refit_problem *p, const cop_tree *scaled, cop_tree **raw)
{
	size_t leaves = cop_tree_leaves(scaled);
	float *leaf = cop_mem_alloc(leaves * p->outputs, sizeof *leaf);
	*raw = NULL;
	if (leaf == NULL)
		return COP_ENOMEM;
	for (size_t l = 0; l < leaves; l++) {
		cop_tree_leaf_outputs(scaled, l, NULL, leaf + l * p->outputs);
		for (size_t k = 0; k < p->outputs; k++)
			leaf[l * p->outputs + k] += (float)p->mean_loss[k];
	}
	cop_refit_unplayed(p, leaves, leaf);
	cop_err err = cop_refit_unscale(p, scaled, leaf, raw);
	cop_mem_free(leaf);
	return err;
}

/* All contexts shape the tree, the labels of the first n rows alone. *mask is the caller's to free. */
static cop_err mask_of(const cop_refit_problem *p, size_t n, float **mask, double *noise)
{
	size_t all = p->n * p->outputs;
	double sum = 0.0;
	*mask = cop_mem_alloc(all, sizeof **mask);
	if (*mask == NULL)
		return COP_ENOMEM;
	memcpy(*mask, p->weight, n * p->outputs * sizeof **mask);
	for (size_t i = 0; i < n * p->outputs; i++) {
		double w = (double)p->weight[i] * fabs((double)p->target[i]);
		sum += w * w;
	}
	*noise = SMOOTHED * sqrt(sum);
	return COP_OK;
}

static cop_err fit_laptao(
        cop_refit_problem *p, size_t n, double alpha, const cop_tree *start, cop_tree **scaled, cop_tree **raw)
{
	cop_laptao_settings set;
	cop_rng rng = cop_refit_rng(p);
	cop_trees *trees = NULL;
	float *mask;
	double noise = 0.0;
	const cop_sample sample = {
		.rows = p->rows, .n = p->n, .task = COP_TASK_VALUES, .outputs = p->outputs, .target = p->target
	};
	*scaled = *raw = NULL;
	cop_err err = mask_of(p, n, &mask, &noise);
	if (err != COP_OK)
		return err;
	cop_laptao_defaults(&set);
	cop_tao_settings tree = set.tree;
	cop_refit_tao(p, COP_TASK_VALUES, alpha * noise, &tree);
	set.tree = tree;
	set.gamma = p->settings->gamma;
	set.rounds = p->settings->rounds;
	err = cop_laptao_fit(&set, &sample, mask, false, p->graph, start, p->pool, &rng, p->progress, NULL, &trees);
	cop_mem_free(mask);
	if (err == COP_OK)
		err = cop_tree_new(cop_tree_view(cop_trees_at(trees, 0)), scaled);
	cop_trees_free(trees);
	return err == COP_OK ? laptao_leaves(p, *scaled, raw) : err;
}

const cop_refit_kind cop_refit_arms_laptao = {
	.unanswered = true, .prepare = prepare_laptao, .fit = fit_laptao, .value = cop_refit_greedy_loss
};

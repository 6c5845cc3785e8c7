/* The rounds (train/laptao_parts.h describes the state). New trees are kept only when (3.5) does not rise. TAO
 * ensures that for a lone tree, except that its targets are rounded to float; the mean of a forest may be worse than
 * each of its trees. */
#include "train/laptao_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "table/split.h"

#define TEXT 80

void cop_laptao_defaults(cop_laptao_settings *settings)
{
	*settings = (cop_laptao_settings){
		.gamma = 0.1,
		.mu = 0.1,
		.growth = 1.3,
		.rounds = 20,
		.tolerance = 1e-3,
		.multiplier_step = 1,
		.solver_tolerance = 1e-6,
		.solver_steps = 1000,
		.trees = 1,
		.share = 0.9,
	};
	cop_tao_defaults(COP_TASK_VALUES, &settings->tree);
	settings->tree.alpha = 0.1;
	settings->tree.leaf_alpha = 0.1;
	settings->tree.iterations = 15;
}

/* ---- checks ---- */

static bool in_range(double x) { return x >= 0 && isfinite(x); }

static bool settings_fit(const cop_laptao_settings *set)
{
	double last = set->mu * pow(set->growth, set->rounds);

	return in_range(set->gamma) && set->mu > 0 && set->growth > 1 && isfinite(last) && set->rounds >= 1 &&
	       set->tolerance >= 0 && in_range(set->multiplier_step) && set->multiplier_step <= 2 &&
	       (unsigned)set->solver <= COP_LAPTAO_EIGENVECTORS && set->solver_tolerance > 0 &&
	       set->solver_tolerance < 1 && set->solver_steps >= 1 && set->tree.loss == COP_TAO_SQUARED &&
	       in_range(set->tree.alpha) && in_range(set->tree.leaf_alpha) && set->trees >= 1 &&
	       set->trees <= COP_TREES_MOST && (set->trees == 1 || (set->share > 0 && set->share <= 1));
}

static double mask_at(const cop_sample *sample, const float *mask, bool shared, size_t i, size_t k)
{
	return (double)(shared ? mask[i] : mask[i * sample->outputs + k]);
}

/* Weights are >= 0 and some is not 0. */
static bool mask_fits(const cop_sample *sample, const float *mask, bool shared)
{
	size_t count = shared ? sample->n : sample->n * sample->outputs;
	bool any = false;

	for (size_t e = 0; e < count; e++) {
		if (!(mask[e] >= 0) || !isfinite(mask[e]))
			return false;
		any = any || mask[e] > 0;
	}
	return any;
}

static bool labels_fit(const cop_sample *sample, const float *mask)
{
	for (size_t i = 0; i < sample->n; i++)
		if (mask[i] > 0 && sample->label[cop_sample_row(sample, i)] >= sample->outputs)
			return false;
	return true;
}

static cop_err check(const cop_laptao_settings *set, const cop_sample *sample, const float *mask, bool shared,
        const cop_graph *graph, const cop_tree *start)
{
	bool classes = sample->task == COP_TASK_CLASSES;

	if (!settings_fit(set) || sample->n == 0 || sample->n > COP_DATASET_MAX_ROWS || sample->outputs == 0 ||
	        sample->outputs > SIZE_MAX / sample->n || mask == NULL)
		return COP_EINVAL;
	if (classes ? sample->label == NULL || !shared : sample->task != COP_TASK_VALUES || sample->target == NULL)
		return COP_EINVAL;
	if (!mask_fits(sample, mask, shared) || (classes && !labels_fit(sample, mask)))
		return COP_EINVAL;
	if (graph->n != sample->n)
		return COP_ESHAPE;
	if (start == NULL)
		return COP_OK;
	const cop_tree_parts *parts = cop_tree_view(start);
	const bool fits = parts->d == sample->rows->d && parts->outputs == sample->outputs;
	return fits && parts->facets.count == 0 ? COP_OK : COP_ESHAPE;
}

/* ---- the state ---- */

static void free_trees(cop_tree **tree, size_t count)
{
	for (size_t t = 0; tree != NULL && t < count; t++) {
		cop_tree_free(tree[t]);
		tree[t] = NULL;
	}
}

static void state_fini(cop_laptao_state *state)
{
	cop_laptao_system_fini(&state->system);
	free_trees(state->tree, state->trees);
	free_trees(state->next, state->trees);
	for (size_t t = 0; state->share != NULL && t < state->trees; t++)
		cop_mem_free(state->share[t]);
	cop_mem_free(state->weight);
	cop_mem_free(state->mean);
	cop_mem_free(state->y);
	cop_mem_free(state->z);
	cop_mem_free(state->t);
	cop_mem_free(state->lambda);
	cop_mem_free(state->trial);
	cop_mem_free(state->tree);
	cop_mem_free(state->next);
	cop_mem_free(state->share);
	cop_mem_free(state->target);
}

static cop_err take_room(cop_laptao_state *state)
{
	size_t n = state->n, outputs = state->outputs;

	state->weight = cop_mem_alloc(n, (state->shared ? 1 : outputs) * sizeof *state->weight);
	state->mean = cop_mem_alloc(outputs, sizeof *state->mean);
	state->y = cop_mem_alloc(n, outputs * sizeof *state->y);
	state->z = cop_mem_alloc(n, outputs * sizeof *state->z);
	state->t = cop_mem_alloc(n, outputs * sizeof *state->t);
	state->lambda = cop_mem_alloc(n, outputs * sizeof *state->lambda);
	state->trial = cop_mem_alloc(n, outputs * sizeof *state->trial);
	state->tree = cop_mem_alloc(state->trees, sizeof(cop_tree *));
	state->next = cop_mem_alloc(state->trees, sizeof(cop_tree *));
	state->target = cop_mem_alloc(state->sample->rows->n, outputs * sizeof *state->target);
	return state->weight != NULL && state->mean != NULL && state->y != NULL && state->z != NULL &&
	                       state->t != NULL && state->lambda != NULL && state->trial != NULL &&
	                       state->tree != NULL && state->next != NULL && state->target != NULL
	               ? COP_OK
	               : COP_ENOMEM;
}

/* No row of the dataset stands for two points. */
static cop_err check_rows(const cop_sample *sample)
{
	uint8_t *met = sample->row != NULL ? cop_mem_alloc(sample->rows->n, sizeof *met) : NULL;
	cop_err err = sample->row != NULL && met == NULL ? COP_ENOMEM : COP_OK;

	for (size_t i = 0; met != NULL && err == COP_OK && i < sample->n; i++)
		err = met[sample->row[i]]++ == 0 ? COP_OK : COP_EINVAL;
	cop_mem_free(met);
	return err;
}

static double target_at(const cop_sample *sample, size_t i, size_t k)
{
	size_t at = cop_sample_row(sample, i);

	return sample->task == COP_TASK_CLASSES ? (double)(sample->label[at] == k)
	                                        : (double)sample->target[at * sample->outputs + k];
}

/* What was seen of output k, centred. COP_ENONFINITE. */
static cop_err take_output(cop_laptao_state *state, const float *mask, size_t k)
{
	double *y = state->y + k * state->n, *weight = state->weight + (state->shared ? 0 : k * state->n);
	double all = 0, sum = 0;

	for (size_t i = 0; i < state->n; i++) {
		weight[i] = mask_at(state->sample, mask, state->shared, i, k);
		if (!(weight[i] > 0))
			continue;
		y[i] = target_at(state->sample, i, k);
		if (!isfinite(y[i]))
			return COP_ENONFINITE;
		all += weight[i];
		sum += weight[i] * y[i];
	}
	state->mean[k] = all > 0 ? sum / all : 0;
	for (size_t i = 0; i < state->n; i++)
		if (weight[i] > 0)
			y[i] -= state->mean[k];
	return COP_OK;
}

static cop_err draw_shares(cop_laptao_state *state, cop_rng *rng)
{
	double wanted = floor(state->set->share * (double)state->n + 0.5);

	state->seed = cop_rng_u64(rng);
	state->share_rows = wanted < 1 ? 1 : wanted > (double)state->n ? state->n : (size_t)wanted;
	state->share = cop_mem_alloc(state->trees, sizeof(uint32_t *));
	for (size_t t = 0; state->share != NULL && t < state->trees; t++) {
		cop_rng own;
		cop_rng_init(&own, state->seed, 2 * (uint64_t)t);
		state->share[t] = cop_mem_alloc(state->share_rows, sizeof **state->share);
		cop_err err = state->share[t] == NULL
		                      ? COP_ENOMEM
		                      : cop_split_draw(&own, state->n, state->share_rows, false, state->share[t]);
		if (err != COP_OK)
			return err;
		for (size_t i = 0; i < state->share_rows; i++)
			state->share[t][i] = (uint32_t)cop_sample_row(state->sample, state->share[t][i]);
	}
	return state->share != NULL ? COP_OK : COP_ENOMEM;
}

static cop_err state_init(cop_laptao_state *state, const float *mask, cop_rng *rng)
{
	cop_err err = check_rows(state->sample);

	if (err == COP_OK)
		err = take_room(state);
	for (size_t k = 0; k < state->outputs && err == COP_OK; k++)
		err = take_output(state, mask, k);
	if (err == COP_OK && state->trees > 1)
		err = draw_shares(state, rng);
	if (err != COP_OK)
		return err;
	state->system = (cop_laptao_system){ .graph = state->graph,
		.n = state->n,
		.outputs = state->outputs,
		.gamma = state->set->gamma,
		.weight = state->weight,
		.shared = state->shared,
		.tolerance = state->set->solver_tolerance,
		.steps = state->set->solver_steps };
	return cop_laptao_system_init(&state->system, state->set->solver);
}

/* ---- steps ---- */

/* The part of (3.5) that mu and lambda make. */
static double constraint(const cop_laptao_state *state, const double *t)
{
	double sum = 0;

	for (size_t e = 0; e < state->n * state->outputs; e++) {
		double away = state->z[e] - t[e];
		sum += (state->mu * away - state->lambda[e]) * away;
	}
	return sum;
}

static cop_err label_step(cop_laptao_state *state)
{
	for (size_t k = 0; k < state->outputs; k++) {
		const double *weight = state->weight + (state->shared ? 0 : k * state->n);
		for (size_t i = 0; i < state->n; i++) {
			size_t e = k * state->n + i;
			state->trial[e] = weight[i] * state->y[e] + state->mu * state->t[e] + state->lambda[e] / 2;
		}
	}
	return cop_laptao_solve(&state->system, state->mu, state->trial, state->pool, state->z);
}

/* z - lambda / (2 mu), of which lambda / 2 is nothing at the start, where mu is 0. */
static cop_err make_targets(cop_laptao_state *state)
{
	double half = state->mu > 0 ? 0.5 / state->mu : 0;

	for (size_t i = 0; i < state->n; i++) {
		float *target = state->target + cop_sample_row(state->sample, i) * state->outputs;
		for (size_t k = 0; k < state->outputs; k++) {
			size_t e = k * state->n + i;
			target[k] = (float)(state->z[e] - half * state->lambda[e]);
			if (!isfinite(target[k]))
				return COP_ENONFINITE;
		}
	}
	return COP_OK;
}

static void take_next(cop_laptao_state *state)
{
	double *t = state->t;
	cop_tree **tree = state->tree;

	free_trees(tree, state->trees);
	state->tree = state->next;
	state->next = tree;
	state->t = state->trial;
	state->trial = t;
}

/* *value is (3.5) less what z alone makes of it, before and after. */
static cop_err tree_step(cop_laptao_state *state, const cop_progress *progress, double *value)
{
	cop_err err = make_targets(state);

	if (err == COP_OK)
		err = cop_laptao_fit_trees(state, state->mu, NULL, NULL, progress);
	if (err == COP_OK)
		err = cop_laptao_predict(state, state->next, state->trial);
	if (err != COP_OK)
		return err;
	double now = constraint(state, state->trial) + cop_laptao_penalty(state, state->next);
	if (now <= *value) {
		*value = now;
		take_next(state);
	}
	free_trees(state->next, state->trees);
	return COP_OK;
}

static void multiplier_step(cop_laptao_state *state)
{
	double step = state->set->multiplier_step * state->mu;

	for (size_t e = 0; e < state->n * state->outputs; e++)
		state->lambda[e] -= step * (state->z[e] - state->t[e]);
}

static double gap(const cop_laptao_state *state)
{
	double away = 0, size = 0;

	for (size_t e = 0; e < state->n * state->outputs; e++) {
		away += (state->z[e] - state->t[e]) * (state->z[e] - state->t[e]);
		size += state->z[e] * state->z[e];
	}
	return size > 0 ? sqrt(away / size) : away > 0 ? 1 : 0;
}

/* ---- how far it is ---- */

typedef struct telling {
	const cop_progress *progress;
	double from, span; /* of the whole, the fit at hand */
	bool stop;
} telling;

static bool report_progress(telling *t, double share, const char *text)
{
	if (t->progress != NULL && !t->stop)
		t->stop = !t->progress->report(t->progress->context, t->from + t->span * share, text);
	return !t->stop;
}

static bool tell_inner(void *context, double share, const char *text) { return report_progress(context, share, text); }

/* ---- the fit ---- */

/* z of mu = 0, and trees of it. */
static cop_err begin(cop_laptao_state *state, const cop_tree *start, cop_rng *rng, telling *t)
{
	cop_progress inner = { tell_inner, t };
	cop_tree *centred = NULL;
	cop_err err = label_step(state);

	if (err == COP_OK && start != NULL)
		err = cop_laptao_shifted(start, state->mean, -1, &centred);
	if (err == COP_OK)
		err = make_targets(state);
	if (err == COP_OK)
		err = cop_laptao_fit_trees(state, 1, centred, rng, &inner);
	if (err == COP_OK)
		err = cop_laptao_predict(state, state->next, state->trial);
	if (err == COP_OK)
		take_next(state);
	cop_tree_free(centred);
	return err;
}

static cop_err run_round(cop_laptao_state *state, telling *t, double *lagrangian)
{
	cop_progress inner = { tell_inner, t };
	double penalty = cop_laptao_penalty(state, state->tree);

	lagrangian[0] = cop_laptao_smooth(state, state->z) + constraint(state, state->t) + penalty;
	cop_err err = label_step(state);
	if (err != COP_OK)
		return err;
	double own = cop_laptao_smooth(state, state->z), rest = constraint(state, state->t) + penalty;
	lagrangian[1] = own + rest;
	err = tree_step(state, &inner, &rest);
	lagrangian[2] = own + rest;
	return err;
}

static cop_err run(cop_laptao_state *state, const cop_tree *start, cop_rng *rng, const cop_progress *progress,
        cop_laptao_report *report)
{
	const cop_laptao_settings *set = state->set;
	telling t = { .progress = progress, .span = 1.0 / (1.0 + set->rounds) };
	cop_err err = begin(state, start, rng, &t);
	char text[TEXT];

	report->gap = err == COP_OK ? gap(state) : 0;
	for (double mu = set->mu; err == COP_OK && report->rounds < set->rounds; mu *= set->growth) {
		t.from = t.span * (report->rounds + 1);
		(void)snprintf(
		        text, sizeof text, "round %u of %u, gap %.4f", report->rounds + 1, set->rounds, report->gap);
		if (!report_progress(&t, 0, text))
			break;
		state->mu = mu;
		err = run_round(state, &t, report->lagrangian + 3 * (size_t)report->rounds++);
		report->gap = gap(state);
		multiplier_step(state);
		if (report->gap <= set->tolerance)
			break;
	}
	return err;
}

static cop_err count_unlabelled(const cop_laptao_state *state, uint32_t *count)
{
	uint32_t parts = state->graph->parts;
	uint8_t *seen = cop_mem_alloc(parts, sizeof *seen), *lacking = cop_mem_alloc(parts, sizeof *lacking);

	*count = 0;
	if (seen != NULL && lacking != NULL) {
		for (size_t k = 0; k < (state->shared ? 1 : state->outputs); k++) {
			memset(seen, 0, parts);
			for (size_t i = 0; i < state->n; i++)
				if (state->weight[k * state->n + i] > 0)
					seen[state->graph->part[i]] = 1;
			for (uint32_t p = 0; p < parts; p++)
				lacking[p] |= seen[p] == 0;
		}
		for (uint32_t p = 0; p < parts; p++)
			*count += lacking[p];
	}
	bool done = seen != NULL && lacking != NULL;
	cop_mem_free(seen);
	cop_mem_free(lacking);
	return done ? COP_OK : COP_ENOMEM;
}

static cop_err fit(cop_laptao_state *state, const float *mask, const cop_tree *start, cop_rng *rng,
        const cop_progress *progress, cop_laptao_report *report, cop_trees **out)
{
	cop_err err = state_init(state, mask, rng);

	if (err == COP_OK)
		err = count_unlabelled(state, &report->unlabelled_parts);
	if (err == COP_OK)
		report->lagrangian = cop_mem_alloc(state->set->rounds, 3 * sizeof *report->lagrangian);
	if (err == COP_OK && report->lagrangian == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK)
		err = run(state, start, rng, progress, report);
	if (err == COP_OK && state->trees == 1 && cop_tree_constant_leaves(state->tree[0]))
		err = cop_laptao_best_leaves(state);
	return err == COP_OK ? cop_laptao_finish(state, &report->objective, out) : err;
}

cop_err cop_laptao_fit(const cop_laptao_settings *settings, const cop_sample *sample, const float *mask, bool shared,
        const cop_graph *graph, const cop_tree *start, cop_pool *pool, cop_rng *rng, const cop_progress *progress,
        cop_laptao_report *report, cop_trees **out)
{
	cop_laptao_report own = { 0 };
	cop_laptao_state state = { .set = settings,
		.sample = sample,
		.graph = graph,
		.pool = pool,
		.n = sample->n,
		.outputs = sample->outputs,
		.trees = settings->trees,
		.shared = shared };
	cop_err err = check(settings, sample, mask, shared, graph, start);

	*out = NULL;
	if (err == COP_OK)
		err = fit(&state, mask, start, rng, progress, &own, out);
	state_fini(&state);
	if (err != COP_OK || report == NULL) {
		cop_mem_free(own.lagrangian);
		own.lagrangian = NULL;
	}
	if (report != NULL)
		*report = err == COP_OK ? own : (cop_laptao_report){ 0 };
	return err;
}

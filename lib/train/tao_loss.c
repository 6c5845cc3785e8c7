/* Losses and routing. Every decision about where a row goes, and what the row loses there, uses these functions, so
 * that two sums of losses that are compared have equal parts. */
#include "train/tao_parts.h"

#include <math.h>

/* The least probability that a loss counts: a class that a leaf does not know costs log(1e6) or set->missing, not
 * infinity. */
#define LEAST_PROBABILITY 1e-6

static float sparse_dot(const cop_tao_linear *f, const cop_row *x)
{
	float sum = 0;

	for (size_t e = 0, k = 0; e < x->nnz && k < f->count; e++) {
		k = f->index != NULL ? cop_row_find(f->index, k, f->count, x->index[e]) : x->index[e];
		if (k < f->count && (f->index == NULL || f->index[k] == x->index[e]))
			sum += f->w[k] * x->value[e];
	}
	return sum;
}

float cop_tao_dot(const cop_tao_state *state, const cop_tao_linear *f, const cop_row *x)
{
	float a = 0, b = 0;
	size_t k = 0;

	if (f->count == 0)
		return 0;
	if (x->dense == NULL)
		return sparse_dot(f, x);
	if (f->index == NULL)
		return state->kernel->dot(state->d, f->w, x->dense);
	for (; k + 2 <= f->count; k += 2) {
		a += f->w[k] * x->dense[f->index[k]];
		b += f->w[k + 1] * x->dense[f->index[k + 1]];
	}
	return k < f->count ? a + b + f->w[k] * x->dense[f->index[k]] : a + b;
}

uint32_t cop_tao_walk(const cop_tao_state *state, int32_t child, const cop_row *x)
{
	while (child >= 0) {
		const cop_tao_node *node = &state->node[child];
		child = node->child[cop_tao_dot(state, &node->f, x) + node->f.bias >= 0];
	}
	return (uint32_t)~child;
}

/* sum_j v_rj x_j + bias_r for every row of the leaf. */
static void leaf_scores(const cop_tao_leaf *leaf, const cop_row *x, double *score)
{
	for (size_t r = 0; r < leaf->rows; r++) {
		double sum = (double)leaf->bias[r];
		if (leaf->start != NULL && leaf->turned == NULL)
			for (size_t e = leaf->start[r]; e < leaf->start[r + 1]; e++)
				sum += (double)leaf->v[e] * (double)x->dense[leaf->index[e]];
		score[r] = sum;
	}
	if (leaf->turned != NULL)
		cop_tao_turned_add(leaf->turned, x, score);
}

static size_t largest(size_t n, const double *score)
{
	size_t best = 0;

	for (size_t r = 1; r < n; r++)
		if (score[r] > score[best])
			best = r;
	return best;
}

/* Of a softmax leaf, or of a constant one in its place; constant leaves alone lack no class. */
static double missing_loss(const cop_tao_state *state)
{
	double given = state->set->leaves == COP_TAO_LINEAR ? state->set->missing : 0;

	return given > 0 ? given : -log(LEAST_PROBABILITY);
}

/* -log of the probability of a class among the softmax of the leaf's rows. */
static double softmax_loss(const cop_tao_state *state, const cop_tao_leaf *leaf, const double *score, uint32_t label)
{
	size_t best = largest(leaf->rows, score);
	double rest = 0, own = (double)-INFINITY;

	for (size_t r = 0; r < leaf->rows; r++) {
		if (r != best)
			rest += exp(score[r] - score[best]);
		if (leaf->output[r] == label)
			own = score[r] - score[best];
	}
	return isfinite(own) ? fmin(log1p(rest) - own, -log(LEAST_PROBABILITY)) : missing_loss(state);
}

static double class_loss(
        const cop_tao_state *state, const cop_tao_leaf *leaf, uint32_t label, const cop_row *x, double *score)
{
	if (leaf->start == NULL) {
		if (state->set->loss == COP_TAO_ZERO_ONE)
			return leaf->choice == label ? 0.0 : 1.0;
		return leaf->bias[label] > 0 ? -log(fmax((double)leaf->bias[label], LEAST_PROBABILITY))
		                             : missing_loss(state);
	}
	leaf_scores(leaf, x, score);
	if (state->set->loss == COP_TAO_ZERO_ONE)
		return leaf->output[largest(leaf->rows, score)] == label ? 0.0 : 1.0;
	return softmax_loss(state, leaf, score, label);
}

static double value_loss(const cop_tao_state *state, const float *target, const double *score)
{
	double sum = 0;

	for (size_t k = 0; k < state->outputs; k++) {
		double away = (double)target[k] - score[k];
		sum += state->set->loss == COP_TAO_SQUARED ? away * away : fabs(away);
	}
	return sum;
}

static double cost_loss(
        const cop_tao_state *state, const cop_tao_leaf *leaf, const float *cost, const cop_row *x, double *score)
{
	size_t best = 0;

	if (leaf->start == NULL)
		return (double)cost[leaf->choice];
	leaf_scores(leaf, x, score);
	for (size_t k = 1; k < state->outputs; k++)
		if (score[k] < score[best])
			best = k;
	return (double)cost[best];
}

double cop_tao_loss_at(const cop_tao_state *state, const cop_tao_leaf *leaf, size_t i, double *score)
{
	const cop_row row = cop_tao_row(state, i), *x = &row;
	const cop_sample *sample = state->sample;
	size_t at = cop_sample_row(sample, i);
	double c = cop_tao_weight(state, i);

	if (sample->task == COP_TASK_CLASSES)
		return c * class_loss(state, leaf, sample->label[at], x, score);
	const float *target = sample->target + at * state->outputs;
	if (sample->task == COP_TASK_COSTS)
		return c * cost_loss(state, leaf, target, x, score);
	leaf_scores(leaf, x, score);
	return c * value_loss(state, target, score);
}

double cop_tao_loss_of_outputs(const cop_tao_state *state, size_t i, const float *out)
{
	const cop_sample *sample = state->sample;
	size_t at = cop_sample_row(sample, i), best = 0;
	double c = cop_tao_weight(state, i), sum = 0;

	if (sample->task == COP_TASK_VALUES) {
		for (size_t k = 0; k < state->outputs; k++) {
			double away = (double)sample->target[at * state->outputs + k] - (double)out[k];
			sum += state->set->loss == COP_TAO_SQUARED ? away * away : fabs(away);
		}
		return c * sum;
	}
	if (state->set->loss == COP_TAO_CROSS_ENTROPY)
		return c * (out[sample->label[at]] > 0 ? -log(fmax((double)out[sample->label[at]], LEAST_PROBABILITY))
		                                       : missing_loss(state));
	for (size_t k = 1; k < state->outputs; k++)
		if (sample->task == COP_TASK_COSTS ? out[k] < out[best] : out[k] > out[best])
			best = k;
	return c * (sample->task == COP_TASK_COSTS ? (double)sample->target[at * state->outputs + best]
	                                           : (best == sample->label[at] ? 0.0 : 1.0));
}

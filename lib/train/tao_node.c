/* One decision node: the reduced problem, candidates for its parameters, and which of them is kept.
 *
 * For every row of the reduced set the loss on the present side is known; only the other side's subtree is walked.
 * Rows that lose differently on both sides are the care set: sign_i = the better side, weight_i = the difference.
 * What the node adds to E is, up to a constant, the weight of the care rows that it sends to the worse side, plus its
 * penalty; in a careful sweep that sum, in double over rows in one order, decides. */
#include "train/tao_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "optim/l1_logistic.h"
#include "train/axis_split.h"

/* Of weights: more than d / this are stored dense. */
#define SPARSE_SHARE 4

typedef struct reduced {
	cop_tao_state *state;
	cop_tao_node *node;
	cop_tao_work *work;
	const uint32_t *rows;
	size_t n;
	uint32_t *other;    /* n: the leaf on the other side */
	double *other_loss; /* n */
	size_t care;
	uint32_t *at;     /* care: place in rows */
	uint32_t *row;    /* care: number in the dataset */
	int8_t *sign;     /* care */
	float *weight;    /* care */
	float *margin;    /* care: <w, x> of the last candidate measured */
	uint32_t *sorted; /* care: by margin */
	double side[2];   /* weight of the care rows that are better off left, right */
	double present;   /* weight of the care rows on the worse side now */
} reduced;

typedef struct candidate {
	cop_tao_linear f;
	double loss;
} candidate;

/* ---- weights ---- */

cop_err cop_tao_linear_set(cop_tao_linear *f, size_t d, const float *w)
{
	size_t nonzero = 0, k = 0;
	uint32_t *index = NULL;

	for (size_t j = 0; j < d; j++)
		nonzero += w[j] != 0;
	bool sparse = nonzero < d / SPARSE_SHARE || nonzero == 1;
	float *kept = cop_mem_alloc(sparse ? nonzero : d, sizeof *kept);
	if (sparse)
		index = cop_mem_alloc(nonzero, sizeof *index);
	if (kept == NULL || (sparse && index == NULL)) {
		cop_mem_free(kept);
		cop_mem_free(index);
		return COP_ENOMEM;
	}
	float bias = f->bias;
	cop_tao_linear_fini(f);
	*f = (cop_tao_linear){ .count = sparse ? nonzero : d, .index = index, .w = kept, .bias = bias };
	for (size_t j = 0; j < d; j++) {
		f->norm += fabs((double)w[j]);
		if (!sparse) {
			kept[j] = w[j];
		} else if (w[j] != 0) {
			index[k] = (uint32_t)j;
			kept[k++] = w[j];
		}
	}
	return COP_OK;
}

void cop_tao_linear_fini(cop_tao_linear *f)
{
	cop_mem_free(f->index);
	cop_mem_free(f->w);
	*f = (cop_tao_linear){ 0 };
}

/* ---- the reduced problem ---- */

static void reduced_fini(reduced *r)
{
	cop_mem_free(r->other);
	cop_mem_free(r->other_loss);
	cop_mem_free(r->at);
	cop_mem_free(r->row);
	cop_mem_free(r->sign);
	cop_mem_free(r->weight);
	cop_mem_free(r->margin);
	cop_mem_free(r->sorted);
}

static bool goes_right(const reduced *r, size_t i) { return r->state->leaf_of[r->rows[i]] >= r->node->middle; }

/* c |l_left - l_right| of the row at place i. */
static double weight_at(const reduced *r, size_t i) { return fabs(r->other_loss[i] - r->state->loss[r->rows[i]]); }

/* Where each row would end on the other side, and what it would lose. */
static cop_err look(reduced *r)
{
	cop_tao_state *state = r->state;

	r->other = cop_mem_alloc(r->n, sizeof *r->other);
	r->other_loss = cop_mem_alloc(r->n, sizeof *r->other_loss);
	if (r->other == NULL || r->other_loss == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		uint32_t at = r->rows[i];
		cop_row x = cop_tao_row(state, at);
		r->other[i] = cop_tao_walk(state, r->node->child[!goes_right(r, i)], &x);
		r->other_loss[i] = cop_tao_loss_at(state, &state->leaf[r->other[i]], at, r->work->score);
		r->care += r->other_loss[i] != state->loss[at];
	}
	return COP_OK;
}

static cop_err choose_care(reduced *r)
{
	const cop_tao_state *state = r->state;
	size_t c = 0;

	r->at = cop_mem_alloc(r->care, sizeof *r->at);
	r->row = cop_mem_alloc(r->care, sizeof *r->row);
	r->sign = cop_mem_alloc(r->care, sizeof *r->sign);
	r->weight = cop_mem_alloc(r->care, sizeof *r->weight);
	r->margin = cop_mem_alloc(r->care, sizeof *r->margin);
	r->sorted = cop_mem_alloc(r->care, sizeof *r->sorted);
	if (r->at == NULL || r->row == NULL || r->sign == NULL || r->weight == NULL || r->margin == NULL ||
	        r->sorted == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		double away = r->other_loss[i] - state->loss[r->rows[i]], weight = fabs(away);
		if (away == 0)
			continue;
		bool right = goes_right(r, i), better = right == (away > 0);
		r->at[c] = (uint32_t)i;
		r->row[c] = (uint32_t)cop_sample_row(state->sample, r->rows[i]);
		r->sign[c] = better ? 1 : -1;
		r->weight[c++] = (float)weight;
		r->side[better] += weight;
		if (right != better)
			r->present += weight;
	}
	return COP_OK;
}

/* ---- candidates ---- */

static void measure(reduced *r, const cop_tao_linear *f)
{
	for (size_t c = 0; c < r->care; c++) {
		cop_row x = cop_tao_row(r->state, r->rows[r->at[c]]);
		r->margin[c] = cop_tao_dot(r->state, f, &x);
	}
}

static double loss_at(const reduced *r, float bias)
{
	double sum = 0;

	for (size_t c = 0; c < r->care; c++)
		if ((r->margin[c] + bias >= 0) != (r->sign[c] > 0))
			sum += weight_at(r, r->at[c]);
	return sum;
}

static int by_margin(const void *a, const void *b, void *context)
{
	const float *margin = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (margin[i] != margin[j])
		return margin[i] < margin[j] ? -1 : 1;
	return (i > j) - (i < j);
}

/* The bias of least loss along the measured direction: every place between neighbouring margins is tried, and of those
 * equally good the one nearest to f's bias is taken. */
static void scan(reduced *r, candidate *c)
{
	double loss = r->side[0], best = (double)INFINITY, near = 0; /* from all right on */
	float bias = c->f.bias;

	for (size_t i = 0; i < r->care; i++)
		r->sorted[i] = (uint32_t)i;
	qsort_r(r->sorted, r->care, sizeof *r->sorted, by_margin, r->margin);
	for (size_t i = 0; i + 1 < r->care; i++) {
		size_t at = r->sorted[i];
		float here = r->margin[at], next = r->margin[r->sorted[i + 1]];
		double weight = weight_at(r, r->at[at]);
		loss += r->sign[at] > 0 ? weight : -weight;
		if (here == next)
			continue;
		float mid = (float)(((double)here + (double)next) / 2);
		double away = fabs((double)mid + (double)c->f.bias);
		/* Sums in another order may differ in their last bits. */
		double slack = 1e-12 * (r->side[0] + r->side[1]);
		if (loss < best - slack || (loss <= best + slack && away < near)) {
			best = loss;
			near = away;
			bias = -(mid > here ? mid : next);
		}
	}
	double kept = loss_at(r, c->f.bias), found = loss_at(r, bias);
	c->loss = found <= kept ? found : kept;
	if (found <= kept)
		c->f.bias = bias;
}

/* f's weights and bias by weighted L1 logistic regression on the care set. */
static cop_err fit_oblique(reduced *r, candidate *c)
{
	const cop_tao_settings *set = r->state->set;
	const cop_dataset *data = r->state->sample->rows;
	cop_l1_settings solver = {
		.lambda = set->alpha, .tolerance = set->node_tolerance, .max_steps = set->node_steps
	};
	cop_screened has;
	float bias = r->node->drawn ? 0 : r->node->f.bias;
	cop_err err;

	memset(r->work->w, 0, data->d * sizeof(float));
	err = cop_screened_init(&has, data, r->care, r->row, r->weight, set->alpha);
	if (err == COP_OK && !r->node->drawn)
		cop_screened_take(&has, r->node->f.count, r->node->f.index, r->node->f.w, r->work->w);
	if (err == COP_OK) {
		err = cop_l1_logistic_fit(&solver, &has.columns, r->sign, r->weight, r->work->w, &bias, NULL);
		cop_screened_spread(&has, data->d, r->work->w);
	}
	cop_screened_fini(&has);
	if (err == COP_OK || err == COP_ENONFINITE)
		err = cop_tao_linear_set(&c->f, data->d, r->work->w);
	c->f.bias = bias;
	if (err == COP_OK) {
		measure(r, &c->f);
		c->loss = loss_at(r, c->f.bias);
	}
	return err;
}

static cop_err fit_axis(reduced *r, candidate *c)
{
	cop_axis_split split;
	cop_err err = cop_axis_split_find(r->state->sample->rows, r->care, r->row, r->sign, r->weight, &split);

	if (err != COP_OK)
		return err;
	memset(r->work->w, 0, r->state->d * sizeof(float));
	if (isfinite(split.threshold))
		r->work->w[split.feature] = 1;
	err = cop_tao_linear_set(&c->f, r->state->d, r->work->w);
	c->f.bias = isfinite(split.threshold) ? -split.threshold : (split.threshold > 0 ? -1.0F : 1.0F);
	if (err == COP_OK) {
		measure(r, &c->f);
		c->loss = loss_at(r, c->f.bias);
	}
	return err;
}

/* ---- which of them ---- */

static double penalty(const reduced *r, const cop_tao_linear *f) { return r->state->set->alpha * f->norm; }

/* The present direction with a better bias. */
static void rescan(reduced *r)
{
	candidate same = { .f = r->node->f };

	measure(r, &same.f);
	scan(r, &same);
	if (same.loss <= r->present) {
		r->node->f.bias = same.f.bias;
		r->present = same.loss;
	}
}

/* All one way when that is no worse; where no side is better, the one of more rows. */
static void settle(reduced *r)
{
	cop_tao_linear constant = { 0 };
	bool right = r->side[0] < r->side[1];

	if (r->side[!right] > r->present + penalty(r, &r->node->f))
		return;
	if (r->side[0] == r->side[1]) {
		size_t n = 0;
		for (size_t i = 0; i < r->n; i++)
			n += goes_right(r, i);
		right = 2 * n >= r->n;
	}
	constant.bias = right ? 1.0F : -1.0F;
	cop_tao_node_replace(r->state, r->node, &constant);
}

static cop_err improve(reduced *r)
{
	candidate c = { 0 };
	double now = r->present + penalty(r, &r->node->f);
	bool axis = r->state->set->split == COP_TAO_AXIS;
	cop_err err = axis ? fit_axis(r, &c) : fit_oblique(r, &c);

	if (err == COP_OK && !axis && !r->state->bold && c.loss + penalty(r, &c.f) > now)
		scan(r, &c);
	if (err == COP_OK && (r->state->bold || c.loss + penalty(r, &c.f) <= now)) {
		r->present = c.loss;
		cop_tao_node_replace(r->state, r->node, &c.f);
	} else if (err == COP_OK && !axis) {
		rescan(r);
	}
	cop_tao_linear_fini(&c.f);
	return err;
}

/* Rows that the node now sends the other way change places with what was looked up. */
static void reroute(reduced *r)
{
	cop_tao_state *state = r->state;

	for (size_t i = 0; i < r->n; i++) {
		uint32_t at = r->rows[i];
		cop_row x = cop_tao_row(state, at);
		bool right = cop_tao_dot(state, &r->node->f, &x) + r->node->f.bias >= 0;
		if (right != goes_right(r, i)) {
			state->leaf_of[at] = r->other[i];
			state->loss[at] = r->other_loss[i];
		}
	}
}

cop_err cop_tao_node_fit(cop_tao_state *state, cop_tao_node *node, const uint32_t *rows, size_t n, cop_tao_work *work)
{
	reduced r = { .state = state, .node = node, .work = work, .rows = rows, .n = n };
	cop_err err = look(&r);

	if (err == COP_OK)
		err = choose_care(&r);
	if (err == COP_OK && r.side[0] > 0 && r.side[1] > 0)
		err = improve(&r);
	if (err == COP_OK) {
		settle(&r);
		reroute(&r);
	}
	reduced_fini(&r);
	return err;
}

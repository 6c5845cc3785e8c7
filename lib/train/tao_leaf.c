/* One leaf: a constant, or linear rows by the solvers, from where they stand. A leaf that no row reaches keeps what it
 * has, and new parameters are kept only if the leaf's loss plus penalty did not rise. */
#include "train/tao_many.h"
#include "train/tao_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "optim/l1_linear.h"
#include "optim/l1_softmax.h"

void cop_tao_leaf_fini(cop_tao_leaf *leaf)
{
	cop_mem_free(leaf->bias);
	cop_mem_free(leaf->output);
	cop_mem_free(leaf->start);
	cop_mem_free(leaf->index);
	cop_mem_free(leaf->v);
	cop_tao_turned_free(leaf->turned);
	*leaf = (cop_tao_leaf){ .depth = leaf->depth };
}

cop_err cop_tao_leaf_set_constant(const cop_tao_state *state, cop_tao_leaf *leaf, const float *bias, uint32_t choice)
{
	leaf->bias = cop_mem_alloc(state->outputs, sizeof *leaf->bias);
	if (leaf->bias == NULL)
		return COP_ENOMEM;
	memcpy(leaf->bias, bias, state->outputs * sizeof *bias);
	leaf->rows = state->outputs;
	leaf->choice = choice;
	return COP_OK;
}

/* ---- constants ---- */

typedef struct weighted {
	float value;
	double weight;
} weighted;

static int by_value(const void *a, const void *b)
{
	float x = ((const weighted *)a)->value, y = ((const weighted *)b)->value;

	return (x > y) - (x < y);
}

/* The least value that at least half of the weight does not exceed. Sorts. */
static float median(size_t n, weighted *item)
{
	double total = 0, sum = 0;
	size_t i = 0;

	qsort(item, n, sizeof *item, by_value);
	for (size_t k = 0; k < n; k++)
		total += item[k].weight;
	for (; i + 1 < n; i++) {
		sum += item[i].weight;
		if (2 * sum >= total)
			break;
	}
	return item[i].value;
}

static cop_err medians(const cop_tao_state *state, const uint32_t *rows, size_t n, float *bias)
{
	weighted *item = cop_mem_alloc(n, sizeof *item);

	if (item == NULL)
		return COP_ENOMEM;
	for (size_t k = 0; k < state->outputs; k++) {
		for (size_t i = 0; i < n; i++) {
			size_t at = cop_sample_row(state->sample, rows[i]);
			item[i].value = state->sample->target[at * state->outputs + k];
			item[i].weight = cop_tao_weight(state, rows[i]);
		}
		bias[k] = median(n, item);
	}
	cop_mem_free(item);
	return COP_OK;
}

/* Weighted sums over the rows: of each class, or of the targets. */
static double sums(const cop_tao_state *state, const uint32_t *rows, size_t n, double *sum)
{
	const cop_sample *sample = state->sample;
	double total = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = cop_sample_row(sample, rows[i]);
		double c = cop_tao_weight(state, rows[i]);
		total += c;
		if (sample->task == COP_TASK_CLASSES) {
			sum[sample->label[at]] += c;
			continue;
		}
		for (size_t k = 0; k < state->outputs; k++)
			sum[k] += c * (double)sample->target[at * state->outputs + k];
	}
	return total;
}

typedef struct counted {
	uint32_t class;
	double weight;
} counted;

static int by_weight(const void *a, const void *b)
{
	const counted *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->class > y->class) - (x->class < y->class);
}

/* Softmax leaves know only so many classes: the sums of all but the most frequent become 0. */
static cop_err keep_most(const cop_tao_state *state, double *sum)
{
	size_t most = state->set->leaf_classes;
	counted *count;

	if (state->set->leaves == COP_TAO_CONSTANT || state->sample->task != COP_TASK_CLASSES || most == 0)
		return COP_OK;
	count = cop_mem_alloc(state->outputs, sizeof *count);
	if (count == NULL)
		return COP_ENOMEM;
	for (uint32_t k = 0; k < state->outputs; k++)
		count[k] = (counted){ k, sum[k] };
	qsort(count, state->outputs, sizeof *count, by_weight);
	for (size_t r = most; r < state->outputs; r++)
		sum[count[r].class] = 0;
	cop_mem_free(count);
	return COP_OK;
}

cop_err cop_tao_constant(
        const cop_tao_state *state, const uint32_t *rows, size_t n, float *bias, uint32_t *choice, bool *any)
{
	bool least = state->sample->task == COP_TASK_COSTS;
	double *sum = cop_mem_alloc(state->outputs, sizeof *sum);
	cop_err err = COP_OK;

	if (sum == NULL)
		return COP_ENOMEM;
	double total = sums(state, rows, n, sum);
	*any = total > 0;
	*choice = 0;
	err = keep_most(state, sum);
	if (state->sample->task == COP_TASK_CLASSES) {
		total = 0;
		for (size_t k = 0; k < state->outputs; k++)
			total += sum[k];
	}
	for (uint32_t k = 0; k < state->outputs; k++) {
		bias[k] = total > 0 ? (float)(sum[k] / total) : 0;
		if (least ? bias[k] < bias[*choice] : bias[k] > bias[*choice])
			*choice = k;
	}
	if (err == COP_OK && *any && state->set->loss == COP_TAO_ABSOLUTE)
		err = medians(state, rows, n, bias);
	cop_mem_free(sum);
	return err;
}

/* ---- what is kept ---- */

static double penalty(const cop_tao_state *state, const cop_tao_leaf *leaf)
{
	return state->set->leaf_alpha * leaf->norm;
}

/* Losses of the leaf's rows with other parameters; loss has room for n. */
static double losses(const cop_tao_state *state, const cop_tao_leaf *leaf, const uint32_t *rows, size_t n,
        cop_tao_work *work, double *loss)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		loss[i] = cop_tao_loss_at(state, leaf, rows[i], work->score);
		sum += loss[i];
	}
	return sum;
}

/* Takes `next` (moved, or ended) if the leaf's part of E does not rise, or always. */
static cop_err offer(cop_tao_state *state, cop_tao_leaf *leaf, cop_tao_leaf *next, const uint32_t *rows, size_t n,
        bool always, cop_tao_work *work)
{
	double *loss = cop_mem_alloc(n, sizeof *loss), now = penalty(state, leaf);

	if (loss == NULL) {
		cop_tao_leaf_fini(next);
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		now += state->loss[rows[i]];
	if (losses(state, next, rows, n, work, loss) + penalty(state, next) <= now || always) {
		cop_tao_leaf_replace(state, leaf, next);
		for (size_t i = 0; i < n; i++)
			state->loss[rows[i]] = loss[i];
	}
	cop_tao_leaf_fini(next);
	cop_mem_free(loss);
	return COP_OK;
}

static cop_err fit_constant(
        cop_tao_state *state, cop_tao_leaf *leaf, const uint32_t *rows, size_t n, cop_tao_work *work)
{
	float *bias = cop_mem_alloc(state->outputs, sizeof *bias);
	cop_tao_leaf next = { 0 };
	uint32_t choice = 0;
	bool any = false;
	cop_err err = COP_ENOMEM;

	if (bias != NULL)
		err = cop_tao_constant(state, rows, n, bias, &choice, &any);
	if (err == COP_OK && any) {
		err = cop_tao_leaf_set_constant(state, &next, bias, choice);
		if (err == COP_OK)
			err = offer(state, leaf, &next, rows, n, false, work);
	}
	cop_mem_free(bias);
	return err;
}

/* ---- linear ---- */

/* A leaf that is being fitted: weights dense, as the solvers want them, of the features that may get one. */
typedef struct dense_leaf {
	size_t rows;
	uint32_t *output; /* rows, ascending */
	cop_screened has; /* its d below */
	float *v;         /* rows x d */
	float *bias;      /* rows */
	float *weight;    /* of the leaf's rows, or NULL */
} dense_leaf;

static void dense_fini(dense_leaf *l)
{
	cop_mem_free(l->output);
	cop_mem_free(l->v);
	cop_mem_free(l->bias);
	cop_mem_free(l->weight);
	cop_screened_fini(&l->has);
}

/* The leaf's present weights for the outputs at hand. */
static void dense_start(dense_leaf *l, const cop_tao_leaf *leaf)
{
	size_t d = l->has.columns.d;

	for (size_t r = 0, q = 0; leaf->start != NULL && q < leaf->rows; q++) {
		while (r < l->rows && l->output[r] < leaf->output[q])
			r++;
		if (r == l->rows || l->output[r] != leaf->output[q])
			continue;
		l->bias[r] = leaf->bias[q];
		cop_screened_take(&l->has, leaf->start[q + 1] - leaf->start[q], leaf->index + leaf->start[q],
		        leaf->v + leaf->start[q], l->v + r * d);
	}
}

/* Room for its rows, the start, and the columns. */
static cop_err dense_init(
        dense_leaf *l, const cop_tao_state *state, const cop_tao_leaf *leaf, const uint32_t *rows, size_t n)
{
	uint32_t *at = cop_mem_alloc(n, sizeof *at);
	cop_err err = COP_ENOMEM;

	l->bias = cop_mem_alloc(l->rows, sizeof *l->bias);
	l->weight = cop_mem_alloc(n, sizeof *l->weight);
	if (at != NULL && l->bias != NULL && l->weight != NULL) {
		for (size_t i = 0; i < n; i++) {
			at[i] = (uint32_t)cop_sample_row(state->sample, rows[i]);
			l->weight[i] = (float)cop_tao_weight(state, rows[i]);
		}
		double least = state->sample->task == COP_TASK_CLASSES ? state->set->leaf_alpha : 0;
		err = cop_screened_init(&l->has, state->sample->rows, n, at, l->weight, least);
	}
	cop_mem_free(at);
	if (err != COP_OK)
		return err;
	l->v = cop_mem_alloc(l->rows, l->has.columns.d * sizeof *l->v);
	if (l->v == NULL)
		return COP_ENOMEM;
	dense_start(l, leaf);
	return COP_OK;
}

/* The fitted rows as a leaf; output is moved. */
static cop_err dense_finish(dense_leaf *l, cop_tao_leaf *leaf)
{
	size_t entries = 0, e = 0, d = l->has.columns.d;

	for (size_t k = 0; k < l->rows * d; k++)
		entries += l->v[k] != 0;
	leaf->rows = l->rows;
	leaf->output = l->output;
	l->output = NULL;
	leaf->bias = cop_mem_alloc(l->rows, sizeof *leaf->bias);
	leaf->start = cop_mem_alloc(l->rows + 1, sizeof *leaf->start);
	leaf->index = cop_mem_alloc(entries, sizeof *leaf->index);
	leaf->v = cop_mem_alloc(entries, sizeof *leaf->v);
	if (leaf->bias == NULL || leaf->start == NULL || leaf->index == NULL || leaf->v == NULL) {
		cop_tao_leaf_fini(leaf);
		return COP_ENOMEM;
	}
	for (size_t r = 0; r < l->rows; r++) {
		leaf->bias[r] = l->bias[r];
		leaf->start[r] = e;
		for (size_t j = 0; j < d; j++) {
			float v = l->v[r * d + j];
			if (v == 0)
				continue;
			leaf->index[e] = cop_screened_feature(&l->has, j);
			leaf->v[e++] = v;
			leaf->norm += fabs((double)v);
		}
	}
	leaf->start[l->rows] = e;
	return COP_OK;
}

/* ---- values and costs: the lasso for each output ---- */

/* The squared loss has no 1/2 here, so lambda has one. */
static cop_err fit_output(dense_leaf *l, const cop_tao_state *state, size_t k, const float *y)
{
	cop_l1_settings solver = { .lambda = state->set->leaf_alpha / 2,
		.tolerance = state->set->node_tolerance,
		.max_steps = state->set->node_steps };
	const cop_columns *x = &l->has.columns;
	cop_err err = cop_l1_linear_fit(&solver, x, y, l->weight, l->v + k * x->d, &l->bias[k], NULL);

	return err == COP_ENONFINITE ? COP_OK : err;
}

/* For the absolute loss the bias becomes the median of what is left. */
static cop_err shift_to_median(dense_leaf *l, size_t k, const float *y)
{
	const cop_columns *x = &l->has.columns;
	size_t n = x->n;
	float *f = cop_mem_alloc(cop_kernel_pad(n), sizeof *f);
	weighted *item = cop_mem_alloc(n, sizeof *item);

	if (f != NULL && item != NULL) {
		for (size_t j = 0; j < x->d; j++)
			if (l->v[k * x->d + j] != 0)
				cop_columns_add(x, j, l->v[k * x->d + j], f);
		for (size_t i = 0; i < n; i++)
			item[i] = (weighted){ .value = y[i] - f[i], .weight = (double)l->weight[i] };
		l->bias[k] = median(n, item);
	}
	bool done = f != NULL && item != NULL;
	cop_mem_free(f);
	cop_mem_free(item);
	return done ? COP_OK : COP_ENOMEM;
}

static cop_err fit_lassos(
        const cop_tao_state *state, const cop_tao_leaf *leaf, const uint32_t *rows, size_t n, cop_tao_leaf *next)
{
	dense_leaf l = { .rows = state->outputs, .output = cop_mem_alloc(state->outputs, sizeof *l.output) };
	float *y = cop_mem_alloc(n, sizeof *y);
	cop_err err = COP_ENOMEM;

	if (l.output != NULL && y != NULL) {
		for (uint32_t k = 0; k < l.rows; k++)
			l.output[k] = k;
		err = dense_init(&l, state, leaf, rows, n);
	}
	for (size_t k = 0; k < l.rows && err == COP_OK; k++) {
		for (size_t i = 0; i < n; i++)
			y[i] = state->sample->target[cop_sample_row(state->sample, rows[i]) * state->outputs + k];
		err = fit_output(&l, state, k, y);
		if (err == COP_OK && state->set->loss == COP_TAO_ABSOLUTE)
			err = shift_to_median(&l, k, y);
	}
	if (err == COP_OK)
		err = dense_finish(&l, next);
	dense_fini(&l);
	cop_mem_free(y);
	return err;
}

/* ---- classes: softmax ---- */

/* The classes of the leaf's rows, at most set->leaf_classes of them, the most frequent. */
static cop_err choose_classes(const cop_tao_state *state, const uint32_t *rows, size_t n, dense_leaf *l)
{
	double *sum = cop_mem_alloc(state->outputs, sizeof *sum);
	cop_err err = COP_ENOMEM;

	l->output = cop_mem_alloc(state->outputs, sizeof *l->output);
	if (sum != NULL && l->output != NULL) {
		sums(state, rows, n, sum);
		err = keep_most(state, sum);
	}
	for (uint32_t k = 0; k < state->outputs && err == COP_OK; k++)
		if (sum[k] > 0)
			l->output[l->rows++] = k;
	cop_mem_free(sum);
	return err;
}

static int by_class(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Of rows[0..n), those of the leaf's classes, with the place of their class in label. */
static size_t choose_rows(const cop_tao_state *state, const uint32_t *rows, size_t n, const dense_leaf *l,
        uint32_t *kept, uint32_t *label)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t class = state->sample->label[cop_sample_row(state->sample, rows[i])];
		const uint32_t *found = bsearch(&class, l->output, l->rows, sizeof class, by_class);
		if (found == NULL)
			continue;
		kept[m] = rows[i];
		label[m++] = (uint32_t)(found - l->output);
	}
	return m;
}

static cop_err run_softmax(const cop_tao_state *state, dense_leaf *l, const uint32_t *label)
{
	cop_l1_settings solver = { .lambda = state->set->leaf_alpha,
		.tolerance = state->set->node_tolerance,
		.max_steps = state->set->node_steps };

	if (l->rows < 2)
		return COP_OK;
	cop_err err = cop_l1_softmax_fit(&solver, &l->has.columns, l->rows, label, l->weight, l->v, l->bias, NULL);
	return err == COP_ENONFINITE ? COP_OK : err;
}

static cop_err fit_softmax(
        const cop_tao_state *state, const cop_tao_leaf *leaf, const uint32_t *rows, size_t n, cop_tao_leaf *next)
{
	dense_leaf l = { 0 };
	uint32_t *kept = cop_mem_alloc(n, sizeof *kept), *label = cop_mem_alloc(n, sizeof *label);
	cop_err err = kept != NULL && label != NULL ? choose_classes(state, rows, n, &l) : COP_ENOMEM;

	size_t m = err == COP_OK ? choose_rows(state, rows, n, &l, kept, label) : 0;
	if (err == COP_OK && cop_tao_many_is(state, l.rows, m)) {
		const cop_tao_many many = { l.rows, m, l.output, kept, label };
		err = cop_tao_many_fit(state, leaf, &many, next);
	} else if (err == COP_OK) {
		err = dense_init(&l, state, leaf, kept, m);
		if (err == COP_OK)
			err = run_softmax(state, &l, label);
		if (err == COP_OK)
			err = dense_finish(&l, next);
	}
	dense_fini(&l);
	cop_mem_free(kept);
	cop_mem_free(label);
	return err;
}

static cop_err fit_linear(cop_tao_state *state, cop_tao_leaf *leaf, const uint32_t *rows, size_t n, cop_tao_work *work)
{
	cop_tao_leaf next = { 0 };
	double total = 0;
	cop_err err;

	for (size_t i = 0; i < n; i++)
		total += cop_tao_weight(state, rows[i]);
	if (total <= 0)
		return COP_OK;
	err = state->sample->task == COP_TASK_CLASSES ? fit_softmax(state, leaf, rows, n, &next)
	                                              : fit_lassos(state, leaf, rows, n, &next);
	if (err == COP_OK && state->sample->rows->sparse)
		err = cop_tao_turned_new(state->d, next.rows, next.start, next.index, next.v, &next.turned);
	if (err != COP_OK)
		cop_tao_leaf_fini(&next);
	return err == COP_OK ? offer(state, leaf, &next, rows, n, state->bold, work) : err;
}

cop_err cop_tao_leaf_fit(cop_tao_state *state, cop_tao_leaf *leaf, const uint32_t *rows, size_t n, cop_tao_work *work)
{
	if (n == 0)
		return COP_OK;
	/* A constant is offered to a linear leaf too: it may be the better one, and is where the first fit starts. */
	cop_err err = leaf->start == NULL || state->set->leaves == COP_TAO_CONSTANT
	                      ? fit_constant(state, leaf, rows, n, work)
	                      : COP_OK;
	if (err == COP_OK && state->set->leaves == COP_TAO_LINEAR)
		err = fit_linear(state, leaf, rows, n, work);
	if (err == COP_OK && state->set->leaves == COP_TAO_LINEAR && leaf->start != NULL)
		err = fit_constant(state, leaf, rows, n, work);
	return err;
}

/* Residuals are kept by row number and are what each tree fits, as values. Of squared loss they are what the trees so
 * far leave of the targets. Of classes the sums F are kept too: p = softmax(F), the residuals are y - p, and the tree's
 * constant leaves are replaced by Newton steps (with 1 added to the curvature, so that a leaf of few or of certain rows
 * stays small). Leaves that are linear stay as they were fitted: plain gradient steps. */
#include "train/forest_fit_private.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define DAMPING 1.0 /* added to a leaf's curvature */

static bool is_classes(const cop_forest_fitting *f) { return f->sample->task == COP_TASK_CLASSES; }

/* ---- before the first tree ---- */

static cop_err take_room(cop_forest_fitting *f)
{
	size_t outputs = f->sample->outputs, n = f->sample->rows->n;
	bool classes = is_classes(f);
	f->residual = cop_mem_alloc(n, outputs * sizeof *f->residual);
	f->predicted = cop_mem_alloc(cop_pool_threads(f->pool), outputs * sizeof *f->predicted);
	f->base = cop_mem_alloc(outputs, sizeof *f->base);
	f->sum = cop_mem_alloc(classes ? n : 0, outputs * sizeof *f->sum);
	f->leaf = cop_mem_alloc(classes ? n : 0, sizeof *f->leaf);
	return f->residual != NULL && f->predicted != NULL && f->base != NULL && f->sum != NULL && f->leaf != NULL
	               ? COP_OK
	               : COP_ENOMEM;
}

/* The weighted means of the targets. COP_EINVAL: no weight. */
static cop_err take_means(cop_forest_fitting *f)
{
	const cop_sample *sample = f->sample;
	size_t outputs = sample->outputs;
	double sum = 0;
	for (size_t i = 0; i < sample->n; i++) {
		size_t row = cop_sample_row(sample, i);
		double w = cop_sample_weight(sample, row);
		sum += w;
		if (is_classes(f))
			f->base[sample->label[row]] += w;
		for (size_t k = 0; !is_classes(f) && k < outputs; k++)
			f->base[k] += w * (double)sample->target[row * outputs + k];
	}
	if (!(sum > 0))
		return COP_EINVAL;
	for (size_t k = 0; k < outputs; k++)
		f->base[k] /= sum;
	return COP_OK;
}

/* Shares to their logarithms, a class without rows as if it had half a row. */
static void take_log_shares(cop_forest_fitting *f)
{
	double least = 0.5 / (double)f->sample->n;
	for (size_t k = 0; k < f->sample->outputs; k++)
		f->base[k] = log(f->base[k] > least ? f->base[k] : least);
}

/* y - p of a row, from its sums. */
static void take_residual(cop_forest_fitting *f, size_t row)
{
	size_t outputs = f->sample->outputs;
	const double *sum = f->sum + row * outputs;
	float *residual = f->residual + row * outputs;
	double most = sum[0], all = 0;
	for (size_t k = 1; k < outputs; k++)
		most = sum[k] > most ? sum[k] : most;
	for (size_t k = 0; k < outputs; k++)
		all += exp(sum[k] - most);
	for (size_t k = 0; k < outputs; k++)
		residual[k] = (float)((f->sample->label[row] == k) - exp(sum[k] - most) / all);
}

static cop_err begin(cop_forest_fitting *f)
{
	const cop_sample *sample = f->sample;
	size_t outputs = sample->outputs;
	cop_err err = cop_forest_fit_distinct(f);
	if (err == COP_OK)
		err = take_room(f);
	if (err == COP_OK)
		err = take_means(f);
	if (err != COP_OK)
		return err;
	if (is_classes(f))
		take_log_shares(f);
	for (size_t i = 0; i < f->rows; i++) {
		size_t row = f->distinct[i], at = row * outputs;
		if (is_classes(f)) {
			memcpy(f->sum + at, f->base, outputs * sizeof *f->sum);
			take_residual(f, row);
			continue;
		}
		for (size_t k = 0; k < outputs; k++)
			f->residual[at + k] = (float)((double)sample->target[at + k] - f->base[k]);
	}
	return COP_OK;
}

/* ---- Newton's step in the leaves ---- */

static cop_err reach_chunk(void *context, size_t task, unsigned worker)
{
	(void)worker;
	cop_forest_fitting *f = context;
	for (size_t i = task * COP_FOREST_CHUNK; i < (task + 1) * COP_FOREST_CHUNK && i < f->rows; i++) {
		cop_row row;
		cop_dataset_row(f->sample->rows, f->distinct[i], &row);
		f->leaf[f->distinct[i]] = (uint32_t)cop_tree_leaf(f->tree[f->count], &row);
	}
	return COP_OK;
}

/* step: leaves x K of sums of w r, beside them curvature of sums of w p (1 - p); a leaf's steps are their quotients. */
static void sum_steps(const cop_forest_fitting *f, double *step, double *curvature)
{
	const cop_sample *sample = f->sample;
	size_t outputs = sample->outputs;
	for (size_t i = 0; i < sample->n; i++) {
		size_t row = cop_sample_row(sample, i), at = f->leaf[row] * outputs;
		double w = cop_sample_weight(sample, row);
		const float *residual = f->residual + row * outputs;
		for (size_t k = 0; k < outputs; k++) {
			double r = fabs((double)residual[k]); /* 1 - p of the row's class, p of any other */
			step[at + k] += w * (double)residual[k];
			curvature[at + k] += w * r * (1 - r);
		}
	}
}

/* The tree with those steps in its constant leaves, in place of *tree. */
static cop_err replace_leaves(cop_tree **tree, const double *step, const double *curvature)
{
	cop_tree_parts parts = *cop_tree_view(*tree);
	size_t outputs = parts.outputs;
	float *bias = cop_mem_alloc(parts.rows.count, sizeof *bias);
	if (bias == NULL)
		return COP_ENOMEM;
	for (size_t l = 0; l <= parts.nodes.count; l++) {
		bool constant = cop_tree_leaf_constant(*tree, l);
		for (size_t r = parts.leaf[l]; r < parts.leaf[l + 1]; r++) {
			size_t at = l * outputs + parts.output[r];
			bias[r] = constant ? (float)(step[at] / (curvature[at] + DAMPING)) : parts.rows.bias[r];
		}
	}
	parts.rows.bias = bias;
	cop_tree *changed;
	cop_err err = cop_tree_new(&parts, &changed);
	if (err == COP_OK) {
		cop_tree_free(*tree);
		*tree = changed;
	}
	cop_mem_free(bias);
	return err;
}

static cop_err take_newton_steps(cop_forest_fitting *f)
{
	cop_tree **tree = &f->tree[f->count];
	size_t count = cop_tree_leaves(*tree) * f->sample->outputs;
	double *step = cop_mem_alloc(count, sizeof *step), *curvature = cop_mem_alloc(count, sizeof *curvature);
	cop_err err = step != NULL && curvature != NULL ? cop_forest_fit_chunks(f, reach_chunk) : COP_ENOMEM;
	if (err == COP_OK) {
		sum_steps(f, step, curvature);
		err = replace_leaves(tree, step, curvature);
	}
	cop_mem_free(step);
	cop_mem_free(curvature);
	return err;
}

/* ---- trees ---- */

static cop_err lower_chunk(void *context, size_t task, unsigned worker)
{
	cop_forest_fitting *f = context;
	size_t outputs = f->sample->outputs;
	double shrinkage = f->settings->shrinkage;
	float *predicted = f->predicted + worker * outputs;
	for (size_t i = task * COP_FOREST_CHUNK; i < (task + 1) * COP_FOREST_CHUNK && i < f->rows; i++) {
		cop_row row;
		size_t at = f->distinct[i] * outputs;
		cop_dataset_row(f->sample->rows, f->distinct[i], &row);
		(void)cop_tree_predict(f->tree[f->count], &row, predicted);
		for (size_t k = 0; k < outputs; k++) {
			if (is_classes(f))
				f->sum[at + k] += shrinkage * (double)predicted[k];
			else
				f->residual[at + k] =
				        (float)((double)f->residual[at + k] - shrinkage * (double)predicted[k]);
		}
		if (is_classes(f))
			take_residual(f, f->distinct[i]);
	}
	return COP_OK;
}

cop_err cop_forest_fit_gradient(cop_forest_fitting *f)
{
	cop_err err = begin(f);
	bool more = true;
	while (err == COP_OK && more && f->count < f->settings->trees) {
		cop_sample left = *f->sample;
		left.task = COP_TASK_VALUES;
		left.target = f->residual;
		err = cop_forest_fit_tree(f, f->count, &left, f->pool, &f->tree[f->count]);
		if (err == COP_OK && is_classes(f))
			err = take_newton_steps(f);
		if (err == COP_OK)
			err = cop_forest_fit_chunks(f, lower_chunk);
		if (err != COP_OK)
			break;
		f->weight[f->count++] = f->settings->shrinkage;
		more = cop_forest_fit_tell(f, "");
	}
	return err;
}

void cop_forest_fit_gradient_end(cop_forest_fitting *f)
{
	cop_mem_free(f->residual);
	cop_mem_free(f->predicted);
	cop_mem_free(f->sum);
	cop_mem_free(f->leaf);
}

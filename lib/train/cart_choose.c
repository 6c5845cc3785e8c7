/* Each fold's tree is grown on the other folds, and its weakest links found. A held-out row's prediction is, for a
 * given complexity, that of the first node on its way down whose link is not stronger than it: the way down goes
 * through the complexities from the greatest to the least. So one walk gives the row's error at all of them, as
 * differences between neighbouring complexities, which are summed up at the end.
 *
 * The complexities tried are the geometric means of neighbours in the sequence of the whole sample's tree. */
#include "train/cart_prune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "table/split.h"

typedef struct choosing {
	const cop_cart_settings *settings;
	const cop_cart_data *data;
	cop_pool *pool;
	cop_rng *rng;
	size_t steps;
	double *sequence; /* steps, ascending from 0 */
	double *tried;    /* steps: between them */
	double *error;    /* steps + 1: weighted sums of held-out rows' errors, as differences */
	double *square;   /* and of their squares */
	uint32_t *fold;   /* of each place */
	uint32_t *others; /* places that are not in the fold */
	double *values;   /* outputs */
} choosing;

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static void make_sequence(choosing *c, const cop_cart_grown *grown, const double *links)
{
	size_t count = 0;
	c->sequence[count++] = 0;
	for (size_t t = 0; t < grown->count; t++) {
		if (grown->node[t].left >= 0)
			c->sequence[count++] = links[t];
	}
	qsort(c->sequence, count, sizeof *c->sequence, ascending);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || c->sequence[i] > c->sequence[c->steps - 1])
			c->sequence[c->steps++] = c->sequence[i];
	}
	for (size_t i = 0; i + 1 < c->steps; i++)
		c->tried[i] = sqrt(c->sequence[i] * c->sequence[i + 1]);
	c->tried[c->steps - 1] = HUGE_VAL;
}

static size_t best_output(const double *values, size_t outputs, double sign)
{
	size_t best = 0;
	for (size_t k = 1; k < outputs; k++)
		best = sign * values[k] > sign * values[best] ? k : best;
	return best;
}

/* What predicts at a node: of values their means, else just the class or choice, as a number. */
static void node_values(choosing *c, const cop_cart_grown *grown, size_t t, double *predicted)
{
	const cop_cart_node *node = &grown->node[t];
	size_t outputs = c->data->sample->outputs;
	cop_task task = c->data->sample->task;
	cop_cart_grow_leaf_values(c->data, node->end - node->begin, grown->place + node->begin, c->values);
	if (task == COP_TASK_VALUES)
		memcpy(predicted, c->values, outputs * sizeof *predicted);
	else
		*predicted = (double)best_output(c->values, outputs, task == COP_TASK_CLASSES ? 1 : -1);
}

static double row_error(const choosing *c, size_t row, const double *predicted)
{
	const cop_sample *sample = c->data->sample;
	if (sample->task == COP_TASK_CLASSES)
		return sample->label[row] != (uint32_t)*predicted;
	const float *target = sample->target + row * sample->outputs;
	if (sample->task == COP_TASK_COSTS)
		return (double)target[(size_t)*predicted];
	double sum = 0;
	for (size_t k = 0; k < sample->outputs; k++)
		sum += ((double)target[k] - predicted[k]) * ((double)target[k] - predicted[k]);
	return sum;
}

/* The first of the tried complexities that is at least this one. */
static size_t first_tried(const choosing *c, double complexity)
{
	size_t from = 0, to = c->steps;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (c->tried[middle] < complexity)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void walk(choosing *c, const cop_cart_grown *grown, const double *links, const double *predicted, size_t place)
{
	const cop_sample *sample = c->data->sample;
	size_t width = sample->task == COP_TASK_VALUES ? sample->outputs : 1;
	size_t row = c->data->row[place], end = c->steps;
	double weight = cop_cart_data_weight(c->data, place);
	for (size_t t = 0;;) {
		const cop_cart_node *node = &grown->node[t];
		size_t begin = node->left < 0 ? 0 : first_tried(c, links[t]);
		if (begin < end) {
			double error = row_error(c, row, predicted + t * width);
			c->error[begin] += weight * error;
			c->error[end] -= weight * error;
			c->square[begin] += weight * error * error;
			c->square[end] -= weight * error * error;
			end = begin;
		}
		if (end == 0)
			return;
		float x = cop_cart_data_value(sample->rows, row, node->feature);
		t = (size_t)(x >= node->threshold ? node->right : node->left);
	}
}

static cop_err test_fold(choosing *c, uint32_t fold, const cop_cart_grown *grown)
{
	size_t outputs = c->data->sample->outputs;
	size_t width = c->data->sample->task == COP_TASK_VALUES ? outputs : 1;
	double *links = cop_mem_alloc(grown->count, sizeof *links);
	double *predicted = cop_mem_alloc(grown->count, width * sizeof *predicted);
	cop_err err = links == NULL || predicted == NULL ? COP_ENOMEM : cop_cart_prune_weakest_links(grown, links);
	if (err == COP_OK) {
		for (size_t t = 0; t < grown->count; t++)
			node_values(c, grown, t, predicted + t * width);
		for (size_t i = 0; i < c->data->n; i++) {
			if (c->fold[i] == fold)
				walk(c, grown, links, predicted, i);
		}
	}
	cop_mem_free(links);
	cop_mem_free(predicted);
	return err;
}

static cop_err run_fold(choosing *c, uint32_t fold)
{
	size_t n = 0;
	for (size_t i = 0; i < c->data->n; i++) {
		if (c->fold[i] != fold)
			c->others[n++] = (uint32_t)i;
	}
	cop_cart_grown grown;
	cop_err err = cop_cart_grow(c->settings, c->data, n, c->others, c->pool, c->rng, &grown);
	if (err == COP_OK)
		err = test_fold(c, fold, &grown);
	cop_cart_grow_fini(&grown);
	return err;
}

static cop_err make_folds(choosing *c, size_t folds)
{
	const cop_sample *sample = c->data->sample;
	uint32_t *label = NULL;
	if (sample->task == COP_TASK_CLASSES) {
		label = c->others; /* not needed yet */
		for (size_t i = 0; i < c->data->n; i++)
			label[i] = sample->label[c->data->row[i]];
	}
	return cop_split_folds(c->rng, c->data->n, label, folds, c->fold);
}

/* The largest complexity whose mean error is within one standard error of the least. */
static double within_one_error(const choosing *c)
{
	double weight = 0, squares = 0;
	for (size_t i = 0; i < c->data->n; i++) {
		double w = cop_cart_data_weight(c->data, i);
		weight += w;
		squares += w * w;
	}
	double error = 0, square = 0, least = HUGE_VAL, bound = 0;
	for (size_t i = 0; i < c->steps; i++) {
		error += c->error[i];
		square += c->square[i];
		double mean = error / weight;
		double variance = square / weight - mean * mean;
		if (mean < least) {
			least = mean;
			bound = mean + sqrt((variance > 0 ? variance : 0) * squares) / weight;
		}
	}
	size_t chosen = 0;
	error = 0;
	for (size_t i = 0; i < c->steps; i++) {
		error += c->error[i];
		if (error / weight <= bound)
			chosen = i;
	}
	return c->sequence[chosen];
}

static cop_err choose(choosing *c, const cop_cart_grown *grown, const double *links, double *complexity)
{
	size_t n = c->data->n, folds = c->settings->folds < n ? c->settings->folds : n;
	c->sequence = cop_mem_alloc(grown->count + 1, sizeof *c->sequence);
	c->tried = cop_mem_alloc(grown->count + 1, sizeof *c->tried);
	c->error = cop_mem_alloc(grown->count + 2, sizeof *c->error);
	c->square = cop_mem_alloc(grown->count + 2, sizeof *c->square);
	c->fold = cop_mem_alloc(n, sizeof *c->fold);
	c->others = cop_mem_alloc(n, sizeof *c->others);
	c->values = cop_mem_alloc(c->data->sample->outputs, sizeof *c->values);
	if (c->sequence == NULL || c->tried == NULL || c->error == NULL || c->square == NULL || c->fold == NULL ||
	        c->others == NULL || c->values == NULL)
		return COP_ENOMEM;
	make_sequence(c, grown, links);
	cop_err err = make_folds(c, folds);
	for (uint32_t fold = 0; err == COP_OK && fold < folds; fold++)
		err = run_fold(c, fold);
	if (err == COP_OK)
		*complexity = within_one_error(c);
	return err;
}

cop_err cop_cart_prune_choose(const cop_cart_settings *settings, const cop_cart_data *data, const cop_cart_grown *grown,
        const double *links, cop_pool *pool, cop_rng *rng, double *complexity)
{
	*complexity = 0;
	if (data->n < 2 || grown->count < 2)
		return COP_OK;
	choosing c = { .settings = settings, .data = data, .pool = pool, .rng = rng };
	cop_err err = choose(&c, grown, links, complexity);
	cop_mem_free(c.sequence);
	cop_mem_free(c.tried);
	cop_mem_free(c.error);
	cop_mem_free(c.square);
	cop_mem_free(c.fold);
	cop_mem_free(c.others);
	cop_mem_free(c.values);
	return err;
}

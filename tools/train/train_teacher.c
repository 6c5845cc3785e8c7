/* Labels are copied, guesses are put where the sample has none. */
#include "train_teacher.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/cart.h"
#include "train/forest_fit.h"

#define CHUNK ((size_t)512) /* rows that one task predicts */

typedef struct guessing {
	const cop_sample *labelled;
	const cop_trees *trees;
	double weight;
	float *work;     /* of each worker, K */
	double *outputs; /* likewise */
	cop_train_teacher *out;
} guessing;

static cop_err fit_one(void *context, size_t t, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	cop_cart_settings set;
	(void)context, (void)t;
	cop_cart_defaults(&set);
	set.drawn_thresholds = true;
	set.features = sample->task == COP_TASK_CLASSES ? (size_t)sqrt((double)sample->rows->d) : 0;
	return cop_cart_fit(&set, sample, pool, rng, out);
}

static cop_err guess_chunk(void *context, size_t task, unsigned worker)
{
	const guessing *g = context;
	size_t outputs = g->labelled->outputs;
	float *work = g->work + worker * outputs;
	double *out = g->outputs + worker * outputs;
	for (size_t i = task * CHUNK; i < (task + 1) * CHUNK && i < g->labelled->rows->n; i++) {
		cop_row row;
		if (g->out->mask[i] > 0.0F)
			continue;
		cop_dataset_row(g->labelled->rows, i, &row);
		cop_trees_predict(g->trees, &row, work, out);
		size_t best = 0;
		for (size_t k = 1; k < outputs; k++)
			best = out[k] > out[best] ? k : best;
		bool classes = g->out->label != NULL;
		if (classes)
			g->out->label[i] = (uint32_t)best;
		else
			g->out->target[i] = (float)out[0];
		g->out->mask[i] = (float)(classes ? g->weight * out[best] : g->weight);
	}
	return COP_OK;
}

static cop_err guess(const cop_train_job *job, guessing *g)
{
	size_t threads = cop_pool_threads(job->pool), outputs = g->labelled->outputs, n = g->labelled->rows->n;
	g->work = cop_mem_alloc(threads, outputs * sizeof *g->work);
	g->outputs = cop_mem_alloc(threads, outputs * sizeof *g->outputs);
	cop_err err = g->work != NULL && g->outputs != NULL
	                      ? cop_pool_run(job->pool, (n + CHUNK - 1) / CHUNK, guess_chunk, g)
	                      : COP_ENOMEM;
	cop_mem_free(g->work);
	cop_mem_free(g->outputs);
	return err;
}

static cop_err take_labels(const cop_sample *labelled, cop_train_teacher *out)
{
	size_t n = labelled->rows->n;
	bool classes = labelled->task == COP_TASK_CLASSES;
	out->mask = cop_mem_alloc(n, sizeof *out->mask);
	out->label = classes ? cop_mem_alloc(n, sizeof *out->label) : NULL;
	out->target = classes ? NULL : cop_mem_alloc(n, sizeof *out->target);
	if (out->mask == NULL || (classes ? out->label == NULL : out->target == NULL))
		return COP_ENOMEM;
	for (size_t i = 0; i < labelled->n; i++) {
		size_t row = cop_sample_row(labelled, i);
		out->mask[row] = 1.0F;
		if (classes)
			out->label[row] = labelled->label[row];
		else
			out->target[row] = labelled->target[row];
	}
	return COP_OK;
}

cop_err cop_train_teacher_guess(
        const cop_train_job *job, const cop_sample *labelled, size_t trees, double weight, cop_train_teacher *out)
{
	cop_trees *forest = NULL;
	const cop_forest_settings set = { .trees = trees, .share = 1, .seed = job->seed };
	*out = (cop_train_teacher){ 0 };
	cop_err err = take_labels(labelled, out);
	if (err != COP_OK || trees == 0 || !(weight > 0))
		return err;
	err = cop_forest_fit(&set, labelled, fit_one, NULL, job->pool, NULL, &forest);
	if (err == COP_OK)
		err = guess(job, &(guessing){ labelled, forest, weight, NULL, NULL, out });
	cop_trees_free(forest);
	return err;
}

void cop_train_teacher_fini(cop_train_teacher *teacher)
{
	cop_mem_free(teacher->target);
	cop_mem_free(teacher->label);
	cop_mem_free(teacher->mask);
	*teacher = (cop_train_teacher){ 0 };
}

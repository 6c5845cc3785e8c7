/* Convex polytope trees: grown greedily, then refined together. */
#include <math.h>

#include "base/mem.h"
#include "linalg/blas.h"
#include "train/polytope_refine.h"
#include "train_fit_parts.h"

static void take_settings(
        const cop_train_fitting *f, cop_polytope_tree_settings *set, cop_polytope_refine_settings *refine)
{
	cop_polytope_tree_defaults(set);
	cop_polytope_refine_defaults(refine);
	cop_polytope_split_settings *split = &set->split;
	set->height = cop_train_whole(f, COP_HYPERPARAMETER_HEIGHT, set->height);
	set->least_gain = cop_train_knob(f, COP_HYPERPARAMETER_LEAST_GAIN, set->least_gain);
	split->least = (size_t)cop_train_knob(f, COP_HYPERPARAMETER_MIN_LEAF, (double)split->least);
	split->least = split->least > 0 ? split->least : 1;
	split->experts = cop_train_whole(f, COP_HYPERPARAMETER_FACETS, (unsigned)split->experts);
	split->starts = cop_train_whole(f, COP_HYPERPARAMETER_NODE_STARTS, split->starts);
	split->batch = cop_train_whole(f, COP_HYPERPARAMETER_BATCH, (unsigned)split->batch);
	split->epochs = cop_train_whole(f, COP_HYPERPARAMETER_EPOCHS, split->epochs);
	split->lr = cop_train_knob(f, COP_HYPERPARAMETER_LR, split->lr);
	split->prior.gamma0 = cop_train_knob(f, COP_HYPERPARAMETER_GAMMA0, (double)split->experts);
	split->prior.c0 = cop_train_knob(f, COP_HYPERPARAMETER_C0, split->prior.c0);
	split->prior.a0 = cop_train_knob(f, COP_HYPERPARAMETER_A0, split->prior.a0);
	split->prior.b0 = cop_train_knob(f, COP_HYPERPARAMETER_B0, split->prior.b0);
	refine->prior = split->prior;
	refine->batch = split->batch;
	refine->epochs = cop_train_whole(f, COP_HYPERPARAMETER_REFINE, refine->epochs);
	split->keep_spare = refine->epochs > 0;
	refine->lr = cop_train_knob(f, COP_HYPERPARAMETER_REFINE_LR, refine->lr);
	refine->first = cop_train_knob(f, COP_HYPERPARAMETER_ANNEAL_FIRST, refine->first);
	refine->last = cop_train_knob(f, COP_HYPERPARAMETER_ANNEAL_LAST, refine->last);
}

typedef struct gathered {
	float *x, *target;
	uint32_t *label, *row;
	double middle, spread; /* of the values, which are fitted at mean 0 and deviation 1 */
} gathered;

static void gathered_fini(gathered *g)
{
	cop_mem_free(g->x);
	cop_mem_free(g->target);
	cop_mem_free(g->label);
	cop_mem_free(g->row);
}

static void scale_values(gathered *g, size_t n)
{
	double squares = 0.0;
	for (size_t i = 0; i < n; i++)
		g->middle += (double)g->target[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += ((double)g->target[i] - g->middle) * ((double)g->target[i] - g->middle);
	g->spread = squares > 0.0 ? sqrt(squares / (double)n) : 1.0;
	for (size_t i = 0; i < n; i++)
		g->target[i] = (float)(((double)g->target[i] - g->middle) / g->spread);
}

static void unscale_values(const gathered *g, const cop_polytope_tree *tree)
{
	for (size_t l = 0; tree->classes == 0 && l < tree->leaves; l++)
		tree->share[l] = g->middle + g->spread * tree->share[l];
}

static cop_err gather(const cop_sample *sample, gathered *g, cop_polytope_rows *rows)
{
	const bool classes = sample->task == COP_TASK_CLASSES;
	g->x = cop_mem_alloc(sample->n, (sample->rows->d + 1) * sizeof *g->x);
	g->row = cop_mem_alloc(sample->n, sizeof *g->row);
	g->label = classes ? cop_mem_alloc(sample->n, sizeof *g->label) : NULL;
	g->target = classes ? NULL : cop_mem_alloc(sample->n, sizeof *g->target);
	if (g->x == NULL || g->row == NULL || (g->label == NULL && g->target == NULL))
		return COP_ENOMEM;
	for (size_t i = 0; i < sample->n; i++) {
		g->row[i] = (uint32_t)cop_sample_row(sample, i);
		if (classes)
			g->label[i] = sample->label[g->row[i]];
		else
			g->target[i] = sample->target[g->row[i]];
	}
	if (!classes)
		scale_values(g, sample->n);
	cop_sample_gather(sample, sample->n, g->row, g->x);
	*rows = (cop_polytope_rows){ sample->n, sample->rows->d, classes ? sample->outputs : 0, g->x, g->label,
		g->target };
	return COP_OK;
}

cop_err cop_train_fit_polytope(const cop_train_fitting *f, const cop_sample *sample, cop_trees **out)
{
	cop_polytope_tree_settings set;
	cop_polytope_refine_settings refine;
	cop_polytope_rows rows;
	cop_polytope_tree tree = { 0 };
	gathered g = { 0 };
	cop_tree *hard = NULL;
	take_settings(f, &set, &refine);
	if (refine.last < refine.first)
		return cop_train_refuse(f->diag, "--anneal-last: expected at least --anneal-first");
	cop_blas_threads(1); /* batches are small */
	cop_err err = gather(sample, &g, &rows);
	if (err == COP_OK)
		err = cop_polytope_tree_fit(&set, &rows, f->job->seed, f->progress, &tree);
	if (err == COP_OK)
		err = cop_polytope_refine(&refine, &rows, f->job->seed, f->progress, &tree);
	unscale_values(&g, &tree);
	if (err == COP_OK)
		err = cop_polytope_tree_hard(&tree, &hard);
	if (err == COP_OK)
		err = cop_trees_new(COP_TREES_MEAN, 1, &hard, NULL, NULL, out);
	cop_tree_free(hard);
	cop_polytope_tree_fini(&tree);
	gathered_fini(&g);
	return err;
}

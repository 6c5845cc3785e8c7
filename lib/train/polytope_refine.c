/* The first look at the rows, without steps, fills the leaves' running means. After the last epoch rows are routed
 * hard: each node's experts are looked through by the rows that come, and the leaves' shares taken. */
#include "train/polytope_refine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "optim/optim.h"
#include "train/polytope_pass.h"

typedef struct refining {
	const cop_polytope_refine_settings *set;
	const cop_polytope_rows *rows;
	cop_polytope_tree *tree;
	cop_polytope_pass *pass;
	size_t batch, weights;
	float *w, *g;
	float *x, *target; /* of a batch */
	uint32_t *label, *order;
} refining;

void cop_polytope_refine_defaults(cop_polytope_refine_settings *settings)
{
	cop_polytope_split_settings split;
	cop_polytope_split_defaults(&split);
	*settings = (cop_polytope_refine_settings){
		.epochs = 40, .batch = 256, .lr = 0.02, .first = 2.0, .last = 30.0, .prior = split.prior
	};
}

static cop_err begin(refining *f)
{
	f->batch = f->set->batch < f->rows->n ? f->set->batch : f->rows->n;
	cop_err err = cop_polytope_pass_new(f->tree, f->batch, &f->pass);
	if (err != COP_OK)
		return err;
	f->weights = cop_polytope_pass_weights(f->pass);
	f->w = cop_mem_alloc(f->weights, sizeof *f->w);
	f->g = cop_mem_alloc(f->weights, sizeof *f->g);
	f->x = cop_mem_alloc(f->batch, (f->rows->d + 1) * sizeof *f->x);
	f->target = cop_mem_alloc(f->batch, sizeof *f->target);
	f->label = cop_mem_alloc(f->batch, sizeof *f->label);
	f->order = cop_mem_alloc(f->rows->n, sizeof *f->order);
	if (f->w == NULL || f->g == NULL || f->x == NULL || f->target == NULL || f->label == NULL || f->order == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < f->rows->n; i++)
		f->order[i] = (uint32_t)i;
	cop_polytope_pass_take(f->pass, f->w);
	return COP_OK;
}

static void end(refining *f)
{
	cop_polytope_pass_free(f->pass);
	cop_mem_free(f->w);
	cop_mem_free(f->g);
	cop_mem_free(f->x);
	cop_mem_free(f->target);
	cop_mem_free(f->label);
	cop_mem_free(f->order);
}

/* ---- training ---- */

/* The batch that begins at place `from` of the order. */
static cop_polytope_rows gather(refining *f, size_t from)
{
	const cop_polytope_rows *rows = f->rows;
	const size_t width = rows->d + 1, left = rows->n - from, n = left < f->batch ? left : f->batch;
	for (size_t i = 0; i < n; i++) {
		const size_t row = f->order[from + i];
		memcpy(f->x + i * width, rows->x + row * width, width * sizeof *f->x);
		if (rows->classes > 0)
			f->label[i] = rows->label[row];
		else
			f->target[i] = rows->target[row];
	}
	return (cop_polytope_rows){ n, rows->d, rows->classes, f->x, rows->classes > 0 ? f->label : NULL,
		rows->classes > 0 ? NULL : f->target };
}

static void add_priors(refining *f)
{
	size_t at = 0;
	for (size_t t = 0; t < f->tree->splits; t++) {
		const cop_polytope_node *node = &f->tree->split[t].node;
		const size_t beta = node->experts * (node->d + 1);
		const cop_polytope_node here = { node->d, node->experts, f->w + at, f->w + at + beta };
		cop_polytope_node gradient = { node->d, node->experts, f->g + at, f->g + at + beta };
		(void)cop_polytope_node_prior(&here, &f->set->prior, 1.0 / (double)f->rows->n, &gradient);
		at += beta + node->experts + 1;
	}
}

static cop_err update(refining *f, cop_optim *optim, size_t u, double lambda)
{
	const size_t n = f->rows->n, updates = (n + f->batch - 1) / f->batch;
	const cop_polytope_rows batch = gather(f, u % updates * f->batch);
	const double memory = 1.0 - (double)batch.n / (double)n;
	(void)cop_polytope_pass_run(f->pass, f->w, &batch, lambda, memory, f->g);
	add_priors(f);
	return cop_optim_step(optim, f->w, f->g);
}

static bool go_on(const refining *f, const cop_progress *progress, size_t u, size_t all)
{
	char text[64];
	if (progress == NULL)
		return true;
	(void)snprintf(text, sizeof text, "polytope: %zu nodes together", f->tree->splits);
	return progress->report(progress->context, (double)u / (double)all, text);
}

static cop_err train(refining *f, cop_rng *rng, const cop_progress *progress)
{
	const size_t n = f->rows->n, updates = (n + f->batch - 1) / f->batch, all = updates * f->set->epochs;
	const double growth = log(f->set->last / f->set->first);
	cop_optim_settings settings;
	cop_optim *optim = NULL;
	cop_err err = cop_optim_defaults("adam", &settings);
	settings.lr = f->set->lr;
	if (err == COP_OK)
		err = cop_optim_new("adam", &settings, 1, f->weights, &optim);
	cop_rng_shuffle(rng, n, f->order);
	for (size_t u = 0; err == COP_OK && u < updates; u++) {
		const cop_polytope_rows batch = gather(f, u * f->batch);
		(void)cop_polytope_pass_run(f->pass, f->w, &batch, f->set->first, (double)u / (double)(u + 1), f->g);
	}
	for (size_t u = 0; err == COP_OK && u < all && go_on(f, progress, u, all); u++) {
		if (u % updates == 0)
			cop_rng_shuffle(rng, n, f->order);
		cop_optim_set_lr(optim, f->set->lr * (1.0 - (double)u / (double)all));
		err = update(f, optim, u, f->set->first * exp(growth * (double)(u / updates) / f->set->epochs));
	}
	cop_optim_free(optim);
	return err;
}

cop_err cop_polytope_refine(const cop_polytope_refine_settings *settings, const cop_polytope_rows *rows, uint64_t seed,
        const cop_progress *progress, cop_polytope_tree *tree)
{
	cop_polytope_tree refined = { 0 };
	cop_rng rng;
	if (settings->epochs > 10000 || settings->batch < 1 || settings->batch > (1u << 20) || !(settings->lr > 0.0) ||
	        !(settings->lr <= 10.0) || !(settings->first > 0.0) || !(settings->last >= settings->first))
		return COP_EINVAL;
	if (settings->epochs == 0 || tree->splits == 0)
		return COP_OK;
	cop_rng_init(&rng, seed, 1);
	cop_err err = cop_polytope_tree_copy(tree, &refined);
	refining f = { .set = settings, .rows = rows, .tree = &refined };
	if (err == COP_OK)
		err = begin(&f);
	if (err == COP_OK)
		err = train(&f, &rng, progress);
	if (err == COP_OK)
		cop_polytope_pass_give(f.pass, f.w, &refined);
	end(&f);
	if (err == COP_OK)
		err = cop_polytope_tree_settle(rows, false, &refined);
	if (err == COP_OK) {
		const cop_polytope_tree before = *tree;
		*tree = refined;
		refined = before;
	}
	cop_polytope_tree_fini(&refined);
	return err;
}

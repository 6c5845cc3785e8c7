/* All parameters of a start lie in one array w, beta first, then ln r, so that one optimiser steps them; g has the
 * gradients likewise. A start is facets around a row: each leans in a direction of its own and lies at the same
 * distance from the row. */
#include "train/polytope_split.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "optim/optim.h"
#include "train/polytope_cut.h"

#define DRAWS          16 /* of which a start is chosen */
#define ROWS_OF_STARTS 20000
#define MOST_STARTS    8
#define STEEPNESS      4.0 /* length of a facet's beta at the start */

typedef struct fitting {
	const cop_polytope_split_settings *set;
	const cop_polytope_rows *rows;
	cop_rng *rng;
	size_t most, batch, beta, weights; /* experts; rows of an update; numbers of beta and in w */
	float *w, *best, *g, *x, *z;
	double *s, *ds, *room; /* n; batch; 2 x classes */
	uint32_t *label, *order;
	float *target; /* batch; label's place where values are fitted */
	cop_polytope_cut cut;
} fitting;

void cop_polytope_split_defaults(cop_polytope_split_settings *settings)
{
	*settings = (cop_polytope_split_settings){
		.experts = 20,
		.batch = 256,
		.epochs = 30,
		.starts = 0,
		.least = 5,
		.lr = 0.05,
		.prior = { .gamma0 = 20.0, .c0 = 0.1, .a0 = 0.01, .b0 = 1.0 },
	};
}

static bool good(const cop_polytope_split_settings *s, const cop_polytope_rows *rows)
{
	const cop_polytope_prior *p = &s->prior;
	return rows->n >= 1 && rows->n <= UINT32_MAX && rows->d >= 1 &&
	       (rows->classes >= 1) == (rows->target == NULL) && s->experts >= 1 && s->experts <= 1024 &&
	       s->batch >= 1 && s->batch <= (1u << 20) && s->epochs >= 1 && s->epochs <= 10000 && s->starts <= 100 &&
	       s->least >= 1 && s->lr > 0.0 && s->lr <= 10.0 && p->gamma0 > 0.0 && p->c0 > 0.0 && p->a0 > 0.0 &&
	       p->b0 > 0.0;
}

static cop_err begin(fitting *f)
{
	const cop_polytope_rows *rows = f->rows;
	const size_t width = rows->d + 1;
	f->batch = f->set->batch < rows->n ? f->set->batch : rows->n;
	f->beta = f->set->experts * width;
	f->weights = f->beta + f->set->experts;
	f->w = cop_mem_alloc(f->weights, sizeof *f->w);
	f->best = cop_mem_alloc(f->weights, sizeof *f->best);
	f->g = cop_mem_alloc(f->weights, sizeof *f->g);
	f->x = cop_mem_alloc(f->batch, width * sizeof *f->x);
	f->z = cop_mem_alloc(rows->n, f->set->experts * sizeof *f->z);
	f->s = cop_mem_alloc(rows->n, sizeof *f->s);
	f->ds = cop_mem_alloc(f->batch, sizeof *f->ds);
	f->room = cop_mem_alloc(2 * rows->classes, sizeof *f->room);
	f->label = cop_mem_alloc(f->batch, sizeof *f->label);
	f->order = cop_mem_alloc(rows->n, sizeof *f->order);
	f->target = cop_mem_alloc(f->batch, sizeof *f->target);
	bool made = cop_polytope_cut_init(&f->cut, rows) && f->w != NULL && f->best != NULL && f->g != NULL &&
	            f->x != NULL && f->z != NULL && f->s != NULL && f->ds != NULL && f->room != NULL &&
	            f->label != NULL && f->order != NULL && f->target != NULL;
	for (size_t i = 0; made && i < rows->n; i++)
		f->order[i] = (uint32_t)i;
	return made ? COP_OK : COP_ENOMEM;
}

static void end(fitting *f)
{
	cop_mem_free(f->w);
	cop_mem_free(f->best);
	cop_mem_free(f->g);
	cop_mem_free(f->x);
	cop_mem_free(f->z);
	cop_mem_free(f->s);
	cop_mem_free(f->ds);
	cop_mem_free(f->room);
	cop_mem_free(f->label);
	cop_mem_free(f->order);
	cop_mem_free(f->target);
	cop_polytope_cut_fini(&f->cut);
}

static cop_polytope_node view(const fitting *f, float *numbers)
{
	return (cop_polytope_node){ f->rows->d, f->set->experts, numbers, numbers + f->beta };
}

/* ---- training ---- */

/* Facets around a row that is drawn, at a distance that is drawn. */
static void draw_start(fitting *f)
{
	const cop_polytope_rows *rows = f->rows;
	const size_t d = rows->d;
	const float *centre = rows->x + cop_rng_below(f->rng, rows->n) * (d + 1);
	const double distance = STEEPNESS * (0.25 + cop_rng_unit(f->rng));
	for (size_t k = 0; k < f->set->experts; k++) {
		float *beta = f->w + k * (d + 1);
		double square = 0.0, at = 0.0;
		for (size_t j = 0; j < d; j++) {
			beta[j] = (float)cop_rng_normal(f->rng);
			square += (double)beta[j] * (double)beta[j];
		}
		const double scale = STEEPNESS / sqrt(fmax(square, 1e-12));
		for (size_t j = 0; j < d; j++) {
			beta[j] = (float)(scale * (double)beta[j]);
			at += (double)beta[j] * (double)centre[j];
		}
		beta[d] = (float)(-at - distance);
		f->w[f->beta + k] = (float)log(0.5);
	}
}

static cop_err update(fitting *f, cop_optim *optim, const uint32_t *order, size_t n)
{
	const size_t width = f->rows->d + 1;
	const cop_polytope_node node = view(f, f->w);
	cop_polytope_node gradient = view(f, f->g);
	for (size_t i = 0; i < n; i++) {
		memcpy(f->x + i * width, f->rows->x + order[i] * width, width * sizeof *f->x);
		if (f->rows->classes > 0)
			f->label[i] = f->rows->label[order[i]];
		else
			f->target[i] = f->rows->target[order[i]];
	}
	cop_polytope_node_sums(&node, n, f->x, f->z, f->s);
	if (f->rows->classes > 0)
		(void)cop_polytope_node_entropy(n, f->rows->classes, f->label, f->s, f->room, f->ds);
	else
		(void)cop_polytope_node_variance(n, f->target, f->s, f->ds);
	cop_polytope_node_gradient(&node, n, f->x, f->ds, f->z, &gradient);
	(void)cop_polytope_node_prior(&node, &f->set->prior, 1.0 / (double)f->rows->n, &gradient);
	return cop_optim_step(optim, f->w, f->g);
}

static cop_err train(fitting *f)
{
	const size_t n = f->rows->n, updates = (n + f->batch - 1) / f->batch, all = updates * f->set->epochs;
	cop_optim_settings settings;
	cop_optim *optim = NULL;
	cop_err err = cop_optim_defaults("adam", &settings);
	settings.lr = f->set->lr;
	if (err == COP_OK)
		err = cop_optim_new("adam", &settings, 1, f->weights, &optim);
	for (size_t u = 0; err == COP_OK && u < all; u++) {
		const size_t first = u % updates * f->batch;
		if (first == 0)
			cop_rng_shuffle(f->rng, n, f->order);
		cop_optim_set_lr(optim, f->set->lr * (1.0 - (double)u / (double)all));
		err = update(f, optim, f->order + first, n - first < f->batch ? n - first : f->batch);
	}
	cop_optim_free(optim);
	return err;
}

/* ---- starts ---- */

static cop_err keep(const fitting *f, size_t facets, cop_polytope_split *out)
{
	const size_t width = f->rows->d + 1;
	cop_polytope_split_fini(out);
	out->node = (cop_polytope_node){ f->rows->d, facets, cop_mem_alloc(facets, width * sizeof(float)),
		cop_mem_alloc(facets, sizeof(float)) };
	if (out->node.beta == NULL || out->node.log_r == NULL)
		return COP_ENOMEM;
	memcpy(out->node.beta, f->w, facets * width * sizeof(float));
	memcpy(out->node.log_r, f->w + f->beta, facets * sizeof(float));
	return COP_OK;
}

/* The gain of the present parameters by their best cut. */
static double judge(fitting *f, double *threshold)
{
	const cop_polytope_node node = view(f, f->w);
	cop_polytope_node_sums(&node, f->rows->n, f->rows->x, f->z, f->s);
	return cop_polytope_cut_best(&f->cut, f->rows, f->s, f->set->least, threshold);
}

/* Of several, the one that separates best before it is trained. */
static void choose_start(fitting *f)
{
	double best = -1.0, threshold;
	for (unsigned i = 0; i < DRAWS; i++) {
		draw_start(f);
		const double gain = judge(f, &threshold);
		if (gain > best)
			memcpy(f->best, f->w, f->weights * sizeof *f->w);
		best = fmax(best, gain);
	}
	memcpy(f->w, f->best, f->weights * sizeof *f->w);
}

static unsigned starts_of(const cop_polytope_split_settings *set, size_t n)
{
	const size_t many = ROWS_OF_STARTS / n;
	return set->starts > 0 ? set->starts : many < 1 ? 1 : many > MOST_STARTS ? MOST_STARTS : (unsigned)many;
}

static cop_err try_start(fitting *f, cop_polytope_split *out)
{
	double threshold = 0.0;
	choose_start(f);
	cop_err err = train(f);
	if (err != COP_OK)
		return err;
	const double gain = judge(f, &threshold);
	if (gain <= out->gain)
		return COP_OK;
	cop_polytope_node node = view(f, f->w);
	const size_t facets = f->set->keep_spare
	                              ? node.experts
	                              : cop_polytope_cut_drop_spare(&node, f->rows->n, f->z, f->s, &threshold);
	err = keep(f, facets, out);
	out->gain = gain;
	out->threshold = threshold;
	return err;
}

cop_err cop_polytope_split_fit(const cop_polytope_split_settings *settings, const cop_polytope_rows *rows, cop_rng *rng,
        cop_polytope_split *out)
{
	*out = (cop_polytope_split){ 0 };
	if (!good(settings, rows))
		return COP_EINVAL;
	fitting f = { .set = settings, .rows = rows, .rng = rng };
	cop_err err = begin(&f);
	for (unsigned i = 0; err == COP_OK && i < starts_of(settings, rows->n); i++)
		err = try_start(&f, out);
	end(&f);
	return err;
}

void cop_polytope_split_fini(cop_polytope_split *split)
{
	cop_mem_free(split->node.beta);
	cop_mem_free(split->node.log_r);
	split->node.beta = split->node.log_r = NULL;
}

double cop_polytope_split_sum(const cop_polytope_split *split, const float *x)
{
	const cop_polytope_node *node = &split->node;
	double sum = 0.0;
	for (size_t k = 0; k < node->experts; k++) {
		double z = 0.0;
		for (size_t j = 0; j <= node->d; j++)
			z += (double)node->beta[k * (node->d + 1) + j] * (double)x[j];
		sum += exp((double)node->log_r[k]) * cop_polytope_node_softplus(z);
	}
	return sum;
}

/* All parameters of a start lie in one array w, beta first, then ln r, so that one optimiser steps them; g has the
 * gradients likewise. A start is facets around a row: each leans in a direction of its own and lies at the same
 * distance from the row. Leaving out an expert is judged by the training rows: the sides stay as they are. */
#include "train/polytope_split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "optim/optim.h"

#define DRAWS     16  /* of which a start is chosen */
#define STEEPNESS 4.0 /* length of a facet's beta at the start */

typedef struct ranked {
	double s;
	uint32_t label;
} ranked;

typedef struct fitting {
	const cop_polytope_split_settings *set;
	const cop_polytope_rows *rows;
	cop_rng *rng;
	size_t most, batch, beta, weights; /* experts; rows of an update; numbers of beta and in w */
	float *w, *best, *g, *x, *z;
	double *s, *ds, *room, *counts; /* n; batch; 2 x classes each */
	uint32_t *label, *order;
	ranked *ranked;
} fitting;

void cop_polytope_split_defaults(cop_polytope_split_settings *settings)
{
	*settings = (cop_polytope_split_settings){
		.experts = 20,
		.batch = 256,
		.epochs = 60,
		.starts = 8,
		.least = 5,
		.lr = 0.05,
		.prior = { .gamma0 = 20.0, .c0 = 0.1, .a0 = 0.01, .b0 = 1.0 },
	};
}

static bool good(const cop_polytope_split_settings *s, const cop_polytope_rows *rows)
{
	const cop_polytope_prior *p = &s->prior;
	return rows->n >= 1 && rows->n <= UINT32_MAX && rows->d >= 1 && rows->classes >= 1 && s->experts >= 1 &&
	       s->experts <= 1024 && s->batch >= 1 && s->batch <= (1u << 20) && s->epochs >= 1 && s->epochs <= 10000 &&
	       s->starts >= 1 && s->starts <= 100 && s->least >= 1 && s->lr > 0.0 && s->lr <= 10.0 && p->gamma0 > 0.0 &&
	       p->c0 > 0.0 && p->a0 > 0.0 && p->b0 > 0.0;
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
	f->counts = cop_mem_alloc(2 * rows->classes, sizeof *f->counts);
	f->label = cop_mem_alloc(f->batch, sizeof *f->label);
	f->order = cop_mem_alloc(rows->n, sizeof *f->order);
	f->ranked = cop_mem_alloc(rows->n, sizeof *f->ranked);
	bool made = f->w != NULL && f->best != NULL && f->g != NULL && f->x != NULL && f->z != NULL && f->s != NULL &&
	            f->ds != NULL && f->room != NULL && f->counts != NULL && f->label != NULL && f->order != NULL &&
	            f->ranked != NULL;
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
	cop_mem_free(f->counts);
	cop_mem_free(f->label);
	cop_mem_free(f->order);
	cop_mem_free(f->ranked);
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
		f->label[i] = f->rows->label[order[i]];
	}
	cop_polytope_node_sums(&node, n, f->x, f->z, f->s);
	(void)cop_polytope_node_entropy(n, f->rows->classes, f->label, f->s, f->room, f->ds);
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

/* ---- the cut ---- */

static int by_sum(const void *a, const void *b)
{
	const ranked *x = a, *y = b;
	return x->s != y->s ? (x->s > y->s) - (x->s < y->s) : (x->label > y->label) - (x->label < y->label);
}

static double mass_log(double mass) { return mass > 0.0 ? mass * log(mass) : 0.0; }

/* n times the mean entropy of the two sides is the sum of mass ln mass over sides less that over their classes, which
 * a row that changes sides changes in four places. */
static void cut(fitting *f, double *gain, double *threshold)
{
	const cop_polytope_rows *rows = f->rows;
	const size_t n = rows->n;
	double *left = f->counts, *right = f->counts + rows->classes, of_classes = 0.0;
	memset(f->counts, 0, 2 * rows->classes * sizeof *f->counts);
	for (size_t i = 0; i < n; i++) {
		f->ranked[i] = (ranked){ f->s[i], rows->label[i] };
		right[rows->label[i]] += 1.0;
	}
	qsort(f->ranked, n, sizeof *f->ranked, by_sum);
	for (size_t c = 0; c < rows->classes; c++)
		of_classes += mass_log(right[c]);
	const double whole = mass_log((double)n) - of_classes;
	double best = whole;
	*gain = 0.0;
	for (size_t i = 0; i + 1 < n; i++) {
		const uint32_t c = f->ranked[i].label;
		of_classes -= mass_log(left[c]) + mass_log(right[c]);
		left[c] += 1.0;
		right[c] -= 1.0;
		of_classes += mass_log(left[c]) + mass_log(right[c]);
		const size_t there = i + 1, rest = n - there;
		const double now = mass_log((double)there) + mass_log((double)rest) - of_classes;
		if (now >= best || there < f->set->least || rest < f->set->least ||
		        !(f->ranked[i].s < f->ranked[i + 1].s))
			continue;
		best = now;
		*gain = (whole - now) / (double)n;
		*threshold = 0.5 * (f->ranked[i].s + f->ranked[i + 1].s);
	}
}

/* ---- facets ---- */

/* Whether all rows stay on their sides without expert k; then it is taken out of their sums. */
static bool is_spare(fitting *f, size_t k, double threshold)
{
	const size_t K = f->set->experts, n = f->rows->n;
	const double r = exp((double)f->w[f->beta + k]);
	for (size_t i = 0; i < n; i++) {
		const double without = f->s[i] - r * cop_polytope_node_softplus((double)f->z[i * K + k]);
		if ((f->s[i] > threshold) != (without > threshold))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		f->s[i] -= r * cop_polytope_node_softplus((double)f->z[i * K + k]);
	return true;
}

static void swap_experts(fitting *f, size_t a, size_t b)
{
	const size_t width = f->rows->d + 1, K = f->set->experts;
	for (size_t j = 0; j < width; j++) {
		const float kept = f->w[a * width + j];
		f->w[a * width + j] = f->w[b * width + j];
		f->w[b * width + j] = kept;
	}
	const float kept = f->w[f->beta + a];
	f->w[f->beta + a] = f->w[f->beta + b];
	f->w[f->beta + b] = kept;
	for (size_t i = 0; i < f->rows->n; i++) {
		const float z = f->z[i * K + a];
		f->z[i * K + a] = f->z[i * K + b];
		f->z[i * K + b] = z;
	}
}

/* The experts that are needed come first; how many there are. The lightest are tried first. */
static size_t drop_spare(fitting *f, double threshold)
{
	size_t kept = f->set->experts;
	for (size_t tried = 0; tried < kept && kept > 1;) {
		size_t least = tried;
		for (size_t k = tried + 1; k < kept; k++)
			if (f->w[f->beta + k] < f->w[f->beta + least])
				least = k;
		if (is_spare(f, least, threshold))
			swap_experts(f, least, --kept);
		else
			swap_experts(f, least, tried++);
	}
	return kept;
}

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
	double gain;
	const cop_polytope_node node = view(f, f->w);
	cop_polytope_node_sums(&node, f->rows->n, f->rows->x, f->z, f->s);
	cut(f, &gain, threshold);
	return gain;
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
	err = keep(f, drop_spare(f, threshold), out);
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
	for (unsigned i = 0; err == COP_OK && i < settings->starts; i++)
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

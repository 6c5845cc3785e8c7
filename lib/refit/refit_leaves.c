/* What leaves say of arms: for node or leaf v and arm k, from the answered rows below v,
 *     r = sum w (l - f_k) / sum w over those that played k,  m = (sum w)^2 / sum w^2,
 *     c_v = (m r + prior c_parent) / (m + prior),  c of the root's parent 0;
 * a leaf says mean of f_k over its rows + c. Sums are taken in leaves and added upwards. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "refit/refit_parts.h"

typedef struct sums {
	double weight, square, rest; /* of w, w^2, w (l - f) */
} sums;

typedef struct filling {
	const cop_refit_problem *p;
	const cop_refit_filling *how;
	const cop_tree_parts *parts;
	size_t leaves, outputs;
	sums *sum;     /* (nodes + leaves) x outputs; nodes first */
	double *model; /* likewise, of f; of leaves alone */
	double *count; /* nodes + leaves; of leaves alone */
	double *above; /* nodes x outputs: c */
} filling;

static size_t place(const filling *f, int32_t child)
{
	return child >= 0 ? (size_t)child : f->parts->nodes.count + (size_t)~child;
}

static void add_row(filling *f, size_t row, size_t leaf)
{
	const cop_refit_event *e = cop_refit_problem_event(f->p, row);
	size_t at = (f->parts->nodes.count + leaf) * f->outputs, k = e->action;
	f->count[f->parts->nodes.count + leaf] += 1.0;
	for (size_t j = 0; j < f->outputs; j++)
		f->model[at + j] +=
		        f->p->model != NULL ? (double)f->p->model[row * f->outputs + j] : f->p->mean_loss[j];
	double w = fmin(1.0 / e->p, f->how->clip);
	double known = f->p->model != NULL ? (double)f->p->model[row * f->outputs + k] : f->p->mean_loss[k];
	f->sum[at + k].weight += w;
	f->sum[at + k].square += w * w;
	f->sum[at + k].rest += w * (e->loss - known);
}

static void add_up(filling *f, size_t from, size_t into)
{
	for (size_t k = 0; k < f->outputs; k++) {
		const sums *a = &f->sum[from * f->outputs + k];
		sums *b = &f->sum[into * f->outputs + k];
		b->weight += a->weight;
		b->square += a->square;
		b->rest += a->rest;
	}
}

static double drawn(const filling *f, const sums *s, double parent)
{
	if (!(s->weight > 0.0))
		return parent;
	double m = s->weight * s->weight / s->square, prior = f->how->prior;
	return (m * (s->rest / s->weight) + prior * parent) / (m + prior);
}

/* v's c for every arm, its parent's given (NULL: 0); leaves get what they say. */
static void settle(filling *f, int32_t child, const double *parent, float *leaf)
{
	size_t at = place(f, child), outputs = f->outputs;
	for (size_t k = 0; k < outputs; k++) {
		double c = drawn(f, &f->sum[at * outputs + k], parent != NULL ? parent[k] : 0.0);
		if (child >= 0) {
			f->above[at * outputs + k] = c;
			continue;
		}
		double mean = f->count[at] > 0.0 ? f->model[at * outputs + k] / f->count[at] : f->p->mean_loss[k];
		leaf[(size_t)~child * outputs + k] = (float)fmin(fmax(mean + c, 0.0), 1.0);
	}
}

static void settle_all(filling *f, float *leaf)
{
	const cop_tree_parts *parts = f->parts;
	for (size_t t = parts->nodes.count; t-- > 0;) {
		add_up(f, place(f, parts->left[t]), t);
		add_up(f, place(f, parts->right[t]), t);
	}
	settle(f, parts->nodes.count > 0 ? 0 : ~0, NULL, leaf);
	for (size_t t = 0; t < parts->nodes.count; t++) {
		settle(f, parts->left[t], &f->above[t * f->outputs], leaf);
		settle(f, parts->right[t], &f->above[t * f->outputs], leaf);
	}
}

cop_err cop_refit_fill(
        const cop_refit_problem *p, const cop_tree *raw, size_t n, const cop_refit_filling *how, float *leaf)
{
	filling f = {
		.p = p, .how = how, .parts = cop_tree_view(raw), .leaves = cop_tree_leaves(raw), .outputs = p->outputs
	};
	size_t places = f.parts->nodes.count + f.leaves;
	COP_ASSERT(!p->kind->unanswered);
	f.sum = cop_mem_alloc(places * f.outputs, sizeof *f.sum);
	f.model = cop_mem_alloc(places * f.outputs, sizeof *f.model);
	f.count = cop_mem_alloc(places, sizeof *f.count);
	f.above = cop_mem_alloc(f.parts->nodes.count * f.outputs, sizeof *f.above);
	cop_err err = f.sum == NULL || f.model == NULL || f.count == NULL || f.above == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK) {
		for (size_t i = 0; i < n; i++)
			add_row(&f, i, cop_tree_leaf(raw, &cop_refit_problem_event(p, i)->x));
		settle_all(&f, leaf);
		cop_refit_unplayed(p, f.leaves, leaf);
	}
	cop_mem_free(f.sum);
	cop_mem_free(f.model);
	cop_mem_free(f.count);
	cop_mem_free(f.above);
	return err;
}

void cop_refit_unplayed(const cop_refit_problem *p, size_t leaves, float *leaf)
{
	if (p->model != NULL)
		return;
	for (size_t l = 0; l < leaves; l++) {
		float *value = leaf + l * p->outputs, dearest = 0.0f;
		for (size_t k = 0; k < p->outputs; k++)
			dearest = p->played[k] ? fmaxf(dearest, value[k]) : dearest;
		for (size_t k = 0; k < p->outputs; k++)
			value[k] = p->played[k] ? value[k] : dearest;
	}
}

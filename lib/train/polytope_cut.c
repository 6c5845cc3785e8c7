/* Cuts are tried from the least sum on, over running counts or sums of either side. */
#include "train/polytope_cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LEAST_APART 0.5 /* of the sides' distance that is left when experts are dropped */

bool cop_polytope_cut_init(cop_polytope_cut *cut, const cop_polytope_rows *rows)
{
	cut->ranked = cop_mem_alloc(rows->n, sizeof *cut->ranked);
	cut->counts = cop_mem_alloc(2 * rows->classes, sizeof *cut->counts);
	return cut->ranked != NULL && cut->counts != NULL;
}

void cop_polytope_cut_fini(cop_polytope_cut *cut)
{
	cop_mem_free(cut->ranked);
	cop_mem_free(cut->counts);
}

static int by_sum(const void *a, const void *b)
{
	const cop_polytope_ranked *x = a, *y = b;
	if (x->s != y->s)
		return (x->s > y->s) - (x->s < y->s);
	if (x->label != y->label)
		return (x->label > y->label) - (x->label < y->label);
	return (x->target > y->target) - (x->target < y->target);
}

static double mass_log(double mass) { return mass > 0.0 ? mass * log(mass) : 0.0; }

/* Whether rows 0 to i may be the left side. */
static bool may_cut(const cop_polytope_cut *cut, size_t n, size_t i, size_t least)
{
	return i + 1 >= least && n - i - 1 >= least && cut->ranked[i].s < cut->ranked[i + 1].s;
}

static double between(const cop_polytope_cut *cut, size_t i) { return 0.5 * (cut->ranked[i].s + cut->ranked[i + 1].s); }

/* n times the mean entropy of the two sides is the sum of mass ln mass over sides less that over their classes, which
 * a row that changes sides changes in four places. */
static double cut_classes(cop_polytope_cut *cut, size_t n, size_t classes, size_t least, double *threshold)
{
	double *left = cut->counts, *right = cut->counts + classes, of_classes = 0.0, gain = 0.0;
	memset(cut->counts, 0, 2 * classes * sizeof *cut->counts);
	for (size_t i = 0; i < n; i++)
		right[cut->ranked[i].label] += 1.0;
	for (size_t c = 0; c < classes; c++)
		of_classes += mass_log(right[c]);
	const double whole = mass_log((double)n) - of_classes;
	double best = whole;
	for (size_t i = 0; i + 1 < n; i++) {
		const uint32_t c = cut->ranked[i].label;
		of_classes -= mass_log(left[c]) + mass_log(right[c]);
		left[c] += 1.0;
		right[c] -= 1.0;
		of_classes += mass_log(left[c]) + mass_log(right[c]);
		const double now = mass_log((double)(i + 1)) + mass_log((double)(n - i - 1)) - of_classes;
		if (now >= best || !may_cut(cut, n, i, least))
			continue;
		best = now;
		gain = (whole - now) / (double)n;
		*threshold = between(cut, i);
	}
	return gain;
}

/* The variance falls by the square of the sides' distance, weighted by their shares. */
static double cut_values(cop_polytope_cut *cut, size_t n, size_t least, double *threshold)
{
	double all = 0.0, left = 0.0, gain = 0.0;
	for (size_t i = 0; i < n; i++)
		all += (double)cut->ranked[i].target;
	for (size_t i = 0; i + 1 < n; i++) {
		const double there = (double)(i + 1), rest = (double)(n - i - 1);
		left += (double)cut->ranked[i].target;
		const double apart = left / there - (all - left) / rest;
		const double now = there * rest / ((double)n * (double)n) * apart * apart;
		if (now <= gain || !may_cut(cut, n, i, least))
			continue;
		gain = now;
		*threshold = between(cut, i);
	}
	return gain;
}

double cop_polytope_cut_best(
        cop_polytope_cut *cut, const cop_polytope_rows *rows, const double *s, size_t least, double *threshold)
{
	for (size_t i = 0; i < rows->n; i++)
		cut->ranked[i] = (cop_polytope_ranked){ s[i], rows->target != NULL ? rows->target[i] : 0.0f,
			rows->label != NULL ? rows->label[i] : 0 };
	qsort(cut->ranked, rows->n, sizeof *cut->ranked, by_sum);
	return rows->classes > 0 ? cut_classes(cut, rows->n, rows->classes, least, threshold)
	                         : cut_values(cut, rows->n, least, threshold);
}

/* ---- facets ---- */

/* The sides of a cut: the largest sum on the left, the smallest on the right. */
typedef struct sides {
	double low, high;
} sides;

static void add_to(sides *all, bool right, double s)
{
	if (right)
		all->high = fmin(all->high, s);
	else
		all->low = fmax(all->low, s);
}

static sides sides_of(size_t n, const double *s, double threshold)
{
	sides all = { (double)-INFINITY, (double)INFINITY };
	for (size_t i = 0; i < n; i++)
		add_to(&all, s[i] > threshold, s[i]);
	return all;
}

/* Whether a threshold keeps all rows on their sides without expert k, and these as far apart as `least`; then the
 * expert is taken out of their sums. */
static bool is_spare(
        const cop_polytope_node *node, size_t k, size_t n, const float *z, double *s, double least, double *threshold)
{
	const size_t K = node->experts;
	const double r = exp((double)node->log_r[k]);
	sides all = { (double)-INFINITY, (double)INFINITY };
	if (n == 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		add_to(&all, s[i] > *threshold, s[i] - r * cop_polytope_node_softplus((double)z[i * K + k]));
		if (all.high - all.low < least)
			return false;
	}
	for (size_t i = 0; i < n; i++)
		s[i] -= r * cop_polytope_node_softplus((double)z[i * K + k]);
	const double middle = 0.5 * (all.low + all.high);
	*threshold = isfinite(middle) ? middle : isfinite(all.low) ? all.low + 1.0 : all.high - 1.0;
	return true;
}

static void swap(float *a, float *b)
{
	const float kept = *a;
	*a = *b;
	*b = kept;
}

static void swap_experts(const cop_polytope_node *node, size_t n, float *z, size_t a, size_t b)
{
	const size_t width = node->d + 1, K = node->experts;
	for (size_t j = 0; j < width; j++)
		swap(&node->beta[a * width + j], &node->beta[b * width + j]);
	swap(&node->log_r[a], &node->log_r[b]);
	for (size_t i = 0; i < n; i++)
		swap(&z[i * K + a], &z[i * K + b]);
}

size_t cop_polytope_cut_drop_spare(cop_polytope_node *node, size_t n, float *z, double *s, double *threshold)
{
	const sides all = sides_of(n, s, *threshold);
	const double least = isfinite(all.low) && isfinite(all.high) ? LEAST_APART * (all.high - all.low) : 0.0;
	size_t kept = node->experts;
	for (size_t tried = 0; tried < kept && kept > 1;) {
		size_t lightest = tried;
		for (size_t k = tried + 1; k < kept; k++)
			if (node->log_r[k] < node->log_r[lightest])
				lightest = k;
		if (is_spare(node, lightest, n, z, s, least, threshold))
			swap_experts(node, n, z, lightest, --kept);
		else
			swap_experts(node, n, z, lightest, tried++);
	}
	return kept;
}

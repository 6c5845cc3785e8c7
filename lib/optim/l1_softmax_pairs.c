/* The rows are turned, so that a feature's sums by class are made in one go over its own rows; the classes come by
 * their shares, so that the second rule ends at the first class that it does not take. Feature by feature, twice: to
 * count, and to write down. */
#include "optim/l1_softmax_pairs.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

typedef struct ranked {
	uint32_t class;
	double mass;
} ranked;

typedef struct search {
	const cop_l1_softmax_rows *rows;
	double lambda, total;
	size_t *start; /* d + 1: the entries of each feature, of row and size */
	uint32_t *row;
	float *size;       /* c_i |x_ij| */
	ranked *by_share;  /* classes */
	double *sum;       /* classes: zeros between features */
	uint32_t *found;   /* classes */
	uint32_t *touched; /* classes: those whose sum is not 0 */
} search;

static void search_fini(search *s)
{
	void *arrays[] = { s->start, s->row, s->size, s->by_share, s->sum, s->found, s->touched };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
}

static int by_mass(const void *a, const void *b)
{
	const ranked *x = a, *y = b;
	if (x->mass != y->mass)
		return x->mass > y->mass ? -1 : 1;
	return (x->class > y->class) - (x->class < y->class);
}

static void turn(search *s)
{
	const cop_l1_softmax_rows *rows = s->rows;
	for (size_t e = 0; e < rows->start[rows->n]; e++)
		s->start[rows->index[e] + 1]++;
	for (size_t j = 0; j < rows->d; j++)
		s->start[j + 1] += s->start[j];
	for (size_t i = 0; i < rows->n; i++)
		for (size_t e = rows->start[i]; e < rows->start[i + 1]; e++) {
			size_t at = s->start[rows->index[e]]++;
			s->row[at] = (uint32_t)i;
			s->size[at] = rows->weight[i] * fabsf(rows->value[e]);
		}
	for (size_t j = rows->d; j > 0; j--)
		s->start[j] = s->start[j - 1];
	s->start[0] = 0;
}

static cop_err search_init(search *s)
{
	const cop_l1_softmax_rows *rows = s->rows;
	size_t all = rows->start[rows->n];
	s->start = cop_mem_alloc(rows->d + 1, sizeof *s->start);
	s->row = cop_mem_alloc(all, sizeof *s->row);
	s->size = cop_mem_alloc(all, sizeof *s->size);
	s->by_share = cop_mem_alloc(rows->classes, sizeof *s->by_share);
	s->sum = cop_mem_alloc(rows->classes, sizeof *s->sum);
	s->found = cop_mem_alloc(rows->classes, sizeof *s->found);
	s->touched = cop_mem_alloc(rows->classes, sizeof *s->touched);
	if (s->start == NULL || s->row == NULL || s->size == NULL || s->by_share == NULL || s->sum == NULL ||
	        s->found == NULL || s->touched == NULL)
		return COP_ENOMEM;
	turn(s);
	for (uint32_t k = 0; k < rows->classes; k++)
		s->by_share[k].class = k;
	for (size_t i = 0; i < rows->n; i++) {
		s->by_share[rows->label[i]].mass += (double)rows->weight[i];
		s->total += (double)rows->weight[i];
	}
	qsort(s->by_share, rows->classes, sizeof *s->by_share, by_mass);
	return COP_OK;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* The classes of feature j into found, ascending. Returns their number. */
static size_t find(search *s, size_t j)
{
	size_t count = 0, touched = 0;
	double all = 0.0;
	for (size_t e = s->start[j]; e < s->start[j + 1]; e++) {
		uint32_t k = s->rows->label[s->row[e]];
		if (s->sum[k] == 0.0 && s->size[e] > 0.0F)
			s->touched[touched++] = k;
		s->sum[k] += (double)s->size[e];
		all += (double)s->size[e];
	}
	for (size_t r = 0; r < s->rows->classes; r++) {
		if (!(s->by_share[r].mass * all > s->lambda * s->total))
			break;
		s->found[count++] = s->by_share[r].class;
		s->sum[s->by_share[r].class] = 0.0; /* not twice */
	}
	for (size_t t = 0; t < touched; t++) {
		uint32_t k = s->touched[t];
		if (s->sum[k] > s->lambda)
			s->found[count++] = k;
		s->sum[k] = 0.0;
	}
	qsort(s->found, count, sizeof *s->found, by_number);
	return count;
}

static cop_err check(const cop_l1_softmax_rows *rows, double lambda)
{
	if (!(lambda >= 0.0) || !isfinite(lambda) || rows->classes < 2)
		return COP_EINVAL;
	for (size_t i = 0; i < rows->n; i++)
		if (rows->label[i] >= rows->classes)
			return COP_EINVAL;
	return COP_OK;
}

cop_err cop_l1_softmax_pairs_init(cop_l1_softmax_pairs *pairs, const cop_l1_softmax_rows *rows, double lambda)
{
	search s = { .rows = rows, .lambda = lambda };
	*pairs = (cop_l1_softmax_pairs){ 0 };
	cop_err err = check(rows, lambda);
	if (err == COP_OK)
		err = search_init(&s);
	pairs->start = cop_mem_alloc(rows->d + 1, sizeof *pairs->start);
	if (err == COP_OK && pairs->start == NULL)
		err = COP_ENOMEM;
	for (size_t j = 0; j < rows->d && err == COP_OK; j++)
		pairs->start[j + 1] = pairs->start[j] + find(&s, j);
	if (err == COP_OK) {
		pairs->class = cop_mem_alloc(pairs->start[rows->d], sizeof *pairs->class);
		pairs->w = cop_mem_alloc(pairs->start[rows->d], sizeof *pairs->w);
		err = pairs->class != NULL && pairs->w != NULL ? COP_OK : COP_ENOMEM;
	}
	for (size_t j = 0; j < rows->d && err == COP_OK; j++) {
		size_t count = find(&s, j);
		for (size_t k = 0; k < count; k++)
			pairs->class[pairs->start[j] + k] = s.found[k];
	}
	search_fini(&s);
	return err;
}

void cop_l1_softmax_pairs_fini(cop_l1_softmax_pairs *pairs)
{
	cop_mem_free(pairs->start);
	cop_mem_free(pairs->class);
	cop_mem_free(pairs->w);
	*pairs = (cop_l1_softmax_pairs){ 0 };
}

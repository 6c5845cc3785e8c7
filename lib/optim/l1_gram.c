/* Sampled rows are taken a panel at a time; a panel lies there twice: by blocks of features, a row of a block behind
 * the other, and weighted, feature by feature. A weighted feature times a block is the kernels' forward product. Only
 * blocks on and under the diagonal are multiplied. */
#include "optim/l1_gram.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

#define PANEL           64U /* rows; with a block of features, half of a first-level cache */
#define BLOCK           64U /* features */
#define ROWS_PER        8U  /* sampled, for each feature */
#define LEAST_ROWS      1024U
#define LEAST_CURVATURE 1e-5 /* of a feature, as a share of its uncentred one */
#define NONE            UINT32_MAX

typedef struct build {
	const cop_columns *x;
	cop_l1_gram *gram;
	size_t rows;
	uint32_t *row;   /* rows: ascending */
	float *weight;   /* rows */
	uint32_t *place; /* n: where a row is in `row`, or NONE */
	size_t *next;    /* count: sparse: the first entry that no panel has had */
	float *blocks;   /* whole blocks of PANEL x BLOCK */
	float *weighted; /* count x PANEL */
	double *first;   /* count: sum of u x */
	double total;    /* of u */
} build;

size_t cop_l1_gram_rows(size_t n, size_t count)
{
	size_t rows = ROWS_PER * count > LEAST_ROWS ? ROWS_PER * count : LEAST_ROWS;
	return rows + rows / 4 < n ? rows : n;
}

/* Nanoseconds on a processor of 2023. */
double cop_l1_gram_cost(size_t rows, size_t count)
{
	return (double)rows * (double)count * (2.0 + 0.02 * (double)(count + BLOCK));
}

double cop_l1_gram_columns_cost(const cop_columns *x, size_t count, const uint32_t *feature)
{
	if (x->dense != NULL)
		return 0.2 * (double)count * (double)x->n;
	double entries = 0.0;
	for (size_t k = 0; k < count; k++)
		entries += (double)(x->start[feature[k] + 1] - x->start[feature[k]]);
	return 1.6 * entries;
}

static void build_fini(build *t)
{
	cop_mem_free(t->row);
	cop_mem_free(t->weight);
	cop_mem_free(t->place);
	cop_mem_free(t->next);
	cop_mem_free(t->blocks);
	cop_mem_free(t->weighted);
	cop_mem_free(t->first);
}

static cop_err build_init(build *t, cop_l1_gram *gram, const cop_columns *x, size_t rows)
{
	size_t count = gram->count;
	*t = (build){ .x = x, .gram = gram };
	t->row = cop_mem_alloc(rows + 1, sizeof *t->row);
	t->weight = cop_mem_alloc(rows + 1, sizeof *t->weight);
	t->place = cop_mem_alloc(x->n, sizeof *t->place);
	t->next = cop_mem_alloc(count, sizeof *t->next);
	t->blocks = cop_mem_alloc((count + BLOCK - 1) / BLOCK * BLOCK * PANEL, sizeof *t->blocks);
	t->weighted = cop_mem_alloc(count * PANEL, sizeof *t->weighted);
	t->first = cop_mem_alloc(count, sizeof *t->first);
	bool all = t->row != NULL && t->weight != NULL && t->place != NULL && t->next != NULL && t->blocks != NULL &&
	           t->weighted != NULL && t->first != NULL;
	return all ? COP_OK : COP_ENOMEM;
}

/* Systematic sampling: along the rows a draw falls due whenever another 1/rows of all h has gone by. */
static void draw(build *t, const float *h, size_t rows)
{
	const size_t n = t->x->n;
	double all = 0.0;
	for (size_t i = 0; i < n; i++)
		all += (double)h[i];
	double step = all / (double)rows;
	double due = 0.5;
	for (size_t i = 0; i < n; i++) {
		t->place[i] = NONE;
		double weight = (double)h[i];
		if (rows < n) {
			due += (double)h[i] / step;
			double times = floor(due);
			due -= times;
			weight = times * step;
		}
		if (weight > 0.0 && t->rows <= rows) {
			t->place[i] = (uint32_t)t->rows;
			t->row[t->rows] = (uint32_t)i;
			t->weight[t->rows++] = (float)weight;
			t->total += weight;
		}
	}
}

static void put(build *t, size_t k, size_t s, size_t at, float value)
{
	t->blocks[k / BLOCK * (BLOCK * PANEL) + s * BLOCK + k % BLOCK] = value;
	t->weighted[k * PANEL + s] = t->weight[at] * value;
}

/* Rows from `from` on, of the sample. Returns their number. */
static size_t fill(build *t, size_t from)
{
	const cop_columns *x = t->x;
	const cop_l1_gram *gram = t->gram;
	size_t rows = t->rows - from < PANEL ? t->rows - from : PANEL;
	uint32_t last = t->row[from + rows - 1];
	memset(t->blocks, 0, (gram->count + BLOCK - 1) / BLOCK * BLOCK * PANEL * sizeof *t->blocks);
	memset(t->weighted, 0, gram->count * PANEL * sizeof *t->weighted);
	for (size_t k = 0; k < gram->count; k++) {
		uint32_t j = gram->feature[k];
		if (x->dense != NULL) {
			for (size_t s = 0; s < rows; s++)
				put(t, k, s, from + s, x->dense[j * x->stride + t->row[from + s]]);
			continue;
		}
		size_t e = t->next[k];
		for (; e < x->start[j + 1] && x->row[e] <= last; e++) {
			uint32_t at = t->place[x->row[e]];
			if (at != NONE)
				put(t, k, at - from, at, x->value[e]);
		}
		t->next[k] = e;
	}
	return rows;
}

static void multiply(build *t, size_t rows)
{
	cop_l1_gram *gram = t->gram;
	for (size_t first = 0; first < gram->count; first += BLOCK)
		for (size_t k = first; k < gram->count; k++)
			t->x->kernel->forward(rows, BLOCK, t->weighted + k * PANEL, t->blocks + first * PANEL,
			        gram->matrix + k * gram->stride + first);
	for (size_t k = 0; k < gram->count; k++)
		for (size_t s = 0; s < rows; s++)
			t->first[k] += (double)t->weighted[k * PANEL + s];
}

/* Centres, mirrors, and lifts the diagonal to that of all rows. */
static void finish(build *t, const float *h)
{
	cop_l1_gram *gram = t->gram;
	double total = fmax(t->total, (double)FLT_MIN);
	double all = 0.0;
	for (size_t i = 0; i < t->x->n; i++)
		all += (double)h[i];
	all = fmax(all, (double)FLT_MIN);
	for (size_t k = 0; k < gram->count; k++) {
		float *row = gram->matrix + k * gram->stride;
		double first = t->first[k];
		double second = (double)row[k];
		double least = LEAST_CURVATURE * second;
		for (size_t l = 0; l < k; l++) {
			row[l] -= (float)(first * t->first[l] / total);
			gram->matrix[l * gram->stride + k] = row[l];
		}
		double own = second - first * first / total;
		if (!gram->exact) {
			cop_columns_moments(t->x, gram->feature[k], h, &first, &second);
			own = fmax(own, second - first * first / all);
			least = LEAST_CURVATURE * second;
		}
		gram->mean[k] = (float)(first / (gram->exact ? total : all));
		row[k] = (float)fmax(fmax(own, least), (double)FLT_MIN);
	}
}

cop_err cop_l1_gram_build(
        cop_l1_gram *gram, const cop_columns *x, const float *h, size_t rows, size_t count, const uint32_t *feature)
{
	build t;
	cop_l1_gram_fini(gram);
	gram->count = count;
	gram->stride = (count + BLOCK - 1) / BLOCK * BLOCK;
	gram->exact = rows >= x->n;
	gram->feature = cop_mem_alloc(count, sizeof *gram->feature);
	gram->matrix = cop_mem_alloc(count * gram->stride, sizeof *gram->matrix);
	gram->mean = cop_mem_alloc(count, sizeof *gram->mean);
	cop_err err = build_init(&t, gram, x, rows);
	if (gram->feature == NULL || gram->matrix == NULL || gram->mean == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK) {
		memcpy(gram->feature, feature, count * sizeof *feature);
		for (size_t k = 0; k < count && x->dense == NULL; k++)
			t.next[k] = x->start[feature[k]];
		draw(&t, h, rows);
		gram->rows = t.rows;
		for (size_t from = 0; from < t.rows; from += PANEL)
			multiply(&t, fill(&t, from));
		finish(&t, h);
	}
	build_fini(&t);
	return err;
}

void cop_l1_gram_fini(cop_l1_gram *gram)
{
	cop_mem_free(gram->feature);
	cop_mem_free(gram->matrix);
	cop_mem_free(gram->mean);
	*gram = (cop_l1_gram){ 0 };
}

/* The directed weights are transposed twice, each time by counting, which leaves both P' and P with ascending columns;
 * a row of W is the merger of the two. */
#include "graph/graph.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define ROWS ((size_t)2048) /* of a task */

typedef struct matrix {
	size_t *start;
	uint32_t *index;
	float *weight;
} matrix;

static cop_err matrix_new(size_t n, size_t entries, matrix *m)
{
	m->start = cop_mem_alloc(n + 1, sizeof *m->start);
	m->index = cop_mem_alloc(entries, sizeof *m->index);
	m->weight = cop_mem_alloc(entries, sizeof *m->weight);
	return m->start != NULL && m->index != NULL && m->weight != NULL ? COP_OK : COP_ENOMEM;
}

static void matrix_free(matrix *m)
{
	cop_mem_free(m->start);
	cop_mem_free(m->index);
	cop_mem_free(m->weight);
}

/* Counts in start[1..n] become starts. */
static void sum_up(size_t n, size_t *start)
{
	for (size_t i = 0; i < n; i++)
		start[i + 1] += start[i];
}

/* start[i] was moved to the end of row i: back. */
static void move_back(size_t n, size_t *start)
{
	memmove(start + 1, start, n * sizeof *start);
	start[0] = 0;
}

static void put(matrix *m, size_t row, size_t column, float weight)
{
	size_t at = m->start[row]++;
	m->index[at] = (uint32_t)column;
	m->weight[at] = weight;
}

/* out = P', of n rows of k neighbours each. */
static void transpose_neighbours(const cop_neighbours *neighbours, const float *weight, matrix *out)
{
	size_t n = neighbours->n, k = neighbours->k;
	for (size_t e = 0; e < n * k; e++) {
		COP_ASSERT(neighbours->index[e] < n);
		out->start[neighbours->index[e] + 1]++;
	}
	sum_up(n, out->start);
	for (size_t i = 0; i < n; i++)
		for (size_t e = i * k; e < (i + 1) * k; e++)
			put(out, neighbours->index[e], i, weight[e]);
	move_back(n, out->start);
}

static void transpose(size_t n, size_t k, const matrix *in, matrix *out)
{
	for (size_t i = 0; i < n; i++)
		out->start[i] = i * k;
	for (size_t i = 0; i < n; i++)
		for (size_t e = in->start[i]; e < in->start[i + 1]; e++)
			put(out, in->index[e], i, in->weight[e]);
	move_back(n, out->start);
}

/* Row i of (a + b) / 2 without what is 0 and its diagonal: its length; its entries too, unless index is NULL. */
static size_t merge(const matrix *a, const matrix *b, size_t i, uint32_t *index, float *weight)
{
	size_t s = a->start[i], t = b->start[i], count = 0;
	while (s < a->start[i + 1] || t < b->start[i + 1]) {
		bool left = s < a->start[i + 1] && (t == b->start[i + 1] || a->index[s] <= b->index[t]);
		bool right = t < b->start[i + 1] && (s == a->start[i + 1] || b->index[t] <= a->index[s]);
		uint32_t column = left ? a->index[s] : b->index[t];
		float half = 0.5f * ((left ? a->weight[s] : 0.0f) + (right ? b->weight[t] : 0.0f));
		s += left;
		t += right;
		if (!(half > 0.0f) || column == i)
			continue;
		if (index != NULL) {
			index[count] = column;
			weight[count] = half;
		}
		count++;
	}
	return count;
}

static cop_err fill(cop_graph *g, const matrix *a, const matrix *b)
{
	for (size_t i = 0; i < g->n; i++)
		g->start[i + 1] = g->start[i] + merge(a, b, i, NULL, NULL);
	g->index = cop_mem_alloc(g->start[g->n], sizeof *g->index);
	g->weight = cop_mem_alloc(g->start[g->n], sizeof *g->weight);
	if (g->index == NULL || g->weight == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < g->n; i++) {
		(void)merge(a, b, i, g->index + g->start[i], g->weight + g->start[i]);
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			g->degree[i] += (double)g->weight[e];
	}
	return COP_OK;
}

/* queue: n. */
static void find_parts(cop_graph *g, uint32_t *queue)
{
	for (size_t i = 0; i < g->n; i++)
		g->part[i] = UINT32_MAX;
	for (size_t i = 0; i < g->n; i++) {
		if (g->part[i] != UINT32_MAX)
			continue;
		size_t next = 0, count = 0;
		queue[count++] = (uint32_t)i;
		g->part[i] = g->parts;
		while (next < count) {
			size_t at = queue[next++];
			for (size_t e = g->start[at]; e < g->start[at + 1]; e++) {
				if (g->part[g->index[e]] != UINT32_MAX)
					continue;
				g->part[g->index[e]] = g->parts;
				queue[count++] = g->index[e];
			}
		}
		g->parts++;
	}
}

static cop_err symmetrise(cop_graph *g, const cop_neighbours *neighbours, const float *weight)
{
	matrix transposed = { .start = NULL }, sorted = { .start = NULL };
	size_t entries = g->n * neighbours->k;
	cop_err err = matrix_new(g->n, entries, &transposed);
	if (err == COP_OK)
		err = matrix_new(g->n, entries, &sorted);
	if (err == COP_OK) {
		transpose_neighbours(neighbours, weight, &transposed);
		transpose(g->n, neighbours->k, &transposed, &sorted);
		err = fill(g, &sorted, &transposed);
	}
	matrix_free(&transposed);
	matrix_free(&sorted);
	return err;
}

cop_err cop_graph_new(const cop_neighbours *neighbours, const float *weight, cop_graph **out)
{
	*out = NULL;
	cop_graph *g = cop_mem_alloc(1, sizeof *g);
	if (g == NULL)
		return COP_ENOMEM;
	g->n = neighbours->n;
	g->start = cop_mem_alloc(g->n + 1, sizeof *g->start);
	g->degree = cop_mem_alloc(g->n, sizeof *g->degree);
	g->part = cop_mem_alloc(g->n, sizeof *g->part);
	uint32_t *queue = cop_mem_alloc(g->n, sizeof *queue);
	cop_err err = COP_ENOMEM;
	if (g->start != NULL && g->degree != NULL && g->part != NULL && queue != NULL)
		err = symmetrise(g, neighbours, weight);
	if (err == COP_OK)
		find_parts(g, queue);
	cop_mem_free(queue);
	if (err != COP_OK)
		cop_graph_free(g);
	else
		*out = g;
	return err;
}

void cop_graph_free(cop_graph *graph)
{
	if (graph == NULL)
		return;
	cop_mem_free(graph->start);
	cop_mem_free(graph->index);
	cop_mem_free(graph->weight);
	cop_mem_free(graph->degree);
	cop_mem_free(graph->part);
	cop_mem_free(graph);
}

/* ---- products ---- */

typedef struct product {
	const cop_graph *graph;
	size_t outputs;
	const double *z;
	double *out;
} product;

/* As sums of w_nm (z_n - z_m): 0 for equal z, and nothing cancels that need not. */
static cop_err some_rows(void *context, size_t task, unsigned worker)
{
	const product *p = context;
	const cop_graph *g = p->graph;
	size_t outputs = p->outputs;
	(void)worker;
	for (size_t i = task * ROWS; i < g->n && i < (task + 1) * ROWS; i++) {
		const double *z = p->z + i * outputs;
		double *out = p->out + i * outputs;
		memset(out, 0, outputs * sizeof *out);
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++) {
			const double *other = p->z + g->index[e] * outputs;
			double w = (double)g->weight[e];
			for (size_t o = 0; o < outputs; o++)
				out[o] += w * (z[o] - other[o]);
		}
	}
	return COP_OK;
}

void cop_graph_laplacian(const cop_graph *graph, size_t outputs, const double *z, cop_pool *pool, double *out)
{
	product p = { .graph = graph, .outputs = outputs, .z = z, .out = out };
	cop_err err = cop_pool_run(pool, (graph->n + ROWS - 1) / ROWS, some_rows, &p);
	COP_ASSERT(err == COP_OK); /* no task fails */
}

double cop_graph_roughness(const cop_graph *graph, size_t outputs, const double *z)
{
	double sum = 0.0;
	for (size_t i = 0; i < graph->n; i++) {
		double row = 0.0;
		for (size_t e = graph->start[i]; e < graph->start[i + 1] && graph->index[e] < i; e++) {
			const double *a = z + i * outputs, *b = z + graph->index[e] * outputs;
			double square = 0.0;
			for (size_t o = 0; o < outputs; o++)
				square += (a[o] - b[o]) * (a[o] - b[o]);
			row += (double)graph->weight[e] * square;
		}
		sum += row;
	}
	return sum;
}

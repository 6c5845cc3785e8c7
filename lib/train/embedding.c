/* Each row sums its own pairs, its neighbours' pull and all others' push, into places of its own, which are added up in
 * order: so sums do not depend on the number of threads.
 *
 * A step solves (4 L(p w) + 2 mu I + D) s = -g, where L(p w) is the Laplacian of the weights p_nm w_nm, w = 1 (elastic)
 * or 1 / (1 + d^2) (t-SNE: log is concave, so this is the curvature of a quadratic above the attraction), and D is
 * REPELLED of L's diagonal, in place of the push's curvature; without it parts of the graph that are not connected
 * would have no scale. The matrix is positive definite, so that s always descends. */
#include "train/embedding.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "graph/quadtree.h"
#include "linalg/conjugate.h"

#define ROWS         ((size_t)256) /* of a task */
#define REPELLED     0.05
#define SOLVED       0.05 /* tolerance of the direction */
#define SOLVER_STEPS 40
#define SUFFICIENT   1e-4 /* of the slope (Armijo) */
#define LONGER       1.5
#define LONGEST      8.0
#define HALVINGS     12

struct cop_embedding {
	cop_embedding_method method;
	const cop_graph *graph;
	cop_pool *pool;
	size_t n;
	cop_quadtree *tree;
	cop_conjugate *conjugate;
	double entropy;      /* sum p log p; elastic: 0 */
	double *pull, *push; /* n: of E, each row's part; of gradients, n x 2 */
	double *pulled, *pushed;
	double *curve;                          /* of each edge: 4 p w */
	double *diagonal;                       /* n x 2 */
	double *gradient, *right, *step, *next; /* n x 2 */
	const double *z;                        /* at hand */
	double theta, mu;
};

static double entropy(const cop_graph *graph)
{
	double sum = 0.0;
	for (size_t e = 0; e < graph->start[graph->n]; e++) {
		double p = (double)graph->weight[e] / (double)graph->n;
		sum += p > 0.0 ? p * log(p) : 0.0;
	}
	return sum;
}

cop_err cop_embedding_new(cop_embedding_method method, const cop_graph *graph, cop_pool *pool, cop_embedding **out)
{
	*out = NULL;
	cop_embedding *e = cop_mem_alloc(1, sizeof *e);
	if (e == NULL)
		return COP_ENOMEM;
	const size_t n = e->n = graph->n;
	double **pairs[] = { &e->pulled, &e->pushed, &e->diagonal, &e->gradient, &e->right, &e->step, &e->next };
	bool there = true;
	e->method = method;
	e->graph = graph;
	e->pool = pool;
	e->entropy = method == COP_EMBEDDING_TSNE ? entropy(graph) : 0.0;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		there &= (*pairs[i] = cop_mem_alloc(n, 2 * sizeof **pairs[i])) != NULL;
	e->pull = cop_mem_alloc(n, sizeof *e->pull);
	e->push = cop_mem_alloc(n, sizeof *e->push);
	e->curve = cop_mem_alloc(graph->start[n], sizeof *e->curve);
	cop_err err = there && e->pull != NULL && e->push != NULL && e->curve != NULL ? COP_OK : COP_ENOMEM;
	if (err == COP_OK)
		err = cop_quadtree_new(n, &e->tree);
	if (err == COP_OK)
		err = cop_conjugate_new(n, 2, &e->conjugate);
	if (err != COP_OK) {
		cop_embedding_free(e);
		return err;
	}
	*out = e;
	return COP_OK;
}

void cop_embedding_free(cop_embedding *e)
{
	if (e == NULL)
		return;
	double *arrays[] = { e->pull, e->push, e->pulled, e->pushed, e->curve, e->diagonal, e->gradient, e->right,
		e->step, e->next };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
	cop_quadtree_free(e->tree);
	cop_conjugate_free(e->conjugate);
	cop_mem_free(e);
}

/* ---- objective ---- */

static double distance2(const double *a, const double *b)
{
	double x = a[0] - b[0], y = a[1] - b[1];
	return x * x + y * y;
}

/* w of an edge, of the pull's gradient and curvature. */
static double softened(const cop_embedding *e, double d2)
{
	return e->method == COP_EMBEDDING_TSNE ? 1.0 / (1.0 + d2) : 1.0;
}

static void pull_row(cop_embedding *e, size_t i)
{
	const double *z = e->z + 2 * i;
	double sum = 0.0, x = 0.0, y = 0.0;
	for (size_t k = e->graph->start[i]; k < e->graph->start[i + 1]; k++) {
		const double *other = e->z + 2 * (size_t)e->graph->index[k];
		double p = (double)e->graph->weight[k] / (double)e->n, d2 = distance2(z, other);
		double force = p * softened(e, d2);
		sum += p * (e->method == COP_EMBEDDING_TSNE ? log1p(d2) : d2);
		x += force * (z[0] - other[0]);
		y += force * (z[1] - other[1]);
	}
	e->pull[i] = sum;
	e->pulled[2 * i] = 4.0 * x;
	e->pulled[2 * i + 1] = 4.0 * y;
}

static cop_err some_rows(void *context, size_t task, unsigned worker)
{
	cop_embedding *e = context;
	const cop_quadtree_kernel kernel = e->method == COP_EMBEDDING_TSNE ? COP_QUADTREE_STUDENT : COP_QUADTREE_GAUSS;
	(void)worker;
	for (size_t i = task * ROWS; i < (task + 1) * ROWS && i < e->n; i++) {
		cop_quadtree_sums sums = cop_quadtree_sum(e->tree, kernel, e->theta, i);
		pull_row(e, i);
		e->push[i] = sums.value;
		e->pushed[2 * i] = 4.0 * sums.push[0];
		e->pushed[2 * i + 1] = 4.0 * sums.push[1];
	}
	return COP_OK;
}

static void run(const cop_embedding *e, cop_pool_task *task, void *context)
{
	cop_err err = cop_pool_run(e->pool, (e->n + ROWS - 1) / ROWS, task, context);
	COP_ASSERT(err == COP_OK); /* no task fails */
}

double cop_embedding_objective(cop_embedding *e, double b, double theta, const double *z, double *gradient)
{
	double pull = 0.0, push = 0.0;
	e->z = z;
	e->theta = theta;
	cop_quadtree_build(e->tree, z);
	run(e, some_rows, e);
	for (size_t i = 0; i < e->n; i++) {
		pull += e->pull[i];
		push += e->push[i];
	}
	bool tsne = e->method == COP_EMBEDDING_TSNE;
	double share = tsne ? b / push : b; /* of the push's derivative */
	for (size_t i = 0; i < 2 * e->n && gradient != NULL; i++)
		gradient[i] = e->pulled[i] - share * e->pushed[i];
	return e->entropy + pull + b * (tsne ? log(push) : push);
}

/* ---- minimiser ---- */

static double with_pull(cop_embedding *e, const cop_embedding_descent *how, const double *z, double *gradient)
{
	double value = cop_embedding_objective(e, how->b, how->theta, z, gradient), away = 0.0;
	for (size_t i = 0; i < 2 * e->n && how->mu > 0.0; i++) {
		double d = z[i] - how->centre[i];
		away += d * d;
		if (gradient != NULL)
			gradient[i] += 2.0 * how->mu * d;
	}
	return value + how->mu * away;
}

static cop_err curve_rows(void *context, size_t task, unsigned worker)
{
	cop_embedding *e = context;
	(void)worker;
	for (size_t i = task * ROWS; i < (task + 1) * ROWS && i < e->n; i++) {
		double degree = 0.0;
		for (size_t k = e->graph->start[i]; k < e->graph->start[i + 1]; k++) {
			double d2 = distance2(e->z + 2 * i, e->z + 2 * (size_t)e->graph->index[k]);
			e->curve[k] = 4.0 * (double)e->graph->weight[k] / (double)e->n * softened(e, d2);
			degree += e->curve[k];
		}
		/* A point without neighbours has none. */
		double own = degree > 0.0 ? (1.0 + REPELLED) * degree : 4.0 / (double)e->n;
		e->diagonal[2 * i] = e->diagonal[2 * i + 1] = own + 2.0 * e->mu;
	}
	return COP_OK;
}

typedef struct product {
	const cop_embedding *e;
	const double *in;
	double *out;
} product;

static cop_err product_rows(void *context, size_t task, unsigned worker)
{
	const product *p = context;
	const cop_embedding *e = p->e;
	(void)worker;
	for (size_t i = task * ROWS; i < (task + 1) * ROWS && i < e->n; i++) {
		double x = e->diagonal[2 * i] * p->in[2 * i], y = e->diagonal[2 * i] * p->in[2 * i + 1];
		for (size_t k = e->graph->start[i]; k < e->graph->start[i + 1]; k++) {
			const double *other = p->in + 2 * (size_t)e->graph->index[k];
			x -= e->curve[k] * other[0];
			y -= e->curve[k] * other[1];
		}
		p->out[2 * i] = x;
		p->out[2 * i + 1] = y;
	}
	return COP_OK;
}

static void apply(void *context, const double *in, double *out)
{
	product p = { context, in, out };
	run(p.e, product_rows, &p);
}

/* The direction, of e->gradient at z; returns its slope, below 0 but at the bottom. */
static double direct(cop_embedding *e, double mu, const double *z)
{
	double slope = 0.0;
	e->z = z;
	e->mu = mu;
	run(e, curve_rows, e);
	for (size_t i = 0; i < 2 * e->n; i++)
		e->right[i] = -e->gradient[i];
	memset(e->step, 0, 2 * e->n * sizeof *e->step);
	const cop_conjugate_system system = { .apply = apply,
		.context = e,
		.diagonal = e->diagonal,
		.right = e->right,
		.tolerance = SOLVED,
		.most = SOLVER_STEPS };
	cop_err err = cop_conjugate_solve(e->conjugate, &system, e->step, NULL);
	for (size_t i = 0; i < 2 * e->n; i++) {
		if (err != COP_OK)
			e->step[i] = e->right[i] / e->diagonal[i];
		slope += e->step[i] * e->gradient[i];
	}
	return slope;
}

void cop_embedding_descend(cop_embedding *e, const cop_embedding_descent *how, double *z, double *value)
{
	double length = 1.0, now = with_pull(e, how, z, e->gradient);
	for (unsigned s = 0; s < how->steps; s++) {
		double slope = direct(e, how->mu, z), next = now;
		int halved = 0;
		for (; halved < HALVINGS; halved++, length *= 0.5) {
			for (size_t i = 0; i < 2 * e->n; i++)
				e->next[i] = z[i] + length * e->step[i];
			next = with_pull(e, how, e->next, e->right);
			if (next <= now + SUFFICIENT * length * slope)
				break;
		}
		if (!(slope < 0.0) || halved == HALVINGS)
			break;
		memcpy(z, e->next, 2 * e->n * sizeof *z);
		memcpy(e->gradient, e->right, 2 * e->n * sizeof *z);
		double fell = now - next;
		now = next;
		if (halved == 0)
			length = fmin(length * LONGER, LONGEST);
		if (fell < how->tolerance * fabs(now))
			break;
	}
	if (value != NULL)
		*value = now;
}

/* Label steps. The outputs are independent systems over one graph: each is a task of the pool. When there is only
 * one output, the pool divides its products with L. Each sum runs in one order, so the number of threads makes no
 * difference. */
#include "train/laptao_parts.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/conjugate.h"
#include "linalg/eigen.h"

/* Eigenvalues up to this share of the largest are 0. */
#define NOTHING 1e-13

static const double *weight_of(const cop_laptao_system *s, size_t k) { return s->weight + (s->shared ? 0 : k * s->n); }

/* ---- eigenvectors ---- */

static bool one_mask(const cop_laptao_system *s)
{
	for (size_t k = 1; !s->shared && k < s->outputs; k++)
		if (memcmp(s->weight, s->weight + k * s->n, s->n * sizeof *s->weight) != 0)
			return false;
	return true;
}

static void fill(const cop_laptao_system *s, double *a)
{
	const cop_graph *g = s->graph;

	for (size_t i = 0; i < s->n; i++) {
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			a[i * s->n + g->index[e]] = -s->gamma * (double)g->weight[e];
		a[i * s->n + i] += s->weight[i] + s->gamma * g->degree[i];
	}
}

cop_err cop_laptao_system_init(cop_laptao_system *system, cop_laptao_solver solver)
{
	bool one = one_mask(system);

	if (solver == COP_LAPTAO_EIGENVECTORS && !one)
		return COP_EINVAL;
	if (solver == COP_LAPTAO_GRADIENTS ||
	        (solver == COP_LAPTAO_EITHER && (!one || system->n > COP_LAPTAO_EIGEN_MOST)))
		return COP_OK;
	if (system->n > SIZE_MAX / system->n)
		return COP_ENOMEM;
	system->vector = cop_mem_alloc(system->n * system->n, sizeof *system->vector);
	system->value = cop_mem_alloc(system->n, sizeof *system->value);
	if (system->vector == NULL || system->value == NULL)
		return COP_ENOMEM;
	fill(system, system->vector);
	return cop_eigen_symmetric(system->n, system->vector, system->value);
}

void cop_laptao_system_fini(cop_laptao_system *system)
{
	cop_mem_free(system->vector);
	cop_mem_free(system->value);
	system->vector = system->value = NULL;
}

static void solve_by_eigenvectors(const cop_laptao_system *s, double mu, const double *right, double *z)
{
	double least = NOTHING * fabs(s->value[s->n - 1]);

	memset(z, 0, s->n * sizeof *z);
	for (size_t e = 0; e < s->n; e++) {
		const double *v = s->vector + e * s->n;
		double sum = 0, value = fmax(s->value[e], 0) + mu;
		if (value <= least)
			continue;
		for (size_t i = 0; i < s->n; i++)
			sum += v[i] * right[i];
		sum /= value;
		for (size_t i = 0; i < s->n; i++)
			z[i] += sum * v[i];
	}
}

/* ---- gradients ---- */

typedef struct solving {
	const cop_laptao_system *system;
	double mu;
	const double *right;
	double *z;
	cop_pool *pool; /* of a lone output */
} solving;

typedef struct product {
	const solving *s;
	const double *weight;
} product;

/* out = (J + mu I + gamma L) v. */
static void apply(void *context, const double *v, double *out)
{
	const product *p = context;
	const cop_laptao_system *system = p->s->system;

	cop_graph_laplacian(system->graph, 1, v, p->s->pool, out);
	for (size_t i = 0; i < system->n; i++)
		out[i] = system->gamma * out[i] + (p->weight[i] + p->s->mu) * v[i];
}

static bool all_finite(size_t n, const double *x)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

/* A solve that ends where rounding is all that is left has the last good x. */
static cop_err solve_by_gradients(const solving *s, size_t k)
{
	const cop_laptao_system *system = s->system;
	double *diagonal = cop_mem_alloc(system->n, sizeof *diagonal), *z = s->z + k * system->n;
	product p = { s, weight_of(system, k) };
	cop_conjugate *conjugate = NULL;
	cop_conjugate_system problem = { .apply = apply,
		.context = &p,
		.diagonal = diagonal,
		.right = s->right + k * system->n,
		.tolerance = system->tolerance,
		.most = system->steps };
	cop_err err = diagonal != NULL ? cop_conjugate_new(system->n, 1, &conjugate) : COP_ENOMEM;

	for (size_t i = 0; i < system->n && err == COP_OK; i++) {
		double own = p.weight[i] + s->mu + system->gamma * system->graph->degree[i];
		diagonal[i] = own > 0 ? own : 1; /* alone and not seen: its row is 0 */
	}
	if (err == COP_OK)
		err = cop_conjugate_solve(conjugate, &problem, z, NULL);
	if (err == COP_EDIVERGED && all_finite(system->n, z))
		err = COP_OK;
	cop_conjugate_free(conjugate);
	cop_mem_free(diagonal);
	return err;
}

static cop_err solve_output(void *context, size_t k, unsigned worker)
{
	const solving *s = context;
	size_t at = k * s->system->n;

	(void)worker;
	if (s->system->vector == NULL)
		return solve_by_gradients(s, k);
	solve_by_eigenvectors(s->system, s->mu, s->right + at, s->z + at);
	return COP_OK;
}

cop_err cop_laptao_solve(const cop_laptao_system *system, double mu, const double *right, cop_pool *pool, double *z)
{
	bool lone = system->outputs == 1;
	solving s = { system, mu, right, z, lone ? pool : NULL };

	return cop_pool_run(lone ? NULL : pool, system->outputs, solve_output, &s);
}

/* ---- what it lowers ---- */

double cop_laptao_smooth(const cop_laptao_state *state, const double *z)
{
	double sum = 0, rough = 0;

	for (size_t k = 0; k < state->outputs; k++) {
		const double *weight = weight_of(&state->system, k), *y = state->y + k * state->n;
		const double *own = z + k * state->n;
		for (size_t i = 0; i < state->n; i++)
			sum += weight[i] * (own[i] - y[i]) * (own[i] - y[i]);
		rough += cop_graph_roughness(state->graph, 1, own);
	}
	return sum + state->set->gamma * rough;
}

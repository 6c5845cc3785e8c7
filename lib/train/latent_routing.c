/* Scores q are kept node-major, T x n, as the isotonic solver wants them. Backwards a node's gradient is complete when
 * its children's were passed on, so that nodes are visited from the last to the first. Where a child's score equals its
 * parent's, the parent has the gradient (Danskin's theorem: the minimising argument has it, either one here). */
#include "train/latent_routing.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "optim/tree_isotonic.h"

struct cop_latent_routing {
	size_t splits, nodes, n;
	bool elu;
	cop_tree_isotonic *iso;
	float *s;      /* n, of one split */
	float *q, *dq; /* T x rows */
	double *da;    /* T */
};

cop_err cop_latent_routing_new(unsigned depth, size_t rows, bool elu, cop_latent_routing **out)
{
	*out = NULL;
	if (depth < 1 || depth > COP_LATENT_MAX_DEPTH || rows == 0)
		return COP_EINVAL;
	cop_latent_routing *r = cop_mem_alloc(1, sizeof *r);
	if (r == NULL)
		return COP_ENOMEM;
	r->nodes = ((size_t)2 << depth) - 1;
	r->splits = r->nodes / 2;
	r->elu = elu;
	cop_err err = cop_tree_isotonic_new(depth, &r->iso);
	r->s = cop_mem_alloc(rows, sizeof *r->s);
	r->q = cop_mem_alloc(rows, r->nodes * sizeof *r->q);
	r->dq = cop_mem_alloc(rows, r->nodes * sizeof *r->dq);
	r->da = cop_mem_alloc(r->nodes, sizeof *r->da);
	if (err != COP_OK || r->s == NULL || r->q == NULL || r->dq == NULL || r->da == NULL) {
		cop_latent_routing_free(r);
		return COP_ENOMEM;
	}
	*out = r;
	return COP_OK;
}

void cop_latent_routing_free(cop_latent_routing *routing)
{
	if (routing == NULL)
		return;
	cop_tree_isotonic_free(routing->iso);
	cop_mem_free(routing->s);
	cop_mem_free(routing->q);
	cop_mem_free(routing->dq);
	cop_mem_free(routing->da);
	cop_mem_free(routing);
}

/* The values of split t into r->s. */
static void read_split(cop_latent_routing *r, size_t t, const float *split)
{
	const float *from = split + t * r->n;
	for (size_t i = 0; i < r->n; i++)
		r->s[i] = r->elu && from[i] < 0.0f ? expm1f(from[i]) : from[i];
}

static void score(cop_latent_routing *r, size_t n, const float *split)
{
	r->n = n;
	for (size_t i = 0; i < n; i++)
		r->q[i] = 1.0f;
	for (size_t t = 0; t < r->splits; t++) {
		const float *q = r->q + t * n;
		float *left = r->q + (2 * t + 1) * n, *right = left + n;
		read_split(r, t, split);
		for (size_t i = 0; i < n; i++) {
			left[i] = fminf(q[i], -r->s[i]);
			right[i] = fminf(q[i], r->s[i]);
		}
	}
}

static void reach(const cop_latent_routing *r, const double *a, float *z, size_t stride)
{
	for (size_t t = 0; t < r->nodes; t++) {
		const float most = (float)a[t], *q = r->q + t * r->n;
		for (size_t i = 0; i < r->n; i++)
			z[i * stride + t] = fminf(fmaxf(q[i] + 0.5f, 0.0f), most);
	}
}

void cop_latent_routing_solve(cop_latent_routing *routing, size_t n, const float *split, double lambda, cop_pool *pool,
        double *a, float *z, size_t stride)
{
	score(routing, n, split);
	cop_tree_isotonic_solve(routing->iso, n, routing->q, lambda, pool, a);
	reach(routing, a, z, stride);
}

void cop_latent_routing_apply(
        cop_latent_routing *routing, size_t n, const float *split, const double *a, float *z, size_t stride)
{
	score(routing, n, split);
	reach(routing, a, z, stride);
}

/* z follows q where it is inside its bounds, and a where that bounds it. */
static void pass_reach(cop_latent_routing *r, const double *a, const float *dz, size_t stride)
{
	for (size_t t = 0; t < r->nodes; t++) {
		const float most = (float)a[t], *q = r->q + t * r->n;
		float *dq = r->dq + t * r->n;
		double sum = 0.0;
		for (size_t i = 0; i < r->n; i++) {
			const float z = q[i] + 0.5f, d = dz[i * stride + t];
			dq[i] = z > 0.0f && z < most ? d : 0.0f;
			sum += z >= most ? (double)d : 0.0;
		}
		r->da[t] = sum;
	}
}

void cop_latent_routing_gradient(
        cop_latent_routing *routing, const float *split, const double *a, const float *dz, size_t stride, float *dsplit)
{
	cop_latent_routing *r = routing;
	const size_t n = r->n;
	pass_reach(r, a, dz, stride);
	cop_tree_isotonic_gradient(r->iso, r->q, r->da, r->dq);
	for (size_t t = r->splits; t-- > 0;) {
		const float *q = r->q + t * n, *left = r->dq + (2 * t + 1) * n, *right = left + n;
		float *dq = r->dq + t * n, *ds = dsplit + t * n;
		read_split(r, t, split);
		for (size_t i = 0; i < n; i++) {
			const float s = r->s[i];
			const float by_left = -s < q[i] ? left[i] : 0.0f, by_right = s < q[i] ? right[i] : 0.0f;
			dq[i] += left[i] - by_left + right[i] - by_right;
			ds[i] = (by_right - by_left) * (r->elu && s < 0.0f ? s + 1.0f : 1.0f);
		}
	}
}

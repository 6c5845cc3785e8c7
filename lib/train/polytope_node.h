/* train/polytope_node.h: the decision node of a convex polytope tree, its objective and their gradients.
 *
 * d features, K experts, each with r_k > 0 (kept as ln r_k) and beta_k of d + 1 numbers, the bias last. A row x, given
 * as [x; 1], goes right with the probability (Armandpour et al., eq. 2)
 *     f(x) = 1 - exp(-s(x)),   s(x) = sum_k r_k ln(1 + exp(<beta_k, x>)).
 * s is convex, so {x: s(x) <= threshold}, what goes left, is a convex set. Matrices are row-major. The caller owns all
 * arrays; nothing is allocated. Any thread; products of matrices are BLAS's. */
#ifndef COP_TRAIN_POLYTOPE_NODE_H
#define COP_TRAIN_POLYTOPE_NODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct cop_polytope_node {
	size_t d, experts;
	float *beta;  /* experts x (d + 1) */
	float *log_r; /* experts */
} cop_polytope_node;

/* ln(1 + exp(z)). */
double cop_polytope_node_softplus(double z);

/* s of n rows x (n x (d + 1)) into s (n); z (n x experts) gets <beta_k, x>. */
void cop_polytope_node_sums(const cop_polytope_node *node, size_t n, const float *x, float *z, double *s);

/* From ds (n: the objective's derivative by each s) and z as above, which is overwritten: the derivatives by beta and
 * log_r, into the arrays of *gradient (of the node's shape), which are overwritten. */
void cop_polytope_node_gradient(const cop_polytope_node *node, size_t n, const float *x, const double *ds, float *z,
        cop_polytope_node *gradient);

/* The priors of eq. 14: a gamma process cut at K experts on r, shrinkage on beta. All above 0. */
typedef struct cop_polytope_prior {
	double gamma0, c0; /* mass and rate of r */
	double a0, b0;     /* shape and scale of beta */
} cop_polytope_prior;

/* sum_k (c0 r_k - (gamma0 / K - 1) ln r_k) + (a0 + 1/2) sum_jk ln(1 + beta_jk^2 / (2 b0)); `share` times its
 * derivatives by beta and log_r are added to *gradient. */
double cop_polytope_node_prior(
        const cop_polytope_node *node, const cop_polytope_prior *prior, double share, cop_polytope_node *gradient);

/* Mean conditional entropy of the class given the side (eqs. 10 to 13 with two leaves), in nats, of n >= 1 rows with
 * sums s and labels below `classes`; its derivatives by s into ds (n). room: 2 x classes numbers. */
double cop_polytope_node_entropy(
        size_t n, size_t classes, const uint32_t *label, const double *s, double *room, double *ds);
/* The same of values, n in `target`: the mean squared distance to the side's mean, rows weighted by their probability
 * of that side (eqs. 15 and 16). */
double cop_polytope_node_variance(size_t n, const float *target, const double *s, double *ds);

#endif

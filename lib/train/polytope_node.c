/* Sums go through one matrix product, z = x beta'; gradients through its transpose, with z replaced by
 * ds_n r_k sigmoid(z_nk), what the objective's derivative is by z_nk.
 *
 * In the entropy the terms through the leaves' class shares cancel (the shares of a leaf sum to 1), so that the
 * derivative by P(right | x_n) is (ln share_left(y_n) - ln share_right(y_n)) / n. Of values those through the means
 * cancel likewise, which leaves the difference of the squared distances. */
#include "train/polytope_node.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/blas.h"

double cop_polytope_node_softplus(double z) { return fmax(z, 0.0) + log1p(exp(-fabs(z))); }
static double sigmoid(double z) { return z >= 0.0 ? 1.0 / (1.0 + exp(-z)) : exp(z) / (1.0 + exp(z)); }

void cop_polytope_node_sums(const cop_polytope_node *node, size_t n, const float *x, float *z, double *s)
{
	const size_t K = node->experts;
	cop_blas_gemm(false, true, n, K, node->d + 1, 1.0f, x, node->beta, 0.0f, z);
	memset(s, 0, n * sizeof *s);
	for (size_t k = 0; k < K; k++) {
		const double r = exp((double)node->log_r[k]);
		for (size_t i = 0; i < n; i++)
			s[i] += r * cop_polytope_node_softplus((double)z[i * K + k]);
	}
}

void cop_polytope_node_gradient(const cop_polytope_node *node, size_t n, const float *x, const double *ds, float *z,
        cop_polytope_node *gradient)
{
	const size_t K = node->experts;
	for (size_t k = 0; k < K; k++) {
		const double r = exp((double)node->log_r[k]);
		double sum = 0.0;
		for (size_t i = 0; i < n; i++) {
			const double value = (double)z[i * K + k];
			sum += ds[i] * r * cop_polytope_node_softplus(value);
			z[i * K + k] = (float)(ds[i] * r * sigmoid(value));
		}
		gradient->log_r[k] = (float)sum;
	}
	cop_blas_gemm(true, false, K, node->d + 1, n, 1.0f, z, x, 0.0f, gradient->beta);
}

double cop_polytope_node_prior(
        const cop_polytope_node *node, const cop_polytope_prior *prior, double share, cop_polytope_node *gradient)
{
	const double mass = prior->gamma0 / (double)node->experts - 1.0, weight = prior->a0 + 0.5;
	double sum = 0.0;
	for (size_t k = 0; k < node->experts; k++) {
		const double log_r = (double)node->log_r[k], r = exp(log_r);
		sum += prior->c0 * r - mass * log_r;
		gradient->log_r[k] += (float)(share * (prior->c0 * r - mass));
	}
	for (size_t e = 0; e < node->experts * (node->d + 1); e++) {
		const double beta = (double)node->beta[e], square = beta * beta;
		sum += weight * log1p(square / (2.0 * prior->b0));
		gradient->beta[e] += (float)(share * weight * 2.0 * beta / (2.0 * prior->b0 + square));
	}
	return sum;
}

/* The entropy of one side times its mass. */
static double side_entropy(size_t classes, const double *mass, double total)
{
	double sum = 0.0;
	for (size_t c = 0; c < classes; c++)
		if (mass[c] > 0.0)
			sum -= mass[c] * log(mass[c] / total);
	return sum;
}

double cop_polytope_node_entropy(
        size_t n, size_t classes, const uint32_t *label, const double *s, double *room, double *ds)
{
	double *left = room, *right = room + classes, all_left = 0.0, all_right = 0.0;
	memset(room, 0, 2 * classes * sizeof *room);
	for (size_t i = 0; i < n; i++) {
		left[label[i]] += exp(-s[i]);
		right[label[i]] -= expm1(-s[i]);
	}
	for (size_t c = 0; c < classes; c++) {
		all_left += left[c];
		all_right += right[c];
	}
	const double sum = side_entropy(classes, left, all_left) + side_entropy(classes, right, all_right);
	for (size_t i = 0; i < n; i++) {
		const double l = fmax(left[label[i]], DBL_MIN), r = fmax(right[label[i]], DBL_MIN);
		const double by_right = log(l) - log(fmax(all_left, DBL_MIN)) - log(r) + log(fmax(all_right, DBL_MIN));
		ds[i] = by_right * exp(-s[i]) / (double)n;
	}
	return sum / (double)n;
}

double cop_polytope_node_variance(size_t n, const float *target, const double *s, double *ds)
{
	double mass[2] = { 0.0, 0.0 }, mean[2] = { 0.0, 0.0 }, sum = 0.0;
	for (size_t i = 0; i < n; i++) {
		const double left = exp(-s[i]), right = -expm1(-s[i]);
		mass[0] += left;
		mass[1] += right;
		mean[0] += left * (double)target[i];
		mean[1] += right * (double)target[i];
	}
	mean[0] /= fmax(mass[0], DBL_MIN);
	mean[1] /= fmax(mass[1], DBL_MIN);
	for (size_t i = 0; i < n; i++) {
		const double l = (double)target[i] - mean[0], r = (double)target[i] - mean[1];
		sum += exp(-s[i]) * l * l - expm1(-s[i]) * r * r;
		ds[i] = (r * r - l * l) * exp(-s[i]) / (double)n;
	}
	return sum / (double)n;
}

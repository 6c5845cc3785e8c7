/* Complete trees and linear layers written literally in double, for the tests of dense gradients: sums over all leaves
 * and nodes, nothing shared with the library. Heap order; leaf weights are S(t,l) sums of eq. (4) or products of (2).
 */
#ifndef COP_TESTS_NAIVE_TREE_H
#define COP_TESTS_NAIVE_TREE_H

#include <math.h>
#include <stddef.h>

#define NAIVE_LEAVES 64

/* +1, -1 or 0: the side of leaf l at node t, 0 when t is no ancestor of l. */
static inline int naive_side(unsigned h, size_t t, size_t l)
{
	size_t node = 0;
	for (unsigned i = 0; i < h; i++) {
		size_t right = (l >> (h - 1 - i)) & 1;
		if (node == t)
			return right ? 1 : -1;
		node = 2 * node + 1 + right;
	}
	return 0;
}

static inline double naive_sign(double a) { return a >= 0.0 ? 1.0 : -1.0; }

static inline size_t naive_leaf(unsigned h, const double *a)
{
	size_t n = ((size_t)1 << h) - 1, t = 0;
	while (t < n)
		t = 2 * t + 1 + (a[t] >= 0.0);
	return t - n;
}

/* Weights q of the 2^h leaves for node values s: softmax of sums, or products of (1 + S s) / 2. */
static inline void naive_weights(unsigned h, int product, const double *s, double *q)
{
	size_t n = ((size_t)1 << h) - 1;
	double sum = 0.0;
	for (size_t l = 0; l <= n; l++) {
		double score = 0.0, share = 1.0;
		for (size_t t = 0; t < n; t++) {
			int side = naive_side(h, t, l);
			score += s[t] * side;
			share *= side == 0 ? 1.0 : 0.5 * (1.0 + s[t] * side);
		}
		q[l] = product ? share : exp(score);
		sum += q[l];
	}
	for (size_t l = 0; l <= n && !product; l++)
		q[l] /= sum;
}

/* Algorithm 2, lines 9-13, with signs scaled by fac: da_t = 1[|a_t| <= 1] sum_l S(t,l) q_l (u_l - sum q u). */
static inline void naive_backward(unsigned h, double fac, const double *a, const double *u, double *da)
{
	size_t n = ((size_t)1 << h) - 1;
	double q[NAIVE_LEAVES], s[NAIVE_LEAVES], mean = 0.0;
	for (size_t t = 0; t < n; t++)
		s[t] = fac * naive_sign(a[t]);
	naive_weights(h, 0, s, q);
	for (size_t l = 0; l <= n; l++)
		mean += q[l] * u[l];
	for (size_t t = 0; t < n; t++) {
		da[t] = 0.0;
		for (size_t l = 0; l <= n && fabs(a[t]) <= 1.0; l++)
			da[t] += naive_side(h, t, l) * q[l] * (u[l] - mean);
	}
}

/* Margins of one row x (d + 1, the last 1) under L layers: W1 (width x (d + 1)), then W (out x in) and b (out). */
static inline void naive_margins(
        size_t d, size_t width, size_t nodes, unsigned layers, const float *w, const float *x, double *a)
{
	double in[NAIVE_LEAVES], out[NAIVE_LEAVES];
	for (unsigned m = 1; m <= layers; m++) {
		size_t rows = m == layers ? nodes : width, cols = m == 1 ? d + 1 : width;
		for (size_t i = 0; i < rows; i++) {
			out[i] = m == 1 ? 0.0 : (double)w[rows * cols + i];
			for (size_t j = 0; j < cols; j++)
				out[i] += (double)w[i * cols + j] * (m == 1 ? (double)x[j] : in[j]);
		}
		w += rows * cols + (m == 1 ? 0 : rows);
		for (size_t i = 0; i < rows; i++)
			(m == layers ? a : in)[i] = out[i];
	}
}

#endif

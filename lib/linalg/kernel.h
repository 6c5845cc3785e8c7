/* linalg/kernel.h: the vector kernels of the online learners, one table per instruction set.
 *
 * A *block* is a feature-major matrix W of d rows (features) and n columns (nodes, arms), row-major with n a multiple
 * of COP_KERNEL_LANES, 64-byte aligned (base/mem). Feature-major makes the forward product, the rank-1 update and
 * sparse inputs all contiguous: one row per present feature, no horizontal sums.
 *
 * Every sum runs in a fixed order: column sums over ascending features, 8 of them summed by themselves (of what is
 * left, 4, 2 and 1), dot products in COP_KERNEL_LANES lanes folded in halves. So one table gives the same bits on every
 * call on the same kind of processor; two tables differ by rounding, and by the estimates of adagrad and rmsprop.
 * Tables are constant; any thread. Outputs may not overlap inputs. */
#ifndef COP_LINALG_KERNEL_H
#define COP_LINALG_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linalg/row.h"

#define COP_KERNEL_LANES 16

/* n rounded up to whole lanes. */
static inline size_t cop_kernel_pad(size_t n) { return (n + COP_KERNEL_LANES - 1) & ~(size_t)(COP_KERNEL_LANES - 1); }

typedef struct cop_kernel_rmsprop {
	float lr, alpha, rest, in, out;
} cop_kernel_rmsprop;

typedef struct cop_kernel {
	const char *name; /* "plain", "avx2", "avx512", "neon" */

	/* Sum of x[i] y[i], i < n; no alignment needed. */
	float (*dot)(size_t n, const float *x, const float *y);
	/* a[i] += sum over j of x[j] W[j][i]. */
	void (*forward)(size_t d, size_t n, const float *x, const float *w, float *a);
	void (*forward_sparse)(size_t nnz, const uint32_t *index, const float *x, size_t n, const float *w, float *a);
	/* W[j][i] += x[j] g[i]. */
	void (*rank1)(size_t d, size_t n, const float *x, const float *g, float *w);
	void (*rank1_sparse)(size_t nnz, const uint32_t *index, const float *x, size_t n, const float *g, float *w);
	/* AdaGrad on the gradient x gᵀ: S += (x[j] g[i])^2, W -= eta x[j] g[i] / sqrt(S). S starts positive and stays
	 * at FLT_MAX once it is there. Where the processor estimates the inverse root, that is what scales the step: to
	 * 11 bits or more. */
	void (*adagrad)(size_t d, size_t n, const float *x, const float *g, float eta, float *w, float *s);
	void (*adagrad_sparse)(size_t nnz, const uint32_t *index, const float *x, size_t n, const float *g, float eta,
	        float *w, float *s);
	/* RMSprop, n weights: S = alpha S + rest g^2 + FLT_MIN, W -= lr g / (sqrt(S + in) + out), in or out at least
	 * 1e-12. Root and quotient by estimates, as adagrad's. No alignment needed. */
	void (*rmsprop)(size_t n, const cop_kernel_rmsprop *c, const float *g, float *w, float *s);
	/* Dense gradients da (2^h - 1) of one hard tree of height h, by the formula of tree/dgt.h: margins a (2^h - 1
	 * in heap order), leaf derivatives u (2^h), work (2^h - 1). da must not overlap the others. */
	void (*tree_backward)(unsigned h, float p, const float *a, const float *u, float *work, float *da);
	/* The same of m such trees, interleaved as in tree/dgt.h; all arrays m times as long. Sums run in a fixed order
	 * in every lane, so from m = 2 on a tree's result does not depend on m. */
	void (*trees_backward)(unsigned h, size_t m, float p, const float *a, const float *u, float *work, float *da);
	/* Dense standardisation: shift[j] = mean[j], scale[j] = 1 / sd from m2, the sum of squared deviations over
	 * rows[j]; 0 where the variance is none: not above 1e-17 mean^2, which varying floats exceed, or so small that
	 * a float cannot hold 1 / sd. */
	void (*standardise)(
	        size_t d, const double *rows, const double *mean, const double *m2, float *shift, float *scale);
	/* out[j] = (x[j] - shift[j]) scale[j] cut to +-most; 0 where scale[j] is, or x[j] further than wild[j] from
	 * shift[j]. */
	void (*scaled)(size_t d, const float *x, const float *shift, const float *scale, const float *wild, float most,
	        float *out);
	/* x[i] is cut to [low[i], high[i]] in place, after least[i] and most[i] took it in; outside[i] counts rows that
	 * were cut. The number of values that were. */
	size_t (*bound)(
	        size_t n, const float *low, const float *high, float *x, float *least, float *most, float *outside);
	/* A step of recursive least squares on each of `blocks` symmetric blocks of COP_KERNEL_LANES x
	 * COP_KERNEL_LANES, which lie behind one another as their parts of x and k do: k = P x, s = xᵀ k, P -= k kᵀ /
	 * (1 + s), which leaves them symmetric bit for bit. spread[b] = s; a block stays as it is when its s is
	 * negative, infinite or NaN. x needs no alignment. */
	void (*shrink)(size_t blocks, const float *x, float *p, float *k, float *spread);
	/* y[i] = scale factor x[i], factor x[i] cut to +-bound first. In whole lanes: up to COP_KERNEL_LANES - 1
	 * entries after x's and y's n are read and written too. No alignment needed; y may follow x. */
	void (*products)(size_t n, float factor, const float *x, float bound, float scale, float *y);
	/* Whether all |x[i]| <= bound; false for NaN. No alignment needed. */
	bool (*within)(size_t n, const float *x, float bound);
} cop_kernel;

/* The widest table that this processor runs. */
const cop_kernel *cop_kernel_best(void);
/* By name; NULL when there is none or this processor cannot run it. */
const cop_kernel *cop_kernel_find(const char *name);

/* Forward and rank-1 products for a row of either kind; w has at least row->d rows. */
void cop_kernel_forward_row(const cop_kernel *kernel, const cop_row *row, size_t n, const float *w, float *a);
void cop_kernel_rank1_row(const cop_kernel *kernel, const cop_row *row, size_t n, const float *g, float *w);
void cop_kernel_adagrad_row(
        const cop_kernel *kernel, const cop_row *row, size_t n, const float *g, float eta, float *w, float *s);

#endif

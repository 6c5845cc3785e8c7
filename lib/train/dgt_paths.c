/* Sum with signs is linalg's kernel. The variants have other shares r_t of a node's mass that go right, and then two
 * passes over the heap as tree/dgt.c has them: bottom-up U(t) = r U(R) + (1 - r) U(L) with U(leaf l) = u_l = <g,
 * theta_l>, top-down P(R) = r P, P(L) = (1 - r) P. Then
 *     product   r = step(a), or sigma(steepness a);  d/dr = P (U(R) - U(L))
 *     annealed  the softmax factorises: Z(leaf) = 1, Z(t) = e^s Z(R) + e^-s Z(L), r = e^s Z(R) / Z(t);
 *     sum       d/ds = P (r (U(R) - U(root)) - (1 - r) (U(L) - U(root)))
 * The loops run over lanes; all arrays have the rows of a node side by side. */
#include "train/dgt_paths.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "linalg/blas.h"
#include "linalg/kernel.h"
#include "tree/dgt.h"

struct cop_dgt_paths {
	cop_dgt_paths_shape shape;
	const cop_kernel *kernel;
	size_t nodes, leaves;
	float steepness;
	uint32_t *leaf; /* rows: of the hard walk */
	float *u;       /* leaves x rows */
	float *work;    /* nodes x rows: U */
	float *share;   /* variants, nodes x rows: r */
	float *mass;    /* annealed sum, nodes x rows: Z */
	float *reach;   /* annealed product, leaves x rows: P of the leaves */
};

static float *lanes(size_t count, size_t rows)
{
	size_t n;
	return __builtin_mul_overflow(count, rows, &n) ? NULL : cop_mem_alloc(n, sizeof(float));
}

static bool is_soft(const cop_dgt_paths *paths) { return paths->shape.product && paths->shape.annealed; }

static bool allocate(cop_dgt_paths *paths)
{
	size_t rows = paths->shape.rows;
	bool product = paths->shape.product, annealed = paths->shape.annealed;
	bool ok = (paths->leaf = cop_mem_alloc(rows, sizeof *paths->leaf)) != NULL &&
	          (paths->u = lanes(paths->leaves, rows)) != NULL && (paths->work = lanes(paths->nodes, rows)) != NULL;
	if (ok && (product || annealed))
		ok = (paths->share = lanes(paths->nodes, rows)) != NULL;
	if (ok && annealed && !product)
		ok = (paths->mass = lanes(paths->nodes, rows)) != NULL;
	if (ok && is_soft(paths))
		ok = (paths->reach = lanes(paths->leaves, rows)) != NULL;
	return ok;
}

cop_err cop_dgt_paths_new(const cop_dgt_paths_shape *shape, cop_dgt_paths **out)
{
	*out = NULL;
	if (shape->height < 1 || shape->height > COP_DGT_MAX_HEIGHT || shape->outputs == 0 || shape->rows == 0 ||
	        (shape->scaled && (shape->product || shape->annealed)))
		return COP_EINVAL;
	cop_dgt_paths *paths = cop_mem_alloc(1, sizeof *paths);
	if (paths == NULL)
		return COP_ENOMEM;
	paths->shape = *shape;
	paths->kernel = cop_kernel_best();
	paths->leaves = (size_t)1 << shape->height;
	paths->nodes = paths->leaves - 1;
	paths->steepness = 1.0f;
	if (!allocate(paths)) {
		cop_dgt_paths_free(paths);
		return COP_ENOMEM;
	}
	*out = paths;
	return COP_OK;
}

void cop_dgt_paths_free(cop_dgt_paths *paths)
{
	if (paths == NULL)
		return;
	cop_mem_free(paths->leaf);
	cop_mem_free(paths->u);
	cop_mem_free(paths->work);
	cop_mem_free(paths->share);
	cop_mem_free(paths->mass);
	cop_mem_free(paths->reach);
	cop_mem_free(paths);
}

void cop_dgt_paths_set_steepness(cop_dgt_paths *paths, double steepness)
{
	COP_ASSERT(steepness > 0.0);
	paths->steepness = (float)steepness;
}

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/* r of the product form. */
static void product_shares(cop_dgt_paths *paths, size_t rows, const float *a)
{
	size_t n = paths->nodes * rows;
	if (!paths->shape.annealed) {
		for (size_t i = 0; i < n; i++)
			paths->share[i] = a[i] >= 0.0f ? 1.0f : 0.0f;
		return;
	}
	for (size_t i = 0; i < n; i++)
		paths->share[i] = sigmoid(paths->steepness * a[i]);
}

/* r of the annealed sum, bottom-up with Z. |s| <= 1, so Z is at most 3.1^12. */
static void sum_shares(cop_dgt_paths *paths, size_t rows, const float *a)
{
	for (size_t t = paths->nodes; t-- > 0;) {
		bool last = 2 * t + 1 >= paths->nodes;
		const float *left = paths->mass + (last ? 0 : (2 * t + 1) * rows), *right = left + rows;
		for (size_t j = 0; j < rows; j++) {
			float up = expf(tanhf(0.5f * paths->steepness * a[t * rows + j]));
			float to_right = last ? up : up * right[j], to_left = last ? 1.0f / up : left[j] / up;
			paths->mass[t * rows + j] = to_right + to_left;
			paths->share[t * rows + j] = to_right / (to_right + to_left);
		}
	}
}

/* P of all nodes into `node` (nodes x rows), and of the leaves into `leaf` unless that is NULL. */
static void spread_mass(const cop_dgt_paths *paths, size_t rows, float *node, float *leaf)
{
	for (size_t j = 0; j < rows; j++)
		node[j] = 1.0f;
	for (size_t t = 0; t < paths->nodes; t++) {
		bool last = 2 * t + 1 >= paths->nodes;
		if (last && leaf == NULL)
			return;
		const float *restrict share = paths->share + t * rows, *restrict mass = node + t * rows;
		float *restrict child = last ? leaf + (2 * t + 1 - paths->nodes) * rows : node + (2 * t + 1) * rows;
#pragma omp simd
		for (size_t j = 0; j < rows; j++) {
			child[j] = (1.0f - share[j]) * mass[j];
			child[rows + j] = share[j] * mass[j];
		}
	}
}

static void predict_leaves(const cop_dgt_paths *paths, size_t rows, const float *theta, float *f)
{
	size_t outputs = paths->shape.outputs;
	for (size_t i = 0; i < rows; i++)
		memcpy(f + i * outputs, theta + paths->leaf[i] * outputs, outputs * sizeof *f);
}

void cop_dgt_paths_forward(cop_dgt_paths *paths, size_t rows, const float *a, const float *theta, float *f)
{
	COP_ASSERT(rows <= paths->shape.rows);
	if (paths->shape.product)
		product_shares(paths, rows, a);
	else if (paths->shape.annealed)
		sum_shares(paths, rows, a);
	if (is_soft(paths)) {
		spread_mass(paths, rows, paths->work, paths->reach);
		cop_blas_gemm(
		        true, false, rows, paths->shape.outputs, paths->leaves, 1.0f, paths->reach, theta, 0.0f, f);
		return;
	}
	cop_dgt_leaves(paths->shape.height, rows, a, paths->leaf);
	predict_leaves(paths, rows, theta, f);
}

static double mean_magnitude(size_t n, const float *a)
{
	double sum = 0.0;
	for (size_t from = 0; from < n; from += 256) {
		size_t to = n - from < 256 ? n : from + 256;
		float part = 0.0f;
#pragma omp simd reduction(+ : part)
		for (size_t i = from; i < to; i++)
			part += fabsf(a[i]);
		sum += (double)part;
	}
	return sum / (double)n;
}

static void sign_backward(cop_dgt_paths *paths, size_t rows, const float *a, float *da)
{
	size_t n = paths->nodes * rows;
	double fac = paths->shape.scaled ? mean_magnitude(n, a) : 1.0;
	paths->kernel->trees_backward(paths->shape.height, rows, cop_dgt_agree(fac), a, paths->u, paths->work, da);
	for (size_t i = 0; i < n && paths->shape.scaled; i++)
		da[i] *= 2.0f;
}

/* U of all decision nodes into work. */
static void gather_values(cop_dgt_paths *paths, size_t rows)
{
	for (size_t t = paths->nodes; t-- > 0;) {
		bool last = 2 * t + 1 >= paths->nodes;
		const float *restrict child =
		        last ? paths->u + (2 * t + 1 - paths->nodes) * rows : paths->work + (2 * t + 1) * rows;
		const float *restrict share = paths->share + t * rows;
		float *restrict out = paths->work + t * rows;
#pragma omp simd
		for (size_t j = 0; j < rows; j++)
			out[j] = share[j] * child[rows + j] + (1.0f - share[j]) * child[j];
	}
}

/* d/da of one node and row from P, r, and the U of its children and the root. */
static float product_slope(const cop_dgt_paths *paths, float a, float mass, float share, float left, float right)
{
	float by_share = mass * (right - left);
	if (paths->shape.annealed)
		return by_share * paths->steepness * share * (1.0f - share);
	return fabsf(a) <= 1.0f ? 0.5f * by_share : 0.0f;
}

static float sum_slope(
        const cop_dgt_paths *paths, float a, float mass, float share, float left, float right, float root)
{
	float s = tanhf(0.5f * paths->steepness * a);
	float by_sign = mass * (share * (right - root) - (1.0f - share) * (left - root));
	return by_sign * 0.5f * paths->steepness * (1.0f - s * s);
}

static void variant_backward(cop_dgt_paths *paths, size_t rows, const float *a, float *da)
{
	gather_values(paths, rows);
	spread_mass(paths, rows, da, NULL);
	const float *root = paths->work;
	for (size_t t = 0; t < paths->nodes; t++) {
		const float *child = 2 * t + 1 >= paths->nodes ? paths->u + (2 * t + 1 - paths->nodes) * rows
		                                               : paths->work + (2 * t + 1) * rows;
		for (size_t j = 0; j < rows; j++) {
			size_t i = t * rows + j;
			float share = paths->share[i], left = child[j], right = child[rows + j];
			da[i] = paths->shape.product ? product_slope(paths, a[i], da[i], share, left, right)
			                             : sum_slope(paths, a[i], da[i], share, left, right, root[j]);
		}
	}
}

void cop_dgt_paths_backward(
        cop_dgt_paths *paths, size_t rows, const float *a, const float *theta, const float *g, float *da, float *dtheta)
{
	size_t outputs = paths->shape.outputs;
	COP_ASSERT(rows <= paths->shape.rows);
	cop_blas_gemm(false, true, paths->leaves, rows, outputs, 1.0f, theta, g, 0.0f, paths->u);
	if (paths->shape.product || paths->shape.annealed)
		variant_backward(paths, rows, a, da);
	else
		sign_backward(paths, rows, a, da);
	if (is_soft(paths)) {
		cop_blas_gemm(false, false, paths->leaves, outputs, rows, 1.0f, paths->reach, g, 1.0f, dtheta);
		return;
	}
	for (size_t i = 0; i < rows; i++)
		for (size_t k = 0; k < outputs; k++)
			dtheta[paths->leaf[i] * outputs + k] += g[i * outputs + k];
}

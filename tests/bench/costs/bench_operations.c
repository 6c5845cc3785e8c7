/* Sparse cases go round through rows of their own, all over the block, so that a row is not in the nearest cache only
 * because it was just there. BLAS gets the matrices as it likes them: a node, or arm, a row. */
#include "bench_grid.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/blas.h"

struct cop_bench_case {
	cop_bench_shape shape;
	const cop_kernel *kernel;
	size_t n, rows;
	float *w, *s;         /* rows x n: weights (P of second-order terms) and sums of squares */
	float *x, *g, *a;     /* d, padded; n; n */
	float *u, *work, *da; /* leaves, n, n */
	float *gradient;      /* rows x n, of dense shapes */
	uint32_t *index;      /* COP_BENCH_DRAWS x d, of sparse ones */
	size_t draw;
};

static size_t nodes_of(const cop_bench_shape *shape) { return shape->trees << shape->height; }

size_t cop_bench_shape_columns(const cop_bench_shape *shape)
{
	return shape->block > 0 ? shape->block : cop_kernel_pad(nodes_of(shape));
}

void cop_bench_shape_text(const cop_bench_shape *shape, char *text, size_t room)
{
	char inputs[32];
	if (shape->sparse)
		(void)snprintf(inputs, sizeof inputs, "%zu of 2^%d", shape->d, COP_BENCH_HASHED_BITS);
	else
		(void)snprintf(inputs, sizeof inputs, "%zu", shape->d);
	if (shape->block > 0)
		(void)snprintf(text, room, "%s, blocks of %zu", inputs, shape->block);
	else if (shape->trees == 1)
		(void)snprintf(text, room, "%s, height %u", inputs, shape->height);
	else
		(void)snprintf(text, room, "%s, %zu trees, height %u", inputs, shape->trees, shape->height);
}

/* ---- operations ---- */

static size_t weights_of(const cop_bench_case *c) { return c->shape.d * c->n; }
static bool has_trees(const cop_bench_shape *shape) { return shape->trees > 0; }
static bool has_dense_trees(const cop_bench_shape *shape) { return shape->trees > 0 && !shape->sparse; }
static bool has_one_tree(const cop_bench_shape *shape) { return shape->trees == 1 && !shape->sparse; }
static bool has_short_blocks(const cop_bench_shape *shape) { return shape->block == COP_KERNEL_LANES; }
static bool has_blocks(const cop_bench_shape *shape) { return shape->block > COP_KERNEL_LANES; }

const uint32_t *cop_bench_case_draw(cop_bench_case *c) { return c->index + c->draw++ % COP_BENCH_DRAWS * c->shape.d; }

/* The next row of the case. */
static cop_row next_row(cop_bench_case *c)
{
	if (!c->shape.sparse)
		return (cop_row){ .d = c->shape.d, .dense = c->x };
	return (cop_row){ .d = c->rows, .nnz = c->shape.d, .index = cop_bench_case_draw(c), .value = c->x };
}

static cop_bench_array block_of(const cop_bench_case *c, float *at, bool written)
{
	return (cop_bench_array){ .at = at, .floats = weights_of(c), .ways = 1, .written = written, .block = true };
}

static cop_bench_array vector_of(float *at, size_t floats, bool written)
{
	return (cop_bench_array){ .at = at, .floats = cop_kernel_pad(floats), .ways = 1, .written = written };
}

static cop_bench_cost forward_cost(const cop_bench_case *c)
{
	return (cop_bench_cost){ .flops = 2.0 * (double)weights_of(c),
		.arrays = {
		        block_of(c, c->w, false), vector_of(c->x, c->shape.d, false), vector_of(c->a, c->n, true) } };
}

static void forward(cop_bench_case *c)
{
	cop_row row = next_row(c);
	cop_kernel_forward_row(c->kernel, &row, c->n, c->w, c->a);
}

static void gemv(cop_bench_case *c)
{
	if (!c->shape.sparse)
		cop_blas_gemv(c->n, c->shape.d, 1.0F, c->w, c->x, 1.0F, c->a);
}

static cop_bench_cost rank1_cost(const cop_bench_case *c)
{
	return (cop_bench_cost){ .flops = 2.0 * (double)weights_of(c),
		.arrays = {
		        block_of(c, c->w, true), vector_of(c->x, c->shape.d, false), vector_of(c->g, c->n, false) } };
}

static void rank1(cop_bench_case *c)
{
	cop_row row = next_row(c);
	cop_kernel_rank1_row(c->kernel, &row, c->n, c->g, c->w);
}

static void ger(cop_bench_case *c)
{
	if (!c->shape.sparse)
		cop_blas_ger(c->n, c->shape.d, 1.0F, c->g, c->x, c->w);
}

/* Gradient, its square, the sum, a root, a quotient, the rate, the difference. */
static cop_bench_cost adagrad_cost(const cop_bench_case *c)
{
	return (cop_bench_cost){ .flops = 7.0 * (double)weights_of(c),
		.arrays = { block_of(c, c->w, true), block_of(c, c->s, true), vector_of(c->x, c->shape.d, false),
		        vector_of(c->g, c->n, false) } };
}

static void adagrad(cop_bench_case *c)
{
	cop_row row = next_row(c);
	cop_kernel_adagrad_row(c->kernel, &row, c->n, c->g, 1e-6F, c->w, c->s);
}

/* Two products and a sum for the state, a sum, a root, a sum, a quotient, a product and a difference. */
static cop_bench_cost rmsprop_cost(const cop_bench_case *c)
{
	return (cop_bench_cost){ .flops = 10.0 * (double)weights_of(c),
		.arrays = { block_of(c, c->gradient, false), block_of(c, c->w, true), block_of(c, c->s, true) } };
}

static void rmsprop(cop_bench_case *c)
{
	static const cop_kernel_rmsprop constants = { .lr = 1e-6F, .alpha = 0.99F, .rest = 0.01F, .out = 1e-5F };
	c->kernel->rmsprop(c->shape.d * c->n, &constants, c->gradient, c->w, c->s);
}

/* Of a node: 3 upwards, 8 downwards; both ways read the margins and the values below. */
static cop_bench_cost backward_cost(const cop_bench_case *c)
{
	cop_bench_cost cost = { .flops = 11.0 * (double)c->n,
		.arrays = { vector_of(c->a, c->n, false), vector_of(c->u, c->n, false), vector_of(c->work, c->n, true),
		        vector_of(c->da, c->n, true) } };
	cost.arrays[0].ways = cost.arrays[1].ways = 2;
	return cost;
}

static void backward(cop_bench_case *c)
{
	c->kernel->trees_backward(c->shape.height, c->shape.trees, 0.88F, c->a, c->u, c->work, c->da);
}

/* One arm's P, block by block: P x and what it takes off P. */
static void every_block(cop_bench_case *c, void (*one)(cop_bench_case *c, size_t at, size_t rows))
{
	for (size_t at = 0; at < c->shape.d; at += c->n)
		one(c, at, c->shape.d - at < c->n ? c->shape.d - at : c->n);
}

static void product_of(cop_bench_case *c, size_t at, size_t rows)
{
	c->kernel->forward(rows, c->n, c->x + at, c->w + at * c->n, c->a);
}

static void product(cop_bench_case *c) { every_block(c, product_of); }

static void product_by_blas(cop_bench_case *c, size_t at, size_t rows)
{
	cop_blas_gemv(rows, c->n, 1.0F, c->w + at * c->n, c->g, 0.0F, c->a);
}

static void product_blas(cop_bench_case *c) { every_block(c, product_by_blas); }

static void downdate_of(cop_bench_case *c, size_t at, size_t rows)
{
	c->kernel->rank1(rows, c->n, c->x + at, c->g, c->w + at * c->n);
}

static void downdate(cop_bench_case *c) { every_block(c, downdate_of); }

static void downdate_by_blas(cop_bench_case *c, size_t at, size_t rows)
{
	cop_blas_ger(rows, c->n, 1.0F, c->x + at, c->g, c->w + at * c->n);
}

static void downdate_blas(cop_bench_case *c) { every_block(c, downdate_by_blas); }

/* P x, xT P x and what they take off P, of each whole block. */
static cop_bench_cost step_cost(const cop_bench_case *c)
{
	size_t inputs = c->shape.d / COP_KERNEL_LANES * COP_KERNEL_LANES;
	cop_bench_cost cost = { .flops = 4.0 * (double)(inputs * c->n) + 3.0 * (double)inputs,
		.arrays = { block_of(c, c->w, true), vector_of(c->x, inputs, false), vector_of(c->s, inputs, true) } };
	cost.arrays[0].floats = inputs * c->n;
	return cost;
}

static void step(cop_bench_case *c)
{
	c->kernel->shrink(c->shape.d / COP_KERNEL_LANES, c->x, c->w, c->s, c->s + c->shape.d);
}

static const cop_bench_operation operations[] = {
	{ "forward", has_trees, forward_cost, forward, gemv },
	{ "backward", has_dense_trees, backward_cost, backward, NULL },
	{ "update", has_trees, rank1_cost, rank1, ger },
	{ "adagrad", has_trees, adagrad_cost, adagrad, NULL },
	{ "rmsprop", has_one_tree, rmsprop_cost, rmsprop, NULL },
	{ "P x", has_blocks, forward_cost, product, product_blas },
	{ "P - v v'", has_blocks, rank1_cost, downdate, downdate_blas },
	{ "P, step", has_short_blocks, step_cost, step, NULL },
};

const cop_bench_operation *cop_bench_operation_at(size_t i)
{
	return i < sizeof operations / sizeof *operations ? &operations[i] : NULL;
}

/* ---- cases ---- */

void cop_bench_case_free(cop_bench_case *c)
{
	if (c == NULL)
		return;
	float *const arrays[] = { c->w, c->s, c->x, c->g, c->a, c->u, c->work, c->da, c->gradient };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		cop_mem_free(arrays[i]);
	cop_mem_free(c->index);
	cop_mem_free(c);
}

static bool allocate(cop_bench_case *c)
{
	const cop_bench_shape *shape = &c->shape;
	size_t second = shape->block > 0 ? 2 * shape->d : c->rows * c->n;
	c->w = cop_mem_alloc(c->rows * c->n, sizeof *c->w);
	c->s = cop_mem_alloc(second, sizeof *c->s);
	c->x = cop_mem_alloc(cop_kernel_pad(shape->d), sizeof *c->x);
	c->g = cop_mem_alloc(c->n, sizeof *c->g);
	c->a = cop_mem_alloc(c->n, sizeof *c->a);
	c->u = cop_mem_alloc(c->n, sizeof *c->u);
	c->work = cop_mem_alloc(c->n, sizeof *c->work);
	c->da = cop_mem_alloc(c->n, sizeof *c->da);
	c->gradient = cop_mem_alloc(shape->sparse ? 0 : second, sizeof *c->gradient);
	c->index = cop_mem_alloc(shape->sparse ? COP_BENCH_DRAWS * shape->d : 0, sizeof *c->index);
	return c->w != NULL && c->s != NULL && c->x != NULL && c->g != NULL && c->a != NULL && c->u != NULL &&
	       c->work != NULL && c->da != NULL && c->gradient != NULL && c->index != NULL;
}

static void fill(cop_rng *rng, float *v, size_t n, double scale)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (float)(scale * (2.0 * cop_rng_unit(rng) - 1.0));
}

/* Ascending, distinct: one of each of d equal parts of the rows. */
static void draw_rows(cop_bench_case *c, cop_rng *rng)
{
	size_t part = c->rows / c->shape.d;
	for (size_t i = 0; i < COP_BENCH_DRAWS * c->shape.d; i++)
		c->index[i] = (uint32_t)(i % c->shape.d * part + cop_rng_below(rng, part));
}

cop_err cop_bench_case_new(const cop_bench_shape *shape, const cop_kernel *kernel, cop_bench_case **out)
{
	*out = NULL;
	cop_bench_case *c = cop_mem_alloc(1, sizeof *c);
	if (c == NULL)
		return COP_ENOMEM;
	c->shape = *shape;
	c->kernel = kernel;
	c->n = cop_bench_shape_columns(shape);
	c->rows = shape->sparse ? (size_t)1 << COP_BENCH_HASHED_BITS : shape->d;
	if (!allocate(c)) {
		cop_bench_case_free(c);
		return COP_ENOMEM;
	}
	cop_rng rng;
	cop_rng_init(&rng, 1, 0);
	fill(&rng, c->x, shape->d, 1.0);
	fill(&rng, c->g, c->n, 1e-6);
	fill(&rng, c->a, c->n, 2.0);
	fill(&rng, c->u, c->n, 1.0);
	for (size_t i = 0; i < c->rows * c->n; i++) { /* all are touched: no page is the system's one of zeros */
		c->w[i] = 1e-3F * (float)(i % 7);
		if (shape->block == 0)
			c->s[i] = 1.0F;
		if (shape->block == 0 && !shape->sparse)
			c->gradient[i] = 1e-3F * (float)(i % 5);
	}
	for (size_t i = 0; has_short_blocks(shape) && i < c->rows * c->n; i++) /* P as it begins */
		c->w[i] = i % c->n == i / c->n % c->n ? 1.0F : 0.0F;
	if (shape->sparse)
		draw_rows(c, &rng);
	*out = c;
	return COP_OK;
}

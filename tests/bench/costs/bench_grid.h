/* tests/bench/costs/bench_grid.h: kernels over a grid of shapes, each beside what the machine can do at most with as
 * many operations and bytes, and beside OpenBLAS; then whole learners. One thread. */
#ifndef COP_COSTS_BENCH_GRID_H
#define COP_COSTS_BENCH_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "linalg/kernel.h"

#define COP_BENCH_DRAWS 64 /* rows that a sparse case goes round through */
/* Rows of a sparse case's block. */
#define COP_BENCH_HASHED_BITS 18

/* One model's weights: d inputs by n columns, n padded. Trees of one height, or `block` x `block` pieces of P. */
typedef struct cop_bench_shape {
	size_t d;        /* inputs; sparse: the entries of a row */
	unsigned height; /* 0: no tree */
	size_t trees;
	size_t block; /* 0: no second-order terms */
	bool sparse;
} cop_bench_shape;

size_t cop_bench_shape_columns(const cop_bench_shape *shape);
/* "54 inputs, 16 trees of height 4" */
void cop_bench_shape_text(const cop_bench_shape *shape, char *text, size_t room);

/* Room for one shape, and the calls on it. */
typedef struct cop_bench_case cop_bench_case;

/* One that a call goes through from end to end, or, a sparse shape's block, by the rows of the draw. */
typedef struct cop_bench_array {
	float *at;
	size_t floats; /* that a call touches, a multiple of 16 */
	size_t ways;   /* times that it is read, or read and written */
	bool written;
	bool block; /* of weights: scattered when the shape is sparse */
} cop_bench_array;

#define COP_BENCH_ARRAYS 4

/* What one call costs, whatever the machine. */
typedef struct cop_bench_cost {
	double flops;                             /* a root or a quotient counts as one */
	cop_bench_array arrays[COP_BENCH_ARRAYS]; /* ways 0: no more */
} cop_bench_cost;

typedef struct cop_bench_operation {
	const char *name;
	bool (*suits)(const cop_bench_shape *shape);
	cop_bench_cost (*cost)(const cop_bench_case *c);
	void (*run)(cop_bench_case *c);
	void (*blas)(cop_bench_case *c); /* the same product by OpenBLAS; NULL: it has none */
} cop_bench_operation;

/* The i-th operation; NULL beyond the last. */
const cop_bench_operation *cop_bench_operation_at(size_t i);

COP_CHECK cop_err cop_bench_case_new(const cop_bench_shape *shape, const cop_kernel *kernel, cop_bench_case **out);
void cop_bench_case_free(cop_bench_case *c);
/* The row that the next call of a sparse case takes; moves on to the one after. */
const uint32_t *cop_bench_case_draw(cop_bench_case *c);

/* `costs grid`. */
int cop_bench_grid_command(int argc, char **argv);

#endif

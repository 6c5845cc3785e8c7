/* Both forms run the same chain: `columns` vectors go up through the layers (value[m] = W^(m) value[m - 1] + bias) and
 * their gradients come down. Layered, the columns are the rows of the batch and every one gets the bias; collapsed,
 * they are the d + 1 unit vectors, of which the last alone (the constant 1) gets it, and value[1] is W^(1) itself.
 *
 * Invariant: after a forward, value[1 .. L - 1] (collapsed: 2 .. L) hold what the backward of the same rows needs. */
#include "train/dgt_network.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "linalg/blas.h"

struct cop_dgt_network {
	cop_dgt_network_shape shape;
	bool collapsed;
	size_t columns;                               /* most at a time */
	size_t at[COP_DGT_NETWORK_MAX_LAYERS + 2];    /* layer m's weights in w, m from 1; behind them the end */
	float *value[COP_DGT_NETWORK_MAX_LAYERS + 1]; /* out x columns of layer m; NULL where the caller's is used */
	float *gradient[2];                           /* of two layers that follow one another */
	float *first;                                 /* layered: columns of W^(1) while collapsing */
};

static size_t outputs_of(const cop_dgt_network_shape *shape, unsigned m)
{
	return m == shape->layers ? shape->nodes : shape->width;
}

bool cop_dgt_network_collapsed_is_cheaper(const cop_dgt_network_shape *shape)
{
	double features = (double)shape->d + 1.0, rows = (double)shape->rows, squares = 0.0;
	for (unsigned m = 2; m <= shape->layers; m++)
		squares += (double)shape->width * (double)outputs_of(shape, m);
	double layered = 3.0 * squares * rows + 2.0 * features * (double)shape->width * rows;
	double collapsed = 3.0 * squares * features + 2.0 * features * (double)shape->nodes * rows;
	return shape->layers > 1 && collapsed < layered;
}

/* Where each layer's weights begin; false when the sizes overflow. */
static bool lay_out(cop_dgt_network *network)
{
	const cop_dgt_network_shape *shape = &network->shape;
	size_t inputs, n;
	if (__builtin_add_overflow(shape->d, 1, &inputs))
		return false;
	for (unsigned m = 1; m <= shape->layers; m++) {
		if (__builtin_mul_overflow(outputs_of(shape, m), m == 1 ? inputs : shape->width + 1, &n) ||
		        __builtin_add_overflow(network->at[m], n, &network->at[m + 1]))
			return false;
	}
	return true;
}

static float *matrix(size_t rows, size_t cols)
{
	size_t n;
	return __builtin_mul_overflow(rows, cols, &n) ? NULL : cop_mem_alloc(n, sizeof(float));
}

static bool allocate(cop_dgt_network *network)
{
	const cop_dgt_network_shape *shape = &network->shape;
	size_t widest = shape->nodes > shape->width ? shape->nodes : shape->width;
	unsigned last = network->collapsed ? shape->layers : shape->layers - 1;
	for (unsigned m = network->collapsed ? 2 : 1; m <= last; m++)
		if ((network->value[m] = matrix(outputs_of(shape, m), network->columns)) == NULL)
			return false;
	if (!network->collapsed && shape->layers > 1) {
		network->first = matrix(shape->width, network->columns);
		if (network->first == NULL)
			return false;
	}
	for (int i = 0; i < 2 && shape->layers > 1; i++)
		if ((network->gradient[i] = matrix(widest, network->columns)) == NULL)
			return false;
	return true;
}

cop_err cop_dgt_network_new(const cop_dgt_network_shape *shape, cop_dgt_network **out)
{
	*out = NULL;
	bool ok = shape->d > 0 && shape->nodes > 0 && shape->rows > 0 && shape->layers >= 1 &&
	          shape->layers <= COP_DGT_NETWORK_MAX_LAYERS && (shape->layers == 1 || shape->width > 0);
	if (!ok)
		return COP_EINVAL;
	cop_dgt_network *network = cop_mem_alloc(1, sizeof *network);
	if (network == NULL)
		return COP_ENOMEM;
	network->shape = *shape;
	network->collapsed = shape->collapsed && shape->layers > 1;
	network->columns = network->collapsed ? shape->d + 1 : shape->rows;
	if (!lay_out(network) || !allocate(network)) {
		cop_dgt_network_free(network);
		return COP_ENOMEM;
	}
	*out = network;
	return COP_OK;
}

void cop_dgt_network_free(cop_dgt_network *network)
{
	if (network == NULL)
		return;
	for (unsigned m = 1; m <= COP_DGT_NETWORK_MAX_LAYERS; m++)
		cop_mem_free(network->value[m]);
	cop_mem_free(network->gradient[0]);
	cop_mem_free(network->gradient[1]);
	cop_mem_free(network->first);
	cop_mem_free(network);
}

size_t cop_dgt_network_weights(const cop_dgt_network *network) { return network->at[network->shape.layers + 1]; }

void cop_dgt_network_start(const cop_dgt_network *network, cop_rng *rng, float *w)
{
	const cop_dgt_network_shape *shape = &network->shape;
	memset(w, 0, cop_dgt_network_weights(network) * sizeof *w);
	for (unsigned m = 1; m <= shape->layers; m++) {
		size_t in = m == 1 ? shape->d : shape->width, stride = m == 1 ? in + 1 : in;
		double bound = 1.0 / sqrt((double)in);
		for (size_t i = 0; i < outputs_of(shape, m); i++)
			for (size_t j = 0; j < in; j++)
				w[network->at[m] + i * stride + j] = (float)(bound * (2.0 * cop_rng_unit(rng) - 1.0));
	}
}

/* out (n x columns) = W in + bias, the bias in columns [from, columns). */
static void layer_up(size_t n, size_t width, size_t columns, size_t from, const float *w, const float *in, float *out)
{
	const float *bias = w + n * width;
	cop_blas_gemm(false, false, n, columns, width, 1.0f, w, in, 0.0f, out);
	for (size_t i = 0; i < n; i++)
		for (size_t j = from; j < columns; j++)
			out[i * columns + j] += bias[i];
}

/* Values of layer 1 up through layers 2 to L; the last layer's go to `last`. */
static void chain_up(
        cop_dgt_network *network, const float *w, size_t columns, size_t from, const float *first, float *last)
{
	const cop_dgt_network_shape *shape = &network->shape;
	const float *in = first;
	for (unsigned m = 2; m <= shape->layers; m++) {
		float *out = m == shape->layers ? last : network->value[m];
		layer_up(outputs_of(shape, m), shape->width, columns, from, w + network->at[m], in, out);
		in = out;
	}
}

void cop_dgt_network_forward(cop_dgt_network *network, const float *w, size_t rows, const float *x, float *a)
{
	const cop_dgt_network_shape *shape = &network->shape;
	COP_ASSERT(rows <= shape->rows);
	size_t inputs = shape->d + 1;
	if (network->collapsed) {
		float *product = network->value[shape->layers];
		chain_up(network, w, inputs, shape->d, w, product);
		cop_blas_gemm(false, true, shape->nodes, rows, inputs, 1.0f, product, x, 0.0f, a);
		return;
	}
	float *first = shape->layers == 1 ? a : network->value[1];
	cop_blas_gemm(false, true, outputs_of(shape, 1), rows, inputs, 1.0f, w, x, 0.0f, first);
	chain_up(network, w, rows, 0, first, a);
}

/* Gradients by a layer's bias: sums over columns [from, columns). */
static void bias_gradient(size_t n, size_t columns, size_t from, const float *gradient, float *g)
{
	for (size_t i = 0; i < n; i++) {
		float sum = 0.0f;
		for (size_t j = from; j < columns; j++)
			sum += gradient[i * columns + j];
		g[i] = sum;
	}
}

/* Gradients by layers L to 2 into g, and by the values of layer 1 into `first_gradient`. */
static void chain_down(cop_dgt_network *network, const float *w, size_t columns, size_t from, const float *first,
        const float *last_gradient, float *first_gradient, float *g)
{
	const cop_dgt_network_shape *shape = &network->shape;
	const float *upper = last_gradient;
	for (unsigned m = shape->layers; m >= 2; m--) {
		size_t n = outputs_of(shape, m), at = network->at[m];
		const float *in = m == 2 ? first : network->value[m - 1];
		float *lower = m == 2 ? first_gradient : network->gradient[m % 2];
		cop_blas_gemm(false, true, n, shape->width, columns, 1.0f, upper, in, 0.0f, g + at);
		bias_gradient(n, columns, from, upper, g + at + n * shape->width);
		cop_blas_gemm(true, false, shape->width, columns, n, 1.0f, w + at, upper, 0.0f, lower);
		upper = lower;
	}
}

void cop_dgt_network_backward(
        cop_dgt_network *network, const float *w, size_t rows, const float *x, const float *da, float *g)
{
	const cop_dgt_network_shape *shape = &network->shape;
	COP_ASSERT(rows <= shape->rows);
	size_t inputs = shape->d + 1;
	if (network->collapsed) {
		float *of_product = network->gradient[(shape->layers + 1) % 2];
		cop_blas_gemm(false, false, shape->nodes, inputs, rows, 1.0f, da, x, 0.0f, of_product);
		chain_down(network, w, inputs, shape->d, w, of_product, g, g);
		return;
	}
	float *below = network->gradient[0]; /* layer 2's own gradient, if it is not da, is in it no more when read */
	const float *of_first = shape->layers == 1 ? da : below;
	chain_down(network, w, rows, 0, network->value[1], da, below, g);
	cop_blas_gemm(false, false, outputs_of(shape, 1), inputs, rows, 1.0f, of_first, x, 0.0f, g);
}

/* Columns [from, from + columns) of the product, by way of the batch's workspace. */
static void collapse_columns(cop_dgt_network *network, const float *w, size_t from, size_t columns, float *product)
{
	const cop_dgt_network_shape *shape = &network->shape;
	size_t inputs = shape->d + 1;
	bool constant = from + columns == inputs;
	for (size_t i = 0; i < shape->width; i++)
		memcpy(network->first + i * columns, w + i * inputs + from, columns * sizeof *w);
	float *last = network->gradient[0];
	chain_up(network, w, columns, constant ? columns - 1 : columns, network->first, last);
	for (size_t i = 0; i < shape->nodes; i++)
		memcpy(product + i * inputs + from, last + i * columns, columns * sizeof *w);
}

void cop_dgt_network_collapse(cop_dgt_network *network, const float *w, float *product)
{
	const cop_dgt_network_shape *shape = &network->shape;
	size_t inputs = shape->d + 1;
	if (shape->layers == 1) {
		memcpy(product, w, shape->nodes * inputs * sizeof *w);
	} else if (network->collapsed) {
		chain_up(network, w, inputs, shape->d, w, product);
	} else {
		for (size_t from = 0; from < inputs; from += network->columns) {
			size_t left = inputs - from;
			collapse_columns(network, w, from, left < network->columns ? left : network->columns, product);
		}
	}
}

/* Weights lie in one array: the splits' W, B x (d + 1), then the predictor's (optim/mlp.h). Rows are predicted in pieces
 * of PIECE, whose input to the predictor is [x; z]. */
#include "tree/latent.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/blas.h"
#include "store/section_file.h"
#include "tree/tree_build.h"

#define PIECE 256

struct cop_latent {
	cop_latent_shape shape;
	size_t nodes, splits, weights, inputs; /* T, B, of all, d + T */
	float *w;
	double *a; /* T */
	cop_latent_routing *routing;
	cop_mlp *mlp;
	float *split; /* B x PIECE */
	float *input; /* PIECE x inputs */
};

static cop_mlp_shape predictor_shape(const cop_latent_shape *shape)
{
	return (cop_mlp_shape){ .in = shape->d + ((size_t)2 << shape->depth) - 1,
		.out = shape->outputs,
		.width = shape->width,
		.layers = shape->layers,
		.rows = PIECE };
}

static cop_err make_mlp(const cop_latent_shape *shape, cop_mlp **out)
{
	*out = NULL;
	if (shape->d == 0 || shape->d > UINT32_MAX || shape->outputs == 0 || shape->outputs > UINT32_MAX ||
	        shape->depth < 1 || shape->depth > COP_LATENT_MAX_DEPTH ||
	        (shape->link != COP_TREE_VALUES && shape->link != COP_TREE_LOGITS))
		return COP_EINVAL;
	const cop_mlp_shape mlp = predictor_shape(shape);
	return cop_mlp_new(&mlp, out);
}

static size_t split_weights(const cop_latent_shape *shape)
{
	return (((size_t)1 << shape->depth) - 1) * (shape->d + 1);
}

cop_err cop_latent_weights(const cop_latent_shape *shape, size_t *weights)
{
	cop_mlp *mlp;
	cop_err err = make_mlp(shape, &mlp);
	if (err == COP_OK)
		*weights = split_weights(shape) + cop_mlp_weights(mlp);
	cop_mlp_free(mlp);
	return err;
}

static cop_err allocate(cop_latent *m)
{
	cop_err err = make_mlp(&m->shape, &m->mlp);
	if (err != COP_OK)
		return err;
	m->splits = ((size_t)1 << m->shape.depth) - 1;
	m->nodes = 2 * m->splits + 1;
	m->inputs = m->shape.d + m->nodes;
	m->weights = split_weights(&m->shape) + cop_mlp_weights(m->mlp);
	err = cop_latent_routing_new(m->shape.depth, PIECE, m->shape.elu, &m->routing);
	m->w = cop_mem_alloc(m->weights, sizeof *m->w);
	m->a = cop_mem_alloc(m->nodes, sizeof *m->a);
	m->split = cop_mem_alloc(m->splits, PIECE * sizeof *m->split);
	m->input = cop_mem_alloc(m->inputs, PIECE * sizeof *m->input);
	return err != COP_OK || m->w == NULL || m->a == NULL || m->split == NULL || m->input == NULL ? COP_ENOMEM
	                                                                                             : COP_OK;
}

static cop_err check(const cop_latent *m)
{
	for (size_t i = 0; i < m->weights; i++)
		if (!isfinite(m->w[i]))
			return COP_ENONFINITE;
	for (size_t t = 0; t < m->nodes; t++)
		if (!(m->a[t] >= 0.0 && m->a[t] <= (t == 0 ? 1.0 : m->a[(t - 1) / 2])))
			return COP_EINVAL;
	return COP_OK;
}

static cop_err make(const cop_latent_shape *shape, cop_latent **out)
{
	cop_err err = COP_ENOMEM;
	cop_latent *m = *out = cop_mem_alloc(1, sizeof *m);
	if (m != NULL) {
		m->shape = *shape;
		err = allocate(m);
	}
	return err;
}

cop_err cop_latent_new(const cop_latent_shape *shape, const float *w, const double *a, cop_latent **out)
{
	cop_err err = make(shape, out);
	if (err == COP_OK) {
		memcpy((*out)->w, w, (*out)->weights * sizeof *w);
		memcpy((*out)->a, a, (*out)->nodes * sizeof *a);
		err = check(*out);
	}
	if (err != COP_OK) {
		cop_latent_free(*out);
		*out = NULL;
	}
	return err;
}

void cop_latent_free(cop_latent *latent)
{
	if (latent == NULL)
		return;
	cop_latent_routing_free(latent->routing);
	cop_mlp_free(latent->mlp);
	cop_mem_free(latent->w);
	cop_mem_free(latent->a);
	cop_mem_free(latent->split);
	cop_mem_free(latent->input);
	cop_mem_free(latent);
}

const cop_latent_shape *cop_latent_get_shape(const cop_latent *latent) { return &latent->shape; }
size_t cop_latent_nodes(const cop_latent *latent) { return latent->nodes; }
const double *cop_latent_kept(const cop_latent *latent) { return latent->a; }

static void reach(cop_latent *m, size_t n, const float *x, float *z, size_t stride)
{
	cop_blas_gemm(false, true, m->splits, n, m->shape.d + 1, 1.0f, m->w, x, 0.0f, m->split);
	cop_latent_routing_apply(m->routing, n, m->split, m->a, z, stride);
}

void cop_latent_reach(cop_latent *latent, size_t n, const float *x, float *z)
{
	for (size_t from = 0; from < n; from += PIECE)
		reach(latent, n - from < PIECE ? n - from : PIECE, x + from * (latent->shape.d + 1),
		        z + from * latent->nodes, latent->nodes);
}

static void softmax(size_t outputs, float *f)
{
	float top = f[0], sum = 0.0f;
	for (size_t k = 1; k < outputs; k++)
		top = fmaxf(top, f[k]);
	for (size_t k = 0; k < outputs; k++)
		sum += f[k] = expf(f[k] - top);
	for (size_t k = 0; k < outputs; k++)
		f[k] /= sum;
}

void cop_latent_predict(cop_latent *latent, size_t n, const float *x, float *out)
{
	const size_t d = latent->shape.d, outputs = latent->shape.outputs;
	for (size_t from = 0; from < n; from += PIECE) {
		const size_t rows = n - from < PIECE ? n - from : PIECE;
		const float *piece = x + from * (d + 1);
		reach(latent, rows, piece, latent->input + d, latent->inputs);
		for (size_t i = 0; i < rows; i++)
			memcpy(latent->input + i * latent->inputs, piece + i * (d + 1), d * sizeof *x);
		cop_mlp_forward(latent->mlp, latent->w + split_weights(&latent->shape), rows, latent->input, NULL,
		        out + from * outputs);
	}
	for (size_t i = 0; latent->shape.link == COP_TREE_LOGITS && i < n; i++)
		softmax(outputs, out + i * outputs);
}

/* ---- as a hard tree ---- */

/* The predictor's rows for the leaf at the end of the way to `node`: their weights of x, and biases with those of the
 * nodes on the way. */
static int32_t put_leaf(const cop_latent *m, size_t node, const uint32_t *output, float *v, cop_tree_build *build)
{
	const size_t d = m->shape.d, outputs = m->shape.outputs;
	const float *w = m->w + split_weights(&m->shape), *b = w + m->inputs * outputs;
	float *c = v + outputs * d;
	for (size_t k = 0; k < outputs; k++) {
		const float *row = w + k * m->inputs;
		double bias = (double)b[k];
		memcpy(v + k * d, row, d * sizeof *v);
		for (size_t t = node + 1; t > 0; t /= 2) /* heap places counted from 1 */
			bias += (double)row[d + t - 1] * m->a[t - 1];
		c[k] = (float)bias;
	}
	return cop_tree_build_linear(build, outputs, output, v, c);
}

static int32_t put_node(const cop_latent *m, size_t node, const uint32_t *output, float *v, cop_tree_build *build)
{
	if (node >= m->splits)
		return put_leaf(m, node, output, v, build);
	const float *w = m->w + node * (m->shape.d + 1);
	int32_t side[2];
	size_t kept = 0;
	for (size_t s = 0; s < 2; s++)
		kept += m->a[2 * node + 1 + s] > 0.0;
	if (kept == 0)
		return put_leaf(m, node, output, v, build);
	const int32_t here = cop_tree_build_node(build, w, w[m->shape.d]);
	for (size_t s = 0; s < 2; s++) {
		const size_t child = 2 * node + 1 + s;
		side[s] =
		        m->a[child] > 0.0 ? put_node(m, child, output, v, build) : put_leaf(m, node, output, v, build);
	}
	cop_tree_build_children(build, here, side[0], side[1]);
	return here;
}

cop_err cop_latent_tree(const cop_latent *latent, cop_tree **out)
{
	const size_t d = latent->shape.d, outputs = latent->shape.outputs;
	cop_tree_build *build = NULL;
	*out = NULL;
	if (latent->shape.layers != 1)
		return COP_EINVAL;
	float *v = cop_mem_alloc(outputs, (d + 1) * sizeof *v);
	uint32_t *output = cop_mem_alloc(outputs, sizeof *output);
	cop_err err =
	        v == NULL || output == NULL ? COP_ENOMEM : cop_tree_build_new(d, outputs, latent->shape.link, &build);
	if (err == COP_OK) {
		for (size_t k = 0; k < outputs; k++)
			output[k] = (uint32_t)k;
		err = cop_tree_build_finish(build, put_node(latent, 0, output, v, build), out);
	}
	cop_tree_build_free(build);
	cop_mem_free(output);
	cop_mem_free(v);
	return err;
}

/* ---- saved ---- */

void cop_latent_save(const cop_latent *latent, cop_bytes *bytes)
{
	const cop_latent_shape *s = &latent->shape;
	size_t mark = cop_section_file_begin_section(bytes, COP_LATENT_SECTION, COP_LATENT_VERSION);
	cop_bytes_put_u32(bytes, (uint32_t)s->d);
	cop_bytes_put_u32(bytes, (uint32_t)s->outputs);
	cop_bytes_put_u32(bytes, (uint32_t)s->link);
	cop_bytes_put_u8(bytes, (uint8_t)s->depth);
	cop_bytes_put_u8(bytes, s->elu);
	cop_bytes_put_u8(bytes, (uint8_t)s->layers);
	cop_bytes_put_u32(bytes, (uint32_t)s->width);
	cop_bytes_put_f64s(bytes, latent->a, latent->nodes);
	cop_bytes_put_f32s(bytes, latent->w, latent->weights);
	cop_section_file_end_section(bytes, mark);
}

/* The weights of the shape are as many as the bytes have left; so no room is taken for what is not there. */
static bool shape_fits(const cop_latent_shape *shape, const cop_cursor *cursor)
{
	const size_t left = cop_cursor_left(cursor);
	size_t weights, bytes;
	if (shape->d > left || shape->outputs > left || shape->depth > COP_LATENT_MAX_DEPTH)
		return false;
	return cop_latent_weights(shape, &weights) == COP_OK &&
	       !__builtin_mul_overflow(weights, sizeof(float), &bytes) &&
	       bytes + (((size_t)2 << shape->depth) - 1) * sizeof(double) == left;
}

cop_err cop_latent_load(const void *payload, size_t length, cop_latent **out)
{
	cop_cursor cursor;
	cop_latent_shape shape = { 0 };
	*out = NULL;
	cop_cursor_init(&cursor, payload, length);
	shape.d = cop_cursor_u32(&cursor);
	shape.outputs = cop_cursor_u32(&cursor);
	const uint32_t link = cop_cursor_u32(&cursor);
	shape.link = link < COP_TREE_LINKS ? (cop_tree_link)link : COP_TREE_LINKS;
	shape.depth = cop_cursor_u8(&cursor);
	const uint8_t elu = cop_cursor_u8(&cursor);
	shape.elu = elu != 0;
	shape.layers = cop_cursor_u8(&cursor);
	shape.width = cop_cursor_u32(&cursor);
	if (cursor.err != COP_OK || elu > 1 || !shape_fits(&shape, &cursor))
		return COP_EFORMAT;
	cop_err err = make(&shape, out);
	if (err == COP_OK) {
		cop_cursor_f64s(&cursor, (*out)->a, (*out)->nodes);
		cop_cursor_f32s(&cursor, (*out)->w, (*out)->weights);
		err = cursor.err == COP_OK ? check(*out) : cursor.err;
	}
	if (err != COP_OK) {
		cop_latent_free(*out);
		*out = NULL;
	}
	return err == COP_EINVAL ? COP_EFORMAT : err;
}

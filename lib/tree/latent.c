/* Weights lie in one array (tree/latent.h). A row's reach is found from the root down; what is below a node that it
 * does not reach is not looked at, since q only falls on the way. Sums of dense rows go by the vector kernel; numbers
 * of a row stand on the stack, whose most the limits of depth and width bound. */
#include "tree/latent.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/kernel.h"
#include "store/section_file.h"
#include "tree/tree_build.h"

#define MOST_NODES (((size_t)2 << COP_LATENT_MAX_DEPTH) - 1)

struct cop_latent {
	cop_latent_shape shape;
	size_t nodes, splits; /* T, B */
	size_t weights;
	const cop_kernel *kernel;
	float *w;
	float *a; /* T */
};

static size_t nodes_of(const cop_latent_shape *shape) { return ((size_t)2 << shape->depth) - 1; }

size_t cop_latent_layer_inputs(const cop_latent_shape *shape, unsigned l)
{
	if (l == 0)
		return shape->d + nodes_of(shape);
	if (l == shape->layers)
		return shape->outputs;
	const size_t width = shape->width << (l - 1);
	return width < COP_LATENT_MOST_WIDTH ? width : COP_LATENT_MOST_WIDTH;
}

static bool shape_is_valid(const cop_latent_shape *s)
{
	return s->d >= 1 && s->d <= UINT32_MAX && s->outputs >= 1 && s->outputs <= UINT32_MAX && s->depth >= 1 &&
	       s->depth <= COP_LATENT_MAX_DEPTH && s->layers >= 1 && s->layers <= COP_LATENT_MAX_LAYERS &&
	       (s->layers == 1 || (s->width >= 1 && s->width <= COP_LATENT_MOST_WIDTH)) &&
	       (s->link == COP_TREE_VALUES || s->link == COP_TREE_LOGITS);
}

static size_t split_weights(const cop_latent_shape *shape) { return nodes_of(shape) / 2 * (shape->d + 1); }

cop_err cop_latent_weights(const cop_latent_shape *shape, size_t *weights)
{
	if (!shape_is_valid(shape))
		return COP_EINVAL;
	size_t sum = split_weights(shape), more;
	for (unsigned l = 0; l < shape->layers; l++)
		if (__builtin_mul_overflow(
		            cop_latent_layer_inputs(shape, l) + 1, cop_latent_layer_inputs(shape, l + 1), &more) ||
		        __builtin_add_overflow(sum, more, &sum))
			return COP_ENOMEM;
	*weights = sum;
	return COP_OK;
}

/* Room for a model of the shape. */
static cop_err make(const cop_latent_shape *shape, cop_latent **out)
{
	size_t weights;
	cop_err err = cop_latent_weights(shape, &weights);
	*out = NULL;
	if (err != COP_OK)
		return err;
	cop_latent *m = *out = cop_mem_alloc(1, sizeof *m);
	if (m == NULL)
		return COP_ENOMEM;
	*m = (cop_latent){ .shape = *shape, .nodes = nodes_of(shape), .weights = weights, .kernel = cop_kernel_best() };
	m->splits = m->nodes / 2;
	m->w = cop_mem_alloc(weights, sizeof *m->w);
	m->a = cop_mem_alloc(m->nodes, sizeof *m->a);
	return m->w == NULL || m->a == NULL ? COP_ENOMEM : COP_OK;
}

/* err, or what is wrong with the model that was filled in; then it is freed. */
static cop_err check(cop_err err, cop_latent **out)
{
	const cop_latent *m = *out;
	for (size_t i = 0; err == COP_OK && i < m->weights; i++)
		err = isfinite(m->w[i]) ? COP_OK : COP_ENONFINITE;
	for (size_t t = 0; err == COP_OK && t < m->nodes; t++)
		err = m->a[t] >= 0.0f && m->a[t] <= (t == 0 ? 1.0f : m->a[(t - 1) / 2]) ? COP_OK : COP_EINVAL;
	if (err != COP_OK) {
		cop_latent_free(*out);
		*out = NULL;
	}
	return err;
}

cop_err cop_latent_new(const cop_latent_shape *shape, const float *w, const double *a, cop_latent **out)
{
	cop_err err = make(shape, out);
	if (err == COP_OK) {
		memcpy((*out)->w, w, (*out)->weights * sizeof *w);
		for (size_t t = 0; t < (*out)->nodes; t++)
			(*out)->a[t] = (float)a[t];
	}
	return check(err, out);
}

void cop_latent_free(cop_latent *latent)
{
	if (latent == NULL)
		return;
	cop_mem_free(latent->w);
	cop_mem_free(latent->a);
	cop_mem_free(latent);
}

const cop_latent_shape *cop_latent_get_shape(const cop_latent *latent) { return &latent->shape; }
size_t cop_latent_nodes(const cop_latent *latent) { return latent->nodes; }
const float *cop_latent_kept(const cop_latent *latent) { return latent->a; }

/* ---- predicting ---- */

/* <w, x>, w of d weights. */
static float sum_of(const cop_latent *m, const float *w, const cop_row *row)
{
	if (row->dense != NULL)
		return m->kernel->dot(m->shape.d, w, row->dense);
	float sum = 0.0f;
	for (size_t e = 0; e < row->nnz; e++)
		sum += w[row->index[e]] * row->value[e];
	return sum;
}

static float elu(float x) { return x < 0.0f ? expm1f(x) : x; }

void cop_latent_reach(const cop_latent *latent, const cop_row *row, float *z)
{
	const size_t d = latent->shape.d;
	float q[MOST_NODES];
	q[0] = 1.0f;
	for (size_t t = 0; t < latent->nodes; t++) {
		z[t] = fminf(fmaxf(q[t] + 0.5f, 0.0f), latent->a[t]);
		if (t >= latent->splits)
			continue;
		float s = 1.0f; /* whatever: below a node that is not reached nothing is */
		if (z[t] > 0.0f) {
			const float *w = latent->w + t * (d + 1);
			s = sum_of(latent, w, row) + w[d];
			s = latent->shape.elu ? elu(s) : s;
		}
		q[2 * t + 1] = fminf(q[t], -s);
		q[2 * t + 2] = fminf(q[t], s);
	}
}

/* The first layer: its inputs are the row and its reach. */
static void enter(const cop_latent *m, const cop_row *row, size_t out, const float *w, float *to)
{
	const size_t d = m->shape.d, in = d + m->nodes;
	float z[MOST_NODES];
	cop_latent_reach(m, row, z);
	for (size_t k = 0; k < out; k++)
		to[k] = sum_of(m, w + k * in, row) + m->kernel->dot(m->nodes, w + k * in + d, z) + w[out * in + k];
}

static void softmax(size_t outputs, float *f)
{
	float top = -FLT_MAX, sum = 0.0f;
	for (size_t k = 0; k < outputs; k++) {
		f[k] = fminf(fmaxf(f[k], -FLT_MAX), FLT_MAX);
		top = fmaxf(top, f[k]);
	}
	for (size_t k = 0; k < outputs; k++)
		sum += f[k] = expf(f[k] - top);
	for (size_t k = 0; k < outputs; k++)
		f[k] /= sum;
}

void cop_latent_predict(const cop_latent *latent, const cop_row *row, float *out)
{
	const cop_latent_shape *shape = &latent->shape;
	const float *w = latent->w + split_weights(shape);
	float hidden[2][COP_LATENT_MOST_WIDTH];
	for (unsigned l = 0; l < shape->layers; l++) {
		const size_t in = cop_latent_layer_inputs(shape, l), n = cop_latent_layer_inputs(shape, l + 1);
		float *to = l + 1 == shape->layers ? out : hidden[l % 2];
		const float *from = hidden[(l + 1) % 2];
		if (l == 0)
			enter(latent, row, n, w, to);
		for (size_t k = 0; l > 0 && k < n; k++)
			to[k] = latent->kernel->dot(in, w + k * in, from) + w[n * in + k];
		for (size_t k = 0; l + 1 < shape->layers && k < n; k++)
			to[k] = elu(to[k]);
		w += n * (in + 1);
	}
	if (shape->link == COP_TREE_LOGITS)
		softmax(shape->outputs, out);
}

size_t cop_latent_parameters(const cop_latent *latent)
{
	size_t count = 0;
	for (size_t i = 0; i < latent->weights; i++)
		count += latent->w[i] != 0.0f;
	for (size_t t = 0; t < latent->nodes; t++)
		count += latent->a[t] > 0.0f;
	return count;
}

size_t cop_latent_flops(const cop_latent *latent, const cop_row *row)
{
	float z[MOST_NODES];
	size_t count = latent->weights - split_weights(&latent->shape);
	cop_latent_reach(latent, row, z);
	for (size_t t = 0; t < latent->splits; t++)
		count += z[t] > 0.0f ? latent->shape.d + 1 : 0;
	return count;
}

/* ---- as a hard tree ---- */

typedef struct hardening {
	const cop_latent *latent;
	cop_tree_build *build;
	uint32_t *output; /* K: 0, 1, ... */
	float *v, *c;     /* K x d and K, of a leaf */
} hardening;

/* The leaf at the end of the way to `node`. */
static int32_t put_leaf(const hardening *h, size_t node)
{
	const cop_latent *m = h->latent;
	const size_t d = m->shape.d, outputs = m->shape.outputs, in = d + m->nodes;
	const float *w = m->w + split_weights(&m->shape);
	if (m->shape.layers > 1)
		return cop_tree_build_constant(h->build, h->c);
	for (size_t k = 0; k < outputs; k++) {
		double bias = (double)w[outputs * in + k];
		memcpy(h->v + k * d, w + k * in, d * sizeof *w);
		for (size_t t = node + 1; t > 0; t /= 2) /* places of the heap counted from 1 */
			bias += (double)w[k * in + d + t - 1] * (double)m->a[t - 1];
		h->c[k] = (float)bias;
	}
	return cop_tree_build_linear(h->build, outputs, h->output, h->v, h->c);
}

static int32_t put_node(const hardening *h, size_t node)
{
	const cop_latent *m = h->latent;
	const size_t left = 2 * node + 1, right = left + 1;
	if (node >= m->splits || (m->a[left] == 0.0f && m->a[right] == 0.0f))
		return put_leaf(h, node);
	const float *w = m->w + node * (m->shape.d + 1);
	const int32_t here = cop_tree_build_node(h->build, w, w[m->shape.d]);
	const int32_t on_left = m->a[left] > 0.0f ? put_node(h, left) : put_leaf(h, node);
	const int32_t on_right = m->a[right] > 0.0f ? put_node(h, right) : put_leaf(h, node);
	cop_tree_build_children(h->build, here, on_left, on_right);
	return here;
}

cop_err cop_latent_tree(const cop_latent *latent, cop_tree **out)
{
	const size_t d = latent->shape.d, outputs = latent->shape.outputs;
	hardening h = { .latent = latent };
	*out = NULL;
	h.v = cop_mem_alloc(outputs, d * sizeof *h.v);
	h.c = cop_mem_alloc(outputs, sizeof *h.c);
	h.output = cop_mem_alloc(outputs, sizeof *h.output);
	cop_err err = h.v == NULL || h.c == NULL || h.output == NULL
	                      ? COP_ENOMEM
	                      : cop_tree_build_new(d, outputs, latent->shape.link, &h.build);
	if (err == COP_OK) {
		for (size_t k = 0; k < outputs; k++)
			h.output[k] = (uint32_t)k;
		err = cop_tree_build_finish(h.build, put_node(&h, 0), out);
	}
	cop_tree_build_free(h.build);
	cop_mem_free(h.output);
	cop_mem_free(h.c);
	cop_mem_free(h.v);
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
	cop_bytes_put_f32s(bytes, latent->a, latent->nodes);
	cop_bytes_put_f32s(bytes, latent->w, latent->weights);
	cop_section_file_end_section(bytes, mark);
}

/* The shape's numbers are all that is left, so no room is taken for what is not there. */
static bool shape_fits(const cop_latent_shape *shape, const cop_cursor *cursor)
{
	size_t weights, bytes;
	return cop_latent_weights(shape, &weights) == COP_OK &&
	       !__builtin_mul_overflow(weights + nodes_of(shape), sizeof(float), &bytes) &&
	       bytes == cop_cursor_left(cursor);
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
	const uint8_t flag = cop_cursor_u8(&cursor);
	shape.elu = flag != 0;
	shape.layers = cop_cursor_u8(&cursor);
	shape.width = cop_cursor_u32(&cursor);
	if (cursor.err != COP_OK || flag > 1 || !shape_fits(&shape, &cursor))
		return COP_EFORMAT;
	cop_err err = make(&shape, out);
	if (err == COP_OK) {
		cop_cursor_f32s(&cursor, (*out)->a, (*out)->nodes);
		cop_cursor_f32s(&cursor, (*out)->w, (*out)->weights);
		err = cursor.err;
	}
	err = check(err, out);
	return err == COP_EINVAL ? COP_EFORMAT : err;
}

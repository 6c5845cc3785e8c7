/* The build holds its nodes, rows and leaves as growing arrays that are parts but for their order (and for what hangs
 * nowhere); finishing picks the tree out of them. Arrays grow as cop_bytes do; once one has failed, nothing more is
 * put in. */
#include "tree/tree_build.h"

#include <string.h>

#include "base/mem.h"
#include "tree/tree_private.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "starts are put as 64-bit numbers");

#define NO_CHILD INT32_MIN

typedef struct growing {
	size_t count;
	cop_bytes start, index, weight, bias;
} growing;

struct cop_tree_build {
	size_t d, outputs;
	cop_tree_link link;
	cop_err err;
	growing nodes, rows, facets;
	cop_bytes facet, r; /* facet: nodes + 1 */
	cop_bytes left, right;
	size_t leaves;
	cop_bytes leaf, output;
};

#define ARRAYS 18

static void arrays_of(cop_tree_build *build, cop_bytes **array)
{
	cop_bytes *all[ARRAYS] = { &build->nodes.start, &build->nodes.index, &build->nodes.weight, &build->nodes.bias,
		&build->rows.start, &build->rows.index, &build->rows.weight, &build->rows.bias, &build->left,
		&build->right, &build->leaf, &build->output, &build->facets.start, &build->facets.index,
		&build->facets.weight, &build->facets.bias, &build->facet, &build->r };
	memcpy(array, all, sizeof all);
}

/* Takes over the first failure of an array. */
static bool is_well(cop_tree_build *build)
{
	cop_bytes *array[ARRAYS];
	arrays_of(build, array);
	for (size_t i = 0; i < ARRAYS && build->err == COP_OK; i++)
		build->err = array[i]->err;
	return build->err == COP_OK;
}

cop_err cop_tree_build_new(size_t d, size_t outputs, cop_tree_link link, cop_tree_build **out)
{
	*out = NULL;
	if (d == 0 || d > UINT32_MAX || outputs == 0 || outputs > UINT32_MAX || (unsigned)link >= COP_TREE_LINKS)
		return COP_EINVAL;
	cop_tree_build *build = cop_mem_alloc(1, sizeof *build);
	if (build == NULL)
		return COP_ENOMEM;
	build->d = d;
	build->outputs = outputs;
	build->link = link;
	cop_bytes_put_u64(&build->nodes.start, 0);
	cop_bytes_put_u64(&build->rows.start, 0);
	cop_bytes_put_u64(&build->facets.start, 0);
	cop_bytes_put_u64(&build->facet, 0);
	cop_bytes_put_u64(&build->leaf, 0);
	if (!is_well(build)) {
		cop_tree_build_free(build);
		return COP_ENOMEM;
	}
	*out = build;
	return COP_OK;
}

void cop_tree_build_free(cop_tree_build *build)
{
	if (build == NULL)
		return;
	cop_bytes *array[ARRAYS];
	arrays_of(build, array);
	for (size_t i = 0; i < ARRAYS; i++)
		cop_bytes_fini(array[i]);
	cop_mem_free(build);
}

/* Ends the vector whose entries were put. */
static void end_vector(growing *vectors, float bias)
{
	cop_bytes_put_f32(&vectors->bias, bias);
	cop_bytes_put_u64(&vectors->start, vectors->index.length / sizeof(uint32_t));
	vectors->count++;
}

static void put_entry(growing *vectors, size_t j, float weight)
{
	cop_bytes_put_u32(&vectors->index, (uint32_t)j);
	cop_bytes_put_f32(&vectors->weight, weight);
}

/* w NULL: nothing stored. */
static void put_vector(growing *vectors, size_t d, const float *w, float bias)
{
	for (size_t j = 0; w != NULL && j < d; j++)
		if (w[j] != 0.0f)
			put_entry(vectors, j, w[j]);
	end_vector(vectors, bias);
}

/* Whether one more fits; otherwise the build has failed. */
static bool has_place(cop_tree_build *build, size_t count, size_t most)
{
	if (build->err == COP_OK && count >= most)
		build->err = COP_EINVAL;
	return build->err == COP_OK;
}

static int32_t end_node(cop_tree_build *build)
{
	cop_bytes_put_u32(&build->left, (uint32_t)NO_CHILD);
	cop_bytes_put_u32(&build->right, (uint32_t)NO_CHILD);
	cop_bytes_put_u64(&build->facet, build->facets.count);
	return is_well(build) ? (int32_t)(build->nodes.count - 1) : 0;
}

int32_t cop_tree_build_node(cop_tree_build *build, const float *w, float bias)
{
	if (!has_place(build, build->nodes.count, COP_TREE_MAX_NODES))
		return 0;
	put_vector(&build->nodes, build->d, w, bias);
	return end_node(build);
}

int32_t cop_tree_build_axis(cop_tree_build *build, size_t feature, float threshold)
{
	if (feature >= build->d && build->err == COP_OK)
		build->err = COP_EINVAL;
	if (!has_place(build, build->nodes.count, COP_TREE_MAX_NODES))
		return 0;
	put_entry(&build->nodes, feature, 1.0f);
	end_vector(&build->nodes, 0.0f - threshold);
	return end_node(build);
}

int32_t cop_tree_build_polytope(
        cop_tree_build *build, size_t facets, const float *beta, const float *r, float threshold)
{
	if (facets == 0 && build->err == COP_OK)
		build->err = COP_EINVAL;
	if (!has_place(build, build->nodes.count, COP_TREE_MAX_NODES))
		return 0;
	for (size_t k = 0; k < facets; k++) {
		const float *w = beta + k * (build->d + 1);
		put_vector(&build->facets, build->d, w, w[build->d]);
		cop_bytes_put_f32(&build->r, r[k]);
	}
	put_vector(&build->nodes, build->d, NULL, 0.0f - threshold);
	return end_node(build);
}

void cop_tree_build_children(cop_tree_build *build, int32_t node, int32_t left, int32_t right)
{
	if (build->err == COP_OK && (node < 0 || (size_t)node >= build->nodes.count))
		build->err = COP_EINVAL;
	if (build->err != COP_OK)
		return;
	memcpy(build->left.data + (size_t)node * sizeof left, &left, sizeof left);
	memcpy(build->right.data + (size_t)node * sizeof right, &right, sizeof right);
}

static int32_t end_leaf(cop_tree_build *build)
{
	cop_bytes_put_u64(&build->leaf, build->rows.count);
	build->leaves++;
	return is_well(build) ? ~(int32_t)(build->leaves - 1) : ~0;
}

int32_t cop_tree_build_constant(cop_tree_build *build, const float *values)
{
	if (!has_place(build, build->leaves, COP_TREE_MAX_NODES + 1))
		return ~0;
	for (size_t k = 0; k < build->outputs; k++) {
		put_vector(&build->rows, build->d, NULL, values[k]);
		cop_bytes_put_u32(&build->output, (uint32_t)k);
	}
	return end_leaf(build);
}

int32_t cop_tree_build_linear(
        cop_tree_build *build, size_t rows, const uint32_t *output, const float *v, const float *c)
{
	if ((rows == 0 || rows > build->outputs) && build->err == COP_OK)
		build->err = COP_EINVAL;
	if (!has_place(build, build->leaves, COP_TREE_MAX_NODES + 1))
		return ~0;
	for (size_t r = 0; r < rows; r++) {
		put_vector(&build->rows, build->d, v + r * build->d, c[r]);
		cop_bytes_put_u32(&build->output, output[r]);
	}
	return end_leaf(build);
}

int32_t cop_tree_build_sparse(cop_tree_build *build, const uint32_t *output, const cop_tree_vectors *rows)
{
	if ((rows->count == 0 || rows->count > build->outputs) && build->err == COP_OK)
		build->err = COP_EINVAL;
	if (!has_place(build, build->leaves, COP_TREE_MAX_NODES + 1))
		return ~0;
	for (size_t r = 0; r < rows->count; r++) {
		for (size_t e = rows->start[r]; e < rows->start[r + 1]; e++)
			if (rows->weight[e] != 0.0f)
				put_entry(&build->rows, rows->index[e], rows->weight[e]);
		end_vector(&build->rows, rows->bias[r]);
		cop_bytes_put_u32(&build->output, output[r]);
	}
	return end_leaf(build);
}

static const void *data_of(const cop_bytes *bytes) { return bytes->data; }

static cop_tree_vectors view(const growing *vectors)
{
	return (cop_tree_vectors){ vectors->count, data_of(&vectors->start), data_of(&vectors->index),
		data_of(&vectors->weight), data_of(&vectors->bias) };
}

/* All but the children, of a build without errors. */
static cop_tree_parts parts_of(cop_tree_build *build)
{
	cop_tree_parts parts = { .d = build->d, .outputs = build->outputs, .link = build->link };
	parts.nodes = view(&build->nodes);
	parts.rows = view(&build->rows);
	parts.facets = view(&build->facets);
	parts.facet = data_of(&build->facet);
	parts.r = data_of(&build->r);
	parts.leaf = data_of(&build->leaf);
	parts.output = data_of(&build->output);
	return parts;
}

cop_err cop_tree_build_finish(cop_tree_build *build, int32_t root, cop_tree **out)
{
	*out = NULL;
	if (!is_well(build))
		return build->err;
	cop_tree_parts parts = parts_of(build);
	return cop_tree_extract(&parts, build->leaves, data_of(&build->left), data_of(&build->right), root, out);
}

/* ---- from an oblique tree ---- */

static void put_oblique(cop_tree_build *build, const cop_oblique_tree *oblique)
{
	size_t n = cop_oblique_tree_nodes(oblique);
	for (size_t t = 0; t < n; t++) {
		int32_t node = cop_tree_build_node(
		        build, cop_oblique_tree_weights_view(oblique, t), *cop_oblique_tree_bias_view(oblique, t));
		cop_tree_build_children(build, node, cop_oblique_tree_child(oblique, t, false),
		        cop_oblique_tree_child(oblique, t, true));
	}
	for (size_t l = 0; l <= n; l++)
		(void)cop_tree_build_constant(build, cop_oblique_tree_values_view(oblique, l));
}

cop_err cop_tree_from_oblique(const cop_oblique_tree *oblique, cop_tree_link link, cop_tree **out)
{
	cop_tree_build *build;
	*out = NULL;
	cop_err err =
	        cop_tree_build_new(cop_oblique_tree_features(oblique), cop_oblique_tree_outputs(oblique), link, &build);
	if (err != COP_OK)
		return err;
	put_oblique(build, oblique);
	err = is_well(build) ? COP_OK : build->err;
	if (err == COP_OK) {
		cop_tree_parts parts = parts_of(build);
		parts.left = data_of(&build->left);
		parts.right = data_of(&build->right);
		err = cop_tree_new(&parts, out);
	}
	cop_tree_build_free(build);
	return err;
}

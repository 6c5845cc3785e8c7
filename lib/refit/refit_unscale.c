/* Trees from scaled coordinates to raw ones: <w, (x - mean) / s> + b = <w / s, x> + b - <w / s, mean>. Of constant
 * features nothing is left (they were 0 to the fit). */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "refit/refit_parts.h"

typedef struct vectors {
	float *weight, *bias;
} vectors;

static cop_err unscale(
        const cop_refit_problem *p, const cop_tree_vectors *from, double middle, double spread, vectors *out)
{
	out->weight = cop_mem_alloc(from->start[from->count], sizeof *out->weight);
	out->bias = cop_mem_alloc(from->count, sizeof *out->bias);
	if (out->weight == NULL || out->bias == NULL)
		return COP_ENOMEM;
	for (size_t r = 0; r < from->count; r++) {
		double bias = (double)from->bias[r];
		for (size_t e = from->start[r]; e < from->start[r + 1]; e++) {
			size_t j = from->index[e];
			double w = (double)from->weight[e] * p->inverse[j];
			out->weight[e] = (float)(spread * w);
			bias -= p->mean != NULL ? w * p->mean[j] : 0.0;
		}
		out->bias[r] = (float)(middle + spread * bias);
	}
	return COP_OK;
}

static void vectors_fini(vectors *v)
{
	cop_mem_free(v->weight);
	cop_mem_free(v->bias);
}

/* Rows without features are cut. */
static void cut_constant(const cop_tree_vectors *rows, float *bias)
{
	for (size_t r = 0; r < rows->count; r++)
		if (rows->start[r] == rows->start[r + 1])
			bias[r] = fminf(fmaxf(bias[r], 0.0f), 1.0f);
}

typedef struct constants {
	size_t *start, *first;
	uint32_t *output;
	float *bias;
} constants;

static void constants_fini(constants *c)
{
	cop_mem_free(c->start);
	cop_mem_free(c->first);
	cop_mem_free(c->output);
	cop_mem_free(c->bias);
}

static cop_err make_constants(size_t leaves, size_t outputs, const float *leaf, constants *c)
{
	size_t rows = leaves * outputs;
	c->start = cop_mem_alloc(rows + 1, sizeof *c->start);
	c->first = cop_mem_alloc(leaves + 1, sizeof *c->first);
	c->output = cop_mem_alloc(rows, sizeof *c->output);
	c->bias = cop_mem_alloc(rows, sizeof *c->bias);
	if (c->start == NULL || c->first == NULL || c->output == NULL || c->bias == NULL)
		return COP_ENOMEM;
	for (size_t l = 0; l <= leaves; l++)
		c->first[l] = l * outputs;
	for (size_t r = 0; r < rows; r++) {
		c->output[r] = (uint32_t)(r % outputs);
		c->bias[r] = fminf(fmaxf(leaf[r], 0.0f), 1.0f);
	}
	return COP_OK;
}

cop_err cop_refit_unscale(const cop_refit_problem *p, const cop_tree *scaled, const float *leaf, cop_tree **out)
{
	cop_tree_parts parts = *cop_tree_view(scaled);
	vectors nodes = { NULL, NULL }, rows = { NULL, NULL }, facets = { NULL, NULL };
	constants c = { NULL, NULL, NULL, NULL };
	*out = NULL;
	cop_err err = unscale(p, &parts.nodes, 0.0, 1.0, &nodes);
	parts.nodes.weight = nodes.weight;
	parts.nodes.bias = nodes.bias;
	if (err == COP_OK && parts.facets.count > 0) {
		err = unscale(p, &parts.facets, 0.0, 1.0, &facets);
		parts.facets.weight = facets.weight;
		parts.facets.bias = facets.bias;
	}
	if (err == COP_OK && leaf != NULL) {
		err = make_constants(cop_tree_leaves(scaled), parts.outputs, leaf, &c);
		parts.rows = (cop_tree_vectors){
			.count = cop_tree_leaves(scaled) * parts.outputs, .start = c.start, .bias = c.bias
		};
		parts.leaf = c.first;
		parts.output = c.output;
	} else if (err == COP_OK) {
		err = unscale(p, &parts.rows, p->middle, p->spread, &rows);
		parts.rows.weight = rows.weight;
		parts.rows.bias = rows.bias;
		if (err == COP_OK)
			cut_constant(&parts.rows, rows.bias);
	}
	if (err == COP_OK)
		err = cop_tree_new(&parts, out);
	vectors_fini(&nodes);
	vectors_fini(&facets);
	vectors_fini(&rows);
	constants_fini(&c);
	return err;
}

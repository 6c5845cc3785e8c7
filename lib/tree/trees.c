/* Payload of section "trees", version 1: u32 rule, u32 count, u32 outputs; f64 weight of each tree; f64 base of each
 * output. The trees follow as sections of their own, in order. */
#include "tree/trees.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

struct cop_trees {
	cop_trees_rule rule;
	size_t count, d, outputs;
	cop_tree **tree;    /* count, owned */
	double *weight;     /* count */
	double *base;       /* outputs */
	double total;       /* of the weights */
	cop_latent *latent; /* owned; NULL but for rule latent */
};

void cop_trees_free(cop_trees *trees)
{
	if (trees == NULL)
		return;
	for (size_t i = 0; trees->tree != NULL && i < trees->count; i++)
		cop_tree_free(trees->tree[i]);
	cop_latent_free(trees->latent);
	cop_mem_free(trees->tree);
	cop_mem_free(trees->weight);
	cop_mem_free(trees->base);
	cop_mem_free(trees);
}

static bool alike(const cop_tree *a, const cop_tree *b)
{
	const cop_tree_parts *p = cop_tree_view(a), *q = cop_tree_view(b);
	return p->d == q->d && p->outputs == q->outputs && p->link == q->link;
}

static bool adds(cop_trees_rule rule) { return rule == COP_TREES_SUM || rule == COP_TREES_SOFTMAX; }

/* Weights of which a mean or a vote can be made; or, for a sum, any. */
static bool weights_are_valid(cop_trees_rule rule, size_t count, const double *weight)
{
	double total = 0.0;
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(weight[i]) || (!adds(rule) && weight[i] < 0.0))
			return false;
		total += weight[i];
	}
	return adds(rule) || (total > 0.0 && isfinite(total));
}

static bool base_is_valid(cop_trees_rule rule, size_t outputs, const double *base)
{
	for (size_t k = 0; k < outputs; k++)
		if (!isfinite(base[k]) || (!adds(rule) && base[k] != 0.0))
			return false;
	return true;
}

static bool are_valid(
        cop_trees_rule rule, size_t count, cop_tree *const *tree, const double *weight, const double *base)
{
	if ((unsigned)rule >= COP_TREES_RULES || count == 0 || count > COP_TREES_MOST)
		return false;
	for (size_t i = 1; i < count; i++)
		if (!alike(tree[0], tree[i]))
			return false;
	const cop_tree_parts *parts = cop_tree_view(tree[0]);
	if (rule == COP_TREES_VOTE ? parts->link == COP_TREE_VALUES
	                           : rule == COP_TREES_SOFTMAX && parts->link != COP_TREE_VALUES)
		return false;
	return (weight == NULL || weights_are_valid(rule, count, weight)) &&
	       (base == NULL || base_is_valid(rule, parts->outputs, base));
}

/* Room for them, without trees. */
static cop_trees *make(size_t count, size_t outputs)
{
	cop_trees *trees = cop_mem_alloc(1, sizeof *trees);
	if (trees == NULL)
		return NULL;
	trees->count = count;
	trees->outputs = outputs;
	trees->tree = cop_mem_alloc(count, sizeof *trees->tree);
	trees->weight = cop_mem_alloc(count, sizeof *trees->weight);
	trees->base = cop_mem_alloc(outputs, sizeof *trees->base);
	if (trees->tree != NULL && trees->weight != NULL && trees->base != NULL)
		return trees;
	cop_trees_free(trees);
	return NULL;
}

cop_err cop_trees_new(
        cop_trees_rule rule, size_t count, cop_tree **tree, const double *weight, const double *base, cop_trees **out)
{
	*out = NULL;
	if (rule == COP_TREES_LATENT || !are_valid(rule, count, tree, weight, base))
		return COP_EINVAL;
	const cop_tree_parts *parts = cop_tree_view(tree[0]);
	cop_trees *trees = make(count, parts->outputs);
	if (trees == NULL)
		return COP_ENOMEM;
	trees->rule = rule;
	trees->d = parts->d;
	for (size_t i = 0; i < count; i++) {
		trees->weight[i] = weight == NULL ? 1.0 : weight[i];
		trees->total += trees->weight[i];
		trees->tree[i] = tree[i];
		tree[i] = NULL;
	}
	if (base != NULL)
		memcpy(trees->base, base, trees->outputs * sizeof *base);
	*out = trees;
	return COP_OK;
}

cop_err cop_trees_new_latent(cop_latent **latent, cop_trees **out)
{
	cop_tree *hard;
	cop_err err = cop_latent_tree(*latent, &hard);
	*out = NULL;
	if (err == COP_OK)
		err = cop_trees_new(COP_TREES_MEAN, 1, &hard, NULL, NULL, out);
	cop_tree_free(hard);
	if (err != COP_OK)
		return err;
	(*out)->rule = COP_TREES_LATENT;
	(*out)->latent = *latent;
	*latent = NULL;
	return COP_OK;
}

/* The entries' features, those from `from` on moved behind `more` others. */
static cop_err widen_vectors(cop_tree_vectors *vectors, size_t from, size_t more, uint32_t **index)
{
	const size_t entries = vectors->count == 0 ? 0 : vectors->start[vectors->count];
	*index = cop_mem_alloc(entries, sizeof **index);
	if (*index == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < entries; i++)
		(*index)[i] = vectors->index[i] + (vectors->index[i] < from ? 0 : (uint32_t)more);
	vectors->index = *index;
	return COP_OK;
}

static cop_err widen_tree(const cop_tree *tree, size_t from, size_t more, cop_tree **out)
{
	cop_tree_parts parts = *cop_tree_view(tree);
	uint32_t *nodes = NULL, *facets = NULL, *rows = NULL;
	parts.d += more;
	cop_err err = widen_vectors(&parts.nodes, from, more, &nodes);
	if (err == COP_OK)
		err = widen_vectors(&parts.facets, from, more, &facets);
	if (err == COP_OK)
		err = widen_vectors(&parts.rows, from, more, &rows);
	if (err == COP_OK)
		err = cop_tree_new(&parts, out);
	cop_mem_free(nodes);
	cop_mem_free(facets);
	cop_mem_free(rows);
	return err;
}

cop_err cop_trees_widen(const cop_trees *trees, size_t from, size_t more, cop_trees **out)
{
	cop_err err = COP_OK;
	COP_ASSERT(trees->latent == NULL && from <= trees->d);
	cop_tree **tree = cop_mem_alloc(trees->count, sizeof *tree);
	*out = NULL;
	if (tree == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < trees->count && err == COP_OK; i++)
		err = widen_tree(trees->tree[i], from, more, &tree[i]);
	if (err == COP_OK)
		err = cop_trees_new(trees->rule, trees->count, tree, trees->weight, trees->base, out);
	for (size_t i = 0; i < trees->count; i++)
		cop_tree_free(tree[i]);
	cop_mem_free(tree);
	return err;
}

bool cop_trees_adds(const cop_trees *trees) { return adds(trees->rule); }
size_t cop_trees_count(const cop_trees *trees) { return trees->count; }

const cop_tree *cop_trees_at(const cop_trees *trees, size_t i)
{
	COP_ASSERT(i < trees->count);
	return trees->tree[i];
}

double cop_trees_weight(const cop_trees *trees, size_t i)
{
	COP_ASSERT(i < trees->count);
	return trees->weight[i];
}

cop_trees_rule cop_trees_how(const cop_trees *trees) { return trees->rule; }
const double *cop_trees_base(const cop_trees *trees) { return trees->base; }
const cop_latent *cop_trees_latent(const cop_trees *trees) { return trees->latent; }
size_t cop_trees_features(const cop_trees *trees) { return trees->d; }
size_t cop_trees_outputs(const cop_trees *trees) { return trees->outputs; }

static void take_softmax(size_t count, double *out)
{
	double most = out[0], sum = 0.0;
	for (size_t k = 1; k < count; k++)
		most = out[k] > most ? out[k] : most;
	for (size_t k = 0; k < count; k++)
		sum += out[k] = exp(out[k] - most);
	for (size_t k = 0; k < count; k++)
		out[k] /= sum;
}

void cop_trees_predict(const cop_trees *trees, const cop_row *row, float *work, double *out)
{
	if (trees->latent != NULL) {
		cop_latent_predict(trees->latent, row, work);
		for (size_t k = 0; k < trees->outputs; k++)
			out[k] = (double)work[k];
		return;
	}
	memcpy(out, trees->base, trees->outputs * sizeof *out);
	for (size_t i = 0; i < trees->count; i++) {
		if (trees->rule == COP_TREES_VOTE) {
			out[cop_tree_class(trees->tree[i], row)] += trees->weight[i];
			continue;
		}
		(void)cop_tree_predict(trees->tree[i], row, work);
		for (size_t k = 0; k < trees->outputs; k++)
			out[k] += trees->weight[i] * (double)work[k];
	}
	if (trees->rule == COP_TREES_SOFTMAX)
		take_softmax(trees->outputs, out);
	if (adds(trees->rule))
		return;
	for (size_t k = 0; k < trees->outputs; k++)
		out[k] /= trees->total;
}

size_t cop_trees_parameters(const cop_trees *trees)
{
	size_t count = 0;
	if (trees->latent != NULL)
		return cop_latent_parameters(trees->latent);
	for (size_t i = 0; i < trees->count; i++)
		count += cop_tree_parameters(trees->tree[i]);
	return count;
}

size_t cop_trees_flops(const cop_trees *trees, const cop_row *row)
{
	size_t count = 0;
	if (trees->latent != NULL)
		return cop_latent_flops(trees->latent, row);
	for (size_t i = 0; i < trees->count; i++)
		count += cop_tree_flops(trees->tree[i], row);
	return count;
}

/* ---- model file ---- */

void cop_trees_save(const cop_trees *trees, cop_bytes *bytes)
{
	size_t mark = cop_section_file_begin_section(bytes, COP_TREES_SECTION, COP_TREES_VERSION);
	cop_bytes_put_u32(bytes, (uint32_t)trees->rule);
	cop_bytes_put_u32(bytes, (uint32_t)trees->count);
	cop_bytes_put_u32(bytes, (uint32_t)trees->outputs);
	cop_bytes_put_f64s(bytes, trees->weight, trees->count);
	cop_bytes_put_f64s(bytes, trees->base, trees->outputs);
	cop_section_file_end_section(bytes, mark);
	for (size_t i = 0; i < trees->count; i++)
		cop_tree_save(trees->tree[i], bytes);
	if (trees->latent != NULL)
		cop_latent_save(trees->latent, bytes);
}

/* How they predict together is set; the trees are still NULL. */
static cop_err load_head(const cop_model_section *section, cop_trees **out)
{
	cop_cursor cursor;
	*out = NULL;
	cop_cursor_init(&cursor, section->data, section->length);
	uint32_t rule = cop_cursor_u32(&cursor), count = cop_cursor_u32(&cursor), outputs = cop_cursor_u32(&cursor);
	if (cursor.err != COP_OK || rule >= COP_TREES_RULES || count == 0 || count > COP_TREES_MOST || outputs == 0 ||
	        cop_cursor_left(&cursor) != ((size_t)count + outputs) * sizeof(double))
		return COP_EFORMAT;
	cop_trees *trees = make(count, outputs);
	if (trees == NULL)
		return COP_ENOMEM;
	trees->rule = (cop_trees_rule)rule;
	cop_cursor_f64s(&cursor, trees->weight, count);
	cop_cursor_f64s(&cursor, trees->base, outputs);
	for (size_t i = 0; i < count; i++)
		trees->total += trees->weight[i];
	if (cursor.err == COP_OK)
		*out = trees;
	else
		cop_trees_free(trees);
	return cursor.err;
}

static cop_err load_trees(const cop_section_file *file, cop_trees *trees)
{
	size_t at = 0, i = 0;
	cop_model_section section;
	while (i < trees->count && cop_section_file_next(file, &at, &section)) {
		if (strcmp(section.name, COP_TREE_SECTION) != 0)
			continue;
		if (section.version > COP_TREE_VERSION)
			return COP_EVERSION;
		cop_err err = cop_tree_load(section.data, section.length, &trees->tree[i++]);
		if (err != COP_OK)
			return err;
	}
	if (i < trees->count)
		return COP_ENOTFOUND;
	const cop_tree_parts *parts = cop_tree_view(trees->tree[0]);
	if (parts->outputs != trees->outputs) /* as many as the base has */
		return COP_EFORMAT;
	trees->d = parts->d;
	bool valid = are_valid(trees->rule, trees->count, trees->tree, trees->weight, trees->base);
	return valid ? COP_OK : COP_EFORMAT;
}

/* Of rule latent: the tree that predicts, whose hard form the one tree is. */
static cop_err load_latent(const cop_section_file *file, cop_trees *trees)
{
	cop_model_section section;
	cop_err err = cop_section_file_find(file, COP_LATENT_SECTION, 0, COP_LATENT_VERSION, &section);
	if (err == COP_OK)
		err = cop_latent_load(section.data, section.length, &trees->latent);
	if (err != COP_OK)
		return err;
	const cop_latent_shape *shape = cop_latent_get_shape(trees->latent);
	const cop_tree_parts *parts = cop_tree_view(trees->tree[0]);
	bool fits = trees->count == 1 && shape->d == parts->d && shape->outputs == parts->outputs &&
	            shape->link == parts->link;
	return fits ? COP_OK : COP_EFORMAT;
}

cop_err cop_trees_load(const cop_section_file *file, cop_trees **out)
{
	cop_model_section section;
	*out = NULL;
	cop_err err = cop_section_file_find(file, COP_TREES_SECTION, 0, COP_TREES_VERSION, &section);
	cop_trees *trees = NULL;
	if (err == COP_OK)
		err = load_head(&section, &trees);
	if (err == COP_OK)
		err = load_trees(file, trees);
	if (err == COP_OK && trees->rule == COP_TREES_LATENT)
		err = load_latent(file, trees);
	if (err == COP_OK)
		*out = trees;
	else
		cop_trees_free(trees);
	return err;
}

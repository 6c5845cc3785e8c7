/* Trees and nodes are arrays of fixed room, filled from the front: a tree's nodes and an expert's trees stand
 * together, found by their first index and a count, so whoever fills one expert finishes it before the next. Features
 * are kept in order of their contribution's size by insertion; of equal ones the earlier stays. Lines of memory are
 * asked for ahead, since an explanation was last written many decisions ago. */
#include "learn/explanation.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

cop_err cop_explanation_init(cop_explanation *e, size_t trees, size_t height)
{
	return cop_explanation_init_paths(e, trees, trees * height);
}

cop_err cop_explanation_init_paths(cop_explanation *e, size_t trees, size_t nodes)
{
	memset(e, 0, sizeof *e);
	e->heaviest = cop_top_terms_best();
	e->tree_capacity = trees;
	e->node_capacity = nodes;
	e->trees = cop_mem_alloc(e->tree_capacity, sizeof *e->trees);
	e->nodes = cop_mem_alloc(e->node_capacity, sizeof *e->nodes);
	if (e->trees == NULL || e->nodes == NULL) {
		cop_explanation_fini(e);
		return COP_ENOMEM;
	}
	return COP_OK;
}

cop_err cop_explanation_room_for_scores(cop_explanation *e, size_t count)
{
	cop_mem_free(e->scores);
	e->scores = cop_mem_alloc(count, sizeof *e->scores);
	e->score_room = e->scores == NULL ? 0 : count;
	return e->scores == NULL ? COP_ENOMEM : COP_OK;
}

void cop_explanation_fini(cop_explanation *e)
{
	cop_mem_free(e->trees);
	cop_mem_free(e->nodes);
	cop_mem_free(e->scores);
	memset(e, 0, sizeof *e);
}

#define LINE 64 /* bytes that come together */
#define SOON 8  /* lines of a path, and of an expert with what stands before it */

static void ask_for(const void *from, size_t lines, size_t most)
{
	for (size_t i = 0; i < lines && i * LINE < most; i++)
		__builtin_prefetch((const char *)from + i * LINE, 1);
}

void cop_explanation_soon(const cop_explanation *e)
{
	ask_for(e, SOON, sizeof *e);
	ask_for(e->trees, 1, sizeof *e->trees);
	ask_for(e->nodes, SOON, e->node_capacity * sizeof *e->nodes);
}

void cop_explanation_clear(cop_explanation *e)
{
	e->expert_count = 0;
	e->tree_count = 0;
	e->node_count = 0;
	e->score_count = 0;
}

cop_explained_expert *cop_explanation_expert(cop_explanation *e, const char *name)
{
	COP_ASSERT(e->expert_count < COP_EXPLANATION_EXPERTS);
	cop_explained_expert *expert = &e->experts[e->expert_count++];
	*expert = (cop_explained_expert){ .name = name, .first_tree = e->tree_count };
	return expert;
}

cop_explained_tree *cop_explanation_tree(cop_explanation *e, cop_explained_expert *expert)
{
	COP_ASSERT(e->tree_count < e->tree_capacity);
	cop_explained_tree *tree = &e->trees[e->tree_count++];
	*tree = (cop_explained_tree){ .first_node = e->node_count };
	expert->trees++;
	return tree;
}

cop_explained_node *cop_explanation_node(cop_explanation *e, cop_explained_tree *tree)
{
	COP_ASSERT(e->node_count < e->node_capacity);
	cop_explained_node *node = &e->nodes[e->node_count++];
	*node = (cop_explained_node){ 0 };
	tree->depth++;
	return node;
}

/* Inserts the entry of that index unless `most` heavier ones, or as heavy and earlier, are there. */
static inline uint8_t insert(
        cop_explained_feature *list, uint8_t count, uint8_t most, const cop_explained_feature *entry)
{
	float size = fabsf(entry->contribution);
	if (size <= (count == most ? fabsf(list[most - 1].contribution) : 0.0f))
		return count;
	uint8_t at = count < most ? count++ : (uint8_t)(most - 1);
	while (at > 0 && fabsf(list[at - 1].contribution) < size) {
		list[at] = list[at - 1];
		at--;
	}
	list[at] = *entry;
	return count;
}

/* Most entries fail the first comparison. */
uint8_t cop_explanation_top(const cop_row *x, const float *w, size_t stride, uint8_t most, cop_explained_feature *out)
{
	uint8_t count = 0;
	float least = 0.0f;
	size_t entries = cop_row_entries(x);
	for (size_t i = 0; i < entries; i++) {
		size_t index = cop_row_index(x, i);
		float value = cop_row_value(x, i);
		float weight = w[index * stride];
		float contribution = weight * value;
		if (fabsf(contribution) <= least)
			continue;
		const cop_explained_feature entry = { (uint32_t)index, value, weight, contribution };
		count = insert(out, count, most, &entry);
		if (count == most)
			least = fabsf(out[most - 1].contribution);
	}
	return count;
}

_Static_assert(COP_EXPLANATION_NODE <= COP_TOP_TERMS_MOST, "a node's heaviest are found");

static void take(const cop_top_terms *h, const cop_row *x, size_t column, cop_explained_node *node)
{
	for (; node->count < COP_EXPLANATION_NODE && h->entry[node->count][column] >= 0; node->count++) {
		size_t i = (size_t)h->entry[node->count][column];
		size_t index = cop_row_index(x, i);
		float value = cop_row_value(x, i);
		float weight = h->w[index * h->stride + (size_t)h->column[column]];
		node->features[node->count] = (cop_explained_feature){ (uint32_t)index, value, weight, weight * value };
	}
}

/* The heaviest features of `count` nodes, whose weights are in h's columns. */
static void fill_features(
        const cop_explanation *e, cop_top_terms *h, const cop_row *x, cop_explained_node *node, size_t count)
{
	for (size_t k = count; k < COP_TOP_TERMS_COLUMNS; k++)
		h->column[k] = h->column[0];
	e->heaviest(h, x);
	for (size_t k = 0; k < count; k++)
		take(h, x, k, &node[k]);
}

void cop_explanation_path(cop_explanation *e, cop_explained_tree *tree, const cop_row *x, const float *a, size_t stride,
        const float *w, size_t columns, unsigned height)
{
	cop_top_terms h = { .w = w, .stride = columns };
	cop_explained_node *first = NULL;
	size_t t = 0, count = 0;
	for (unsigned level = 0; level < height; level++) {
		cop_explained_node *node = cop_explanation_node(e, tree);
		node->node = (uint32_t)t;
		node->margin = a[t * stride];
		first = count == 0 ? node : first;
		h.column[count++] = (int32_t)(t * stride);
		if (count == COP_TOP_TERMS_COLUMNS || level + 1 == height) {
			fill_features(e, &h, x, first, count);
			count = 0;
		}
		t = 2 * t + (node->margin >= 0.0f ? 2 : 1);
	}
	tree->leaf = (uint32_t)(t - (((size_t)1 << height) - 1));
}

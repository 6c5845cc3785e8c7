#include "online/explanation.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

cop_err cop_explanation_init(cop_explanation *e, size_t trees, size_t height)
{
	memset(e, 0, sizeof *e);
	e->tree_capacity = trees;
	e->node_capacity = trees * height;
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
static uint8_t insert(cop_explained_feature *list, uint8_t count, uint8_t most, const cop_explained_feature *entry)
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

/* A path's nodes are looked at together, LANES at a time, one lane each, and BLOCK entries at a time: first, without a
 * branch, the sizes of each lane's heaviest so far; then only entries as heavy as the last of those, which are few, are
 * put in order. */
#define LANES 4
#define BLOCK 64

#if defined(__SSE2__)
typedef __m128 lanes;

static inline lanes lanes_zero(void) { return _mm_setzero_ps(); }
static inline lanes lanes_weigh(const float *w, const size_t *at, float value)
{
	return _mm_mul_ps(_mm_setr_ps(w[at[0]], w[at[1]], w[at[2]], w[at[3]]), _mm_set1_ps(value));
}
static inline lanes lanes_size(lanes a) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a); }
static inline lanes lanes_larger(lanes a, lanes b) { return _mm_max_ps(a, b); }
static inline lanes lanes_smaller(lanes a, lanes b) { return _mm_min_ps(a, b); }
/* Bit k: lane k of a is not below that of b. */
static inline unsigned lanes_reach(lanes a, lanes b) { return (unsigned)_mm_movemask_ps(_mm_cmpge_ps(a, b)); }
#else
typedef struct lanes {
	float of[LANES];
} lanes;

static inline lanes lanes_zero(void) { return (lanes){ { 0.0f } }; }
static inline lanes lanes_weigh(const float *w, const size_t *at, float value)
{
	return (lanes){ { w[at[0]] * value, w[at[1]] * value, w[at[2]] * value, w[at[3]] * value } };
}
static inline lanes lanes_size(lanes a)
{
	return (lanes){ { fabsf(a.of[0]), fabsf(a.of[1]), fabsf(a.of[2]), fabsf(a.of[3]) } };
}
static inline lanes lanes_larger(lanes a, lanes b)
{
	for (size_t k = 0; k < LANES; k++)
		a.of[k] = a.of[k] > b.of[k] ? a.of[k] : b.of[k];
	return a;
}
static inline lanes lanes_smaller(lanes a, lanes b)
{
	for (size_t k = 0; k < LANES; k++)
		a.of[k] = a.of[k] < b.of[k] ? a.of[k] : b.of[k];
	return a;
}
static inline unsigned lanes_reach(lanes a, lanes b)
{
	unsigned bits = 0;
	for (unsigned k = 0; k < LANES; k++)
		bits |= (a.of[k] >= b.of[k] ? 1u : 0u) << k;
	return bits;
}
#endif

_Static_assert(COP_EXPLANATION_NODE == 3, "take_block has a place for each");

typedef struct path_group {
	const float *w;
	size_t columns;
	size_t offset[LANES];              /* of each lane's node, in a row of w */
	lanes heavy[COP_EXPLANATION_NODE]; /* sizes, descending */
	lanes size[BLOCK];                 /* of the contributions of the block's entries */
	cop_explained_node *node;          /* used of them; the other lanes repeat the last */
	size_t used;
} path_group;

static void take_block(path_group *g, const cop_row *x, size_t first, size_t count)
{
	lanes a = g->heavy[0];
	lanes b = g->heavy[1];
	lanes c = g->heavy[2];
	for (size_t i = 0; i < count; i++) {
		const float *w = g->w + cop_row_index(x, first + i) * g->columns;
		lanes size = lanes_size(lanes_weigh(w, g->offset, cop_row_value(x, first + i)));
		g->size[i] = size;
		lanes less = lanes_smaller(a, size);
		lanes least = lanes_smaller(b, less);
		a = lanes_larger(a, size);
		b = lanes_larger(b, less);
		c = lanes_larger(c, least);
	}
	g->heavy[0] = a;
	g->heavy[1] = b;
	g->heavy[2] = c;
}

static void order_block(path_group *g, const cop_row *x, size_t first, size_t count)
{
	unsigned all = (1u << g->used) - 1;
	for (size_t i = 0; i < count; i++)
		for (unsigned bits = lanes_reach(g->size[i], g->heavy[2]) & all; bits != 0; bits &= bits - 1) {
			size_t k = (size_t)__builtin_ctz(bits);
			size_t index = cop_row_index(x, first + i);
			float value = cop_row_value(x, first + i);
			float weight = g->w[index * g->columns + g->offset[k]];
			const cop_explained_feature entry = { (uint32_t)index, value, weight, weight * value };
			cop_explained_node *node = &g->node[k];
			node->count = insert(node->features, node->count, COP_EXPLANATION_NODE, &entry);
		}
}

static void fill_features(path_group *g, const cop_row *x)
{
	size_t entries = cop_row_entries(x);
	for (size_t i = 0; i < COP_EXPLANATION_NODE; i++)
		g->heavy[i] = lanes_zero();
	for (size_t k = g->used; k < LANES; k++)
		g->offset[k] = g->offset[g->used - 1];
	for (size_t first = 0; first < entries; first += BLOCK) {
		size_t count = entries - first < BLOCK ? entries - first : BLOCK;
		take_block(g, x, first, count);
		order_block(g, x, first, count);
	}
}

void cop_explanation_path(cop_explanation *e, cop_explained_tree *tree, const cop_row *x, const float *a, size_t stride,
        const float *w, size_t columns, unsigned height)
{
	path_group group;
	size_t t = 0;
	group.w = w;
	group.columns = columns;
	group.used = 0;
	for (unsigned level = 0; level < height; level++) {
		cop_explained_node *node = cop_explanation_node(e, tree);
		node->node = (uint32_t)t;
		node->margin = a[t * stride];
		if (group.used == 0)
			group.node = node;
		group.offset[group.used++] = t * stride;
		if (group.used == LANES || level + 1 == height) {
			fill_features(&group, x);
			group.used = 0;
		}
		t = 2 * t + (node->margin >= 0.0f ? 2 : 1);
	}
	tree->leaf = (uint32_t)(t - (((size_t)1 << height) - 1));
}

/* All of it in one pass over each array. Parents stand before their children, so a node's level is known before its
 * children are looked at; n edges into n - 1 nodes and n + 1 leaves, none met twice, reach them all. */
#include <math.h>

#include "base/mem.h"
#include "tree/tree_private.h"

static bool ascends(size_t count, const uint32_t *index, size_t below)
{
	for (size_t i = 1; i < count; i++)
		if (index[i - 1] >= index[i])
			return false;
	return count == 0 || index[count - 1] < below;
}

static bool all_finite(size_t count, const float *value)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(value[i]))
			return false;
	return true;
}

static cop_err check_vectors(const cop_tree_vectors *vectors, size_t d)
{
	if (vectors->count == 0)
		return COP_OK;
	if (vectors->start[0] != 0)
		return COP_EINVAL;
	for (size_t i = 1; i < vectors->count; i++) /* nothing is less than the first one */
		if (vectors->start[i] > vectors->start[i + 1])
			return COP_EINVAL;
	for (size_t i = 0; i < vectors->count; i++)
		if (!ascends(vectors->start[i + 1] - vectors->start[i], vectors->index + vectors->start[i], d))
			return COP_EINVAL;
	bool finite = all_finite(vectors->start[vectors->count], vectors->weight);
	return finite && all_finite(vectors->count, vectors->bias) ? COP_OK : COP_ENONFINITE;
}

/* A node has stored features or facets, not both. */
static bool facets_are_valid(const cop_tree_parts *parts)
{
	const size_t n = parts->nodes.count;
	if (parts->facets.count == 0)
		return true;
	if (n == 0 || parts->facet[0] != 0 || parts->facet[n] != parts->facets.count)
		return false;
	for (size_t t = 0; t < n; t++) {
		const size_t from = parts->facet[t], to = parts->facet[t + 1];
		if (from > to || to > parts->facets.count ||
		        (from < to && parts->nodes.start[t] < parts->nodes.start[t + 1]))
			return false;
	}
	for (size_t k = 0; k < parts->facets.count; k++)
		if (!(parts->r[k] > 0.0f) || !isfinite(parts->r[k]))
			return false;
	return true;
}

static bool leaves_are_valid(const cop_tree_parts *parts)
{
	size_t leaves = parts->nodes.count + 1;
	if (parts->leaf[0] != 0 || parts->leaf[leaves] != parts->rows.count)
		return false;
	for (size_t l = 0; l < leaves; l++) {
		size_t from = parts->leaf[l], to = parts->leaf[l + 1];
		if (from >= to || to > parts->rows.count || !ascends(to - from, parts->output + from, parts->outputs))
			return false;
	}
	return true;
}

/* level: n zeros, met: n + 1 zeros. */
static bool walk_children(const cop_tree_parts *parts, uint16_t *level, uint8_t *met, unsigned *depth)
{
	size_t n = parts->nodes.count;
	level[0] = 1;
	for (size_t t = 0; t < n; t++) {
		if (level[t] == 0 || level[t] > COP_TREE_MAX_DEPTH) /* 0: none of those before it is its parent */
			return false;
		if (level[t] > *depth)
			*depth = level[t];
		for (int side = 0; side < 2; side++) {
			int32_t c = side == 0 ? parts->left[t] : parts->right[t];
			size_t place = c >= 0 ? (size_t)c : (size_t)~c;
			if (c >= 0 ? place <= t || place >= n || level[place] != 0 : place > n || met[place])
				return false;
			if (c >= 0)
				level[place] = (uint16_t)(level[t] + 1);
			else
				met[place] = 1;
		}
	}
	return true;
}

static cop_err check_children(const cop_tree_parts *parts, unsigned *depth)
{
	size_t n = parts->nodes.count;
	*depth = 0;
	if (n == 0)
		return COP_OK;
	uint16_t *level = cop_mem_alloc(n, sizeof *level);
	uint8_t *met = cop_mem_alloc(n + 1, sizeof *met);
	cop_err err = COP_ENOMEM;
	if (level != NULL && met != NULL)
		err = walk_children(parts, level, met, depth) ? COP_OK : COP_EINVAL;
	cop_mem_free(level);
	cop_mem_free(met);
	return err;
}

cop_err cop_tree_check(const cop_tree_parts *parts, unsigned *depth)
{
	*depth = 0;
	if (parts->d == 0 || parts->d > UINT32_MAX || parts->outputs == 0 || parts->outputs > UINT32_MAX ||
	        (unsigned)parts->link >= COP_TREE_LINKS || parts->nodes.count > COP_TREE_MAX_NODES)
		return COP_EINVAL;
	cop_err err = check_vectors(&parts->nodes, parts->d);
	if (err == COP_OK)
		err = check_vectors(&parts->rows, parts->d);
	if (err == COP_OK)
		err = check_vectors(&parts->facets, parts->d);
	if (err == COP_OK && !(leaves_are_valid(parts) && facets_are_valid(parts)))
		err = COP_EINVAL;
	return err == COP_OK ? check_children(parts, depth) : err;
}

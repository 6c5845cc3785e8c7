/* Depth first with an own stack: popping a node pushes its right child, then its left, so at most one entry per level
 * waits beside the one in hand. */
#include "tree/tree_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

size_t cop_tree_heaviest(size_t d, const float *w, size_t top, uint32_t *index)
{
	COP_ASSERT(top <= COP_TREE_TEXT_MAX_TOP);
	size_t count = 0;
	for (size_t j = 0; j < d; j++) {
		float weight = fabsf(w[j]);
		size_t at = count;
		if (weight == 0.0f || top == 0 || (count == top && weight <= fabsf(w[index[count - 1]])))
			continue;
		if (count == top)
			at--;
		else
			count++;
		for (; at > 0 && fabsf(w[index[at - 1]]) < weight; at--)
			index[at] = index[at - 1];
		index[at] = (uint32_t)j;
	}
	return count;
}

static void put(cop_bytes *out, const char *text) { cop_bytes_put(out, text, strlen(text)); }

/* Four digits, with a plus sign when `sign`. */
static void put_number(cop_bytes *out, bool sign, float value)
{
	char text[32];
	double shown = value == 0.0f ? 0.0 : (double)value; /* no -0 */
	(void)snprintf(text, sizeof text, sign ? "%+.4g" : "%.4g", shown);
	put(out, text);
}

/* "prefix number", or the name when there is one. */
static void put_name(cop_bytes *out, const char *const *names, size_t i, const char *prefix)
{
	char text[32];
	if (names != NULL) {
		put(out, names[i]);
		return;
	}
	(void)snprintf(text, sizeof text, "%s%zu", prefix, i);
	put(out, text);
}

static void put_node(const cop_oblique_tree *tree, size_t node, const cop_tree_names *names, size_t top, cop_bytes *out)
{
	char text[64];
	uint32_t index[COP_TREE_TEXT_MAX_TOP];
	size_t d = cop_oblique_tree_features(tree), present = 0;
	const float *w = cop_oblique_tree_weights_view(tree, node);
	size_t shown = cop_tree_heaviest(d, w, top, index);
	for (size_t j = 0; j < d; j++)
		present += w[j] != 0.0f;
	(void)snprintf(text, sizeof text, "node %zu: ", node);
	put(out, text);
	for (size_t i = 0; i < shown; i++) {
		put_number(out, true, w[index[i]]);
		put(out, " ");
		put_name(out, names->features, index[i], "x");
		put(out, " ");
	}
	if (present > shown) {
		(void)snprintf(text, sizeof text, "(%zu lighter) ", present - shown);
		put(out, text);
	}
	put_number(out, true, *cop_oblique_tree_bias_view(tree, node));
	put(out, "\n");
}

static void put_leaf(const cop_oblique_tree *tree, size_t leaf, const cop_tree_names *names, cop_bytes *out)
{
	char text[64];
	size_t outputs = cop_oblique_tree_outputs(tree), best = 0;
	const float *theta = cop_oblique_tree_values_view(tree, leaf);
	for (size_t k = 1; k < outputs; k++)
		if (theta[k] > theta[best])
			best = k;
	(void)snprintf(text, sizeof text, "leaf %zu: ", leaf);
	put(out, text);
	if (outputs == 1) {
		put_number(out, false, theta[0]);
		put(out, "\n");
		return;
	}
	put_name(out, names->outputs, best, "output ");
	put(out, " (");
	put_number(out, false, theta[best]);
	put(out, ")\n");
}

typedef struct pending {
	int32_t child;
	unsigned level;
	const char *side;
} pending;

void cop_tree_text(const cop_oblique_tree *tree, const cop_tree_names *names, size_t top, cop_bytes *out)
{
	static const cop_tree_names unnamed = { NULL, NULL };
	pending stack[COP_TREE_MAX_DEPTH + 2];
	size_t waiting = 1;
	if (names == NULL)
		names = &unnamed;
	stack[0] = (pending){ cop_oblique_tree_nodes(tree) == 0 ? ~0 : 0, 0, "" };
	while (waiting > 0 && out->err == COP_OK) {
		pending now = stack[--waiting];
		for (unsigned i = 0; i < now.level; i++)
			put(out, "  ");
		put(out, now.side);
		if (now.child < 0) {
			put_leaf(tree, (size_t)~now.child, names, out);
			continue;
		}
		size_t node = (size_t)now.child;
		put_node(tree, node, names, top, out);
		stack[waiting++] = (pending){ cop_oblique_tree_child(tree, node, true), now.level + 1, "right: " };
		stack[waiting++] = (pending){ cop_oblique_tree_child(tree, node, false), now.level + 1, "left: " };
	}
}

/* Depth first with an own stack: popping a node pushes its right child, then its left, so at most one entry per level
 * waits beside the one in hand. */
#include "view/tree_text.h"

#include "view/view.h"

typedef struct pending {
	int32_t child;
	unsigned level;
	const char *side;
} pending;

static void put_child(const cop_tree_phrases *words, const pending *now, cop_bytes *out)
{
	for (unsigned i = 0; i < now->level; i++)
		cop_tree_phrases_put(out, "  ");
	cop_tree_phrases_put(out, "%s", now->side);
	if (now->child < 0) {
		cop_tree_phrases_put(out, "leaf %zu: ", (size_t)~now->child);
		cop_tree_phrases_leaf(words, (size_t)~now->child, out);
	} else {
		cop_tree_test test = cop_tree_phrases_test_of(words, (size_t)now->child);
		cop_tree_phrases_put(out, "node %zu: ", test.node);
		cop_tree_phrases_test(words, &test, true, out);
	}
	if (words->census != NULL) {
		cop_tree_phrases_put(out, "  [");
		(void)cop_tree_phrases_rows(words, now->child, out);
		cop_tree_phrases_put(out, "]");
	}
	cop_tree_phrases_put(out, "\n");
}

void cop_tree_text(const cop_tree_phrases *words, cop_bytes *out)
{
	const cop_tree_parts *parts = cop_tree_view(words->tree);
	pending stack[COP_TREE_MAX_DEPTH + 2];
	size_t waiting = 1;
	stack[0] = (pending){ parts->nodes.count == 0 ? ~0 : 0, 0, "" };
	while (waiting > 0 && out->err == COP_OK) {
		pending now = stack[--waiting];
		put_child(words, &now, out);
		if (now.child < 0)
			continue;
		stack[waiting++] = (pending){ parts->right[now.child], now.level + 1, "right (yes): " };
		stack[waiting++] = (pending){ parts->left[now.child], now.level + 1, "left (no): " };
	}
}

cop_err cop_view_text(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out)
{
	cop_view_scope scope;
	cop_err err = cop_view_begin(model, settings, &scope);
	if (err != COP_OK)
		return err;
	cop_view_summary(model, &scope, "", out);
	for (size_t i = scope.from; i < scope.to; i++) {
		cop_tree_phrases words = cop_tree_phrases_of(model, i, scope.top);
		cop_tree_phrases_put(out, "\ntree %zu: %zu nodes, %zu leaves, depth %u", i,
		        cop_tree_view(words.tree)->nodes.count, cop_tree_leaves(words.tree),
		        cop_tree_depth(words.tree));
		if (cop_trees_count(model->trees) > 1)
			cop_tree_phrases_put(out, ", weight %.4g", cop_trees_weight(model->trees, i));
		cop_tree_phrases_put(out, "\n");
		cop_tree_text(&words, out);
	}
	return out->err;
}

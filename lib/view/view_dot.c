/* One graph, a cluster for each tree; an edge to the right is the test's yes. */
#include "view/tree_phrases.h"
#include "view/view.h"

/* A quoted string's inside: the words hold no control characters. */
static void put_escaped(const cop_bytes *text, cop_bytes *out)
{
	for (size_t i = 0; i < text->length; i++) {
		if (text->data[i] == '"' || text->data[i] == '\\')
			cop_bytes_put(out, "\\", 1);
		cop_bytes_put(out, &text->data[i], 1);
	}
}

typedef struct graph {
	cop_tree_phrases words;
	size_t tree;
	cop_bytes text; /* what is being escaped */
	cop_bytes *out;
} graph;

/* Room for the next text; that the last one found no memory is not forgotten. */
static void clear_text(graph *g)
{
	if (g->out->err == COP_OK)
		g->out->err = g->text.err;
	cop_bytes_clear(&g->text);
}

static void put_id(graph *g, int32_t child)
{
	cop_tree_phrases_put(
	        g->out, "t%zu%c%zu", g->tree, child >= 0 ? 'n' : 'l', (size_t)(child >= 0 ? child : ~child));
}

static void put_place(graph *g, int32_t child)
{
	cop_tree_phrases_put(g->out, "    ");
	put_id(g, child);
	cop_tree_phrases_put(g->out, " [%slabel=\"", child < 0 ? "shape=box, style=\"rounded,filled\", " : "");
	clear_text(g);
	if (child >= 0) {
		cop_tree_test test = cop_tree_phrases_test_of(&g->words, (size_t)child);
		cop_tree_phrases_test(&g->words, &test, true, &g->text);
	} else {
		cop_tree_phrases_leaf(&g->words, (size_t)~child, &g->text);
	}
	put_escaped(&g->text, g->out);
	if (g->words.census != NULL) {
		cop_bytes_put(g->out, "\\n", 2);
		clear_text(g);
		(void)cop_tree_phrases_rows(&g->words, child, &g->text);
		put_escaped(&g->text, g->out);
	}
	cop_tree_phrases_put(g->out, "\"];\n");
}

static void put_edge(graph *g, size_t node, int32_t child, const char *label)
{
	cop_tree_phrases_put(g->out, "    ");
	put_id(g, (int32_t)node);
	cop_tree_phrases_put(g->out, " -> ");
	put_id(g, child);
	cop_tree_phrases_put(g->out, " [label=\"%s\"];\n", label);
}

static void put_tree(graph *g, double weight)
{
	const cop_tree_parts *parts = cop_tree_view(g->words.tree);
	cop_tree_phrases_put(
	        g->out, "  subgraph cluster_%zu {\n    label=\"tree %zu, weight %.4g\";\n", g->tree, g->tree, weight);
	for (size_t t = 0; t < parts->nodes.count && g->out->err == COP_OK; t++) {
		put_place(g, (int32_t)t);
		put_edge(g, t, parts->left[t], "no");
		put_edge(g, t, parts->right[t], "yes");
	}
	for (size_t l = 0; l < cop_tree_leaves(g->words.tree) && g->out->err == COP_OK; l++)
		put_place(g, ~(int32_t)l);
	cop_tree_phrases_put(g->out, "  }\n");
}

cop_err cop_view_dot(const cop_trained *model, const cop_view_settings *settings, cop_bytes *out)
{
	cop_view_scope scope;
	graph g = { .out = out };
	cop_err err = cop_view_begin(model, settings, &scope);
	if (err != COP_OK)
		return err;
	cop_bytes_init(&g.text);
	cop_tree_phrases_put(
	        out, "digraph model {\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n");
	cop_tree_phrases_put(out, "  fontname=\"sans-serif\";\n  labelloc=t;\n  label=\"");
	cop_view_summary(model, &scope, "", &g.text);
	for (size_t i = 0, from = 0; i < g.text.length; i++) {
		if (g.text.data[i] != '\n')
			continue;
		cop_bytes line = { .data = g.text.data + from, .length = i - from };
		put_escaped(&line, out);
		cop_bytes_put(out, "\\l", 2);
		from = i + 1;
	}
	cop_tree_phrases_put(out, "\";\n");
	for (size_t i = scope.from; i < scope.to; i++) {
		g.words = cop_tree_phrases_of(model, i, scope.top);
		g.tree = i;
		put_tree(&g, cop_trees_weight(model->trees, i));
	}
	cop_tree_phrases_put(out, "}\n");
	err = g.text.err != COP_OK ? g.text.err : out->err;
	cop_bytes_fini(&g.text);
	return err;
}

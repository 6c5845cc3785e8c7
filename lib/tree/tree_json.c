#include "tree/tree_json.h"

static void put_numbers(cop_json_writer *writer, size_t count, const float *values)
{
	cop_json_begin_array(writer);
	for (size_t i = 0; i < count; i++)
		cop_json_number_float(writer, values[i]);
	cop_json_end_array(writer);
}

static void put_names(cop_json_writer *writer, const char *key, size_t count, const char *const *names)
{
	if (names == NULL)
		return;
	cop_json_key(writer, key);
	cop_json_begin_array(writer);
	for (size_t i = 0; i < count; i++)
		cop_json_text(writer, names[i]);
	cop_json_end_array(writer);
}

static void put_child(cop_json_writer *writer, const char *side, int32_t child)
{
	cop_json_key(writer, side);
	cop_json_begin_object(writer);
	cop_json_key(writer, child >= 0 ? "node" : "leaf");
	cop_json_integer(writer, child >= 0 ? child : ~child);
	cop_json_end_object(writer);
}

static void put_node(cop_json_writer *writer, const cop_oblique_tree *tree, size_t node)
{
	cop_json_begin_object(writer);
	cop_json_key(writer, "node");
	cop_json_unsigned(writer, node);
	put_child(writer, "left", cop_oblique_tree_child(tree, node, false));
	put_child(writer, "right", cop_oblique_tree_child(tree, node, true));
	cop_json_key(writer, "bias");
	cop_json_number_float(writer, *cop_oblique_tree_bias_view(tree, node));
	cop_json_key(writer, "weights");
	put_numbers(writer, cop_oblique_tree_features(tree), cop_oblique_tree_weights_view(tree, node));
	cop_json_end_object(writer);
}

void cop_tree_json(const cop_oblique_tree *tree, const cop_tree_names *names, cop_json_writer *writer)
{
	size_t d = cop_oblique_tree_features(tree), outputs = cop_oblique_tree_outputs(tree);
	cop_json_begin_object(writer);
	cop_json_key(writer, "features");
	cop_json_unsigned(writer, d);
	cop_json_key(writer, "outputs");
	cop_json_unsigned(writer, outputs);
	cop_json_key(writer, "depth");
	cop_json_unsigned(writer, cop_oblique_tree_depth(tree));
	put_names(writer, "feature_names", d, names == NULL ? NULL : names->features);
	put_names(writer, "output_names", outputs, names == NULL ? NULL : names->outputs);
	cop_json_key(writer, "nodes");
	cop_json_begin_array(writer);
	for (size_t t = 0; t < cop_oblique_tree_nodes(tree); t++)
		put_node(writer, tree, t);
	cop_json_end_array(writer);
	cop_json_key(writer, "leaves");
	cop_json_begin_array(writer);
	for (size_t l = 0; l < cop_oblique_tree_leaves(tree); l++)
		put_numbers(writer, outputs, cop_oblique_tree_values_view(tree, l));
	cop_json_end_array(writer);
	cop_json_end_object(writer);
}

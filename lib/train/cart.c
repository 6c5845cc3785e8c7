/* Grown whole, then cut back to a complexity, then copied into a tree. */
#include "train/cart.h"

#include <math.h>

#include "base/mem.h"
#include "train/cart_prune.h"
#include "tree/tree_build.h"

void cop_cart_defaults(cop_cart_settings *settings)
{
	*settings = (cop_cart_settings){ .max_depth = COP_TREE_MAX_DEPTH, .complexity = 0, .folds = 10 };
}

static bool valid(const cop_cart_settings *settings, const cop_sample *sample)
{
	if (settings->max_depth < 1 || settings->max_depth > COP_TREE_MAX_DEPTH || settings->folds < 2)
		return false;
	if (!isfinite(settings->min_leaf) || settings->min_leaf < 0 || !isfinite(settings->complexity))
		return false;
	return sample->n > 0 && sample->outputs > 0 && sample->rows->d > 0;
}

typedef struct copying {
	const cop_cart_data *data;
	const cop_cart_grown *grown;
	cop_tree_build *build;
	bool *leaf;      /* of each node */
	int32_t *number; /* of each node that stays, in the build; before, 1 for those */
	double *values;  /* outputs */
	float *rounded;  /* outputs */
} copying;

static int32_t put_node(copying *c, size_t t)
{
	const cop_cart_node *node = &c->grown->node[t];
	if (!c->leaf[t]) {
		int32_t number = cop_tree_build_axis(c->build, node->feature, node->threshold);
		cop_tree_build_children(c->build, number, c->number[node->left], c->number[node->right]);
		return number;
	}
	cop_cart_grow_leaf_values(c->data, node->end - node->begin, c->grown->place + node->begin, c->values);
	for (size_t k = 0; k < c->data->sample->outputs; k++)
		c->rounded[k] = (float)c->values[k];
	return cop_tree_build_constant(c->build, c->rounded);
}

static cop_err copy_nodes(copying *c, const double *links, double complexity, cop_tree **out)
{
	const cop_sample *sample = c->data->sample;
	size_t count = c->grown->count;
	cop_tree_link link = sample->task == COP_TASK_CLASSES ? COP_TREE_PROBABILITIES : COP_TREE_VALUES;
	c->leaf = cop_mem_alloc(count, sizeof *c->leaf);
	c->number = cop_mem_alloc(count, sizeof *c->number);
	c->values = cop_mem_alloc(sample->outputs, sizeof *c->values);
	c->rounded = cop_mem_alloc(sample->outputs, sizeof *c->rounded);
	if (c->leaf == NULL || c->number == NULL || c->values == NULL || c->rounded == NULL)
		return COP_ENOMEM;
	cop_err err = cop_tree_build_new(sample->rows->d, sample->outputs, link, &c->build);
	if (err != COP_OK)
		return err;
	for (size_t t = 0; t < count; t++) {
		int32_t parent = c->grown->node[t].parent;
		c->leaf[t] = c->grown->node[t].left < 0 || links[t] <= complexity;
		c->number[t] = parent < 0 || (c->number[parent] != 0 && !c->leaf[parent]);
	}
	for (size_t t = count; t-- > 0;) {
		if (c->number[t] != 0)
			c->number[t] = put_node(c, t);
	}
	return cop_tree_build_finish(c->build, c->number[0], out);
}

static cop_err copy(
        const cop_cart_data *data, const cop_cart_grown *grown, const double *links, double complexity, cop_tree **out)
{
	copying c = { .data = data, .grown = grown };
	cop_err err = copy_nodes(&c, links, complexity, out);
	cop_tree_build_free(c.build);
	cop_mem_free(c.leaf);
	cop_mem_free(c.number);
	cop_mem_free(c.values);
	cop_mem_free(c.rounded);
	return err;
}

static cop_err prune_and_copy(const cop_cart_settings *settings, const cop_cart_data *data, const cop_cart_grown *grown,
        cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	double complexity = settings->complexity;
	double *links = cop_mem_alloc(grown->count, sizeof *links);
	cop_err err = links == NULL ? COP_ENOMEM : cop_cart_prune_weakest_links(grown, links);
	if (err == COP_OK && complexity < 0)
		err = cop_cart_prune_choose(settings, data, grown, links, pool, rng, &complexity);
	if (err == COP_OK)
		err = copy(data, grown, links, complexity, out);
	cop_mem_free(links);
	return err;
}

cop_err cop_cart_fit(
        const cop_cart_settings *settings, const cop_sample *sample, cop_pool *pool, cop_rng *rng, cop_tree **out)
{
	*out = NULL;
	if (!valid(settings, sample))
		return COP_EINVAL;
	cop_cart_data data;
	cop_cart_grown grown = { 0 };
	cop_err err = cop_cart_data_init(&data, sample, !settings->drawn_thresholds, settings->ranks, pool);
	if (err == COP_OK)
		err = cop_cart_grow(settings, &data, 0, NULL, pool, rng, &grown);
	if (err == COP_OK)
		err = prune_and_copy(settings, &data, &grown, pool, rng, out);
	cop_cart_grow_fini(&grown);
	cop_cart_data_fini(&data);
	return err;
}

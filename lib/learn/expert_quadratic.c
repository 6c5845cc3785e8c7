/* Second-order terms on the inputs and their products x_i x_j, i <= j: all of them, in order of i, while there are few,
 * else a random choice of them. Products are cut to +-CUT, as inputs are, and scaled by SCALE, which makes their prior
 * as much narrower: there are many of them, and most say nothing. The constant is an input, so its products are not
 * taken again. Dense rows only. */
#include "learn/expert.h"

#include <string.h>

#include "base/mem.h"
#include "learn/second_order.h"

#define RIDGE       1.0
#define CUT         5.0f
#define SCALE       0.25f
#define MOST_INPUTS ((size_t)4096)     /* products included */
#define MOST_BYTES  ((size_t)32 << 20) /* of P over all arms */
#define BLOCK       16                 /* of P, where not all of it is kept: as good here as larger ones */
#define FULL_INPUTS 256

typedef struct pair {
	uint16_t i, j;
} pair;

typedef struct quadratic {
	const cop_kernel *kernel;
	cop_second_order *model;
	size_t inputs; /* of the rows given, their constant included */
	size_t pairs;
	bool all; /* of them are taken */
	pair *pair;
	float *row; /* inputs and products, padded */
} quadratic;

static size_t all_pairs(size_t features) { return features * (features + 1) / 2; }

/* Products that are taken; 0: there is no room for any. */
static size_t pairs_of(const cop_expert_settings *settings)
{
	size_t most = MOST_BYTES / (BLOCK * sizeof(float) * (settings->arms > 0 ? settings->arms : 1));
	most = most < MOST_INPUTS ? most : MOST_INPUTS;
	if (settings->sparse || most < 2 * settings->inputs)
		return 0;
	size_t all = all_pairs(settings->inputs - 1);
	return all < most - settings->inputs ? all : most - settings->inputs;
}

static bool can_help(const cop_expert_settings *settings) { return pairs_of(settings) > 0; }

static size_t block_of(size_t inputs, size_t arms)
{
	bool full = inputs <= FULL_INPUTS && inputs * cop_kernel_pad(inputs) * arms <= MOST_BYTES / sizeof(float);
	return full ? cop_kernel_pad(inputs) : BLOCK;
}

static double footprint(const cop_expert_settings *settings)
{
	size_t pairs = pairs_of(settings);
	size_t all = settings->inputs + pairs;
	return cop_second_order_footprint(all, settings->arms, block_of(all, settings->arms)) +
	       (double)pairs * sizeof(pair);
}

static void destroy(void *expert)
{
	quadratic *q = expert;
	if (q == NULL)
		return;
	cop_second_order_free(q->model);
	cop_mem_free(q->pair);
	cop_mem_free(q->row);
	cop_mem_free(q);
}

/* Each of all pairs with the same chance (selection sampling), in order. */
static void choose_pairs(quadratic *q, cop_rng *rng)
{
	size_t features = q->inputs - 1;
	size_t left = all_pairs(features);
	size_t chosen = 0;
	for (size_t i = 0; i < features; i++)
		for (size_t j = i; j < features; j++, left--)
			if (left <= q->pairs - chosen || cop_rng_below(rng, left) < q->pairs - chosen)
				q->pair[chosen++] = (pair){ (uint16_t)i, (uint16_t)j };
}

/* Multiplications: of products, of w and of P of the played arm. */
static double cost(const cop_expert_settings *settings)
{
	size_t all = settings->inputs + pairs_of(settings);
	return (double)all * (double)(1 + settings->arms + 2 * block_of(all, settings->arms));
}

static cop_err create(const cop_expert_settings *settings, cop_rng *rng, void **out)
{
	*out = NULL;
	quadratic *q = cop_mem_alloc(1, sizeof *q);
	if (q == NULL)
		return COP_ENOMEM;
	q->kernel = settings->kernel;
	q->inputs = settings->inputs;
	q->pairs = pairs_of(settings);
	q->all = q->pairs == all_pairs(q->inputs - 1);
	size_t all = q->inputs + q->pairs;
	q->pair = cop_mem_alloc(q->pairs, sizeof *q->pair);
	q->row = cop_mem_alloc(cop_kernel_pad(all) + COP_KERNEL_LANES, sizeof *q->row);
	cop_err err = q->pair == NULL || q->row == NULL ? COP_ENOMEM
	                                                : cop_second_order_new(settings->kernel, all, settings->arms,
	                                                          block_of(all, settings->arms), RIDGE, &q->model);
	if (err != COP_OK) {
		destroy(q);
		return err;
	}
	choose_pairs(q, rng);
	*out = q;
	return COP_OK;
}

static cop_row expanded(const quadratic *q) { return (cop_row){ .d = q->inputs + q->pairs, .dense = q->row }; }

static inline float cut(float value)
{
	value = value > CUT ? CUT : value;
	return SCALE * (value < -CUT ? -CUT : value);
}

static cop_row expand(quadratic *q, const cop_row *x)
{
	const float *in = q->row;
	float *product = q->row + q->inputs;
	memcpy(q->row, x->dense, q->inputs * sizeof *q->row);
	for (size_t k = 0; !q->all && k < q->pairs; k++)
		product[k] = cut(in[q->pair[k].i] * in[q->pair[k].j]);
	size_t features = q->all ? q->inputs - 1 : 0;
	for (size_t i = 0; i < features; i++) { /* what one writes past its end the next one puts right */
		q->kernel->products(features - i, in[i], in + i, CUT, SCALE, product);
		product += features - i;
	}
	return expanded(q);
}

static void predict(void *expert, const cop_row *x, float *loss)
{
	quadratic *q = expert;
	const cop_row row = expand(q, x);
	cop_second_order_predict(q->model, &row, loss);
}

static cop_err learn(void *expert, const cop_row *x, size_t arm, double loss, bool again)
{
	quadratic *q = expert;
	const cop_row row = again ? expanded(q) : expand(q, x);
	return cop_second_order_learn(q->model, &row, arm, loss);
}

static void explain(void *expert, const cop_row *x, size_t arm, cop_explanation *e, cop_explained_expert *out)
{
	quadratic *q = expert;
	const cop_row row = expand(q, x);
	(void)e;
	cop_second_order_explain(q->model, &row, arm, out);
}

static void anatomy(const void *expert, cop_anatomy_part *out)
{
	const quadratic *q = expert;
	out->unit = COP_ANATOMY_LOSS;
	cop_second_order_anatomy(q->model, &out->linear);
	out->linear.plain = q->inputs;
	out->linear.product_scale = SCALE;
}

static void save(const void *expert, cop_bytes *bytes)
{
	cop_second_order_save(((const quadratic *)expert)->model, bytes);
}

static cop_err load(void *expert, cop_cursor *cursor)
{
	return cop_second_order_load(((quadratic *)expert)->model, cursor);
}

/* Pairs are chosen by number and seed alone. */
static cop_err make_room(void *expert, const void *from)
{
	return cop_second_order_make_room(((quadratic *)expert)->model, ((const quadratic *)from)->model);
}

static void inherit(void *expert, void *from)
{
	cop_second_order_inherit(((quadratic *)expert)->model, ((quadratic *)from)->model);
}

static bool product(const void *expert, size_t index, size_t *i, size_t *j)
{
	const quadratic *q = expert;
	if (index < q->inputs || index >= q->inputs + q->pairs)
		return false;
	*i = q->pair[index - q->inputs].i;
	*j = q->pair[index - q->inputs].j;
	return true;
}

const cop_expert_class cop_expert_quadratic = {
	.member = { .name = "quadratic",
	        .destroy = destroy,
	        .save = save,
	        .load = load,
	        .make_room = make_room,
	        .inherit = inherit,
	        .anatomy = anatomy },
	.can_help = can_help,
	.footprint = footprint,
	.cost = cost,
	.create = create,
	.predict = predict,
	.learn = learn,
	.explain = explain,
	.product = product,
};

/* Second-order terms on the inputs and their products x_i x_j, i <= j: all of them, in order of i, while there are few,
 * else a random choice of them. Products are cut to +-CUT, as inputs are, and scaled by SCALE, which makes their prior
 * as much narrower: there are many of them, and most say nothing. The constant is an input, so its products are not
 * taken again. Which products a choice is of is saved; one that comes from a state of fewer features keeps all that it
 * had, beside new ones as far as there is room. Dense rows only. */
#include "learn/expert.h"

#include <string.h>

#include "base/mem.h"
#include "learn/grown_inputs.h"
#include "learn/second_order.h"

#define RIDGE       1.0
#define CUT         5.0f
#define SCALE       0.25f
#define MOST_INPUTS ((size_t)4096)     /* products included */
#define MOST_BYTES  ((size_t)32 << 20) /* of P over all arms */
#define BLOCK       16                 /* of P, where not all of it is kept: as good here as larger ones */
#define FULL_INPUTS 256
#define CHOICE      ((uint64_t)1 << 63) /* before a saved choice of products */

typedef struct pair {
	uint16_t i, j;
} pair;

typedef struct quadratic {
	const cop_kernel *kernel;
	cop_second_order *model;
	size_t inputs; /* of the rows given, their constant included */
	size_t arms;
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

static void free_room(quadratic *q)
{
	cop_second_order_free(q->model);
	cop_mem_free(q->pair);
	cop_mem_free(q->row);
}

static void destroy(void *expert)
{
	if (expert != NULL)
		free_room(expert);
	cop_mem_free(expert);
}

/* For so many products, which are not chosen yet; on error all is as before. */
static cop_err hold(quadratic *q, size_t pairs)
{
	quadratic fresh = *q;
	const size_t all = q->inputs + pairs;
	fresh.model = NULL;
	fresh.pairs = pairs;
	fresh.all = pairs == all_pairs(q->inputs - 1);
	fresh.pair = cop_mem_alloc(pairs, sizeof *fresh.pair);
	fresh.row = cop_mem_alloc(cop_kernel_pad(all) + COP_KERNEL_LANES, sizeof *fresh.row);
	cop_err err = fresh.pair == NULL || fresh.row == NULL ? COP_ENOMEM
	                                                      : cop_second_order_new(q->kernel, all, q->arms,
	                                                                block_of(all, q->arms), RIDGE, &fresh.model);
	if (err != COP_OK) {
		free_room(&fresh);
		return err;
	}
	free_room(q);
	*q = fresh;
	return COP_OK;
}

static cop_err create(const cop_expert_settings *settings, cop_rng *rng, void **out)
{
	*out = NULL;
	quadratic *q = cop_mem_alloc(1, sizeof *q);
	if (q == NULL)
		return COP_ENOMEM;
	q->kernel = settings->kernel;
	q->inputs = settings->inputs;
	q->arms = settings->arms;
	cop_err err = hold(q, pairs_of(settings));
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

/* A choice stands before the rest, marked as such. */
static void save(const void *expert, cop_bytes *bytes)
{
	const quadratic *q = expert;
	if (!q->all) {
		cop_bytes_put_u64(bytes, CHOICE | q->pairs);
		cop_bytes_put_u32(bytes, (uint32_t)q->inputs);
	}
	for (size_t k = 0; k < q->pairs && !q->all; k++) {
		cop_bytes_put_u32(bytes, q->pair[k].i);
		cop_bytes_put_u32(bytes, q->pair[k].j);
	}
	cop_second_order_save(q->model, bytes);
}

/* What a saved state is of. */
typedef struct saved_form {
	size_t inputs, pairs;
	bool all;
} saved_form;

/* Of all products nothing is told but how many inputs there are with them. */
static cop_err read_form(const quadratic *q, cop_cursor *cursor, saved_form *out)
{
	cop_cursor ahead = *cursor;
	const uint64_t first = cop_cursor_u64(&ahead);
	if (ahead.err != COP_OK)
		return ahead.err;
	*out = (saved_form){ .all = (first & CHOICE) == 0 };
	if (out->all) {
		for (out->inputs = 2; out->inputs < q->inputs && out->inputs + all_pairs(out->inputs - 1) < first;)
			out->inputs++;
		out->pairs = all_pairs(out->inputs - 1);
		return out->inputs + out->pairs == first && out->pairs <= q->pairs + q->inputs ? COP_OK : COP_ESHAPE;
	}
	out->inputs = cop_cursor_u32(&ahead);
	out->pairs = (size_t)(first ^ CHOICE);
	*cursor = ahead;
	bool fits = out->inputs >= 2 && out->inputs <= q->inputs && out->inputs <= UINT16_MAX && !q->all &&
	            out->pairs <= q->pairs + q->inputs && out->pairs < all_pairs(out->inputs - 1);
	return ahead.err != COP_OK ? ahead.err : fits ? COP_OK : COP_ESHAPE;
}

/* Pairs of `features` features, each once and in any order. */
static void load_pairs(pair *out, const saved_form *form, cop_cursor *cursor)
{
	const size_t features = form->inputs - 1;
	size_t at = 0;
	for (size_t i = 0; form->all && i < features; i++)
		for (size_t j = i; j < features; j++)
			out[at++] = (pair){ (uint16_t)i, (uint16_t)j };
	for (; at < form->pairs && cursor->err == COP_OK; at++) {
		const uint32_t i = cop_cursor_u32(cursor), j = cop_cursor_u32(cursor);
		if (cursor->err == COP_OK && (i > j || j >= features))
			cursor->err = COP_EFORMAT;
		out[at] = (pair){ (uint16_t)i, (uint16_t)j };
	}
}

/* The pairs of a saved state, and behind them those of the ones chosen here that have a feature which that state had
 * not, while there are not more than chosen here. */
static cop_err keep_pairs(quadratic *q, const pair *saved, size_t count, size_t features)
{
	pair *chosen = cop_mem_alloc(q->pairs, sizeof *chosen);
	const size_t room = q->pairs;
	size_t more = 0;
	if (chosen == NULL)
		return COP_ENOMEM;
	for (size_t k = 0; k < q->pairs; k++)
		if (q->pair[k].j >= features && count + more < room)
			chosen[more++] = q->pair[k];
	cop_err err = hold(q, count + more);
	if (err == COP_OK && count > 0)
		memcpy(q->pair, saved, count * sizeof *saved);
	if (err == COP_OK && more > 0)
		memcpy(q->pair + count, chosen, more * sizeof *chosen);
	cop_mem_free(chosen);
	return err;
}

/* Where input k of the saved state is among those that there are now; where all pairs are taken they lie in order. */
static size_t place_of(const quadratic *q, const pair *saved, size_t inputs, size_t k)
{
	if (k < inputs)
		return cop_grown_inputs_place(k, inputs, q->inputs);
	if (!q->all)
		return k - inputs + q->inputs;
	const size_t features = q->inputs - 1, i = saved[k - inputs].i, j = saved[k - inputs].j;
	return q->inputs + i * features - (i * (i + 1)) / 2 + j;
}

static cop_err load_placed(quadratic *q, const pair *saved, size_t pairs, size_t inputs, cop_cursor *cursor)
{
	uint32_t *place = cop_mem_alloc(inputs + pairs, sizeof *place);
	if (place == NULL)
		return COP_ENOMEM;
	for (size_t k = 0; k < inputs + pairs; k++)
		place[k] = (uint32_t)place_of(q, saved, inputs, k);
	cop_err err = cop_second_order_load_placed(q->model, place, inputs + pairs, cursor);
	cop_mem_free(place);
	return err;
}

/* A state of fewer features, or of another choice. */
static cop_err load_other(quadratic *q, const saved_form *form, cop_cursor *cursor)
{
	pair *saved = cop_mem_alloc(form->pairs, sizeof *saved);
	if (saved == NULL)
		return COP_ENOMEM;
	load_pairs(saved, form, cursor);
	cop_err err = cursor->err;
	if (err == COP_OK && !q->all)
		err = keep_pairs(q, saved, form->pairs, form->inputs - 1);
	if (err == COP_OK)
		err = load_placed(q, saved, form->pairs, form->inputs, cursor);
	cop_mem_free(saved);
	return err;
}

static cop_err load(void *expert, cop_cursor *cursor)
{
	quadratic *q = expert;
	saved_form form;
	cop_err err = read_form(q, cursor, &form);
	if (err != COP_OK)
		return err;
	if (form.inputs != q->inputs || form.pairs != q->pairs || form.all != q->all)
		return load_other(q, &form, cursor);
	load_pairs(q->pair, &form, cursor);
	return cursor->err == COP_OK ? cop_second_order_load(q->model, cursor) : cursor->err;
}

/* A choice is the other one's, who may have chosen from fewer features once. */
static cop_err make_room(void *expert, const void *from)
{
	quadratic *q = expert;
	const quadratic *other = from;
	cop_err err = q->inputs != other->inputs || q->all != other->all || other->pairs > q->pairs + q->inputs
	                      ? COP_ESHAPE
	                      : COP_OK;
	if (err == COP_OK && q->pairs != other->pairs)
		err = hold(q, other->pairs);
	if (err == COP_OK)
		err = cop_second_order_make_room(q->model, other->model);
	if (err == COP_OK && q->pairs > 0)
		memcpy(q->pair, other->pair, q->pairs * sizeof *q->pair);
	return err;
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

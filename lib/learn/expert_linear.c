/* Full second-order terms while they are affordable, their diagonal beyond. */
#include "learn/expert.h"
#include "learn/second_order.h"

#define RIDGE 1.0

static size_t block_of(const cop_expert_settings *settings)
{
	return settings->sparse ? 0 : cop_second_order_block(settings->inputs, settings->arms);
}

static double footprint(const cop_expert_settings *settings)
{
	return cop_second_order_footprint(settings->inputs, settings->arms, block_of(settings));
}

/* Multiplications: of w and of P of the played arm. */
static double cost(const cop_expert_settings *settings)
{
	size_t side = block_of(settings) > 0 ? block_of(settings) : 1;
	return (double)settings->typical * (double)(settings->arms + 2 * side);
}

static cop_err create(const cop_expert_settings *settings, cop_rng *rng, void **out)
{
	(void)rng;
	cop_second_order *model;
	cop_err err = cop_second_order_new(
	        settings->kernel, settings->inputs, settings->arms, block_of(settings), RIDGE, &model);
	*out = model;
	return err;
}

static void destroy(void *expert) { cop_second_order_free(expert); }

static void predict(void *expert, const cop_row *x, float *loss) { cop_second_order_predict(expert, x, loss); }

static cop_err learn(void *expert, const cop_row *x, size_t arm, double loss, bool again)
{
	(void)again;
	return cop_second_order_learn(expert, x, arm, loss);
}

static void explain(void *expert, const cop_row *x, size_t arm, cop_explanation *e, cop_explained_expert *out)
{
	(void)e;
	cop_second_order_explain(expert, x, arm, out);
}

static void anatomy(const void *expert, cop_anatomy_part *out)
{
	out->unit = COP_ANATOMY_LOSS;
	cop_second_order_anatomy(expert, &out->linear);
}

static void save(const void *expert, cop_bytes *bytes) { cop_second_order_save(expert, bytes); }

static cop_err load(void *expert, cop_cursor *cursor) { return cop_second_order_load(expert, cursor); }

static cop_err make_room(void *expert, const void *from) { return cop_second_order_make_room(expert, from); }
static void inherit(void *expert, void *from) { cop_second_order_inherit(expert, from); }

const cop_expert_class cop_expert_linear = {
	.member = { .name = "linear",
	        .destroy = destroy,
	        .save = save,
	        .load = load,
	        .make_room = make_room,
	        .inherit = inherit,
	        .anatomy = anatomy },
	.footprint = footprint,
	.cost = cost,
	.create = create,
	.predict = predict,
	.learn = learn,
	.explain = explain,
};

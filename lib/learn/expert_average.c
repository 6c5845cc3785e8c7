/* What arms lose on average: the origin that the other experts' predictions are weighed away from. */
#include "learn/averages.h"
#include "learn/expert.h"

static double footprint(const cop_expert_settings *settings) { return cop_averages_footprint(settings->arms); }

static cop_err create(const cop_expert_settings *settings, cop_rng *rng, void **out)
{
	(void)rng;
	cop_averages *averages;
	cop_err err = cop_averages_new(settings->arms, &averages);
	*out = averages;
	return err;
}

static void destroy(void *expert) { cop_averages_free(expert); }

static void predict(void *expert, const cop_row *x, float *loss)
{
	(void)x;
	cop_averages_predict(expert, loss);
}

static cop_err learn(void *expert, const cop_row *x, size_t arm, double loss, bool again)
{
	(void)x;
	(void)again;
	cop_averages_learn(expert, arm, loss);
	return COP_OK;
}

static void explain(void *expert, const cop_row *x, size_t arm, cop_explanation *e, cop_explained_expert *out)
{
	(void)expert;
	(void)x;
	(void)arm;
	(void)e;
	(void)out;
}

static void anatomy(const void *expert, cop_anatomy_part *out)
{
	(void)expert;
	out->unit = COP_ANATOMY_LOSS;
}

static void save(const void *expert, cop_bytes *bytes) { cop_averages_save(expert, bytes); }

static cop_err load(void *expert, cop_cursor *cursor) { return cop_averages_load(expert, cursor); }

static cop_err make_room(void *expert, const void *from)
{
	(void)expert;
	(void)from;
	return COP_OK;
}

static void inherit(void *expert, void *from) { cop_averages_inherit(expert, from); }

const cop_expert_class cop_expert_average = {
	.member = { .name = "average",
	        .destroy = destroy,
	        .save = save,
	        .load = load,
	        .make_room = make_room,
	        .inherit = inherit,
	        .widens = true,
	        .anatomy = anatomy },
	.footprint = footprint,
	.create = create,
	.predict = predict,
	.learn = learn,
	.explain = explain,
};

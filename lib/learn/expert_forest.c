/* The forest as an expert: a row of functions, and the number of trees. A forest needs two inputs to divide, and
 * memory for one tree at least; without them the expert is not made. */
#include "learn/expert.h"
#include "learn/forest.h"

#define TREES 48

static cop_forest_settings forest_of(const cop_expert_settings *settings)
{
	return (cop_forest_settings){
		.inputs = settings->inputs,
		.entries = settings->entries,
		.arms = settings->arms,
		.trees = TREES,
	};
}

static bool can_help(const cop_expert_settings *settings)
{
	const cop_forest_settings forest = forest_of(settings);
	return settings->inputs >= 2 && cop_forest_trees(&forest) > 0;
}

static double footprint(const cop_expert_settings *settings)
{
	const cop_forest_settings forest = forest_of(settings);
	return cop_forest_footprint(&forest);
}

static cop_err create(const cop_expert_settings *settings, cop_rng *rng, void **out)
{
	const cop_forest_settings forest = forest_of(settings);
	cop_forest *made;
	cop_err err = cop_forest_new(&forest, rng, &made);
	*out = made;
	return err;
}

static void destroy(void *expert) { cop_forest_free(expert); }

static void predict(void *expert, const cop_row *x, float *loss) { cop_forest_predict(expert, x, loss); }

static void doubt(const void *expert, float *out) { cop_forest_doubt(expert, out); }

static cop_err learn(void *expert, const cop_row *x, size_t arm, double loss, bool again)
{
	cop_forest_learn(expert, x, arm, loss, again);
	return COP_OK;
}

static void explain(void *expert, const cop_row *x, size_t arm, cop_explanation *e, cop_explained_expert *out)
{
	(void)e;
	cop_forest_explain(expert, x, arm, out);
}

static void anatomy(const void *expert, cop_anatomy_part *out)
{
	out->unit = COP_ANATOMY_LOSS;
	out->forest = expert;
}

static void save(const void *expert, cop_bytes *bytes) { cop_forest_save(expert, bytes); }

static cop_err load(void *expert, cop_cursor *cursor) { return cop_forest_load(expert, cursor); }

static size_t grown(const void *expert) { return cop_forest_grown(expert); }
static cop_err hold(void *expert, size_t leaves) { return cop_forest_hold(expert, leaves); }
static cop_err make_room(void *expert, const void *from) { return cop_forest_make_room(expert, from); }
static void inherit(void *expert, void *from) { cop_forest_inherit(expert, from); }

const cop_expert_class cop_expert_forest = {
	.member = { .name = "forest",
	        .destroy = destroy,
	        .save = save,
	        .load = load,
	        .grown = grown,
	        .hold = hold,
	        .make_room = make_room,
	        .inherit = inherit,
	        .widens = true,
	        .anatomy = anatomy },
	.can_help = can_help,
	.footprint = footprint,
	.create = create,
	.predict = predict,
	.doubt = doubt,
	.learn = learn,
	.explain = explain,
};

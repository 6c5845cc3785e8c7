/* The mixture (online/mixture.h) over arms: every expert predicts every arm's loss and learns from every event; the
 * policy explores on the mixture's prediction. */
#include "base/mem.h"
#include "online/expert.h"
#include "online/explorer.h"
#include "online/mixture.h"
#include "online/standardiser.h"

static const cop_expert_class *const members[] = { &cop_expert_linear, &cop_expert_trees };
#define MEMBERS (sizeof members / sizeof *members)

typedef struct ensemble {
	cop_learner base;
	cop_explorer explorer;
	cop_standardiser *standardiser;
	cop_mixture mixture;
} ensemble;

static void destroy(cop_learner *learner)
{
	ensemble *e = (ensemble *)learner;
	if (e == NULL)
		return;
	cop_standardiser_free(e->standardiser);
	cop_mixture_fini(&e->mixture);
	cop_explorer_fini(&e->explorer);
	cop_mem_free(e);
}

static cop_err create_experts(ensemble *e)
{
	const cop_learner_settings *s = &e->base.settings;
	bool sparse = s->features == 0;
	size_t inputs = cop_learner_dimension(s) + 1;
	cop_expert_settings settings = {
		.kernel = cop_kernel_best(),
		.inputs = inputs,
		.typical = sparse ? COP_LEARNER_SPARSE_TYPICAL : inputs,
		.sparse = sparse,
		.arms = s->arms,
		.trees = s->trees,
		.height = s->height,
		.rate = (float)s->learning_rate,
	};
	cop_rng rng;
	cop_rng_init(&rng, s->seed, 2);
	cop_err err = COP_OK;
	for (size_t i = 0; i < MEMBERS && err == COP_OK; i++) {
		void *expert;
		err = members[i]->create(&settings, &rng, &expert);
		if (err == COP_OK)
			err = cop_mixture_join(&e->mixture, &members[i]->member, expert);
	}
	return err;
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	ensemble *e = cop_mem_alloc(1, sizeof *e);
	if (e == NULL)
		return COP_ENOMEM;
	e->base.class = &cop_learner_ensemble;
	e->base.settings = *settings;
	cop_mixture_defaults(&e->base.settings);
	cop_err err = cop_mixture_init(&e->mixture, settings->arms);
	if (err == COP_OK)
		err = cop_explorer_init(&e->explorer, &e->base.settings);
	if (err == COP_OK)
		err = cop_standardiser_new(cop_learner_dimension(settings), settings->features == 0,
		        settings->max_nonzeros, &e->standardiser);
	if (err == COP_OK)
		err = create_experts(e);
	if (err != COP_OK) {
		destroy(&e->base);
		return err;
	}
	*out = &e->base;
	return COP_OK;
}

static void predict(ensemble *e, const cop_row *x, double *weight)
{
	cop_mixture_weigh(&e->mixture, weight);
	for (size_t i = 0; i < MEMBERS; i++)
		members[i]->predict(e->mixture.member[i], x, e->mixture.loss[i]);
	cop_mixture_mix(&e->mixture, e->base.settings.arms, weight);
}

static cop_err decide(cop_learner *learner, const cop_row *raw, const uint8_t *mask, cop_decision *out)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	double weight[MEMBERS];
	cop_standardiser_observe(e->standardiser, raw);
	cop_standardiser_apply(e->standardiser, raw, &x);
	predict(e, &x, weight);
	cop_err err = cop_explorer_choose(&e->explorer, &learner->settings.exploration, e->mixture.mixed, mask, out);
	if (err != COP_OK)
		return err;
	cop_mixture_predictions(&e->mixture, out->arm, out->prediction);
	return COP_OK;
}

static cop_err view(
        cop_learner *learner, const cop_row *raw, const uint8_t *mask, cop_decision *decision, cop_policy_view *out)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	double weight[MEMBERS];
	cop_standardiser_apply(e->standardiser, raw, &x);
	predict(e, &x, weight);
	cop_mixture_predictions(&e->mixture, decision->arm, decision->prediction);
	return cop_explorer_view(&e->explorer, &learner->settings.exploration, e->mixture.mixed, mask, out);
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_decision *decision, const double *loss)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	cop_standardiser_apply(e->standardiser, raw, &x);
	bool moved = false;
	for (size_t i = 0; i < MEMBERS; i++) /* one that refuses the step does not keep the others from it */
		moved |= members[i]->learn(e->mixture.member[i], &x, decision->arm, *loss) == COP_OK;
	if (!moved)
		return COP_EDIVERGED;
	cop_mixture_settle(&e->mixture, decision->prediction, *loss);
	return COP_OK;
}

static void observe(cop_learner *learner, const cop_row *raw)
{
	cop_standardiser_observe(((ensemble *)learner)->standardiser, raw);
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((ensemble *)learner)->explorer); }

static double greedy(cop_learner *learner, const cop_row *raw, const uint8_t *mask)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	double weight[MEMBERS];
	cop_standardiser_apply(e->standardiser, raw, &x);
	predict(e, &x, weight);
	return (double)cop_explorer_best(&e->explorer, e->mixture.mixed, mask);
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_decision *decision, cop_explanation *out)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	double weight[MEMBERS];
	cop_standardiser_apply(e->standardiser, raw, &x);
	predict(e, &x, weight);
	out->prediction = (double)e->mixture.mixed[decision->arm];
	for (size_t i = 0; i < MEMBERS; i++) {
		cop_explained_expert *expert = cop_explanation_expert(out, members[i]->member.name);
		expert->weight = weight[i];
		expert->prediction = (double)e->mixture.loss[i][decision->arm];
		members[i]->explain(e->mixture.member[i], &x, decision->arm, out, expert);
	}
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const ensemble *e = (const ensemble *)learner;
	cop_explorer_save(&e->explorer, bytes);
	cop_mixture_save_errors(&e->mixture, bytes);
	cop_standardiser_save(e->standardiser, bytes);
	cop_mixture_save_members(&e->mixture, bytes);
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	ensemble *e = (ensemble *)learner;
	cop_explorer_load(&e->explorer, cursor);
	cop_err err = cop_mixture_load_errors(&e->mixture, cursor);
	if (err == COP_OK)
		err = cop_standardiser_load(e->standardiser, cursor);
	return err == COP_OK ? cop_mixture_load_members(&e->mixture, cursor) : err;
}

static size_t trees(const cop_learner *learner) { return cop_mixture_trees(&((const ensemble *)learner)->mixture); }

static cop_err tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	return cop_mixture_tree(&((const ensemble *)learner)->mixture, m, out);
}

const cop_learner_class cop_learner_ensemble = {
	.name = "ensemble",
	.values = false,
	.predictions = MEMBERS,
	.create = create,
	.destroy = destroy,
	.decide = decide,
	.learn = learn,
	.view = view,
	.observe = observe,
	.advance = advance,
	.greedy = greedy,
	.explain = explain,
	.save = save,
	.load = load,
	.trees = trees,
	.tree = tree,
};

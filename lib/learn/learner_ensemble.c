/* The mixture (learn/mixture.h) over arms: every expert predicts every arm's loss and learns from every event; the
 * policy explores on the mixture's prediction. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/averages.h"
#include "learn/expert.h"
#include "learn/explorer.h"
#include "learn/mixture.h"
#include "learn/second_order.h"
#include "learn/shrinkage.h"
#include "learn/standardiser.h"
#include "learn/worth.h"

#define SURENESS 0.7 /* of averages' standard deviations, by which arms are matched to their chance */
#define TRUST    2.0 /* standard deviations of its weight that the linear expert is given beside, then */
#define REACH    3.0 /* of the linear expert's own standard deviations, taken off where that alone is believed */
#define HOPE     2.0 /* deviations of what the mixture misses, for each unit of optimism and doubt */
#define WIDEST   256 /* inputs of dense rows: beyond, deviations cost more than they bring */

/* In the order of COP_EXPERT_LINEAR and so on; the last, the origin, is always there. */
static const cop_expert_class *const experts[] = { &cop_expert_linear, &cop_expert_trees, &cop_expert_quadratic,
	&cop_expert_forest, &cop_expert_average };
#define EXPERTS (sizeof experts / sizeof *experts)
const char *const cop_learner_expert_names[] = { "linear", "trees", "quadratic", "forest", NULL };
_Static_assert(EXPERTS + 1 <= COP_LEARNER_EXPERTS, "COP_LEARNER_EXPERTS is too small"); /* a refit's beside */

typedef struct ensemble {
	cop_learner base;
	cop_explorer explorer;
	cop_standardiser *standardiser;
	cop_mixture mixture;
	const cop_expert_class *expert[EXPERTS + 1]; /* of the mixture's members */
	cop_row x;                                   /* the last row, standardised */
	cop_row raw;                                 /* the same as it came, a copy; d 0: what it left is spoiled */
	cop_row whole;                               /* the same with means where features are unknown, */
	bool filled;                                 /* if some are */
	float *raw_value;
	uint32_t *raw_index;
	float *doubt;
	float *hoped;             /* the mixture's losses less optimism times doubt */
	float *told;              /* the mixture's losses within [0, 1] */
	cop_worth worth;          /* of the context to the forest */
	cop_policy_belief belief; /* for the policy: believed, deviation */
	float *believed, *deviation;
	cop_shrinkage shrinkage; /* of what the linear expert sees in the context; of every arm, by the last predict: */
	float *effect;           /* z, as it says itself */
	float *spread;           /* u^2 */
	float *width;            /* of what is believed of z, in units of the deviation of losses */
	double most;             /* sqrt(2 ln K): about the largest of as many draws from N(0, 1) as there are arms */
} ensemble;

static void destroy(cop_learner *learner)
{
	ensemble *e = (ensemble *)learner;
	if (e == NULL)
		return;
	cop_standardiser_free(e->standardiser);
	cop_mixture_fini(&e->mixture);
	cop_explorer_fini(&e->explorer);
	cop_mem_free(e->doubt);
	cop_mem_free(e->hoped);
	cop_mem_free(e->told);
	cop_mem_free(e->believed);
	cop_mem_free(e->deviation);
	cop_mem_free(e->effect);
	cop_mem_free(e->spread);
	cop_mem_free(e->width);
	cop_worth_fini(&e->worth);
	cop_mem_free(e->raw_value);
	cop_mem_free(e->raw_index);
	cop_mem_free(e);
}

static cop_expert_settings expert_settings(const cop_learner_settings *s)
{
	bool sparse = s->features == 0;
	size_t inputs = cop_learner_dimension(s) + 1;
	return (cop_expert_settings){
		.kernel = cop_kernel_best(),
		.inputs = inputs,
		.typical = sparse ? COP_LEARNER_SPARSE_TYPICAL : inputs,
		.sparse = sparse,
		.entries = sparse ? s->max_nonzeros + 1 : 0,
		.arms = s->arms,
		.trees = s->trees,
		.height = s->height,
		.rate = (float)s->learning_rate,
	};
}

/* Whether expert i takes part. */
static bool joins(const cop_learner_settings *s, const cop_expert_settings *settings, size_t i)
{
	bool wanted = s->experts == 0 || experts[i] == &cop_expert_average || (s->experts >> i & 1u) != 0;
	return wanted && (experts[i]->can_help == NULL || experts[i]->can_help(settings));
}

static double footprint(const cop_learner_settings *s)
{
	const cop_expert_settings settings = expert_settings(s);
	double sum = 0.0;
	size_t count = 0;
	for (size_t i = 0; i < EXPERTS; i++) {
		if (!joins(s, &settings, i))
			continue;
		sum += experts[i]->footprint(&settings);
		count++;
	}
	sum += cop_standardiser_footprint(cop_learner_dimension(s), settings.sparse, s->max_nonzeros);
	return count > 1 ? sum : 0.0; /* the averages alone are no ensemble */
}

static cop_err create_experts(ensemble *e)
{
	const cop_expert_settings settings = expert_settings(&e->base.settings);
	cop_rng rng;
	cop_rng_init(&rng, e->base.settings.seed, 2);
	cop_err err = COP_OK;
	for (size_t i = 0; i < EXPERTS && err == COP_OK; i++) {
		void *expert;
		if (!joins(&e->base.settings, &settings, i))
			continue;
		err = experts[i]->create(&settings, &rng, &expert);
		e->expert[e->mixture.count] = experts[i];
		if (err == COP_OK)
			err = cop_mixture_join(&e->mixture, &experts[i]->member, expert);
		if (err == COP_OK && experts[i]->cost != NULL)
			cop_mixture_may_rest(&e->mixture, e->mixture.count - 1, experts[i]->cost(&settings));
	}
	cop_mixture_originate(&e->mixture, e->mixture.count - 1);
	cop_mixture_begin(&e->mixture);
	e->expert[e->mixture.own] = &cop_expert_refit;
	return err == COP_OK && e->mixture.count == 1 ? COP_EINVAL : err;
}

static bool make_room(ensemble *e)
{
	const size_t arms = e->base.settings.arms;
	float **const of_arms[] = { &e->doubt, &e->hoped, &e->told, &e->believed, &e->deviation, &e->effect, &e->spread,
		&e->width };
	for (size_t i = 0; i < sizeof of_arms / sizeof *of_arms; i++) {
		*of_arms[i] = cop_mem_alloc(arms, sizeof **of_arms[i]);
		if (*of_arms[i] == NULL)
			return false;
	}
	bool sparse = e->base.settings.features == 0;
	size_t values = sparse ? e->base.settings.max_nonzeros : e->base.settings.features;
	e->raw_value = cop_mem_alloc(values, sizeof *e->raw_value);
	e->raw_index = cop_mem_alloc(sparse ? values : 0, sizeof *e->raw_index);
	return e->raw_value != NULL && e->raw_index != NULL;
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	ensemble *e = cop_mem_alloc(1, sizeof *e);
	if (e == NULL)
		return COP_ENOMEM;
	e->base.class = &cop_learner_ensemble;
	e->base.settings = *settings;
	cop_shrinkage_begin(&e->shrinkage);
	e->most = sqrt(2.0 * log((double)settings->arms));
	cop_err err = make_room(e) ? cop_mixture_init(&e->mixture, settings->arms) : COP_ENOMEM;
	if (err == COP_OK)
		err = cop_worth_init(&e->worth, settings->arms);
	if (err == COP_OK)
		err = cop_explorer_init(&e->explorer, &e->base.settings);
	if (err == COP_OK)
		err = cop_standardiser_new(cop_learner_dimension(settings), settings->features == 0,
		        settings->max_nonzeros, &e->standardiser);
	if (err == COP_OK && settings->known > 0)
		err = cop_standardiser_know(e->standardiser, settings->known);
	e->base.known = settings->known;
	if (err == COP_OK)
		err = create_experts(e);
	if (err != COP_OK) {
		destroy(&e->base);
		return err;
	}
	*out = &e->base;
	return COP_OK;
}

static void keep_raw(ensemble *e, const cop_row *raw)
{
	size_t entries = cop_row_entries(raw);
	bool sparse = raw->dense == NULL;
	memcpy(e->raw_value, sparse ? raw->value : raw->dense, entries * sizeof *e->raw_value);
	if (sparse)
		memcpy(e->raw_index, raw->index, entries * sizeof *e->raw_index);
	e->raw = (cop_row){ .d = raw->d, .nnz = entries };
}

/* Whether this is the row of the last predict, and all that it left (the standardised row, the experts' workspaces)
 * still holds: most losses come before the next decision. */
static bool is_last(const ensemble *e, const cop_row *raw)
{
	size_t entries = cop_row_entries(raw);
	bool sparse = raw->dense == NULL;
	const float *value = sparse ? raw->value : raw->dense;
	return e->raw.d == raw->d && e->raw.nnz == entries &&
	       memcmp(e->raw_value, value, entries * sizeof *value) == 0 &&
	       (!sparse || memcmp(e->raw_index, raw->index, entries * sizeof *raw->index) == 0);
}

/* The row that member i takes. */
static const cop_row *row_for(const ensemble *e, size_t i, const cop_row *raw)
{
	if (!e->expert[i]->raw)
		return &e->x;
	return e->filled ? &e->whole : raw;
}

/* Where an expert is among the members; as many as there are: nowhere. */
static size_t place_of(const ensemble *e, const cop_expert_class *expert)
{
	size_t i = 0;
	while (i < e->mixture.own && e->expert[i] != expert)
		i++;
	return i;
}

/* Whether there is a linear expert, which is the first then, and it is awake. */
static bool heeds_linear(const ensemble *e)
{
	return e->expert[0] == &cop_expert_linear && !cop_mixture_rests(&e->mixture, 0);
}

/* Whether what it says is weighed by how sure it is. */
static bool shrinks(const ensemble *e) { return heeds_linear(e) && (e->x.dense == NULL || e->x.d <= WIDEST); }

/* Of what the linear expert says beyond the averages, what is believed. */
static void shrink(ensemble *e)
{
	const cop_mixture *m = &e->mixture;
	const size_t arms = e->base.settings.arms;
	if (!shrinks(e)) {
		memset(e->width, 0, arms * sizeof *e->width);
		return;
	}
	cop_second_order_spreads(m->member[0], &e->x, e->spread);
	for (size_t k = 0; k < arms; k++) {
		const float origin = m->loss[m->origin][k];
		const float known = (float)(1.0 / (1.0 + cop_averages_plays(m->member[m->origin], k)));
		e->spread[k] = fmaxf(e->spread[k] - known, 0.0f);
		const float factor = (float)cop_shrinkage_factor(&e->shrinkage, (double)e->spread[k]);
		e->effect[k] = m->loss[0][k] - origin;
		m->loss[0][k] = origin + factor * e->effect[k];
		e->width[k] = sqrtf(factor * e->spread[k]);
	}
}

/* What the linear expert's width counts in the mixture, as far as its weight may be. */
static double reach(const ensemble *e)
{
	const cop_stacking *stack = &e->mixture.stack;
	if (!shrinks(e))
		return 0.0;
	return fmin(fmax(stack->weight[0] + cop_stacking_deviation(stack, 0), 0.0), 1.0);
}

/* The row standardised, and what each expert and the mixture predict. */
static void predict(ensemble *e, const cop_row *raw)
{
	cop_standardiser_apply(e->standardiser, raw, &e->x);
	e->filled = e->base.known > 0 && cop_standardiser_fill(e->standardiser, raw, &e->whole);
	for (size_t i = 0; i < e->mixture.count; i++)
		if (!cop_mixture_rests(&e->mixture, i))
			e->expert[i]->predict(e->mixture.member[i], row_for(e, i, raw), e->mixture.loss[i]);
	shrink(e);
	cop_mixture_mix(&e->mixture, e->base.settings.arms);
	keep_raw(e, raw);
}

/* What exploration goes by: the predicted losses, less for arms that one knows little of. */
static const float *optimistic_losses(ensemble *e, const cop_policy_settings *settings)
{
	float optimism = (float)settings->optimism;
	size_t forest = place_of(e, &cop_expert_forest);
	if (optimism == 0.0f || forest == e->mixture.own)
		return e->mixture.mixed;
	e->expert[forest]->doubt(e->mixture.member[forest], e->doubt);
	const float unit = optimism * (float)(HOPE * sqrt(e->mixture.stack.variance));
	const float wide = (float)reach(e);
	for (size_t k = 0; k < e->base.settings.arms; k++)
		e->hoped[k] = e->mixture.mixed[k] - unit * (e->doubt[k] + wide * e->width[k]);
	return e->hoped;
}

/* The averages and what the linear expert sees, as far down as losses may be by what it is unsure of. */
static double by_line(const ensemble *e, size_t k)
{
	const cop_mixture *m = &e->mixture;
	const double reach_k = cop_shrinkage_reach(&e->shrinkage, (double)e->spread[k]);
	return (double)m->loss[0][k] - REACH * sqrt(m->stack.variance) * reach_k;
}

/* As far as the forest makes nothing of the context, arms are matched to the chance that they are best: the mixture's
 * losses, as sure as the averages are. The linear expert's weight may still be higher than it is known to be: it is
 * tried with more, or what is rare would never be found; and losses may be lower by as much as it is unsure of, for the
 * luckiest of the arms. As far as the mixture does not surely see more than the linear expert, that alone is believed.
 */
static void believe(ensemble *e, const cop_policy *policy)
{
	const cop_mixture *m = &e->mixture;
	e->explorer.belief = NULL;
	if (!policy->believes || place_of(e, &cop_expert_forest) == m->own)
		return;
	e->belief = (cop_policy_belief){ 1.0 - cop_worth_of_context(&e->worth), e->believed, e->deviation };
	if (e->belief.share == 0.0)
		return;
	const double beyond = shrinks(e) ? cop_worth_beyond_line(&e->worth) : 1.0;
	const float more = heeds_linear(e) ? (float)(TRUST * cop_stacking_deviation(&m->stack, 0)) : 0.0f;
	const float wide = (float)(e->most * sqrt(m->stack.variance) * reach(e));
	float sure = (float)(SURENESS * sqrt(m->stack.variance));
	cop_averages_deviations(m->member[m->origin], e->deviation);
	for (size_t k = 0; k < e->base.settings.arms; k++) {
		float effect = more == 0.0f ? 0.0f : m->loss[0][k] - m->loss[m->origin][k];
		e->believed[k] = m->mixed[k] + more * effect - wide * e->width[k];
		if (beyond < 1.0)
			e->believed[k] = (float)(beyond * (double)e->believed[k] + (1.0 - beyond) * by_line(e, k));
		e->deviation[k] *= sure;
	}
	e->explorer.belief = &e->belief;
}

static void observe(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	ensemble *e = (ensemble *)learner;
	(void)c;
	if (learner->frozen)
		return;
	cop_standardiser_observe(e->standardiser, raw);
	e->raw.d = 0;
}

static cop_err decide(cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *out)
{
	ensemble *e = (ensemble *)learner;
	const uint8_t *mask = cop_learner_mask(c);
	const cop_policy_settings *settings = &learner->settings.exploration;
	predict(e, raw);
	believe(e, e->explorer.policy);
	cop_err err = cop_explorer_choose(&e->explorer, settings, optimistic_losses(e, settings), mask, out);
	if (err != COP_OK)
		return err;
	out->greedy = out->arm == cop_explorer_best(&e->explorer, e->mixture.mixed, mask);
	cop_mixture_predictions(&e->mixture, out->arm, out->prediction);
	return COP_OK;
}

/* Predicted losses, in [0, 1]. */
static const float *report(ensemble *e)
{
	for (size_t k = 0; k < e->base.settings.arms; k++)
		e->told[k] = fminf(fmaxf(e->mixture.mixed[k], 0.0f), 1.0f);
	return e->told;
}

static cop_policy_view last_policy(cop_learner *learner)
{
	ensemble *e = (ensemble *)learner;
	return cop_explorer_last(&e->explorer, report(e));
}

/* A view goes by what is hoped for; what it tells is what is expected. */
static cop_err tell(ensemble *e, cop_err err, const uint8_t *mask, cop_policy_view *out)
{
	if (err != COP_OK)
		return err;
	out->best = cop_explorer_best(&e->explorer, e->mixture.mixed, mask);
	out->loss = report(e);
	return COP_OK;
}

static cop_err view(
        cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	ensemble *e = (ensemble *)learner;
	const cop_policy_settings *settings = &learner->settings.exploration;
	const uint8_t *mask = cop_learner_mask(c);
	predict(e, raw);
	cop_mixture_predictions(&e->mixture, decision->arm, decision->prediction);
	believe(e, e->explorer.policy);
	cop_err err = cop_explorer_view(&e->explorer, settings, optimistic_losses(e, settings), mask, out);
	return tell(e, err, mask, out);
}

static cop_err view_as(
        cop_learner *learner, const cop_policy_other *other, const cop_candidates *c, cop_policy_view *out)
{
	ensemble *e = (ensemble *)learner;
	const uint8_t *mask = cop_learner_mask(c);
	believe(e, other->policy);
	cop_err err = cop_explorer_view_as(&e->explorer, other, optimistic_losses(e, other->settings), mask, out);
	return tell(e, err, mask, out);
}

/* An expert that refuses the step does not keep the others from it. again: nothing was learned since predict. */
static cop_err learn_experts(ensemble *e, const cop_row *raw, size_t arm, double loss, bool again)
{
	const cop_mixture *m = &e->mixture;
	bool asked = false, moved = false;
	for (size_t i = 0; i < m->count; i++) {
		if (i == m->origin || cop_mixture_rests(m, i))
			continue;
		asked = true;
		moved |= e->expert[i]->learn(m->member[i], row_for(e, i, raw), arm, loss, again) == COP_OK;
	}
	if (asked && !moved)
		return COP_EDIVERGED;
	return e->expert[m->origin]->learn(m->member[m->origin], &e->x, arm, loss, again);
}

/* The loss came for what experts had said, whatever they learned since: their weights, and what the context is worth.
 */
static void settle(ensemble *e, size_t arm, const float *predicted, double loss, const cop_dormancy_choice *choice)
{
	const size_t forest = place_of(e, &cop_expert_forest);
	const double line = heeds_linear(e) ? (double)predicted[0] : (double)NAN;
	if (forest < e->mixture.own) {
		const cop_worth_said said = { (double)predicted[forest], line,
			cop_mixture_sum(&e->mixture, predicted) };
		cop_worth_learn(&e->worth, arm, &said, loss);
	}
	if (shrinks(e))
		cop_shrinkage_learn(&e->shrinkage, (double)e->effect[arm], (double)e->spread[arm],
		        loss - (double)predicted[e->mixture.origin]);
	cop_mixture_settle(&e->mixture, predicted, loss, choice, e->base.rev + 1);
}

static cop_dormancy_choice choice_of(const ensemble *e, const cop_candidates *c)
{
	if (!cop_mixture_tries(&e->mixture))
		return (cop_dormancy_choice){ .regret = 0.0 };
	return cop_mixture_choice(&e->mixture, cop_learner_mask(c), e->base.settings.arms);
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	ensemble *e = (ensemble *)learner;
	float predicted[COP_LEARNER_EXPERTS];
	if (!is_last(e, raw))
		predict(e, raw);
	e->raw.d = 0;
	cop_mixture_predictions(&e->mixture, decision->arm, predicted);
	const cop_dormancy_choice choice = choice_of(e, c);
	cop_err err = learn_experts(e, raw, decision->arm, *loss, true);
	if (err == COP_OK && isfinite(decision->prediction[0]))
		settle(e, decision->arm, predicted, *loss, &choice);
	return err;
}

/* What the mixture had said of every arm stays where it is while they are learned. */
static size_t learn_all(cop_learner *learner, const cop_row *raw, const cop_candidates *told, const double *loss)
{
	ensemble *e = (ensemble *)learner;
	size_t learned = 0;
	bool again = true;
	if (!is_last(e, raw))
		predict(e, raw);
	e->raw.d = 0;
	const cop_dormancy_choice choice = choice_of(e, told);
	for (size_t k = 0; k < learner->settings.arms; k++) {
		float predicted[COP_LEARNER_EXPERTS];
		if (told->mask != NULL && told->mask[k] == 0)
			continue;
		cop_mixture_predictions(&e->mixture, k, predicted);
		cop_err err = learn_experts(e, raw, k, loss[k], again);
		again = false;
		if (err != COP_OK)
			continue;
		settle(e, k, predicted, loss[k], &choice);
		learner->rev++;
		learned++;
	}
	return learned;
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((ensemble *)learner)->explorer); }

static double greedy(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	ensemble *e = (ensemble *)learner;
	predict(e, raw);
	return (double)cop_explorer_best(&e->explorer, e->mixture.mixed, cop_learner_mask(c));
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *out)
{
	ensemble *e = (ensemble *)learner;
	(void)c;
	if (!is_last(e, raw))
		predict(e, raw);
	out->prediction = (double)e->mixture.mixed[decision->arm];
	for (size_t i = 0; i < e->mixture.count; i++) {
		cop_explained_expert *expert = cop_explanation_expert(out, e->expert[i]->member.name);
		expert->weight = cop_mixture_weight(&e->mixture, i);
		expert->prediction = (double)e->mixture.loss[i][decision->arm];
		expert->resting = cop_mixture_rests(&e->mixture, i);
		if (!expert->resting)
			e->expert[i]->explain(e->mixture.member[i], row_for(e, i, raw), decision->arm, out, expert);
	}
}

static bool product(const cop_learner *learner, size_t index, size_t *i, size_t *j)
{
	const ensemble *e = (const ensemble *)learner;
	for (size_t m = 0; m < e->mixture.count; m++)
		if (e->expert[m]->product != NULL && e->expert[m]->product(e->mixture.member[m], index, i, j))
			return true;
	return false;
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	return cop_mixture_anatomy(&((const ensemble *)learner)->mixture, parts);
}

static void outliers(const cop_learner *learner, cop_outliers *out)
{
	cop_standardiser_outliers(((const ensemble *)learner)->standardiser, out);
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const ensemble *e = (const ensemble *)learner;
	cop_explorer_save(&e->explorer, bytes);
	cop_worth_save(&e->worth, bytes);
	cop_shrinkage_save(&e->shrinkage, bytes);
	cop_mixture_save_weights(&e->mixture, bytes);
	cop_standardiser_save(e->standardiser, bytes);
	cop_mixture_save_members(&e->mixture, bytes);
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	ensemble *e = (ensemble *)learner;
	e->raw.d = 0;
	cop_explorer_load(&e->explorer, cursor);
	const cop_learner_settings *s = &learner->settings;
	cop_err err = cop_worth_load(&e->worth, learner->saved_arms, cursor);
	if (err == COP_OK)
		err = cop_shrinkage_load(&e->shrinkage, cursor);
	if (err == COP_OK)
		err = cop_mixture_expect(&e->mixture, cursor, cop_learner_dimension(s), s->arms);
	if (err == COP_OK)
		err = cop_mixture_load_weights(&e->mixture, cursor);
	if (err == COP_OK)
		err = cop_standardiser_load(e->standardiser, cursor);
	if (err != COP_OK)
		return err;
	learner->known = s->features != 0 ? cop_standardiser_known(e->standardiser) : 0;
	learner->settings.known = learner->known; /* for what is made alike */
	cop_mixture_expect_refit(&e->mixture, learner->saved_arms, learner->known);
	return cop_mixture_load_members(&e->mixture, cursor);
}

static size_t grown(const cop_learner *learner) { return cop_mixture_grown(&((const ensemble *)learner)->mixture); }

static cop_err hold(cop_learner *learner, size_t leaves)
{
	return cop_mixture_hold(&((ensemble *)learner)->mixture, leaves);
}

static bool is_wider(const cop_learner *learner, const cop_learner *from)
{
	return learner->settings.features > from->settings.features;
}

/* Of further features: saved and loaded, for which ones were always there stands in it. */
static cop_err widen_standardiser(ensemble *e, const ensemble *from)
{
	cop_bytes bytes;
	cop_cursor cursor;
	cop_bytes_init(&bytes);
	cop_standardiser_save(from->standardiser, &bytes);
	cop_err err = bytes.err;
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	if (err == COP_OK)
		err = cop_standardiser_load(e->standardiser, &cursor);
	cop_bytes_fini(&bytes);
	if (err == COP_OK)
		e->base.known = e->base.settings.known = cop_standardiser_known(e->standardiser);
	return err;
}

static cop_err room_for(cop_learner *learner, const cop_learner *from)
{
	ensemble *e = (ensemble *)learner;
	const cop_learner_settings *s = &learner->settings;
	cop_err err = is_wider(learner, from) ? widen_standardiser(e, (const ensemble *)from) : COP_OK;
	const cop_mixture_growth growth = { .features = cop_learner_dimension(s),
		.outputs = s->arms,
		.wider = is_wider(learner, from),
		.known = learner->known,
		.outputs_before = from->settings.arms };
	return err == COP_OK ? cop_mixture_make_room(&e->mixture, &((const ensemble *)from)->mixture, &growth) : err;
}

static void inherit(cop_learner *learner, cop_learner *from)
{
	ensemble *e = (ensemble *)learner, *other = (ensemble *)from;
	e->raw.d = 0;
	cop_explorer_inherit(&e->explorer, &other->explorer);
	cop_worth_inherit(&e->worth, &other->worth);
	e->shrinkage = other->shrinkage;
	cop_mixture_inherit(&e->mixture, &other->mixture, is_wider(learner, from));
	if (!is_wider(learner, from))
		cop_mem_exchange(&e->standardiser, &other->standardiser, sizeof e->standardiser);
}

static size_t trees(const cop_learner *learner) { return cop_mixture_trees(&((const ensemble *)learner)->mixture); }

static cop_err tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	return cop_mixture_tree(&((const ensemble *)learner)->mixture, m, out);
}

static cop_err refit(cop_learner *learner, const cop_trees *trees, cop_diag *diag)
{
	ensemble *e = (ensemble *)learner;
	const cop_learner_settings *s = &learner->settings;
	cop_refit *made;
	cop_err err = cop_refit_new(trees, cop_learner_dimension(s), s->arms, learner->rev + 1, &made, diag);
	if (err == COP_OK)
		err = cop_mixture_take(&e->mixture, made);
	if (err == COP_OK)
		e->raw.d = 0;
	return err;
}

static double combine(const cop_learner *learner, const cop_decision *decision)
{
	return cop_mixture_sum(&((const ensemble *)learner)->mixture, decision->prediction);
}

static const cop_refit *refitted(const cop_learner *learner) { return ((const ensemble *)learner)->mixture.refit; }

const cop_learner_class cop_learner_ensemble = {
	.name = "ensemble",
	.masks = true,
	.experts = true,
	.apart = "the running statistics by which inputs are standardised, the trees' gradient steps, the forest's "
	         "structure and the experts' weights",
	.max_height = COP_LEARNER_MAX_ENSEMBLE_HEIGHT,
	.least_propensity = COP_LEARNER_LEAST_PROPENSITY,
	.footprint = footprint,
	.learn_all = learn_all,
	.predictions = EXPERTS,
	.create = create,
	.destroy = destroy,
	.decide = decide,
	.learn = learn,
	.view = view,
	.view_as = view_as,
	.last_policy = last_policy,
	.observe = observe,
	.advance = advance,
	.greedy = greedy,
	.explain = explain,
	.product = product,
	.anatomy = anatomy,
	.outliers = outliers,
	.save = save,
	.load = load,
	.grown = grown,
	.hold = hold,
	.make_room = room_for,
	.inherit = inherit,
	.widens = true,
	.combine = combine,
	.trees = trees,
	.tree = tree,
	.refit = refit,
	.refitted = refitted,
};

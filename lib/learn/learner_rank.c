/* The mixture (learn/mixture.h) over candidates with features: every scorer predicts the loss of every candidate from
 * its joint row with the context and learns from the played one. What the context contributes is computed once an
 * event. None of them rests: when the loss comes, the candidates that were not played are not there any more. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/candidate_expert.h"
#include "learn/concat_row.h"
#include "learn/explorer.h"
#include "learn/mixture.h"
#include "learn/standardiser.h"

#define LEAST_VARIANCE   1e-3 /* of what the mixture misses, where gaps are counted in its deviations */
#define HOPE             2.0  /* deviations of what the mixture misses, for each unit of optimism and of width */
#define WIDEST           256  /* inputs of whole rows: beyond, widths cost more than they bring */
#define SPARSE_CANDIDATE 8    /* entries of a usual sparse candidate */

static const cop_candidate_expert_class *const members[] = { &cop_candidate_expert_linear, &cop_candidate_expert_trees,
	&cop_candidate_expert_leaves };
#define MEMBERS (sizeof members / sizeof *members)

typedef struct ranker {
	cop_learner base;
	cop_explorer explorer;
	cop_standardiser *of_contexts, *of_candidates;
	cop_cross_features *joint;
	cop_concat_row joined; /* raw, for a refit: unknown features of the context are at their means */
	cop_mixture mixture;   /* of max_candidates losses */
	float *hoped;          /* the mixture's losses less optimism times widths */
	bool widths;           /* the linear scorer's are known, and cheap enough */
} ranker;

static void destroy(cop_learner *learner)
{
	ranker *r = (ranker *)learner;
	if (r == NULL)
		return;
	cop_standardiser_free(r->of_contexts);
	cop_standardiser_free(r->of_candidates);
	cop_cross_features_free(r->joint);
	cop_concat_row_fini(&r->joined);
	cop_mixture_fini(&r->mixture);
	cop_explorer_fini(&r->explorer);
	cop_mem_free(r->hoped);
	cop_mem_free(r);
}

static cop_candidate_expert_settings scorer_settings(const cop_learner_settings *s)
{
	bool sparse = s->features == 0;
	cop_candidate_expert_settings settings = {
		.joint = {
		        .kernel = cop_kernel_best(),
		        .sparse = sparse,
		        .features = cop_learner_dimension(s),
		        .candidate_features = cop_learner_candidate_dimension(s),
		        .max_nonzeros = s->max_nonzeros,
		        .seed = s->seed,
		},
		.trees = s->trees,
		.height = s->height,
		.rate = (float)s->learning_rate,
	};
	size_t near, whole;
	cop_cross_features_sizes(&settings.joint, &near, &whole);
	settings.typical = sparse ? COP_LEARNER_SPARSE_TYPICAL : near;
	settings.candidate_entries = sparse ? SPARSE_CANDIDATE : settings.joint.candidate_features + 1;
	return settings;
}

static double footprint(const cop_learner_settings *s)
{
	cop_candidate_expert_settings settings = scorer_settings(s);
	bool sparse = s->features == 0;
	double sum = cop_cross_features_footprint(&settings.joint) +
	             cop_standardiser_footprint(settings.joint.features, sparse, s->max_nonzeros) +
	             cop_standardiser_footprint(settings.joint.candidate_features, sparse, s->max_nonzeros) +
	             (double)s->max_candidates * (2 * sizeof(double) + (MEMBERS + 2) * sizeof(float));
	for (size_t i = 0; i < MEMBERS; i++)
		sum += members[i]->footprint(&settings);
	return sum;
}

static cop_err create_parts(ranker *r)
{
	cop_learner_settings explored = r->base.settings;
	cop_candidate_expert_settings settings = scorer_settings(&explored);
	bool sparse = settings.joint.sparse;
	cop_rng rng;
	explored.arms = explored.max_candidates;
	cop_rng_init(&rng, explored.seed, 2);
	cop_concat_row_init(
	        &r->joined, settings.joint.features, settings.joint.candidate_features, sparse, explored.max_nonzeros);
	cop_err err = cop_explorer_init(&r->explorer, &explored);
	if (err == COP_OK)
		err = cop_standardiser_new(settings.joint.features, sparse, explored.max_nonzeros, &r->of_contexts);
	if (err == COP_OK)
		err = cop_standardiser_new(
		        settings.joint.candidate_features, sparse, explored.max_nonzeros, &r->of_candidates);
	if (err == COP_OK)
		err = cop_cross_features_new(&settings.joint, &r->joint);
	if (err == COP_OK)
		err = cop_mixture_init(&r->mixture, explored.max_candidates);
	r->hoped = cop_mem_alloc(explored.max_candidates, sizeof *r->hoped);
	if (err == COP_OK && r->hoped == NULL)
		err = COP_ENOMEM;
	size_t near, whole;
	cop_cross_features_sizes(&settings.joint, &near, &whole);
	r->widths = !sparse && whole <= WIDEST;
	for (size_t i = 0; i < MEMBERS && err == COP_OK; i++) {
		void *scorer;
		err = members[i]->create(&settings, &rng, &scorer);
		if (err == COP_OK)
			err = cop_mixture_join(&r->mixture, &members[i]->member, scorer);
	}
	cop_mixture_begin(&r->mixture);
	return err;
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	ranker *r = cop_mem_alloc(1, sizeof *r);
	if (r == NULL)
		return COP_ENOMEM;
	r->base.class = &cop_learner_rank;
	r->base.settings = *settings;
	r->base.known = settings->known;
	cop_err err = create_parts(r);
	if (err == COP_OK && settings->known > 0)
		err = cop_standardiser_know(r->of_contexts, settings->known);
	if (err != COP_OK) {
		destroy(&r->base);
		return err;
	}
	*out = &r->base;
	return COP_OK;
}

static void set_context(ranker *r, const cop_row *raw)
{
	cop_row x;
	cop_standardiser_apply(r->of_contexts, raw, &x);
	cop_cross_features_set_context(r->joint, &x);
}

static void set_candidate(ranker *r, const cop_row *raw)
{
	cop_row a;
	cop_standardiser_apply(r->of_candidates, raw, &a);
	cop_cross_features_set_candidate(r->joint, &a);
}

static void join_context(ranker *r, const cop_row *raw)
{
	cop_row whole = *raw;
	if (r->base.known > 0)
		(void)cop_standardiser_fill(r->of_contexts, raw, &whole);
	cop_concat_row_set_context(&r->joined, &whole);
}

static float refit_says(ranker *r, const cop_row *candidate)
{
	cop_row raw;
	float loss;
	cop_concat_row_row(&r->joined, candidate, &raw);
	cop_refit_predict(r->mixture.refit, &raw, &loss);
	return loss;
}

/* Predicted losses of the candidates: `mixed`, and each scorer's. */
static void predict(ranker *r, const cop_row *x, const cop_row *candidate, size_t count)
{
	cop_mixture *m = &r->mixture;
	set_context(r, x);
	if (m->refit != NULL)
		join_context(r, x);
	for (size_t i = 0; i < MEMBERS; i++)
		members[i]->begin(m->member[i], r->joint);
	for (size_t k = 0; k < count; k++) {
		set_candidate(r, &candidate[k]);
		for (size_t i = 0; i < MEMBERS; i++)
			m->loss[i][k] = members[i]->score(m->member[i], r->joint);
		if (m->refit != NULL)
			m->loss[MEMBERS][k] = refit_says(r, &candidate[k]);
	}
	cop_mixture_mix(m, count);
	r->explorer.arms = count;
}

/* What exploration goes by: the predicted losses, less for candidates of which the linear scorer knows little, at most
 * by the deviation of one loss for each unit: a ridge alone knows nothing of how large losses are. */
static const float *optimistic_losses(ranker *r, double optimism, const cop_candidates *c)
{
	if (optimism == 0.0 || !r->widths)
		return r->mixture.mixed;
	const double unit = optimism * HOPE * sqrt(r->mixture.stack.variance);
	for (size_t k = 0; k < c->count; k++) {
		cop_cross_features_rows rows;
		set_candidate(r, &c->row[k]);
		cop_cross_features_make_rows(r->joint, &rows);
		const double square = (double)cop_candidate_expert_linear.spread(r->mixture.member[0], &rows);
		r->hoped[k] = r->mixture.mixed[k] - (float)(unit * sqrt(fmin(square, 1.0)));
	}
	return r->hoped;
}

/* What of the candidates is known: all of them, or the played one alone. */
static size_t known(const cop_candidates *c) { return c->count > 0 ? c->count : 1; }

static const cop_row *played(const cop_candidates *c, const cop_decision *decision)
{
	return c->count > 0 ? &c->row[decision->arm] : c->row;
}

static void observe(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	ranker *r = (ranker *)learner;
	if (learner->frozen)
		return;
	cop_standardiser_observe(r->of_contexts, x);
	cop_standardiser_observe_all(r->of_candidates, c->row, known(c));
}

/* Gaps count in units of two deviations of what the mixture misses. */
static cop_policy_settings exploration_of(const ranker *r, const cop_policy_settings *settings)
{
	cop_policy_settings now = *settings;
	now.gamma *= 0.5 / sqrt(fmax(r->mixture.stack.variance, LEAST_VARIANCE));
	return now;
}

static cop_err decide(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out)
{
	ranker *r = (ranker *)learner;
	predict(r, x, c->row, c->count);
	const cop_policy_settings now = exploration_of(r, &learner->settings.exploration);
	cop_err err = cop_explorer_choose(&r->explorer, &now, optimistic_losses(r, now.optimism, c), c->mask, out);
	if (err != COP_OK)
		return err;
	out->greedy = out->arm == cop_explorer_best(&r->explorer, r->mixture.mixed, c->mask);
	cop_mixture_predictions(&r->mixture, out->arm, out->prediction);
	return COP_OK;
}

/* A view goes by what is hoped for; what it tells is what is expected. */
static cop_err tell(const ranker *r, cop_err err, const cop_candidates *c, cop_policy_view *out)
{
	if (err != COP_OK)
		return err;
	out->best = cop_explorer_best(&r->explorer, r->mixture.mixed, c->mask);
	out->loss = r->mixture.mixed;
	return COP_OK;
}

static cop_err view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	ranker *r = (ranker *)learner;
	predict(r, x, c->row, c->count);
	cop_mixture_predictions(&r->mixture, decision->arm, decision->prediction);
	const cop_policy_settings now = exploration_of(r, &learner->settings.exploration);
	cop_err err = cop_explorer_view(&r->explorer, &now, optimistic_losses(r, now.optimism, c), c->mask, out);
	return tell(r, err, c, out);
}

static cop_err view_as(
        cop_learner *learner, const cop_policy_other *other, const cop_candidates *c, cop_policy_view *out)
{
	ranker *r = (ranker *)learner;
	const cop_policy_settings now = exploration_of(r, other->settings);
	const cop_policy_other scaled = { other->policy, &now, other->p };
	cop_err err = cop_explorer_view_as(&r->explorer, &scaled, optimistic_losses(r, now.optimism, c), c->mask, out);
	return tell(r, err, c, out);
}

static cop_policy_view last_policy(cop_learner *learner)
{
	const ranker *r = (const ranker *)learner;
	return cop_explorer_last(&r->explorer, r->mixture.mixed);
}

/* A decision made before the refit came gets what it says now: it has not seen the loss either. */
static void learn_refit(ranker *r, const cop_row *x, const cop_row *candidate, cop_decision *told, double loss)
{
	cop_row raw;
	float predicted;
	join_context(r, x);
	cop_concat_row_row(&r->joined, candidate, &raw);
	cop_refit_predict(r->mixture.refit, &raw, &predicted);
	cop_refit_learn(r->mixture.refit, &raw, 0, loss, true);
	if (cop_mixture_lacks(&r->mixture, MEMBERS, told->rev) && isfinite(told->prediction[0]))
		told->prediction[MEMBERS] = predicted;
}

static cop_err learn(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	ranker *r = (ranker *)learner;
	const cop_row *candidate = played(c, decision);
	cop_cross_features_rows rows;
	bool moved = false;
	cop_decision told = *decision;
	set_context(r, x);
	set_candidate(r, candidate);
	cop_cross_features_make_rows(r->joint, &rows);
	for (size_t i = 0; i < MEMBERS; i++) /* one that refuses the step does not keep the others from it */
		moved |= members[i]->learn(r->mixture.member[i], &rows, *loss) == COP_OK;
	if (!moved)
		return COP_EDIVERGED;
	if (r->mixture.refit != NULL)
		learn_refit(r, x, candidate, &told, *loss);
	cop_mixture_settle(&r->mixture, told.prediction, *loss, NULL, learner->rev + 1);
	return COP_OK;
}

/* Learning leaves what the mixture had said where it is. */
static size_t learn_all(cop_learner *learner, const cop_row *x, const cop_candidates *told, const double *loss)
{
	ranker *r = (ranker *)learner;
	size_t learned = 0;
	predict(r, x, told->row, told->count);
	for (size_t k = 0; k < told->count; k++) {
		cop_decision one = { .arm = (uint32_t)k, .p = 1.0, .rev = learner->rev };
		if (told->mask != NULL && told->mask[k] == 0)
			continue;
		cop_mixture_predictions(&r->mixture, k, one.prediction);
		if (learn(learner, x, told, &one, &loss[k]) != COP_OK)
			continue;
		learner->rev++;
		learned++;
	}
	return learned;
}

static double greedy(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	ranker *r = (ranker *)learner;
	predict(r, x, c->row, c->count);
	return (double)cop_explorer_best(&r->explorer, r->mixture.mixed, c->mask);
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((ranker *)learner)->explorer); }

static void explain_refit(ranker *r, const cop_row *candidate, cop_explanation *e)
{
	cop_row raw;
	cop_explained_expert *expert = cop_explanation_expert(e, "refit");
	expert->weight = r->mixture.stack.weight[MEMBERS];
	expert->prediction = (double)r->mixture.loss[MEMBERS][0];
	cop_concat_row_row(&r->joined, candidate, &raw);
	cop_refit_explain(r->mixture.refit, &raw, 0, e, expert);
}

static void explain(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *e)
{
	ranker *r = (ranker *)learner;
	const cop_row *candidate = played(c, decision);
	cop_cross_features_rows rows;
	if (c->count > 0 && c->count <= e->score_room) {
		predict(r, x, c->row, c->count);
		e->score_count = c->count;
		memcpy(e->scores, r->mixture.mixed, c->count * sizeof *e->scores);
	}
	predict(r, x, candidate, 1);
	cop_cross_features_make_rows(r->joint, &rows);
	e->prediction = (double)r->mixture.mixed[0];
	for (size_t i = 0; i < MEMBERS; i++) {
		cop_explained_expert *expert = cop_explanation_expert(e, members[i]->member.name);
		expert->weight = r->mixture.stack.weight[i];
		expert->prediction = (double)r->mixture.loss[i][0];
		members[i]->explain(r->mixture.member[i], &rows, e, expert);
	}
	if (r->mixture.refit != NULL)
		explain_refit(r, candidate, e);
}

static double combine(const cop_learner *learner, const cop_decision *decision)
{
	return cop_mixture_sum(&((const ranker *)learner)->mixture, decision->prediction);
}

static const cop_refit *refitted(const cop_learner *learner) { return ((const ranker *)learner)->mixture.refit; }

static cop_err refit(cop_learner *learner, const cop_trees *trees, cop_diag *diag)
{
	ranker *r = (ranker *)learner;
	cop_refit *made;
	cop_err err = cop_concat_row_make_room(&r->joined);
	if (err == COP_OK)
		err = cop_refit_new(trees, cop_concat_row_features(&r->joined), 1, learner->rev + 1, &made, diag);
	return err == COP_OK ? cop_mixture_take(&r->mixture, made) : err;
}

static bool product(const cop_learner *learner, size_t index, size_t *i, size_t *j)
{
	if (!cop_cross_features_pair(((const ranker *)learner)->joint, index, i, j))
		return false;
	*j += cop_learner_dimension(&learner->settings);
	return true;
}

static bool find_product(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t index,
        size_t skip, size_t pair[2])
{
	return cop_cross_features_find_pair(((const ranker *)learner)->joint, x, candidate, index, skip, pair);
}

static size_t hashed(const cop_learner *learner, size_t feature, size_t candidate_feature)
{
	return cop_cross_features_hashed(((const ranker *)learner)->joint, feature, candidate_feature);
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	return cop_mixture_anatomy(&((const ranker *)learner)->mixture, parts);
}

static void outliers(const cop_learner *learner, cop_outliers *out)
{
	const ranker *r = (const ranker *)learner;
	cop_outliers of_candidates;
	cop_standardiser_outliers(r->of_contexts, out);
	cop_standardiser_outliers(r->of_candidates, &of_candidates);
	if (of_candidates.values > out->values) {
		out->feature = of_candidates.feature + (uint32_t)cop_learner_dimension(&learner->settings);
		out->value = of_candidates.value;
	}
	out->values += of_candidates.values;
	out->rescaled += of_candidates.rescaled;
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const ranker *r = (const ranker *)learner;
	cop_explorer_save(&r->explorer, bytes);
	cop_mixture_save_weights(&r->mixture, bytes);
	cop_standardiser_save(r->of_contexts, bytes);
	cop_standardiser_save(r->of_candidates, bytes);
	cop_mixture_save_members(&r->mixture, bytes);
}

/* What a saved state of dense contexts says of those that come: of which features they may lack some. */
static void know_features(ranker *r)
{
	cop_learner *learner = &r->base;
	const size_t candidate = learner->settings.candidate_features;
	if (learner->settings.features == 0)
		return;
	learner->known = learner->settings.known = cop_standardiser_known(r->of_contexts);
	cop_mixture_expect_refit(&r->mixture, 1, learner->known + candidate);
	if (r->mixture.refit != NULL)
		cop_refit_expect_behind(r->mixture.refit, candidate);
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	ranker *r = (ranker *)learner;
	cop_explorer_load(&r->explorer, cursor);
	cop_err err = cop_mixture_expect(&r->mixture, cursor, cop_concat_row_features(&r->joined), 1);
	if (err == COP_OK && r->mixture.refit != NULL)
		err = cop_concat_row_make_room(&r->joined);
	if (err == COP_OK)
		err = cop_mixture_load_weights(&r->mixture, cursor);
	if (err == COP_OK)
		err = cop_standardiser_load(r->of_contexts, cursor);
	if (err == COP_OK)
		err = cop_standardiser_load(r->of_candidates, cursor);
	if (err == COP_OK)
		know_features(r);
	return err == COP_OK ? cop_mixture_load_members(&r->mixture, cursor) : err;
}

static size_t trees(const cop_learner *learner) { return cop_mixture_trees(&((const ranker *)learner)->mixture); }

static cop_err tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	return cop_mixture_tree(&((const ranker *)learner)->mixture, m, out);
}

const cop_learner_class cop_learner_rank = {
	.name = "rank",
	.candidates = true,
	.apart = "the running statistics by which inputs are standardised, the trees' gradient steps and the experts' "
	         "weights",
	.max_height = COP_LEARNER_MAX_ENSEMBLE_HEIGHT,
	.least_propensity = COP_LEARNER_LEAST_PROPENSITY,
	.predictions = MEMBERS,
	.footprint = footprint,
	.create = create,
	.destroy = destroy,
	.observe = observe,
	.decide = decide,
	.learn = learn,
	.learn_all = learn_all,
	.view = view,
	.view_as = view_as,
	.advance = advance,
	.greedy = greedy,
	.explain = explain,
	.product = product,
	.find_product = find_product,
	.hashed = hashed,
	.last_policy = last_policy,
	.anatomy = anatomy,
	.outliers = outliers,
	.save = save,
	.load = load,
	.combine = combine,
	.trees = trees,
	.tree = tree,
	.refit = refit,
	.refitted = refitted,
};

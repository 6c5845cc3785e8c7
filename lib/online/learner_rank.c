/* The mixture of learner_ensemble.c over candidates with features: every scorer predicts the loss of every candidate
 * from its joint row with the context and learns from the played one; the mixture's prediction is their mean weighted
 * by exp(-ETA E_i), E_i the discounted squared error of what scorer i predicted, at decide, for the played candidate.
 * What the context contributes is computed once an event. */
#include "online/ranking.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "online/explorer.h"
#include "online/scorer.h"
#include "online/standardiser.h"

#define ETA              0.5
#define DISCOUNT         0.9995
#define DEFAULT_EPSILON  0.1
#define DEFAULT_GAMMA    30.0
#define DEFAULT_TREES    16
#define DEFAULT_HEIGHT   5
#define SPARSE_TREES     8
#define SPARSE_HEIGHT    4
#define SPARSE_CANDIDATE 8    /* entries of a usual sparse candidate */
#define PRIOR_LOSS       0.5f /* predicted by a scorer that has run away: it knows nothing */

static const cop_scorer_class *const members[] = { &cop_scorer_linear, &cop_scorer_trees, &cop_scorer_leaves };
#define MEMBERS (sizeof members / sizeof *members)

typedef struct ranker {
	cop_learner base;
	cop_explorer explorer;
	cop_standardiser *of_contexts, *of_candidates;
	cop_joint *joint;
	void *scorer[MEMBERS];
	double error[MEMBERS]; /* E_i */
	float *loss[MEMBERS];  /* max_candidates: each scorer's predictions */
	float *mixed;          /* max_candidates */
} ranker;

static void destroy(cop_learner *learner)
{
	ranker *r = (ranker *)learner;
	if (r == NULL)
		return;
	cop_standardiser_free(r->of_contexts);
	cop_standardiser_free(r->of_candidates);
	cop_joint_free(r->joint);
	for (size_t i = 0; i < MEMBERS; i++) {
		if (r->scorer[i] != NULL)
			members[i]->destroy(r->scorer[i]);
		cop_mem_free(r->loss[i]);
	}
	cop_mem_free(r->mixed);
	cop_explorer_fini(&r->explorer);
	cop_mem_free(r);
}

static void fill_defaults(cop_learner_settings *s)
{
	bool sparse = s->features == 0;
	if (s->policy[0] == '\0')
		strcpy(s->policy, "squarecb");
	if (s->exploration.epsilon < 0.0)
		s->exploration.epsilon = DEFAULT_EPSILON;
	if (s->exploration.gamma <= 0.0)
		s->exploration.gamma = DEFAULT_GAMMA;
	if (s->height == 0)
		s->height = sparse ? SPARSE_HEIGHT : DEFAULT_HEIGHT;
	if (s->trees == COP_LEARNER_DEFAULT_TREES)
		s->trees = sparse ? SPARSE_TREES : DEFAULT_TREES;
	if (s->learning_rate == 0.0)
		s->learning_rate = 1.0;
}

static cop_scorer_settings scorer_settings(const cop_learner_settings *s)
{
	bool sparse = s->features == 0;
	cop_scorer_settings settings = {
		.joint = {
		        .kernel = cop_kernel_best(),
		        .sparse = sparse,
		        .features = cop_learner_dimension(s),
		        .candidate_features = cop_ranking_dimension(s),
		        .max_nonzeros = s->max_nonzeros,
		        .seed = s->seed,
		},
		.trees = s->trees,
		.height = s->height,
		.rate = (float)s->learning_rate,
	};
	size_t near, whole;
	cop_joint_sizes(&settings.joint, &near, &whole);
	settings.typical = sparse ? COP_LEARNER_SPARSE_TYPICAL : near;
	settings.candidate_entries = sparse ? SPARSE_CANDIDATE : settings.joint.candidate_features + 1;
	return settings;
}

double cop_rank_footprint(const cop_learner_settings *s)
{
	cop_scorer_settings settings = scorer_settings(s);
	bool sparse = s->features == 0;
	double sum = cop_joint_footprint(&settings.joint) +
	             cop_standardiser_footprint(settings.joint.features, sparse, s->max_nonzeros) +
	             cop_standardiser_footprint(settings.joint.candidate_features, sparse, s->max_nonzeros) +
	             (double)s->max_candidates * (sizeof(double) + (MEMBERS + 1) * sizeof(float));
	for (size_t i = 0; i < MEMBERS; i++)
		sum += members[i]->footprint(&settings);
	return sum;
}

static cop_err create_parts(ranker *r)
{
	cop_learner_settings explored = r->base.settings;
	cop_scorer_settings settings = scorer_settings(&explored);
	bool sparse = settings.joint.sparse;
	cop_rng rng;
	explored.arms = explored.max_candidates;
	cop_rng_init(&rng, explored.seed, 2);
	cop_err err = cop_explorer_init(&r->explorer, &explored);
	if (err == COP_OK)
		err = cop_standardiser_new(settings.joint.features, sparse, explored.max_nonzeros, &r->of_contexts);
	if (err == COP_OK)
		err = cop_standardiser_new(
		        settings.joint.candidate_features, sparse, explored.max_nonzeros, &r->of_candidates);
	if (err == COP_OK)
		err = cop_joint_new(&settings.joint, &r->joint);
	r->mixed = cop_mem_alloc(explored.max_candidates, sizeof *r->mixed);
	if (err == COP_OK && r->mixed == NULL)
		err = COP_ENOMEM;
	for (size_t i = 0; i < MEMBERS && err == COP_OK; i++) {
		r->loss[i] = cop_mem_alloc(explored.max_candidates, sizeof *r->loss[i]);
		err = r->loss[i] == NULL ? COP_ENOMEM : members[i]->create(&settings, &rng, &r->scorer[i]);
	}
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
	fill_defaults(&r->base.settings);
	cop_err err = create_parts(r);
	if (err != COP_OK) {
		destroy(&r->base);
		return err;
	}
	*out = &r->base;
	return COP_OK;
}

static void weigh(const ranker *r, double *weight)
{
	double least = r->error[0];
	double sum = 0.0;
	for (size_t i = 1; i < MEMBERS; i++)
		least = fmin(least, r->error[i]);
	for (size_t i = 0; i < MEMBERS; i++)
		sum += weight[i] = exp(-ETA * (r->error[i] - least));
	for (size_t i = 0; i < MEMBERS; i++)
		weight[i] /= sum;
}

static void set_context(ranker *r, const cop_row *raw)
{
	cop_row x;
	cop_standardiser_apply(r->of_contexts, raw, &x);
	cop_joint_set_context(r->joint, &x);
}

static void set_candidate(ranker *r, const cop_row *raw)
{
	cop_row a;
	cop_standardiser_apply(r->of_candidates, raw, &a);
	cop_joint_set_candidate(r->joint, &a);
}

/* Predicted losses of the candidates: `mixed`, and each scorer's. */
static void predict(ranker *r, const cop_row *x, const cop_row *candidate, size_t count, double *weight)
{
	weigh(r, weight);
	set_context(r, x);
	for (size_t i = 0; i < MEMBERS; i++)
		members[i]->begin(r->scorer[i], r->joint);
	for (size_t k = 0; k < count; k++) {
		set_candidate(r, &candidate[k]);
		r->mixed[k] = 0.0f;
		for (size_t i = 0; i < MEMBERS; i++) {
			float loss = members[i]->score(r->scorer[i], r->joint);
			r->loss[i][k] = isfinite(loss) ? loss : PRIOR_LOSS;
			r->mixed[k] += (float)weight[i] * r->loss[i][k];
		}
	}
	r->explorer.arms = count;
}

static void observe(cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t count)
{
	ranker *r = (ranker *)learner;
	cop_standardiser_observe(r->of_contexts, x);
	cop_standardiser_observe_all(r->of_candidates, candidate, count);
}

static void keep_predictions(const ranker *r, cop_decision *decision)
{
	for (size_t i = 0; i < MEMBERS; i++)
		decision->prediction[i] = r->loss[i][decision->arm];
}

static cop_err decide(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out)
{
	ranker *r = (ranker *)learner;
	double weight[MEMBERS];
	predict(r, x, c->row, c->count, weight);
	cop_err err = cop_explorer_choose(&r->explorer, &learner->settings.exploration, r->mixed, c->mask, out);
	if (err == COP_OK)
		keep_predictions(r, out);
	return err;
}

static cop_err view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	ranker *r = (ranker *)learner;
	double weight[MEMBERS];
	predict(r, x, c->row, c->count, weight);
	keep_predictions(r, decision);
	return cop_explorer_view(&r->explorer, &learner->settings.exploration, r->mixed, c->mask, out);
}

static cop_err learn(
        cop_learner *learner, const cop_row *x, const cop_row *candidate, const cop_decision *decision, double loss)
{
	ranker *r = (ranker *)learner;
	cop_joint_rows rows;
	bool moved = false;
	set_context(r, x);
	set_candidate(r, candidate);
	cop_joint_make_rows(r->joint, &rows);
	for (size_t i = 0; i < MEMBERS; i++) /* one that refuses the step does not keep the others from it */
		moved |= members[i]->learn(r->scorer[i], &rows, loss) == COP_OK;
	if (!moved)
		return COP_EDIVERGED;
	for (size_t i = 0; i < MEMBERS; i++) {
		double miss = (double)decision->prediction[i] - loss;
		if (isfinite(miss))
			r->error[i] = DISCOUNT * r->error[i] + miss * miss;
	}
	return COP_OK;
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((ranker *)learner)->explorer); }

static void explain(cop_learner *learner, const cop_row *x, const cop_row *candidate, const cop_candidates *c,
        const cop_decision *decision, cop_explanation *e)
{
	ranker *r = (ranker *)learner;
	cop_joint_rows rows;
	double weight[MEMBERS];
	(void)decision;
	if (c != NULL && c->count <= e->score_room) {
		predict(r, x, c->row, c->count, weight);
		e->score_count = c->count;
		memcpy(e->scores, r->mixed, c->count * sizeof *e->scores);
	}
	predict(r, x, candidate, 1, weight);
	cop_joint_make_rows(r->joint, &rows);
	e->prediction = (double)r->mixed[0];
	for (size_t i = 0; i < MEMBERS; i++) {
		cop_explained_expert *expert = cop_explanation_expert(e, members[i]->name);
		expert->weight = weight[i];
		expert->prediction = (double)r->loss[i][0];
		members[i]->explain(r->scorer[i], &rows, e, expert);
	}
}

static bool pair(const cop_learner *learner, size_t input, size_t *feature, size_t *candidate_feature)
{
	return cop_joint_pair(((const ranker *)learner)->joint, input, feature, candidate_feature);
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const ranker *r = (const ranker *)learner;
	cop_explorer_save(&r->explorer, bytes);
	cop_bytes_put_u32(bytes, MEMBERS);
	cop_bytes_put_f64s(bytes, r->error, MEMBERS);
	cop_standardiser_save(r->of_contexts, bytes);
	cop_standardiser_save(r->of_candidates, bytes);
	for (size_t i = 0; i < MEMBERS; i++) {
		cop_bytes_put_text(bytes, members[i]->name);
		members[i]->save(r->scorer[i], bytes);
	}
}

static cop_err load_scorer(ranker *r, size_t i, cop_cursor *cursor)
{
	char name[16];
	cop_cursor_text(cursor, name, sizeof name);
	if (cursor->err != COP_OK)
		return cursor->err;
	return strcmp(name, members[i]->name) == 0 ? members[i]->load(r->scorer[i], cursor) : COP_ESHAPE;
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	ranker *r = (ranker *)learner;
	cop_explorer_load(&r->explorer, cursor);
	uint32_t count = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (count != MEMBERS)
		return COP_ESHAPE;
	cop_cursor_f64s(cursor, r->error, MEMBERS);
	cop_err err = cop_standardiser_load(r->of_contexts, cursor);
	if (err == COP_OK)
		err = cop_standardiser_load(r->of_candidates, cursor);
	for (size_t i = 0; i < MEMBERS && err == COP_OK; i++)
		err = load_scorer(r, i, cursor);
	return err;
}

static size_t trees(const cop_learner *learner)
{
	const ranker *r = (const ranker *)learner;
	size_t count = 0;
	for (size_t i = 0; i < MEMBERS; i++)
		count += members[i]->trees(r->scorer[i]);
	return count;
}

static cop_err tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	const ranker *r = (const ranker *)learner;
	*out = NULL;
	for (size_t i = 0; i < MEMBERS; i++) {
		size_t count = members[i]->trees(r->scorer[i]);
		if (m < count)
			return members[i]->tree(r->scorer[i], m, out);
		m -= count;
	}
	return COP_ENOTFOUND;
}

static const cop_ranking_class ranking = {
	.observe = observe,
	.decide = decide,
	.view = view,
	.learn = learn,
	.explain = explain,
	.pair = pair,
};

const cop_learner_class cop_learner_rank = {
	.name = "rank",
	.predictions = MEMBERS,
	.ranking = &ranking,
	.create = create,
	.destroy = destroy,
	.advance = advance,
	.save = save,
	.load = load,
	.trees = trees,
	.tree = tree,
};

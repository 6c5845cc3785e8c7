/* The mixture: every expert predicts every arm's loss and learns from every event; the mixture's prediction is their
 * mean weighted by exp(-ETA E_i), E_i the discounted squared error of what expert i predicted, at decide, for the arm
 * that was played. The policy explores on the mixture's prediction. */
#include "online/learner.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "online/expert.h"
#include "online/explorer.h"
#include "online/standardiser.h"

#define ETA             0.5
#define DISCOUNT        0.9995
#define DEFAULT_EPSILON 0.1
#define DEFAULT_GAMMA   30.0
#define DEFAULT_TREES   16
#define DEFAULT_HEIGHT  5
#define SPARSE_TREES    8
#define SPARSE_HEIGHT   4
#define PRIOR_LOSS      0.5f /* predicted by an expert that has run away: it knows nothing */

static const cop_expert_class *const members[] = { &cop_expert_linear, &cop_expert_trees };
#define MEMBERS (sizeof members / sizeof *members)

typedef struct ensemble {
	cop_learner base;
	cop_explorer explorer;
	cop_standardiser *standardiser;
	void *expert[MEMBERS];
	double error[MEMBERS]; /* E_i */
	float *loss[MEMBERS];  /* each expert's predictions, padded */
	float *mixed;
} ensemble;

static void destroy(cop_learner *learner)
{
	ensemble *e = (ensemble *)learner;
	if (e == NULL)
		return;
	cop_standardiser_free(e->standardiser);
	for (size_t i = 0; i < MEMBERS; i++) {
		if (e->expert[i] != NULL)
			members[i]->destroy(e->expert[i]);
		cop_mem_free(e->loss[i]);
	}
	cop_mem_free(e->mixed);
	cop_explorer_fini(&e->explorer);
	cop_mem_free(e);
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
	for (size_t i = 0; i < MEMBERS; i++) {
		cop_err err = members[i]->create(&settings, &rng, &e->expert[i]);
		if (err != COP_OK)
			return err;
		e->loss[i] = cop_mem_alloc(cop_kernel_pad(s->arms), sizeof(float));
		if (e->loss[i] == NULL)
			return COP_ENOMEM;
	}
	return COP_OK;
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	ensemble *e = cop_mem_alloc(1, sizeof *e);
	if (e == NULL)
		return COP_ENOMEM;
	e->base.class = &cop_learner_ensemble;
	e->base.settings = *settings;
	fill_defaults(&e->base.settings);
	e->mixed = cop_mem_alloc(cop_kernel_pad(settings->arms), sizeof *e->mixed);
	cop_err err = e->mixed == NULL ? COP_ENOMEM : cop_explorer_init(&e->explorer, &e->base.settings);
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

static void weigh(const ensemble *e, double *weight)
{
	double least = e->error[0];
	double sum = 0.0;
	for (size_t i = 1; i < MEMBERS; i++)
		least = fmin(least, e->error[i]);
	for (size_t i = 0; i < MEMBERS; i++)
		sum += weight[i] = exp(-ETA * (e->error[i] - least));
	for (size_t i = 0; i < MEMBERS; i++)
		weight[i] /= sum;
}

static void predict(ensemble *e, const cop_row *x, double *weight)
{
	size_t arms = e->base.settings.arms;
	weigh(e, weight);
	memset(e->mixed, 0, arms * sizeof *e->mixed);
	for (size_t i = 0; i < MEMBERS; i++) {
		members[i]->predict(e->expert[i], x, e->loss[i]);
		for (size_t k = 0; k < arms; k++) {
			if (!isfinite(e->loss[i][k]))
				e->loss[i][k] = PRIOR_LOSS;
			e->mixed[k] += (float)weight[i] * e->loss[i][k];
		}
	}
}

static cop_err decide(cop_learner *learner, const cop_row *raw, const uint8_t *mask, cop_decision *out)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	double weight[MEMBERS];
	cop_standardiser_observe(e->standardiser, raw);
	cop_standardiser_apply(e->standardiser, raw, &x);
	predict(e, &x, weight);
	cop_err err = cop_explorer_choose(&e->explorer, &learner->settings.exploration, e->mixed, mask, out);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < MEMBERS; i++)
		out->prediction[i] = e->loss[i][out->arm];
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
	for (size_t i = 0; i < MEMBERS; i++)
		decision->prediction[i] = e->loss[i][decision->arm];
	return cop_explorer_view(&e->explorer, &learner->settings.exploration, e->mixed, mask, out);
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_decision *decision, const double *loss)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	cop_standardiser_apply(e->standardiser, raw, &x);
	bool moved = false;
	for (size_t i = 0; i < MEMBERS; i++) /* one that refuses the step does not keep the others from it */
		moved |= members[i]->learn(e->expert[i], &x, decision->arm, *loss) == COP_OK;
	if (!moved)
		return COP_EDIVERGED;
	for (size_t i = 0; i < MEMBERS; i++) {
		double miss = (double)decision->prediction[i] - *loss;
		if (isfinite(miss))
			e->error[i] = DISCOUNT * e->error[i] + miss * miss;
	}
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
	return (double)cop_explorer_best(&e->explorer, e->mixed, mask);
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_decision *decision, cop_explanation *out)
{
	ensemble *e = (ensemble *)learner;
	cop_row x;
	double weight[MEMBERS];
	cop_standardiser_apply(e->standardiser, raw, &x);
	predict(e, &x, weight);
	out->prediction = (double)e->mixed[decision->arm];
	for (size_t i = 0; i < MEMBERS; i++) {
		cop_explained_expert *expert = cop_explanation_expert(out, members[i]->name);
		expert->weight = weight[i];
		expert->prediction = (double)e->loss[i][decision->arm];
		members[i]->explain(e->expert[i], &x, decision->arm, out, expert);
	}
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const ensemble *e = (const ensemble *)learner;
	cop_explorer_save(&e->explorer, bytes);
	cop_bytes_put_u32(bytes, MEMBERS);
	cop_bytes_put_f64s(bytes, e->error, MEMBERS);
	cop_standardiser_save(e->standardiser, bytes);
	for (size_t i = 0; i < MEMBERS; i++) {
		cop_bytes_put_text(bytes, members[i]->name);
		members[i]->save(e->expert[i], bytes);
	}
}

static cop_err load_expert(ensemble *e, size_t i, cop_cursor *cursor)
{
	char name[16];
	cop_cursor_text(cursor, name, sizeof name);
	if (cursor->err != COP_OK)
		return cursor->err;
	return strcmp(name, members[i]->name) == 0 ? members[i]->load(e->expert[i], cursor) : COP_ESHAPE;
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	ensemble *e = (ensemble *)learner;
	cop_explorer_load(&e->explorer, cursor);
	uint32_t count = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (count != MEMBERS)
		return COP_ESHAPE;
	cop_cursor_f64s(cursor, e->error, MEMBERS);
	cop_err err = cop_standardiser_load(e->standardiser, cursor);
	for (size_t i = 0; i < MEMBERS && err == COP_OK; i++)
		err = load_expert(e, i, cursor);
	return err;
}

static size_t trees(const cop_learner *learner)
{
	const ensemble *e = (const ensemble *)learner;
	size_t count = 0;
	for (size_t i = 0; i < MEMBERS; i++)
		count += members[i]->trees(e->expert[i]);
	return count;
}

static cop_err tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	const ensemble *e = (const ensemble *)learner;
	*out = NULL;
	for (size_t i = 0; i < MEMBERS; i++) {
		size_t count = members[i]->trees(e->expert[i]);
		if (m < count)
			return members[i]->tree(e->expert[i], m, out);
		m -= count;
	}
	return COP_ENOTFOUND;
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

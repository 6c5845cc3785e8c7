/* The example of docs/contributing/recipes.md: a learner of arms that predicts each arm's mean loss so far, whatever
 * the context. Half a loss of 1/2 is counted beforehand, so that arms without losses are predicted 1/2. */
#include "base/mem.h"
#include "learn/explorer.h"
#include "learn/learner.h"

extern const cop_learner_class cop_learner_means;

typedef struct means_learner {
	cop_learner base;
	cop_explorer explorer;
	double *sum, *count; /* of losses, arms each */
	float *loss;         /* predicted */
} means_learner;

static double footprint(const cop_learner_settings *settings) { return 28.0 * (double)settings->arms; }

static void destroy(cop_learner *learner)
{
	means_learner *m = (means_learner *)learner;
	cop_explorer_fini(&m->explorer);
	cop_mem_free(m->sum);
	cop_mem_free(m->count);
	cop_mem_free(m->loss);
	cop_mem_free(m);
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	means_learner *m = cop_mem_alloc(1, sizeof *m);
	if (m == NULL)
		return COP_ENOMEM;
	m->base.class = &cop_learner_means;
	m->base.settings = *settings;
	m->sum = cop_mem_alloc(settings->arms, sizeof *m->sum);
	m->count = cop_mem_alloc(settings->arms, sizeof *m->count);
	m->loss = cop_mem_alloc(settings->arms, sizeof *m->loss);
	cop_err err = cop_explorer_init(&m->explorer, &m->base.settings);
	if (err != COP_OK || m->sum == NULL || m->count == NULL || m->loss == NULL) {
		destroy(&m->base);
		return COP_ENOMEM;
	}
	*out = &m->base;
	return COP_OK;
}

static float mean(const means_learner *m, size_t arm) { return (float)((m->sum[arm] + 0.25) / (m->count[arm] + 0.5)); }

static const float *predict(means_learner *m)
{
	for (size_t k = 0; k < m->base.settings.arms; k++)
		m->loss[k] = mean(m, k);
	return m->loss;
}

static void observe(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	(void)learner;
	(void)x;
	(void)c;
}

static cop_err decide(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out)
{
	means_learner *m = (means_learner *)learner;
	(void)x;
	return cop_explorer_choose(&m->explorer, &learner->settings.exploration, predict(m), cop_learner_mask(c), out);
}

static cop_err view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	means_learner *m = (means_learner *)learner;
	(void)x;
	(void)decision;
	return cop_explorer_view(&m->explorer, &learner->settings.exploration, predict(m), cop_learner_mask(c), out);
}

static cop_policy_view viewed(cop_learner *learner)
{
	means_learner *m = (means_learner *)learner;
	return cop_explorer_last(&m->explorer, m->loss);
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((means_learner *)learner)->explorer); }

static cop_err learn(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	means_learner *m = (means_learner *)learner;
	(void)x;
	(void)c;
	m->sum[decision->arm] += *loss;
	m->count[decision->arm] += 1.0;
	return COP_OK;
}

static double greedy(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	means_learner *m = (means_learner *)learner;
	(void)x;
	return (double)cop_explorer_best(&m->explorer, predict(m), cop_learner_mask(c));
}

static void explain(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *e)
{
	cop_explained_expert *expert = cop_explanation_expert(e, "means");
	(void)x;
	(void)c;
	expert->weight = 1.0;
	e->prediction = expert->prediction = (double)mean((means_learner *)learner, decision->arm);
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	(void)learner;
	parts[0] = (cop_anatomy_part){ .name = "means", .weight = 1.0 };
	return 1;
}

static void outliers(const cop_learner *learner, cop_outliers *out)
{
	(void)learner;
	*out = (cop_outliers){ 0 };
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const means_learner *m = (const means_learner *)learner;
	cop_bytes_put_f64s(bytes, m->sum, learner->settings.arms);
	cop_bytes_put_f64s(bytes, m->count, learner->settings.arms);
	cop_explorer_save(&m->explorer, bytes);
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	means_learner *m = (means_learner *)learner;
	cop_cursor_f64s(cursor, m->sum, learner->settings.arms);
	cop_cursor_f64s(cursor, m->count, learner->settings.arms);
	cop_explorer_load(&m->explorer, cursor);
	return cursor->err;
}

static size_t trees(const cop_learner *learner)
{
	(void)learner;
	return 0;
}

const cop_learner_class cop_learner_means = {
	.name = "means",
	.max_height = COP_LEARNER_MAX_HEIGHT,
	.footprint = footprint,
	.create = create,
	.destroy = destroy,
	.observe = observe,
	.decide = decide,
	.view = view,
	.last_policy = viewed,
	.advance = advance,
	.learn = learn,
	.greedy = greedy,
	.explain = explain,
	.anatomy = anatomy,
	.outliers = outliers,
	.save = save,
	.load = load,
	.trees = trees,
};

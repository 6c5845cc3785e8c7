/* Learner "value" with feedback from bins: the losses predicted over the whole range (learn/bins.h) make a density
 * (bandit/density.h), and what is drawn from it is played and answered by one loss. The density is above 0 everywhere,
 * so that logs of it can evaluate other policies. */
#include "learn/learner.h"

#include <math.h>

#include "bandit/density.h"
#include "base/mem.h"
#include "learn/bins.h"
#include "learn/standardiser.h"

static const cop_density_settings exploration = {
	.spread = 0.1, .floor = 0.1, .early_spread = 1000.0, .early_floor = 500.0, .most = 50000.0
};

typedef struct bins_learner {
	cop_learner base;
	cop_standardiser *standardiser;
	cop_bins *bins;
	cop_rng rng;
	double p[COP_BINS];
	const float *loss; /* of the last look */
} bins_learner;

static void destroy(cop_learner *learner)
{
	bins_learner *v = (bins_learner *)learner;
	if (v == NULL)
		return;
	cop_standardiser_free(v->standardiser);
	cop_bins_free(v->bins);
	cop_mem_free(v);
}

static cop_bins_settings settings_of(const cop_learner_settings *s)
{
	return (cop_bins_settings){
		.kernel = cop_kernel_best(),
		.inputs = cop_learner_dimension(s) + 1,
		.sparse = s->features == 0,
		.entries = s->features == 0 ? s->max_nonzeros + 1 : 0,
	};
}

static double footprint(const cop_learner_settings *s)
{
	const cop_bins_settings settings = settings_of(s);
	return cop_standardiser_footprint(cop_learner_dimension(s), s->features == 0, s->max_nonzeros) +
	       cop_bins_footprint(&settings) + (double)sizeof(bins_learner);
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	bins_learner *v = cop_mem_alloc(1, sizeof *v);
	if (v == NULL)
		return COP_ENOMEM;
	const cop_bins_settings bins = settings_of(settings);
	v->base.class = &cop_learner_bins;
	v->base.settings = *settings;
	cop_rng_init(&v->rng, settings->seed, 1);
	cop_err err = cop_standardiser_new(
	        cop_learner_dimension(settings), settings->features == 0, settings->max_nonzeros, &v->standardiser);
	if (err == COP_OK && settings->known > 0)
		err = cop_standardiser_know(v->standardiser, settings->known);
	v->base.known = settings->known;
	if (err == COP_OK)
		err = cop_bins_new(&bins, &v->bins);
	if (err != COP_OK) {
		destroy(&v->base);
		return err;
	}
	*out = &v->base;
	return COP_OK;
}

static const float *predict(bins_learner *v, const cop_row *raw)
{
	cop_row x;
	cop_standardiser_apply(v->standardiser, raw, &x);
	return cop_bins_predict(v->bins, &x);
}

static void probes(const cop_learner *learner, cop_decision *decision)
{
	(void)learner;
	decision->probe[0] = decision->y;
	decision->p = (double)decision->prediction[0]; /* a decision that waited brings it along */
}

static void observe(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	(void)c;
	if (!learner->frozen)
		cop_standardiser_observe(((bins_learner *)learner)->standardiser, raw);
}

static cop_policy_view last_policy(cop_learner *learner)
{
	bins_learner *v = (bins_learner *)learner;
	size_t best = 0;
	for (size_t k = 1; k < COP_BINS; k++)
		if (v->loss[k] < v->loss[best])
			best = k;
	return (cop_policy_view){ .arms = COP_BINS, .best = best, .p = v->p, .loss = v->loss };
}

static void look(bins_learner *v, const cop_row *raw)
{
	v->loss = predict(v, raw);
	cop_density_fill(&exploration, cop_bins_learned(v->bins), cop_bins_noise(v->bins), COP_BINS, v->loss, v->p);
}

static cop_err view(
        cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	(void)c;
	bins_learner *v = (bins_learner *)learner;
	look(v, raw);
	decision->arm = (uint32_t)cop_density_bin(COP_BINS, decision->y);
	decision->prediction[0] = (float)(v->p[decision->arm] * COP_BINS);
	*out = last_policy(learner);
	return COP_OK;
}

static cop_err decide(cop_learner *learner, const cop_row *raw, const cop_candidates *c, cop_decision *out)
{
	(void)c;
	bins_learner *v = (bins_learner *)learner;
	double density;
	look(v, raw);
	out->y = cop_density_draw(COP_BINS, v->p, &v->rng, &density);
	out->prediction[0] = (float)density; /* so it waits with the decision, and is in the journal */
	cop_learner_probes(learner, out);
	return COP_OK;
}

static cop_err learn(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	(void)c;
	bins_learner *v = (bins_learner *)learner;
	cop_row x;
	cop_standardiser_apply(v->standardiser, raw, &x);
	return cop_bins_learn(v->bins, &x, decision->y, *loss);
}

static void advance(cop_learner *learner) { (void)cop_rng_unit(&((bins_learner *)learner)->rng); }

static double greedy(cop_learner *learner, const cop_row *raw, const cop_candidates *c)
{
	(void)c;
	return cop_density_best(COP_BINS, predict((bins_learner *)learner, raw));
}

static void explain(cop_learner *learner, const cop_row *raw, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *out)
{
	bins_learner *v = (bins_learner *)learner;
	cop_row x;
	out->prediction = greedy(learner, raw, c);
	cop_standardiser_apply(v->standardiser, raw, &x);
	cop_bins_explain(v->bins, &x, decision->y, out);
}

static bool product(const cop_learner *learner, size_t index, size_t *i, size_t *j)
{
	return cop_bins_product(((const bins_learner *)learner)->bins, index, i, j);
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	return cop_bins_anatomy(((const bins_learner *)learner)->bins, parts);
}

static void outliers(const cop_learner *learner, cop_outliers *out)
{
	cop_standardiser_outliers(((const bins_learner *)learner)->standardiser, out);
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const bins_learner *v = (const bins_learner *)learner;
	cop_bytes_put_rng(bytes, &v->rng);
	cop_standardiser_save(v->standardiser, bytes);
	cop_bins_save(v->bins, bytes);
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	bins_learner *v = (bins_learner *)learner;
	cop_cursor_rng(cursor, &v->rng);
	cop_err err = cop_standardiser_load(v->standardiser, cursor);
	const bool dense = learner->settings.features != 0;
	learner->known = dense ? cop_standardiser_known(v->standardiser) : 0;
	learner->settings.known = learner->known; /* for what is made alike */
	const size_t inputs = dense ? learner->saved_features + 1 : cop_learner_dimension(&learner->settings) + 1;
	return err == COP_OK ? cop_bins_load(v->bins, inputs, cursor) : err;
}

static cop_err refit(cop_learner *learner, const cop_trees *given, cop_diag *diag)
{
	(void)learner;
	(void)given;
	cop_diag_message(diag, "a value learner with feedback from bins has no trees to replace");
	return COP_ESHAPE;
}

const cop_learner_class cop_learner_bins = {
	.name = "value",
	.values = true,
	.apart = "the running statistics by which inputs are standardised and the bins' gradient steps",
	.max_height = COP_LEARNER_MAX_HEIGHT,
	.footprint = footprint,
	.predictions = 1,
	.create = create,
	.destroy = destroy,
	.decide = decide,
	.learn = learn,
	.view = view,
	.last_policy = last_policy,
	.observe = observe,
	.advance = advance,
	.probes = probes,
	.greedy = greedy,
	.explain = explain,
	.product = product,
	.anatomy = anatomy,
	.outliers = outliers,
	.save = save,
	.load = load,
	.refit = refit,
};

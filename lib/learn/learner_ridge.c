/* Learner "ridge": for each arm a linear least-squares model of its losses that is nothing but sums over what was
 * learned, so that models of several instances add up to the one that would have seen everything (learn/sums.h).
 *
 * Of arm k, over its losses with r = loss - 1/2: n, s = sum of x, S = sum of x xᵀ, q = sum of r, g = sum of r x, of raw
 * features, in double (learn/arm_sums.h). With own mean m = s / n and deviation d of each feature, z = (x - m) / d, the
 * predicted loss is
 *     1/2 + q / (n + 1) + w z,   (I + sum of z zᵀ) w = sum of r z
 * both of which follow from the sums: sum of z zᵀ = (S - n m mᵀ) / d dᵀ. A feature that hardly varies has w = 0. The
 * weights are no state: they are found when an arm is asked about for the first time after its sums changed, at a cost
 * of about features^3 / 6 multiplications. Dense contexts alone.
 *
 * Rows lack features that were added later, here or at another instance. A feature that rows lack is without weight
 * until FIRST values of it were seen here; then such rows count as rows with its mean so far. A value that is unknown
 * is the mean of the known ones. */
#include "learn/learner.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/arm_sums.h"
#include "learn/dense_scale.h"
#include "learn/explorer.h"
#include "learn/sums.h"
#include "linalg/cholesky.h"

#define PENALTY      1.0
#define LEAST_SPREAD 1e-10 /* of a feature's variance, in units of its mean square: below, it is rounding */
#define MOST_PIVOT   1e-9
#define FAR          1.0f                /* predictions end that far outside of [0, 1] */
#define FIRST        32.0                /* values of a feature that rows lack, before it counts */
#define GROWN        ((uint64_t)1 << 63) /* stands before how many features are known, where some may be unknown */

_Static_assert(COP_ARM_SUMS_FEATURES >= COP_LEARNER_MAX_RIDGE_FEATURES, "sums of that many are found");

/* What follows from the sums. */
typedef struct solved {
	uint8_t *stale; /* arms: the sums have changed since */
	double *mean;   /* arms x features */
	double *scale;  /* the same: 1 / d; 0: the feature hardly varies */
	float *weight;  /* arms x (features + 1): of z, and of the constant */
	double *matrix; /* features x features */
	double *right;  /* features */
} solved;

typedef struct ridge {
	cop_learner base;
	cop_explorer explorer;
	cop_sums sums;
	cop_dense_scale *limits;
	solved *solved;
	float *x;    /* features: the row within the limits */
	float *loss; /* arms */
	float *told; /* the same within [0, 1] */
	float *z;    /* features + 1 */
} ridge;

/* Mean and scale of each feature of the arm. */
static void standardise(const ridge *m, size_t arm, const double *own, const double *others)
{
	const size_t d = m->base.settings.features;
	double *mean = m->solved->mean + arm * d, *scale = m->solved->scale + arm * d;
	const double n = own[0] + others[0];
	size_t at = 2 + 2 * d;
	for (size_t j = 0; j < d; at += d - j, j++) {
		const double square = n > 0.0 ? (own[at] + others[at]) / n : 0.0;
		mean[j] = n > 0.0 ? (own[2 + j] + others[2 + j]) / n : 0.0;
		const double variance = square - mean[j] * mean[j];
		scale[j] = variance > LEAST_SPREAD * square ? 1.0 / sqrt(variance) : 0.0;
		if (cop_sums_is_open(&m->sums, j))
			mean[j] = scale[j] = 0.0;
	}
}

/* I + sum of z zᵀ, and the sum of r z. */
static void fill(solved *v, size_t arm, size_t d, const double *own, const double *others)
{
	const double *mean = v->mean + arm * d, *scale = v->scale + arm * d;
	const double n = own[0] + others[0], q = own[1] + others[1];
	size_t at = 2 + 2 * d;
	for (size_t j = 0; j < d; at += d - j, j++) {
		const double g = own[2 + d + j] + others[2 + d + j];
		double *row = v->matrix + j * d;
		v->right[j] = (g - q * mean[j]) * scale[j];
		for (size_t l = j; l < d; l++)
			row[l] = (own[at + l - j] + others[at + l - j] - n * mean[j] * mean[l]) * scale[j] * scale[l];
		row[j] += PENALTY;
	}
}

static void solve(const ridge *m, size_t arm)
{
	solved *v = m->solved;
	const size_t d = m->base.settings.features, at = arm * m->sums.width;
	const double *own = m->sums.own + at, *others = m->sums.others + at;
	float *weight = v->weight + arm * (d + 1);
	standardise(m, arm, own, others);
	fill(v, arm, d, own, others);
	cop_cholesky_solve(d, v->matrix, MOST_PIVOT, v->right);
	for (size_t j = 0; j < d; j++)
		weight[j] = (float)v->right[j];
	weight[d] = (float)((own[1] + others[1]) / (own[0] + others[0] + PENALTY));
	v->stale[arm] = 0;
}

static void solve_all(const ridge *m)
{
	for (size_t k = 0; k < m->base.settings.arms; k++)
		if (m->solved->stale[k] != 0)
			solve(m, k);
}

static void spoil(ridge *m) { memset(m->solved->stale, 1, m->base.settings.arms); }

static float predict_one(const ridge *m, size_t arm)
{
	const size_t d = m->base.settings.features;
	const double *mean = m->solved->mean + arm * d, *scale = m->solved->scale + arm * d;
	const float *weight = m->solved->weight + arm * (d + 1);
	double sum = 0.5 + (double)weight[d];
	for (size_t j = 0; j < d; j++)
		sum += (double)weight[j] * (((double)m->x[j] - mean[j]) * scale[j]);
	return (float)fmin(fmax(sum, -(double)FAR), 1.0 + (double)FAR);
}

static void predict(ridge *m, const cop_row *x)
{
	solve_all(m);
	cop_dense_scale_bound(m->limits, x->dense, m->x);
	for (size_t k = 0; k < m->base.settings.arms; k++) {
		m->loss[k] = predict_one(m, k);
		m->told[k] = fminf(fmaxf(m->loss[k], 0.0f), 1.0f);
	}
}

/* ---- the class ---- */

static void free_solved(solved *v)
{
	if (v == NULL)
		return;
	cop_mem_free(v->stale);
	cop_mem_free(v->mean);
	cop_mem_free(v->scale);
	cop_mem_free(v->weight);
	cop_mem_free(v->matrix);
	cop_mem_free(v->right);
	cop_mem_free(v);
}

static solved *new_solved(size_t arms, size_t d)
{
	solved *v = cop_mem_alloc(1, sizeof *v);
	if (v == NULL)
		return NULL;
	v->stale = cop_mem_alloc(arms, sizeof *v->stale);
	v->mean = cop_mem_alloc(arms * d, sizeof *v->mean);
	v->scale = cop_mem_alloc(arms * d, sizeof *v->scale);
	v->weight = cop_mem_alloc(arms * (d + 1), sizeof *v->weight);
	v->matrix = cop_mem_alloc(d * d, sizeof *v->matrix);
	v->right = cop_mem_alloc(d, sizeof *v->right);
	if (v->stale != NULL && v->mean != NULL && v->scale != NULL && v->weight != NULL && v->matrix != NULL &&
	        v->right != NULL)
		return v;
	free_solved(v);
	return NULL;
}

static void destroy(cop_learner *learner)
{
	ridge *m = (ridge *)learner;
	if (m == NULL)
		return;
	cop_sums_fini(&m->sums);
	cop_dense_scale_free(m->limits);
	free_solved(m->solved);
	cop_explorer_fini(&m->explorer);
	cop_mem_free(m->x);
	cop_mem_free(m->loss);
	cop_mem_free(m->told);
	cop_mem_free(m->z);
	cop_mem_free(m);
}

static const char *refusal(const cop_learner_settings *s)
{
	if (s->features == 0)
		return "features: learner ridge takes dense contexts, expected 1 to 256";
	if (s->features > COP_LEARNER_MAX_RIDGE_FEATURES)
		return "features: learner ridge finds its weights anew, expected 1 to 256";
	if (s->arms * cop_arm_sums_width(s->features) > COP_LEARNER_MAX_RIDGE_SUMS)
		return "arms: learner ridge keeps features^2 / 2 sums for each, expected at most 4194304 in all";
	return NULL;
}

static double footprint(const cop_learner_settings *s)
{
	const double d = (double)s->features, arms = (double)s->arms;
	return cop_sums_footprint(s->arms, s->features) + cop_dense_scale_footprint(s->features) +
	       sizeof(double) * (d * d + 2.0 * arms * d) + sizeof(float) * (arms * (d + 3.0) + 2.0 * d);
}

static cop_err create(const cop_learner_settings *settings, cop_learner **out)
{
	*out = NULL;
	const size_t d = settings->features, arms = settings->arms;
	ridge *m = cop_mem_alloc(1, sizeof *m);
	if (m == NULL)
		return COP_ENOMEM;
	m->base.class = &cop_learner_ridge;
	m->base.settings = *settings;
	cop_err err = cop_sums_init(&m->sums, arms, d);
	if (err == COP_OK)
		err = cop_explorer_init(&m->explorer, &m->base.settings);
	if (err == COP_OK)
		err = cop_dense_scale_new(d, &m->limits);
	if (err == COP_OK && settings->known > 0)
		err = cop_dense_scale_know(m->limits, settings->known);
	m->base.known = settings->known;
	m->solved = new_solved(arms, d);
	m->x = cop_mem_alloc(d, sizeof *m->x);
	m->loss = cop_mem_alloc(arms, sizeof *m->loss);
	m->told = cop_mem_alloc(arms, sizeof *m->told);
	m->z = cop_mem_alloc(d + 1, sizeof *m->z);
	if (m->solved == NULL || m->x == NULL || m->loss == NULL || m->told == NULL || m->z == NULL)
		err = COP_ENOMEM;
	if (err != COP_OK) {
		destroy(&m->base);
		return err;
	}
	spoil(m);
	*out = &m->base;
	return COP_OK;
}

/* Features of which enough values were seen are open no more. */
static void settle(ridge *m)
{
	bool moved = false;
	for (size_t j = 0; j < m->base.settings.features && m->sums.open > 0; j++) {
		if (!cop_sums_is_open(&m->sums, j) || cop_dense_scale_rows(m->limits, j) < FIRST)
			continue;
		cop_sums_pin(&m->sums, j, cop_dense_scale_mean(m->limits, j));
		moved = true;
	}
	if (!moved)
		return;
	cop_sums_add_up(&m->sums);
	spoil(m);
}

static void observe(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	ridge *m = (ridge *)learner;
	const uint64_t rescaled = cop_dense_scale_outliers(m->limits)->rescaled;
	bool moved = false;
	(void)c;
	if (learner->frozen)
		return;
	cop_dense_scale_add(m->limits, x->dense);
	settle(m);
	if (cop_dense_scale_outliers(m->limits)->rescaled == rescaled)
		return;
	for (size_t j = 0; j < learner->settings.features; j++)
		if (cop_dense_scale_is_anew(m->limits, j))
			moved |= cop_sums_begin_anew(&m->sums, j, cop_dense_scale_mean(m->limits, j));
	if (moved)
		cop_sums_add_up(&m->sums);
	spoil(m);
}

static cop_err decide(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out)
{
	ridge *m = (ridge *)learner;
	predict(m, x);
	return cop_explorer_choose(&m->explorer, &learner->settings.exploration, m->loss, cop_learner_mask(c), out);
}

static cop_policy_view last_policy(cop_learner *learner)
{
	const ridge *m = (const ridge *)learner;
	return cop_explorer_last(&m->explorer, m->told);
}

static cop_err view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	ridge *m = (ridge *)learner;
	(void)decision; /* there are no experts */
	predict(m, x);
	cop_err err =
	        cop_explorer_view(&m->explorer, &learner->settings.exploration, m->loss, cop_learner_mask(c), out);
	out->loss = m->told;
	return err;
}

static cop_err view_as(
        cop_learner *learner, const cop_policy_other *other, const cop_candidates *c, cop_policy_view *out)
{
	const ridge *m = (const ridge *)learner;
	cop_err err = cop_explorer_view_as(&m->explorer, other, m->loss, cop_learner_mask(c), out);
	out->loss = m->told;
	return err;
}

static cop_err learn(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        const double *loss)
{
	ridge *m = (ridge *)learner;
	const size_t d = learner->settings.features;
	(void)c;
	cop_dense_scale_bound(m->limits, x->dense, m->x);
	for (size_t j = learner->known; j < d && m->sums.open > 0; j++)
		if (cop_sums_lacks(&m->sums, j))
			m->x[j] = 0.0f;
	cop_arm_sums_add(m->sums.own + decision->arm * m->sums.width, m->x, d, *loss - 0.5);
	m->solved->stale[decision->arm] = 1;
	return COP_OK;
}

static void advance(cop_learner *learner) { cop_explorer_advance(&((ridge *)learner)->explorer); }

static double greedy(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	ridge *m = (ridge *)learner;
	predict(m, x);
	return (double)cop_explorer_best(&m->explorer, m->loss, cop_learner_mask(c));
}

static void explain(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *out)
{
	ridge *m = (ridge *)learner;
	const size_t d = learner->settings.features, arm = decision->arm;
	(void)c;
	predict(m, x);
	const float *weight = m->solved->weight + arm * (d + 1);
	cop_explained_expert *expert = cop_explanation_expert(out, "ridge");
	out->prediction = (double)m->loss[arm];
	expert->weight = 1.0;
	expert->prediction = out->prediction;
	for (size_t j = 0; j <= d; j++) {
		const double z =
		        j == d ? 1.0 : ((double)m->x[j] - m->solved->mean[arm * d + j]) * m->solved->scale[arm * d + j];
		m->z[j] = (float)z;
		expert->linear += (double)weight[j] * z;
	}
	const cop_row row = { .d = d + 1, .dense = m->z };
	expert->count = cop_explanation_top(&row, weight, 1, COP_EXPLANATION_LINEAR, expert->features);
}

static size_t anatomy(const cop_learner *learner, cop_anatomy_part *parts)
{
	const ridge *m = (const ridge *)learner;
	const size_t inputs = learner->settings.features + 1;
	solve_all(m);
	parts[0] = (cop_anatomy_part){ .name = "ridge", .weight = 1.0, .unit = COP_ANATOMY_LOSS };
	parts[0].linear =
	        (cop_anatomy_linear){ m->solved->weight, inputs, learner->settings.arms, 1, inputs, inputs, 1.0f };
	return 1;
}

static void outliers(const cop_learner *learner, cop_outliers *out)
{
	*out = *cop_dense_scale_outliers(((const ridge *)learner)->limits);
}

static void save(const cop_learner *learner, cop_bytes *bytes)
{
	const ridge *m = (const ridge *)learner;
	cop_explorer_save(&m->explorer, bytes);
	if (cop_dense_scale_known(m->limits) < learner->settings.features) {
		cop_bytes_put_u64(bytes, GROWN);
		cop_bytes_put_u64(bytes, cop_dense_scale_known(m->limits));
	}
	cop_dense_scale_save(m->limits, bytes);
	cop_sums_save(&m->sums, bytes);
}

/* Of so many saved features, those that are always known. */
static cop_err load_known(size_t saved, size_t *known, cop_cursor *cursor)
{
	cop_cursor ahead = *cursor;
	*known = saved;
	if (cop_cursor_u64(&ahead) != GROWN || ahead.err != COP_OK)
		return COP_OK;
	*known = (size_t)cop_cursor_u64(&ahead);
	*cursor = ahead;
	if (cursor->err != COP_OK)
		return cursor->err;
	return *known > 0 && *known < saved ? COP_OK : COP_EFORMAT;
}

static cop_err load(cop_learner *learner, cop_cursor *cursor)
{
	ridge *m = (ridge *)learner;
	const size_t saved = learner->saved_features;
	size_t known;
	if (saved > learner->settings.features)
		return COP_ESHAPE;
	spoil(m);
	cop_explorer_load(&m->explorer, cursor);
	cop_err err = load_known(saved, &known, cursor);
	if (err == COP_OK)
		err = cop_dense_scale_load(m->limits, saved, known, cursor);
	if (err != COP_OK)
		return err;
	learner->known = learner->settings.known = known; /* the latter for what is made alike */
	return cop_sums_load(&m->sums, learner->saved_arms, saved, cursor);
}

static cop_err make_room(cop_learner *learner, const cop_learner *from)
{
	return cop_sums_make_room(&((ridge *)learner)->sums, &((const ridge *)from)->sums);
}

static void inherit(cop_learner *learner, cop_learner *from)
{
	ridge *m = (ridge *)learner;
	ridge *other = (ridge *)from;
	cop_dense_scale *limits = m->limits;
	m->limits = other->limits;
	other->limits = limits;
	cop_explorer_inherit(&m->explorer, &other->explorer);
	cop_sums_inherit(&m->sums, &other->sums);
	spoil(m);
}

static cop_sums *sums(cop_learner *learner, bool changed)
{
	ridge *m = (ridge *)learner;
	if (changed) {
		settle(m);
		spoil(m);
	}
	return &m->sums;
}

const cop_learner_class cop_learner_ridge = {
	.name = "ridge",
	.max_height = COP_LEARNER_MAX_HEIGHT,
	.least_propensity = COP_LEARNER_LEAST_PROPENSITY,
	.refusal = refusal,
	.footprint = footprint,
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
	.anatomy = anatomy,
	.outliers = outliers,
	.save = save,
	.load = load,
	.make_room = make_room,
	.inherit = inherit,
	.sums = sums,
};

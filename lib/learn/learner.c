#include "learn/learner.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "learn/bins.h"
#include "learn/learner_defaults.h"
#include "learn/refit.h"

#define TEXT(x)  #x
#define LIMIT(x) TEXT(x) /* a limit's digits */

const cop_learner_class *cop_learner_find(const char *name)
{
	size_t i = 0;
	while (cop_learner_table[i] != NULL && strcmp(cop_learner_table[i]->name, name) != 0)
		i++;
	return cop_learner_table[i];
}

bool cop_learner_plays_values(const cop_learner_settings *settings)
{
	const cop_learner_class *class = cop_learner_find(settings->learner);
	return class != NULL && class->values;
}

bool cop_learner_plays_candidates(const cop_learner_settings *settings)
{
	const cop_learner_class *class = cop_learner_find(settings->learner);
	return class != NULL && class->candidates;
}

const char *cop_learner_keeps_features(const cop_learner_settings *settings, size_t features)
{
	const cop_learner_class *class = cop_learner_find(settings->learner);
	if (class == NULL || class->fixed)
		return "the learner takes no further features";
	if (settings->features == 0 || features == 0)
		return "sparse contexts have no number of features";
	if (class->values && settings->feedback == COP_VALUE_BINS &&
	        !cop_bins_same_form(settings->features + 1, features + 1))
		return cop_bins_forms;
	return NULL;
}

bool cop_learner_takes_features(const cop_learner_settings *settings, size_t features)
{
	return cop_learner_keeps_features(settings, features) == NULL;
}

void cop_learner_settings_init(cop_learner_settings *settings)
{
	*settings = (cop_learner_settings){
		.learner = "ensemble",
		.bits = 14,
		.max_nonzeros = 1024,
		.max_candidates = COP_LEARNER_DEFAULT_CANDIDATES,
		.exploration = { .epsilon = -1.0, .gamma = -1.0, .optimism = -1.0, .shares.least_propensity = -1.0 },
		.trees = COP_LEARNER_DEFAULT_TREES,
		.seed = 1,
	};
}

size_t cop_learner_dimension(const cop_learner_settings *settings)
{
	return settings->features != 0 ? settings->features : (size_t)1 << settings->bits;
}

size_t cop_learner_candidate_dimension(const cop_learner_settings *settings)
{
	if (!cop_learner_plays_candidates(settings))
		return 0;
	return settings->features != 0 ? settings->candidate_features : cop_learner_dimension(settings);
}

static const char *candidates_refusal(const cop_learner_settings *s)
{
	if (s->arms != 0)
		return "arms: learner rank has none, but candidates";
	if (s->features == 0 && s->candidate_features != 0)
		return "candidate_features: expected 0 (sparse, as the context is)";
	if (s->features != 0 && (s->candidate_features < 1 || s->candidate_features > COP_LEARNER_MAX_FEATURES))
		return "candidate_features: expected 1 to " LIMIT(COP_LEARNER_MAX_FEATURES);
	if (s->max_candidates < 1 || s->max_candidates > COP_LEARNER_MAX_CANDIDATES)
		return "max_candidates: expected 1 to " LIMIT(COP_LEARNER_MAX_CANDIDATES);
	size_t entries = s->features != 0 ? s->candidate_features : s->max_nonzeros;
	if (s->max_candidates * entries > COP_LEARNER_MAX_CANDIDATE_ROOM)
		return "max_candidates: expected at most 16777216 features in all candidates together";
	return NULL;
}

static const char *actions_refusal(const cop_learner_settings *s, const cop_learner_class *class)
{
	if (class->candidates)
		return candidates_refusal(s);
	if (class->values && s->arms != 0)
		return "arms: a value learner has none";
	if (!class->values && (s->arms < 2 || s->arms > COP_LEARNER_MAX_ARMS))
		return "arms: expected 2 to " LIMIT(COP_LEARNER_MAX_ARMS);
	return NULL;
}

/* NULL, or what is wrong. */
static const char *refusal(const cop_learner_settings *s, const cop_learner_class *class)
{
	if (class == NULL)
		return "learner: expected ensemble, dgt, value, rank, trained, trained_value or ridge";
	if (s->features == 0 && (s->bits < 1 || s->bits > COP_LEARNER_MAX_BITS))
		return "bits: expected 1 to " LIMIT(COP_LEARNER_MAX_BITS);
	if (s->features == 0 && (s->max_nonzeros < 1 || s->max_nonzeros > COP_LEARNER_MAX_NONZEROS))
		return "max_nonzeros: expected 1 to " LIMIT(COP_LEARNER_MAX_NONZEROS);
	if (s->features > COP_LEARNER_MAX_FEATURES)
		return "features: expected 0 to " LIMIT(COP_LEARNER_MAX_FEATURES);
	const char *wrong = actions_refusal(s, class);
	if (wrong != NULL)
		return wrong;
	if (s->policy[0] != '\0' && (class->values || cop_policy_find(s->policy) == NULL))
		return class->values ? "policy: a value learner has none"
		                     : "policy: expected epsilon, squarecb, fastcb or matching";
	if (strcmp(s->policy, "matching") == 0 && !class->experts)
		return "policy: matching goes with learner ensemble";
	wrong = cop_learner_exploration_refusal(s);
	if (wrong != NULL)
		return wrong;
	if (s->height > COP_LEARNER_MAX_HEIGHT)
		return "height: expected 1 to " LIMIT(COP_LEARNER_MAX_HEIGHT);
	if (s->height > class->max_height)
		return "height: expected 1 to " LIMIT(COP_LEARNER_MAX_ENSEMBLE_HEIGHT) " in the ensemble and in rank";
	if (s->trees != COP_LEARNER_DEFAULT_TREES && s->trees > COP_LEARNER_MAX_TREES)
		return "trees: expected 0 to " LIMIT(COP_LEARNER_MAX_TREES);
	if (!(s->learning_rate >= 0.0) || s->learning_rate > COP_LEARNER_MAX_RATE)
		return "learning_rate: expected a number in (0, " LIMIT(COP_LEARNER_MAX_RATE) "]";
	if ((unsigned)s->feedback >= COP_VALUE_FEEDBACKS)
		return "feedback: expected bins, one or two";
	if (s->experts > COP_EXPERT_ALL)
		return "experts: expected some of linear, trees, quadratic and forest";
	if (class->experts && s->experts != 0 && !(class->footprint(s) > 0.0))
		return "experts: none of them can help with so many arms and features";
	if (!(s->delta >= 0.0) || s->delta > 0.5)
		return "delta: expected at most half the value range";
	if (!(s->delta_decay >= 0.0 && s->delta_decay <= COP_LEARNER_MAX_EPSILON_DECAY))
		return "delta_decay: expected 0 to " LIMIT(COP_LEARNER_MAX_EPSILON_DECAY);
	if (!(s->delta_floor >= 0.0) || (s->delta_floor > s->delta && s->delta > 0.0))
		return "delta_floor: expected 0 to delta";
	return class->refusal != NULL ? class->refusal(s) : NULL;
}

const char *const cop_value_feedback_words[] = { "bins", "one", "two", NULL };

size_t cop_learner_losses(const cop_learner_settings *settings)
{
	return settings->feedback == COP_VALUE_TWO && cop_learner_plays_values(settings) ? 2 : 1;
}

double cop_learner_least_propensity(const cop_learner_settings *settings)
{
	const cop_learner_class *class = cop_learner_find(settings->learner);
	if (settings->exploration.shares.least_propensity >= 0.0)
		return settings->exploration.shares.least_propensity;
	return class != NULL && strcmp(settings->policy, "epsilon") != 0 ? class->least_propensity : 0.0;
}

static const char *shares_refusal(const cop_learner_settings *s)
{
	cop_shares shares = s->exploration.shares;
	const cop_learner_class *class = cop_learner_find(s->learner);
	if (class != NULL && class->values && shares.least_propensity > 0.0)
		return "least_propensity: a value learner's actions have no propensities";
	if (shares.least_propensity < 0.0)
		shares.least_propensity = cop_learner_least_propensity(s);
	return cop_shares_refusal(&shares, s->arms);
}

const char *cop_learner_exploration_refusal(const cop_learner_settings *settings)
{
	const cop_policy_settings *exploration = &settings->exploration;
	if (!(exploration->epsilon <= 1.0))
		return "epsilon: expected 0 to 1";
	if (!(exploration->epsilon_decay >= 0.0 && exploration->epsilon_decay <= COP_LEARNER_MAX_EPSILON_DECAY))
		return "epsilon_decay: expected 0 to " LIMIT(COP_LEARNER_MAX_EPSILON_DECAY);
	if (!(exploration->epsilon_floor >= 0.0 && exploration->epsilon_floor <= 1.0))
		return "epsilon_floor: expected 0 to 1";
	if (!isfinite(exploration->gamma))
		return "gamma: expected a number above 0";
	if (!isfinite(exploration->optimism))
		return "optimism: expected a number of at least 0";
	return shares_refusal(settings);
}

cop_err cop_learner_new(const cop_learner_settings *settings, cop_learner **out, cop_diag *diag)
{
	*out = NULL;
	const cop_learner_class *class = cop_learner_find(settings->learner);
	const char *wrong = refusal(settings, class);
	if (wrong != NULL) {
		cop_diag_message(diag, "%s", wrong);
		return COP_EINVAL;
	}
	cop_learner_settings filled = *settings;
	cop_learner_defaults_fill(&filled);
	cop_err err = class->create(&filled, out);
	if (err != COP_OK)
		cop_diag_message(diag, "learner %s: %s", class->name, cop_err_text(err));
	return err;
}

void cop_learner_free(cop_learner *learner)
{
	if (learner != NULL)
		learner->class->destroy(learner);
}

void cop_learner_explore(cop_learner *learner, const cop_policy_settings *exploration)
{
	cop_policy_settings *now = &learner->settings.exploration;
	cop_policy_settings before = *now;
	*now = *exploration;
	if (now->epsilon < 0.0)
		now->epsilon = before.epsilon;
	if (now->gamma <= 0.0)
		now->gamma = before.gamma;
	if (now->optimism < 0.0)
		now->optimism = before.optimism;
	if (now->shares.least_propensity < 0.0)
		now->shares.least_propensity = before.shares.least_propensity;
}

bool cop_learner_can_decide(const cop_learner *learner, const cop_candidates *c)
{
	const cop_learner_settings *s = &learner->settings;
	if (c == NULL)
		return !learner->class->candidates;
	size_t count = learner->class->candidates ? c->count : s->arms;
	if (learner->class->candidates ? count < 1 || count > s->max_candidates : c->count != 0)
		return false;
	return c->mask == NULL || learner->class->values || memchr(c->mask, 1, count) != NULL;
}

static void check(const cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	const cop_learner_settings *s = &learner->settings;
	COP_ASSERT(x->d == cop_learner_dimension(s));
	const size_t d = learner->class->candidates ? cop_learner_candidate_dimension(s) : 0;
	for (size_t i = 0; d > 0 && (i < c->count || i == 0); i++)
		COP_ASSERT(c->row[i].d == d);
}

/* Whether the learner can decide, and could have played that arm. */
static bool can_view(const cop_learner *learner, const cop_candidates *c, const cop_decision *decision)
{
	const cop_learner_class *class = learner->class;
	COP_ASSERT(class->values ? class->view != NULL : class->candidates || decision->arm < learner->settings.arms);
	return cop_learner_can_decide(learner, c) && (!class->candidates || decision->arm < c->count);
}

cop_err cop_learner_decide(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *out)
{
	*out = (cop_decision){ .p = 1.0 };
	if (!cop_learner_can_decide(learner, c))
		return COP_EINVAL;
	check(learner, x, c);
	out->rev = learner->rev;
	learner->class->observe(learner, x, c);
	return learner->class->decide(learner, x, c, out);
}

void cop_learner_advance(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	check(learner, x, c);
	learner->class->observe(learner, x, c);
	learner->class->advance(learner);
}

cop_err cop_learner_view(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	if (!can_view(learner, c, decision))
		return COP_EINVAL;
	check(learner, x, c);
	decision->rev = learner->rev;
	return learner->class->view(learner, x, c, decision, out);
}

cop_err cop_learner_view_as(
        cop_learner *learner, const cop_policy_other *other, const cop_candidates *c, cop_policy_view *out)
{
	return learner->class->view_as(learner, other, c, out);
}

cop_policy_view cop_learner_last_policy(cop_learner *learner) { return learner->class->last_policy(learner); }

cop_err cop_learner_follow(
        cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision, cop_policy_view *out)
{
	if (!can_view(learner, c, decision))
		return COP_EINVAL;
	learner->class->observe(learner, x, c);
	cop_err err = cop_learner_view(learner, x, c, decision, out);
	learner->class->advance(learner);
	decision->greedy = decision->arm == out->best;
	return err;
}

cop_err cop_learner_take(cop_learner *learner, const cop_row *x, const cop_candidates *c, cop_decision *decision,
        const double *loss, cop_policy_view *out)
{
	cop_err err = cop_learner_follow(learner, x, c, decision, out);
	if (err != COP_OK || loss == NULL)
		return err;
	learner->followed = true;
	err = cop_learner_learn(learner, x, c, decision, loss, true);
	learner->followed = false;
	return err;
}

void cop_learner_probes(const cop_learner *learner, cop_decision *decision)
{
	if (learner->class->values)
		learner->class->probes(learner, decision);
}

static cop_err check_loss(const cop_learner *learner, const double *loss)
{
	size_t count = cop_learner_losses(&learner->settings);
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(loss[i]))
			return COP_ENONFINITE;
		if (!learner->class->values && (loss[i] < 0.0 || loss[i] > 1.0))
			return COP_EINVAL;
	}
	return COP_OK;
}

cop_err cop_learner_learn(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        const double *loss, bool decided_here)
{
	check(learner, x, c);
	cop_err err = check_loss(learner, loss);
	if (err != COP_OK)
		return err;
	if (learner->frozen || learner->class->fixed) {
		learner->unlearnt++;
		return COP_OK;
	}
	cop_decision foreign;
	if (!decided_here) {
		foreign = *decision;
		for (size_t i = 0; i < COP_LEARNER_EXPERTS; i++)
			foreign.prediction[i] = NAN;
		decision = &foreign;
	}
	err = learner->class->learn(learner, x, c, decision, loss);
	if (err != COP_OK)
		return err;
	if (!decided_here)
		learner->class->observe(learner, x, c);
	learner->rev++;
	return COP_OK;
}

double cop_learner_greedy(cop_learner *learner, const cop_row *x, const cop_candidates *c)
{
	check(learner, x, c);
	return learner->class->greedy(learner, x, c);
}

void cop_learner_explain(cop_learner *learner, const cop_row *x, const cop_candidates *c, const cop_decision *decision,
        cop_explanation *e)
{
	check(learner, x, c);
	cop_explanation_clear(e);
	e->rev = learner->rev;
	e->arm = decision->arm;
	learner->class->explain(learner, x, c, decision, e);
}

void cop_learner_explain_decided(cop_learner *learner, const cop_row *x, const cop_candidates *c,
        const cop_decision *decision, cop_explanation *e)
{
	learner->followed = true;
	cop_learner_explain(learner, x, c, decision, e);
	learner->followed = false;
}

const cop_refit *cop_learner_refitted(const cop_learner *learner)
{
	return learner->class->refitted != NULL ? learner->class->refitted(learner) : NULL;
}

/* What an explanation of the learner may hold. */
static void paths(const cop_learner *learner, size_t *trees, size_t *nodes)
{
	const cop_refit *refit = cop_learner_refitted(learner);
	size_t more = 0, deeper = 0;
	if (refit != NULL)
		cop_refit_paths(refit, &more, &deeper);
	if (learner->class->paths != NULL) {
		learner->class->paths(learner, trees, nodes);
		return;
	}
	*trees = cop_learner_trees(learner) + more;
	*nodes = cop_learner_trees(learner) * learner->settings.height + deeper;
}

bool cop_learner_explanation_fits(const cop_learner *learner, const cop_explanation *e)
{
	size_t trees, nodes;
	paths(learner, &trees, &nodes);
	return e->tree_capacity >= trees && e->node_capacity >= nodes;
}

cop_err cop_learner_explanation_init(const cop_learner *learner, cop_explanation *e)
{
	size_t trees, nodes;
	paths(learner, &trees, &nodes);
	cop_err err = cop_explanation_init_paths(e, trees, nodes);
	if (err == COP_OK && learner->class->candidates)
		err = cop_explanation_room_for_scores(e, learner->settings.max_candidates);
	if (err != COP_OK)
		cop_explanation_fini(e);
	return err;
}

size_t cop_learner_anatomy(const cop_learner *learner, cop_anatomy_part parts[COP_ANATOMY_PARTS])
{
	memset(parts, 0, COP_ANATOMY_PARTS * sizeof *parts);
	return learner->class->anatomy(learner, parts);
}

/* One that is not a product: of the context, of a candidate, or the constant behind both. */
static void describe_part(const cop_learner *learner, size_t index, cop_learner_feature *out)
{
	size_t d = cop_learner_dimension(&learner->settings);
	size_t all = d + cop_learner_candidate_dimension(&learner->settings);
	out->part[out->count].constant = index == all;
	out->part[out->count].candidate = index >= d && index < all;
	out->part[out->count].index = index >= d && index < all ? index - d : index;
	out->count++;
}

void cop_learner_describe(const cop_learner *learner, size_t index, cop_learner_feature *out)
{
	const cop_learner_class *class = learner->class;
	size_t plain = cop_learner_dimension(&learner->settings) + cop_learner_candidate_dimension(&learner->settings);
	size_t i, j;
	*out = (cop_learner_feature){ .count = 0 };
	if (index > plain && class->product != NULL && class->product(learner, index, &i, &j)) {
		describe_part(learner, i, out);
		describe_part(learner, j, out);
	} else if (index <= plain || class->find_product == NULL) {
		describe_part(learner, index, out);
	}
}

bool cop_learner_find_product(const cop_learner *learner, const cop_row *x, const cop_row *candidate, size_t index,
        size_t skip, cop_learner_feature *out)
{
	size_t pair[2] = { 0, 0 };
	bool found = learner->class->find_product(learner, x, candidate, index, skip, pair);
	*out = (cop_learner_feature){ 2, { { .index = pair[0] }, { .candidate = true, .index = pair[1] } } };
	return found;
}

size_t cop_learner_hashed(const cop_learner *learner, size_t feature, size_t candidate_feature)
{
	return learner->class->hashed(learner, feature, candidate_feature);
}

cop_err cop_learner_refit(cop_learner *learner, const cop_trees *trees, cop_diag *diag)
{
	if (learner->class->refit == NULL) {
		cop_diag_message(diag, "learner %s has no trees to replace", learner->settings.learner);
		return COP_ESHAPE;
	}
	cop_err err = learner->class->refit(learner, trees, diag);
	if (err == COP_OK)
		learner->rev++;
	else if (err == COP_ENOMEM)
		cop_diag_message(diag, "%s", cop_err_text(err));
	return err;
}

size_t cop_learner_predictions(const cop_learner *learner)
{
	size_t own = learner->class->predictions;
	return own != 0 && cop_learner_refitted(learner) != NULL ? own + 1 : own;
}

double cop_learner_combine(const cop_learner *learner, const cop_decision *decision)
{
	double said = learner->class->combine == NULL ? (double)NAN : learner->class->combine(learner, decision);
	return isfinite(said) ? fmin(fmax(said, 0.0), 1.0) : (double)NAN;
}

void cop_learner_freeze(cop_learner *learner, bool frozen) { learner->frozen = frozen; }

cop_err cop_learner_spare_init(cop_learner_spare *spare, const cop_learner_settings *settings, size_t state_bytes)
{
	*spare = (cop_learner_spare){ .learner = NULL };
	const cop_learner_class *class = cop_learner_find(settings->learner);
	COP_ASSERT(class != NULL); /* a living learner's */
	cop_bytes_reserve(&spare->state, state_bytes);
	if (spare->state.err != COP_OK)
		return spare->state.err;
	if (spare->state.capacity > 0)
		memset(spare->state.data, 0, spare->state.capacity);
	return class->create(settings, &spare->learner);
}

void cop_learner_spare_fini(cop_learner_spare *spare)
{
	cop_learner_free(spare->learner);
	cop_bytes_fini(&spare->state);
	*spare = (cop_learner_spare){ .learner = NULL };
}

cop_err cop_learner_clone_into(const cop_learner *learner, cop_learner_spare *spare)
{
	cop_cursor cursor;
	COP_ASSERT(spare->learner->class == learner->class);
	spare->learner->settings.exploration = learner->settings.exploration;
	cop_bytes_clear(&spare->state);
	cop_learner_save(learner, &spare->state);
	if (spare->state.err != COP_OK)
		return spare->state.err;
	cop_cursor_init(&cursor, spare->state.data, spare->state.length);
	return cop_learner_load(spare->learner, &cursor);
}

cop_err cop_learner_clone(const cop_learner *learner, cop_learner **out)
{
	cop_learner_spare spare;
	cop_err err = cop_learner_spare_init(&spare, &learner->settings, 0);
	if (err == COP_OK)
		err = cop_learner_clone_into(learner, &spare);
	*out = err == COP_OK ? spare.learner : NULL;
	if (err == COP_OK)
		spare.learner = NULL;
	cop_learner_spare_fini(&spare);
	return err;
}

void cop_learner_save(const cop_learner *learner, cop_bytes *bytes)
{
	cop_bytes_put_text(bytes, learner->class->name);
	cop_bytes_put_u64(bytes, learner->rev);
	learner->class->save(learner, bytes);
}

cop_err cop_learner_load(cop_learner *learner, cop_cursor *cursor)
{
	char name[sizeof learner->settings.learner];
	cop_cursor_text(cursor, name, sizeof name);
	learner->rev = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (strcmp(name, learner->class->name) != 0)
		return COP_ESHAPE;
	if (learner->saved_arms == 0)
		learner->saved_arms = learner->settings.arms;
	if (learner->saved_features == 0)
		learner->saved_features = learner->settings.features;
	cop_err err = learner->class->load(learner, cursor);
	learner->saved_arms = learner->saved_features = 0;
	return err;
}

void cop_learner_outliers(const cop_learner *learner, cop_outliers *out)
{
	*out = (cop_outliers){ 0 };
	if (learner->class->outliers != NULL)
		learner->class->outliers(learner, out);
}

size_t cop_learner_trees(const cop_learner *learner)
{
	return learner->class->trees != NULL ? learner->class->trees(learner) : 0;
}

cop_err cop_learner_tree(const cop_learner *learner, size_t m, cop_oblique_tree **out)
{
	*out = NULL;
	return learner->class->tree != NULL ? learner->class->tree(learner, m, out) : COP_ENOTFOUND;
}

size_t cop_learner_grown(const cop_learner *learner)
{
	return learner->class->grown == NULL ? 0 : learner->class->grown(learner);
}

cop_err cop_learner_hold(cop_learner *learner, size_t leaves)
{
	return learner->class->hold == NULL ? COP_OK : learner->class->hold(learner, leaves);
}

cop_err cop_learner_make_room(cop_learner *learner, const cop_learner *from)
{
	const size_t features = learner->settings.features, before = from->settings.features;
	if (learner->class != from->class || learner->class->make_room == NULL ||
	        (features != before && !learner->class->widens) || from->settings.arms > learner->settings.arms)
		return COP_ESHAPE;
	return learner->class->make_room(learner, from);
}

void cop_learner_inherit(cop_learner *learner, cop_learner *from)
{
	learner->settings.exploration = from->settings.exploration;
	learner->rev = from->rev;
	learner->frozen = from->frozen;
	learner->unlearnt = from->unlearnt;
	if (learner->settings.features == from->settings.features)
		learner->known = learner->settings.known = from->known;
	learner->class->inherit(learner, from);
}

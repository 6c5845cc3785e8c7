/* The two learners of a pair are its first (which the clone was made from) and its second (the clone). A waiting
 * decision carries the number of its pair and which of the two made it. Of an earlier pair one survived, as a bit
 * tells: what that one had said is good for all that descend from it, which is all there are. */
#include "online/model_shadow.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "online/model_state.h"

#define PAIRS          64  /* whose survivors are known */
#define RETURNING      0.2 /* predecessors' part of what rivals may bet, together */
#define LARGEST_WEIGHT 1e9 /* a greater one is as good as not known */

/* ---- events ---- */

/* What the n-th challenger (from 1) may spend of the risk: shares that sum to 1 over all there will ever be. */
static double share_of(uint32_t challenge)
{
	double n = (double)challenge;
	return challenge == 0 ? 1.0 : 2.0 / ((n + 1.0) * (n + 2.0));
}

/* What the newest rival may bet of a whole that all of them divide: n-th parts 1 / (n (n + 1)) sum to 1. */
static double stake_of(const cop_shadow *s, bool predecessor)
{
	double n = (double)s->rivals[predecessor];
	return n == 0.0 ? 0.0 : (predecessor ? RETURNING : 1.0 - RETURNING) / (n * (n + 1.0));
}

/* Predictions are judged where the rule says so and the learner has some: of experts that predict losses, the
 * challenger's are the serving one's and what the refit brings. Else, and where policies are to differ by a margin,
 * policies are. */
static void begin_evidence(cop_model *model, bool predecessor)
{
	cop_promotion_test_settings rule = model->shadow.rule;
	rule.share *= share_of(model->shadow.pair);
	rule.stake = stake_of(&model->shadow, predecessor);
	rule.carried = model->shadow.carried;
	bool says = model->learner != NULL && model->learner->class->combine != NULL;
	if (rule.estimator == COP_PROMOTION_TEST_ERROR && (!says || rule.margin > 0.0))
		rule.estimator = COP_PROMOTION_TEST_DR;
	cop_err err = cop_promotion_test_init(&model->shadow.evidence, &rule);
	COP_ASSERT(err == COP_OK); /* the rule was tried */
}

void cop_model_shadow_init(cop_model *model)
{
	cop_model_judge_defaults(&model->shadow.rule);
	begin_evidence(model, false);
}

void cop_model_judge_defaults(cop_promotion_test_settings *rule)
{
	cop_promotion_test_defaults(rule);
	rule->estimator = COP_PROMOTION_TEST_ERROR;
}

cop_err cop_model_judge_by(cop_model *model, const cop_promotion_test_settings *rule)
{
	cop_promotion_test tried;
	cop_err err = cop_promotion_test_init(&tried, rule);
	if (err == COP_OK)
		model->shadow.rule = *rule;
	return err;
}

void cop_model_shadow_extend(cop_model *model)
{
	bool refitted = cop_learner_predictions(model->learner) > model->learner->class->predictions;
	cop_pending_extend(model->pending, refitted, model->shadow.learner != NULL);
}

static void begin_again(cop_shadow *s)
{
	s->rivals[0] = s->rivals[1] = 0;
	s->carried = 0.0;
}

/* The one in the shadow, if there is one, is a rival no more. */
static void keep_winnings(cop_shadow *s)
{
	if (s->learner != NULL)
		s->carried = cop_promotion_test_winnings(&s->evidence);
}

cop_err cop_model_challenge_with(cop_model *model, const cop_trees *trees, cop_learner_spare *spare, cop_diag *diag)
{
	cop_shadow *s = &model->shadow;
	cop_err err = cop_learner_clone_into(model->learner, spare);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	else
		err = cop_learner_refit(spare->learner, trees, diag);
	if (err == COP_OK) {
		err = cop_model_explain_also(model, spare->learner);
		if (err != COP_OK)
			cop_diag_message(diag, "room for explanations: %s", cop_err_text(err));
	}
	if (err != COP_OK)
		return err;
	keep_winnings(s);
	s->rivals[0]++;
	cop_learner *before = s->learner;
	s->learner = spare->learner;
	spare->learner = before;
	cop_learner_freeze(s->learner, s->frozen);
	uint64_t bit = UINT64_C(1) << s->pair % PAIRS;
	s->survivors = s->second ? s->survivors | bit : s->survivors & ~bit;
	s->pair++;
	s->second = false;
	s->refused = 0;
	begin_evidence(model, false);
	cop_model_shadow_extend(model);
	return COP_OK;
}

cop_err cop_model_challenge(cop_model *model, const cop_trees *trees, cop_diag *diag)
{
	cop_learner_spare spare;
	cop_err err = cop_learner_spare_init(&spare, &model->learner->settings, 0);
	if (err != COP_OK)
		cop_diag_message(diag, "%s", cop_err_text(err));
	else
		err = cop_model_challenge_with(model, trees, &spare, diag);
	cop_learner_spare_fini(&spare);
	return err;
}

static cop_err swap(cop_model *model, bool second)
{
	cop_shadow *s = &model->shadow;
	if (s->learner == NULL || s->second == second)
		return COP_ENOTFOUND;
	if (cop_promotion_test_is_won(&s->evidence))
		begin_again(s);
	s->carried = 0.0;
	s->rivals[1]++;
	cop_learner *serving = model->learner;
	model->learner = s->learner;
	s->learner = serving;
	s->second = second;
	begin_evidence(model, true);
	cop_model_shadow_extend(model);
	return COP_OK;
}

cop_err cop_model_promote(cop_model *model) { return swap(model, true); }

cop_err cop_model_rollback(cop_model *model) { return swap(model, false); }

cop_err cop_model_retire(cop_model *model)
{
	cop_shadow *s = &model->shadow;
	if (s->learner == NULL)
		return COP_ENOTFOUND;
	keep_winnings(s);
	cop_learner_free(s->learner);
	s->learner = NULL;
	begin_evidence(model, false);
	cop_model_shadow_extend(model);
	return COP_OK;
}

void cop_model_freeze(cop_model *model, bool frozen)
{
	model->shadow.frozen = frozen;
	cop_learner_freeze(model->learner, frozen);
	if (model->shadow.learner != NULL)
		cop_learner_freeze(model->shadow.learner, frozen);
}

/* ---- views ---- */

cop_promotion_test_verdict cop_model_verdict(const cop_model *model)
{
	return model->shadow.learner == NULL ? COP_PROMOTION_TEST_OPEN
	                                     : cop_promotion_test_judge(&model->shadow.evidence);
}

void cop_model_shadow_roles(const cop_model *model, cop_promotion_test_roles *out)
{
	const cop_shadow *s = &model->shadow;
	*out = (cop_promotion_test_roles){
		.shadow = s->learner != NULL,
		.promoted = s->second,
		.frozen = s->frozen,
		.verdict = cop_model_verdict(model),
		.learned = model->counters.learned,
	};
}

void cop_model_get_evidence(const cop_model *model, cop_model_evidence *out)
{
	const cop_shadow *s = &model->shadow;
	*out = (cop_model_evidence){
		.shadow = s->learner != NULL,
		.promoted = s->second,
		.frozen = s->frozen,
		.challenges = s->pair,
		.rev = s->learner != NULL ? s->learner->rev : 0,
		.refused = s->refused,
		.frozen_losses = s->frozen_losses,
		.frozen_loss_sum = s->frozen_loss_sum,
	};
	cop_promotion_test_summarise(&s->evidence, &out->summary);
}

cop_err cop_model_losses(cop_model *model, const cop_row *x, size_t arms, float *out)
{
	const cop_model_logged asked = { .x = x, .p = 1.0 };
	cop_policy_view view;
	cop_err err = cop_model_view_logged(model, &asked, &view);
	if (err == COP_OK && view.arms != arms)
		err = COP_ESHAPE;
	if (err == COP_OK)
		memcpy(out, view.loss, arms * sizeof *out);
	return err;
}

/* ---- what events need ---- */

static double expected_loss(const cop_policy_view *policy, const float *loss)
{
	double sum = 0.0;
	for (size_t k = 0; k < policy->arms; k++)
		sum += policy->p[k] * fmin(fmax((double)loss[k], 0.0), 1.0);
	return fmin(sum, 1.0);
}

/* At least the greatest ratio of the other policy's probability of an arm to the own one's (which is at least 1, as
 * both sum to 1); 0: none is. A float, rounded up. */
static float largest_weight(const cop_policy_view *own, const cop_policy_view *other)
{
	double most = 1.0;
	for (size_t k = 0; k < own->arms; k++)
		if (other->p[k] > 0.0)
			most = fmax(most, own->p[k] > 0.0 ? other->p[k] / own->p[k] : (double)INFINITY);
	return most < LARGEST_WEIGHT ? (float)(most * (1.0 + 1e-6)) : 0.0f;
}

/* Total variation, rounded up. */
static float distance(const cop_policy_view *own, const cop_policy_view *other)
{
	double sum = 0.0;
	for (size_t k = 0; k < own->arms; k++)
		sum += fabs(own->p[k] - other->p[k]);
	return (float)fmin(0.5 * sum * (1.0 + 1e-6), 1.0);
}

void cop_model_shadow_compare(
        const cop_policy_view *own, const cop_policy_view *other, uint32_t arm, cop_pending_shadow *out)
{
	out->compared = true;
	out->loss = fminf(fmaxf(own->loss[arm], 0.0f), 1.0f);
	out->expected[0] = (float)expected_loss(own, own->loss);
	out->expected[1] = (float)expected_loss(other, own->loss);
	out->measured = true;
	out->difference = distance(own, other);
}

/* The serving learner has just decided, or followed who did. */
void cop_model_shadow_follow(cop_model *model, const cop_model_context *context, const cop_decision *decision,
        bool decided, cop_pending_shadow *out)
{
	cop_shadow *s = &model->shadow;
	cop_decision followed = { .arm = decision->arm, .p = decision->p, .rev = decision->rev };
	const cop_candidates set = cop_model_candidates(context);
	cop_policy_view view;
	*out = (cop_pending_shadow){ .is = s->learner != NULL, .second = s->second, .pair = s->pair };
	if (!out->is)
		return;
	if (s->learner->class->values) {
		out->rev = s->learner->rev;
		cop_learner_advance(s->learner, context->x, &set);
		return;
	}
	cop_err err = cop_learner_follow(s->learner, context->x, &set, &followed, &view);
	COP_ASSERT(err == COP_OK); /* the serving one decided */
	const cop_policy_view own = cop_learner_last_policy(model->learner);
	COP_ASSERT(own.arms == view.arms);
	cop_model_shadow_compare(&own, &view, decision->arm, out);
	if (decided)
		out->weight_most = largest_weight(&own, &view);
	out->p = fmin(view.p[followed.arm], 1.0);
	out->rev = followed.rev;
	memcpy(out->prediction, followed.prediction, sizeof out->prediction);
}

/* Whether what the entry says of its deciding learner is what that side of the present pair, or whom it descends from,
 * said; else it is what it says of the other one. *known: either. */
static bool is_decider(const cop_model *model, const cop_pending_entry *entry, bool second, bool *known)
{
	const cop_shadow *s = &model->shadow;
	const cop_pending_shadow *then = &entry->shadow;
	*known = true;
	if (!then->is)
		return true;
	if (then->pair == s->pair)
		return then->second == second;
	*known = then->pair < s->pair && s->pair - then->pair <= PAIRS;
	return then->second == ((s->survivors >> then->pair % PAIRS & 1) != 0);
}

/* The decision as that side made it, or would have. */
static bool decision_of(const cop_model *model, const cop_pending_entry *entry, bool second, cop_decision *out)
{
	bool known;
	bool decider = is_decider(model, entry, second, &known);
	*out = entry->decision;
	if (!decider) {
		out->rev = entry->shadow.rev;
		memcpy(out->prediction, entry->shadow.prediction, sizeof out->prediction);
	}
	for (size_t i = 0; i < COP_LEARNER_EXPERTS && !known; i++)
		out->prediction[i] = NAN;
	return decider;
}

/* Whether the probes of a learner of values that did not decide are too far from what was played to learn from it. */
static bool is_far(cop_learner *learner, const cop_pending_entry *entry, const cop_decision *decision, bool decider)
{
	if (!learner->class->values || decider)
		return false;
	double delta = learner->settings.delta;
	double own = fmin(fmax(cop_learner_greedy(learner, &entry->x, NULL), delta), 1.0 - delta);
	return fabs(own - decision->y) > delta;
}

/* Both had the decision before them; said: what they had predicted, of neither of which a loss is known. */
static void weigh(cop_model *model, const cop_pending_entry *entry, const double said[2], double loss)
{
	cop_shadow *s = &model->shadow;
	if (!entry->shadow.is || entry->shadow.pair != s->pair || model->learner->class->values)
		return;
	bool served = entry->shadow.second == s->second;
	double own = cop_pending_own_p(entry);
	const cop_promotion_test_event event = {
		.p = entry->decision.p,
		.loss = loss,
		.champion = served ? own : entry->shadow.p,
		.challenger = served ? entry->shadow.p : own,
		.weight_most = (double)entry->shadow.weight_most,
		.has_model = entry->shadow.compared,
		.model_logged = (double)entry->shadow.loss,
		.model_champion = (double)entry->shadow.expected[served ? 0 : 1],
		.model_challenger = (double)entry->shadow.expected[served ? 1 : 0],
		.has_said = isfinite(said[0]) && isfinite(said[1]),
		.said_champion = said[0],
		.said_challenger = said[1],
		.has_difference = served && entry->shadow.measured,
		.difference = (double)entry->shadow.difference,
	};
	cop_model_shadow_weigh(model, &event);
}

void cop_model_shadow_weigh(cop_model *model, const cop_promotion_test_event *event)
{
	cop_err err = cop_promotion_test_add(&model->shadow.evidence, event);
	(void)err; /* a weight beyond all bounds: no evidence */
}

void cop_model_shadow_ask(const cop_model *model, const cop_pending_entry *entry, cop_model_lesson *out)
{
	const cop_shadow *s = &model->shadow;
	bool decider = decision_of(model, entry, s->second, &out->own);
	out->far = is_far(model->learner, entry, &out->own, decider);
	out->said[0] = out->said[1] = (double)NAN;
	if (s->learner == NULL)
		return;
	decider = decision_of(model, entry, !s->second, &out->other);
	out->other_far = is_far(s->learner, entry, &out->other, decider);
	out->said[0] = cop_learner_combine(model->learner, &out->own);
	out->said[1] = cop_learner_combine(s->learner, &out->other);
}

void cop_model_shadow_learn(
        cop_model *model, const cop_pending_entry *entry, const cop_model_lesson *lesson, const double *scaled)
{
	cop_shadow *s = &model->shadow;
	const cop_candidates left = cop_model_state_left(entry);
	if (s->learner == NULL)
		return;
	if (!entry->split || !entry->observed) /* a baseline's arms have no share in either policy */
		weigh(model, entry, lesson->said, scaled[0]);
	if (!lesson->other_far)
		s->refused += cop_learner_learn(s->learner, &entry->x, &left, &lesson->other, scaled, true) != COP_OK;
}

/* ---- saved state ---- */

bool cop_model_shadow_is_used(const cop_model *model)
{
	return model->shadow.pair != 0 || model->shadow.frozen || model->shadow.frozen_losses != 0;
}

void cop_model_shadow_save(const cop_model *model, cop_bytes *bytes)
{
	const cop_shadow *s = &model->shadow;
	cop_bytes_put_u32(bytes, s->pair);
	cop_bytes_put_u8(bytes, s->second);
	cop_bytes_put_u64(bytes, s->survivors);
	cop_bytes_put_u8(bytes, s->frozen);
	cop_bytes_put_u64(bytes, s->frozen_losses);
	cop_bytes_put_f64(bytes, s->frozen_loss_sum);
	cop_bytes_put_u64(bytes, s->refused);
	cop_bytes_put_u32(bytes, s->rivals[0]);
	cop_bytes_put_u32(bytes, s->rivals[1]);
	cop_bytes_put_f64(bytes, s->carried);
	cop_bytes_put_u8(bytes, s->learner != NULL);
	if (s->learner == NULL)
		return;
	cop_promotion_test_save(&s->evidence, bytes);
	cop_learner_save(s->learner, bytes);
}

void cop_model_shadow_forget(cop_model *model)
{
	const cop_promotion_test_settings rule = model->shadow.rule;
	cop_learner_free(model->shadow.learner);
	model->shadow = (cop_shadow){ .rule = rule };
	begin_evidence(model, false);
	cop_model_freeze(model, false);
}

static cop_err load_learner(cop_model *model, cop_cursor *cursor)
{
	cop_shadow *s = &model->shadow;
	cop_err err = cop_promotion_test_load(&s->evidence, cursor);
	if (err == COP_OK)
		err = model->learner->class->create(&model->learner->settings, &s->learner);
	if (err != COP_OK)
		return err;
	s->learner->saved_arms = model->learner->saved_arms;
	s->learner->saved_features = model->learner->saved_features;
	return cop_learner_load(s->learner, cursor);
}

static cop_err load_rivals(cop_shadow *s, cop_cursor *cursor)
{
	s->rivals[0] = cop_cursor_u32(cursor);
	s->rivals[1] = cop_cursor_u32(cursor);
	s->carried = cop_cursor_f64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	return s->carried >= 0.0 && s->carried <= COP_PROMOTION_TEST_WEALTH ? COP_OK : COP_EFORMAT;
}

cop_err cop_model_shadow_load(cop_model *model, cop_cursor *cursor)
{
	cop_shadow *s = &model->shadow;
	s->pair = cop_cursor_u32(cursor);
	uint8_t second = cop_cursor_u8(cursor);
	s->survivors = cop_cursor_u64(cursor);
	uint8_t frozen = cop_cursor_u8(cursor);
	s->frozen_losses = cop_cursor_u64(cursor);
	s->frozen_loss_sum = cop_cursor_f64(cursor);
	s->refused = cop_cursor_u64(cursor);
	cop_err err = load_rivals(s, cursor);
	if (err != COP_OK)
		return err;
	uint8_t has = cop_cursor_u8(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (second > 1 || frozen > 1 || has > 1 || (s->pair == 0 && (has != 0 || second != 0)))
		return COP_EFORMAT;
	s->second = second != 0;
	err = has != 0 ? load_learner(model, cursor) : COP_OK;
	if (err == COP_OK)
		cop_model_freeze(model, frozen != 0);
	return err;
}

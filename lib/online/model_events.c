/* A decision waits in the pending table until feedback or the end of its window takes it out; only then may the learner
 * move. Whatever can fail is made sure of before the first change, so an event happens as a whole or not at all, and
 * the same events at the same times give the same bytes: nothing here depends on when cop_model_expire finds nothing.
 */
#include "online/model.h"

#include <math.h>
#include <string.h>

#include "bandit/estimator.h"
#include "base/assert.h"
#include "online/model_gain.h"
#include "online/model_losses.h"
#include "online/model_state.h"

#define DEFAULTS_KNOWN 100 /* decisions, before what becomes of them is taken for known */
#define DEFAULTS_USUAL 0.1 /* share of what is learned, above which the default loss is usual */
#define EARLY          3.0 /* times as long as what was told has the oldest one waited: it may never be told */

static bool is_values(const cop_model *model) { return model->learner->class->values; }

bool cop_model_fits(const cop_model *model, const cop_model_context *context)
{
	const cop_candidates set = cop_model_candidates(context);
	return cop_learner_can_decide(model->learner, &set);
}

static bool two_point(const cop_model *model) { return cop_learner_losses(&model->set.learner) == 2; }

/* Losses from outside: finite, as many as the model takes, scaled; those of arms inside the range. */
cop_err cop_model_scale(const cop_model *model, const double *loss, size_t count, double *scaled)
{
	const cop_model_settings *s = &model->set;
	if (count != (two_point(model) ? 2u : 1u))
		return COP_EINVAL;
	for (size_t i = 0; i < count; i++) {
		cop_err err = COP_OK;
		if (is_values(model))
			scaled[i] = cop_estimator_scale(loss[i], s->loss_low, s->loss_high);
		else
			err = cop_estimator_scale_loss(loss[i], s->loss_low, s->loss_high, &scaled[i]);
		if (err != COP_OK)
			return err;
		if (!isfinite(scaled[i]))
			return COP_ENONFINITE;
	}
	return COP_OK;
}

cop_err cop_model_count_learned(cop_model *model, cop_err err, const double *scaled)
{
	if (err != COP_OK) {
		model->counters.refused++;
		return err;
	}
	double loss = two_point(model) ? (scaled[0] + scaled[1]) / 2.0 : scaled[0];
	bool frozen = model->shadow.frozen;
	*(frozen ? &model->shadow.frozen_losses : &model->counters.learned) += 1;
	*(frozen ? &model->shadow.frozen_loss_sum : &model->counters.loss_sum) +=
	        model->set.loss_low + loss * (model->set.loss_high - model->set.loss_low);
	return COP_OK;
}

cop_control_by cop_model_state_maker(const cop_pending_entry *entry)
{
	if (!entry->observed)
		return COP_CONTROL_POLICY;
	return entry->kept ? COP_CONTROL_KEPT : COP_CONTROL_HELD;
}

cop_err cop_model_learn(cop_model *model, const cop_pending_entry *entry, const double *scaled)
{
	const cop_candidates left = cop_model_state_left(entry);
	cop_model_lesson lesson;
	cop_err err = COP_OK;
	cop_model_shadow_ask(model, entry, &lesson);
	if (!lesson.far)
		err = cop_learner_learn(model->learner, &entry->x, &left, &lesson.own, scaled, true);
	if (err == COP_OK)
		cop_model_shadow_learn(model, entry, &lesson, scaled);
	err = cop_model_count_learned(model, err, scaled);
	if (err == COP_OK && entry->observed && !entry->split)
		cop_apprentice_weigh(&model->apprentice, entry->decision.p, entry->own_p, scaled[0]);
	else if (err == COP_OK)
		cop_model_gain_count(model, entry, scaled[0]);
	return err;
}

/* What was decided elsewhere. */
static cop_err learn_foreign(cop_learner *learner, const cop_model_played *played, const double *scaled)
{
	const cop_decision sent = { .arm = played->arm == COP_MODEL_ANY_ARM ? 0 : played->arm, .p = played->p };
	const cop_candidates c = { .row = played->candidate };
	return cop_learner_learn(learner, played->x, &c, &sent, scaled, false);
}

/* A sum is one of losses as they were sent: of scaled ones, each further one brings the range's low end along. */
cop_err cop_model_record_loss(cop_model *model, cop_pending_entry *entry, const double *scaled)
{
	const cop_model_settings *s = &model->set;
	bool adds = s->reward == COP_REWARD_SUM && entry->losses > 0;
	double zero = cop_estimator_scale(0.0, s->loss_low, s->loss_high);
	for (size_t i = 0; i < 2; i++) {
		entry->loss[i] = adds ? entry->loss[i] + (scaled[i] - zero) : scaled[i];
		if (!isfinite(entry->loss[i]))
			return COP_EDIVERGED;
	}
	entry->losses++;
	cop_pending_record_loss(model->pending, entry);
	cop_model_losses_record(model, entry, adds);
	return COP_OK;
}

/* What is learned of a decision that ends without feedback, in loss_range: the recorded losses, else the default, else
 * (and when it was never shown, or heard of by nobody, or gives way before its window is over) nothing. */
static void find_outcome(
        const cop_model *model, const cop_pending_entry *entry, bool gives_way, cop_wire_settlement *out)
{
	const cop_model_settings *s = &model->set;
	bool defaults = s->has_default_loss && !entry->deferred && !entry->unheard && !gives_way;
	unsigned losses = (unsigned)cop_learner_losses(&s->learner);
	if (entry->losses > 0) {
		out->outcome = gives_way ? COP_WIRE_OUTCOME_LEARNED_WAY : COP_WIRE_OUTCOME_RECORDED;
		for (unsigned i = 0; i < losses; i++) {
			double scaled = is_values(model) ? entry->loss[i] : fmin(fmax(entry->loss[i], 0.0), 1.0);
			out->loss[i] = s->loss_low + scaled * (s->loss_high - s->loss_low);
		}
	} else if (defaults) {
		out->outcome = COP_WIRE_OUTCOME_DEFAULT;
		out->loss[0] = out->loss[1] = s->default_loss;
	} else {
		out->outcome = gives_way ? COP_WIRE_OUTCOME_GAVE_WAY : COP_WIRE_OUTCOME_UNANSWERED;
	}
	out->losses = cop_wire_settled_learned(out->outcome) ? losses : 0;
}

static bool window_is_over(const cop_model *model, const cop_pending_entry *entry, double now)
{
	return entry->time + model->set.reward_window <= now;
}

static void count_settled(cop_model *model, const cop_pending_entry *entry, const cop_wire_settlement *is)
{
	cop_loss_values named;
	model->counters.defaulted += is->outcome == COP_WIRE_OUTCOME_DEFAULT;
	cop_wire_named_find(&is->named, &model->set.losses.weights, &named);
	cop_model_losses_count(model, entry, &named);
}

void cop_model_settle(cop_model *model, const cop_pending_entry *entry, const cop_wire_settlement *is, double now)
{
	const cop_model_settings *s = &model->set;
	bool learns = cop_wire_settled_learned(is->outcome);
	bool answered = is->outcome == COP_WIRE_OUTCOME_ANOTHER || (learns && is->outcome != COP_WIRE_OUTCOME_DEFAULT);
	double scaled[2] = { 0.0, 0.0 };
	for (unsigned i = 0; i < is->losses; i++) {
		scaled[i] = cop_estimator_scale(is->loss[i], s->loss_low, s->loss_high);
		if (!is_values(model))
			scaled[i] = fmin(fmax(scaled[i], 0.0), 1.0);
	}
	if (learns && cop_model_learn(model, entry, scaled) == COP_OK)
		count_settled(model, entry, is);
	else if (entry->split)
		cop_control_end(&model->control, cop_model_state_maker(entry), entry->cluster, entry->time, NULL);
	model->counters.dropped += is->outcome == COP_WIRE_OUTCOME_UNANSWERED;
	model->counters.evicted += cop_wire_settled_gave_way(is->outcome);
	cop_wire_settled_add(&model->ended.items, is);
	model->ended.count++;
	cop_pending_remove(model->pending, entry, answered ? COP_RECENT_IDS_ANSWERED : COP_RECENT_IDS_EXPIRED, now);
}

static void end(cop_model *model, const cop_pending_entry *entry, bool gives_way, double now)
{
	cop_wire_settlement is = { .loss = { 0.0, 0.0 } };
	uint8_t room[COP_WIRE_NAMED_ROOM];
	cop_pending_id(model->pending, entry, &is.id);
	find_outcome(model, entry, gives_way, &is);
	if (entry->told != 0 && is.losses > 0)
		cop_model_losses_recorded(model, entry, room, &is.named);
	cop_model_settle(model, entry, &is, now);
}

void cop_model_forget_old(cop_model *model, double now)
{
	cop_pending_forget(model->pending, now - model->set.reward_window);
}

void cop_model_begin(cop_model *model)
{
	cop_bytes_clear(&model->ended.items);
	model->ended.count = model->ended.missing = 0;
	model->ended.joined = false;
}

bool cop_model_find(cop_model *model, const cop_event_id *id, cop_pending_entry *entry)
{
	if (!cop_pending_find(model->pending, id, entry))
		return false;
	cop_learner_probes(model->learner, &entry->decision);
	return true;
}

bool cop_model_find_open(cop_model *model, const cop_event_id *id, double now, cop_pending_entry *entry)
{
	cop_model_begin(model);
	if (!cop_model_find(model, id, entry))
		return false;
	if (!window_is_over(model, entry, now))
		return true;
	end(model, entry, false, now);
	return false;
}

/* Nobody's decisions give way to those of one who has more waiting. What was acknowledged is learned, if early. */
static void make_room(cop_model *model, const cop_model_context *context, double now)
{
	cop_pending_entry oldest;
	cop_pending *pending = model->pending;
	while (context->owner_most > 0 && cop_pending_owned_count(pending, context->owner) >= context->owner_most &&
	        cop_pending_owned_oldest(pending, context->owner, &oldest))
		end(model, &oldest, true, now);
	for (bool full = true; full;) {
		bool many = cop_pending_count(pending) >= model->set.pending_max;
		full = (many || cop_pending_bytes(pending) >= model->set.pending_bytes) &&
		       cop_pending_gives_way(pending, context->owner, !many, &oldest);
		if (full)
			end(model, &oldest, true, now);
	}
}

/* applied: the learner did not decide itself, and has no way left that explaining could go by. */
static void keep_explanation(
        cop_model *model, const cop_model_context *context, const cop_decision *decision, bool applied)
{
	const cop_candidates set = cop_model_candidates(context);
	cop_explanation *kept = &model->kept[model->kept_next];
	if (applied)
		cop_learner_explain(model->learner, context->x, &set, decision, kept);
	else
		cop_learner_explain_decided(model->learner, context->x, &set, decision, kept);
}

static void name_explanation(cop_model *model, uint32_t handle)
{
	model->kept_handle[model->kept_next] = handle;
	model->kept_next = (model->kept_next + 1) % model->kept_count;
}

/* Whether features that were added are unknown in it. */
static bool is_short(const cop_model *model, const cop_row *x)
{
	bool any = false;
	for (size_t j = cop_model_known(model); j < model->set.learner.features && !any; j++)
		any = isnan(x->dense[j]) != 0;
	return any;
}

/* What the decision left in the learner's workspaces is asked for first: making room may teach. */
void cop_model_await(cop_model *model, const cop_model_context *context, double now, const cop_decision *decision,
        const double *own_p, const cop_control_split *split, const cop_wire_settled *settled)
{
	uint32_t handle = 0;
	bool explains = (settled == NULL || model->explains_applied) && model->kept_count > 0;
	size_t predictions = cop_learner_predictions(model->learner);
	cop_pending_entry entry = {
		.time = now,
		.records = model->set.reward != COP_REWARD_EARLIEST || model->set.has_default_loss,
		.deferred = context->defer,
		.refitted = predictions > model->learner->class->predictions,
		.decision = *decision,
		.observed = own_p != NULL,
		.split = split != NULL,
		.kept = split != NULL && split->by == COP_CONTROL_KEPT,
		.cluster = cop_model_gain_cluster(model, context, split),
		.owner = context->owner,
		.own_p = own_p != NULL ? *own_p : 0.0,
		.names = (uint16_t)model->named.count,
		.x = *context->x,
		.mask = context->mask,
	};
	cop_model_shadow_follow(model, context, decision, own_p == NULL, &entry.shadow);
	if (explains)
		keep_explanation(model, context, decision, settled != NULL);
	if (model->learner->class->candidates)
		entry.candidate = context->candidate[decision->arm];
	if (settled != NULL)
		cop_model_settle_all(model, settled, true, now);
	make_room(model, context, now);
	cop_err err = cop_pending_add(model->pending, context->id, &entry, &handle);
	COP_ASSERT(err == COP_OK);
	if (explains)
		name_explanation(model, handle);
	model->counters.decisions++;
	model->counters.greedy += decision->greedy;
	model->counters.shorter += is_short(model, context->x);
	if (split != NULL)
		cop_model_gain_note(model, split, now);
	else if (own_p != NULL)
		cop_apprentice_note(&model->apprentice, *own_p, decision->greedy);
	cop_model_forget_old(model, now);
}

cop_err cop_model_reserve(cop_model *model, const cop_model_context *context, bool observed)
{
	if (model->kept_count > 0)
		cop_explanation_soon(&model->kept[model->kept_next]);
	const cop_pending_need need = { context->id, context->x, context->candidate, context->candidates, observed,
		context->mask, context->owner, (uint16_t)model->named.count };
	return cop_pending_reserve(model->pending, &need);
}

static int64_t baseline_of(const cop_model_settings *s)
{
	static const int64_t words[] = { COP_CONTROL_UNIFORM, COP_CONTROL_CALLER };
	return s->has_baseline ? (int64_t)s->baseline : words[s->baseline > 0.0];
}

/* One as wide as the range bounds nothing. */
static double allowance_of(const cop_model_settings *s)
{
	return s->conservative > 0.0 ? fmin(s->conservative / (s->loss_high - s->loss_low), 1.0) : 1.0;
}

static void find_maker(cop_model *model, const cop_model_context *context)
{
	const cop_control_terms terms = { model->set.holdout, baseline_of(&model->set), allowance_of(&model->set) };
	model->made_by = (cop_model_maker){ .split = terms.share > 0.0 };
	if (!model->made_by.split)
		return;
	cop_control_split *split = &model->made_by.split_by;
	*split = cop_control_find(
	        &terms, context->unit != NULL ? context->unit : context->id, cop_model_state_control_key(model));
	if (split->by == COP_CONTROL_POLICY && !cop_control_allows(&model->control, &terms))
		split->by = COP_CONTROL_KEPT;
}

/* What the baseline draws from: retired arms are the policy's to leave, and so are they the baseline's, but for an arm
 * that the caller names. */
static const uint8_t *baseline_mask(const cop_model *model, const cop_model_context *context)
{
	const cop_shares *shares = &model->learner->settings.exploration.shares;
	bool named = model->made_by.split_by.terms.baseline == COP_CONTROL_CALLER && context->caller.p > 0.0;
	bool less = !named && cop_shares_without_retired(
	                              shares, cop_model_state_arms(model, context), context->mask, model->playable);
	return less ? model->playable : context->mask;
}

void cop_model_held_probabilities(const cop_model *model, const cop_model_context *context, double *p)
{
	cop_control_probabilities(model->made_by.split_by.terms.baseline, &context->caller,
	        cop_model_state_arms(model, context), baseline_mask(model, context), p);
}

static void let_baseline_decide(cop_model *model, const cop_model_context *context, cop_decision *out)
{
	cop_model_maker *maker = &model->made_by;
	out->p = cop_control_play(maker->split_by.terms.baseline, &context->caller, context->id,
	        cop_model_state_control_key(model), cop_model_state_arms(model, context), baseline_mask(model, context),
	        &out->arm);
	maker->own_p = cop_model_state_follow(model, context, out);
}

cop_err cop_model_decide(
        cop_model *model, const cop_model_context *context, double now, cop_decision *out, bool *repeated)
{
	cop_pending_entry entry;
	cop_model_maker *maker = &model->made_by;
	if (!cop_model_fits(model, context))
		return COP_EINVAL;
	find_maker(model, context);
	bool by_baseline = maker->split_by.by != COP_CONTROL_POLICY;
	cop_err err = cop_model_reserve(model, context, by_baseline);
	if (err != COP_OK)
		return err;
	*repeated = cop_model_find_open(model, context->id, now, &entry);
	if (*repeated) {
		*out = entry.decision;
		*maker = (cop_model_maker){ .split = entry.split };
		maker->split_by.by = entry.split ? cop_model_state_maker(&entry) : COP_CONTROL_POLICY;
		model->counters.repeated++;
		return COP_OK;
	}
	const cop_candidates set = cop_model_candidates(context);
	if (by_baseline) {
		let_baseline_decide(model, context, out);
	} else {
		err = cop_learner_decide(model->learner, context->x, &set, out);
		COP_ASSERT(err == COP_OK);
	}
	cop_model_await(model, context, now, out, by_baseline ? &maker->own_p : NULL,
	        maker->split ? &maker->split_by : NULL, NULL);
	return COP_OK;
}

double cop_model_value(const cop_model *model, double y)
{
	return model->set.value_low + y * (model->set.value_high - model->set.value_low);
}

double cop_model_density(const cop_model *model, const cop_decision *decision)
{
	return decision->p / (model->set.value_high - model->set.value_low);
}

static cop_feedback_result not_waiting(const cop_model *model, const cop_event_id *id)
{
	switch (cop_pending_recall(model->pending, id)) {
	case COP_RECENT_IDS_ANSWERED:
		return COP_FEEDBACK_DUPLICATE;
	case COP_RECENT_IDS_EXPIRED:
		return COP_FEEDBACK_LATE;
	case COP_RECENT_IDS_NOT:
		break;
	}
	return COP_FEEDBACK_UNKNOWN;
}

void cop_model_activate(cop_model *model, const cop_event_id *id, double now, cop_feedback_result *result)
{
	cop_pending_entry entry;
	if (!cop_model_find_open(model, id, now, &entry)) {
		*result = not_waiting(model, id);
	} else if (entry.deferred) {
		cop_pending_activate(model->pending, &entry, now);
		*result = COP_FEEDBACK_APPLIED;
	} else {
		*result = COP_FEEDBACK_DUPLICATE;
	}
	cop_model_forget_old(model, now);
}

bool cop_model_unheard(cop_model *model, const cop_event_id *id, const double *decided)
{
	cop_pending_entry entry;
	bool waits = cop_pending_find(model->pending, id, &entry) && (!entry.observed || entry.split) &&
	             (decided == NULL || entry.time == *decided);
	if (waits)
		cop_pending_mark_unheard(model->pending, &entry);
	return waits;
}

/* More decisions wait than were told of, the oldest far longer than those took. */
static bool few_are_told(const cop_model *model, double now)
{
	const cop_model_counters *c = &model->counters;
	uint64_t told = c->feedback[COP_FEEDBACK_APPLIED] + c->feedback[COP_FEEDBACK_RECORDED];
	size_t waiting = cop_pending_count(model->pending);
	cop_pending_entry oldest;
	return waiting >= DEFAULTS_KNOWN && waiting > told && told > 0 && cop_pending_oldest(model->pending, &oldest) &&
	       EARLY * c->awaited < (now - oldest.time) * (double)told;
}

/* Whether decisions often end by the default loss. What is told then is better than the rest and comes before it, and
 * learned at once it would make the arms that are played newly look better than they are. */
static bool default_is_usual(const cop_model *model, double now)
{
	const cop_model_counters *c = &model->counters;
	if (!model->set.has_default_loss)
		return false;
	if (c->defaulted < DEFAULTS_KNOWN)
		return few_are_told(model, now);
	return (double)c->defaulted > DEFAULTS_USUAL * (double)c->learned;
}

static bool learns_at_once(const cop_model *model, const cop_pending_entry *entry, double now)
{
	return !entry->records || (model->set.reward == COP_REWARD_EARLIEST && !default_is_usual(model, now));
}

static bool first_counts(const cop_model *model)
{
	return model->set.reward == COP_REWARD_FIRST || model->set.reward == COP_REWARD_EARLIEST;
}

/* What feedback does to a waiting decision, by the reward rule. */
static cop_feedback_result result_of(const cop_model *model, const cop_pending_entry *entry, double now)
{
	if (first_counts(model) && entry->losses > 0)
		return COP_FEEDBACK_DUPLICATE;
	return learns_at_once(model, entry, now) ? COP_FEEDBACK_APPLIED : COP_FEEDBACK_RECORDED;
}

cop_err cop_model_join(
        cop_model *model, cop_pending_entry *entry, const double *scaled, cop_feedback_result result, double now)
{
	const bool at_once = result == COP_FEEDBACK_APPLIED;
	if (result == COP_FEEDBACK_DUPLICATE)
		return COP_OK;
	cop_err err = at_once ? cop_model_learn(model, entry, scaled) : cop_model_record_loss(model, entry, scaled);
	if (err != COP_OK)
		return err;
	if (at_once)
		cop_model_losses_count(model, entry, &model->told);
	model->ended.joined = true;
	model->counters.awaited += now - entry->time;
	if (at_once)
		cop_pending_remove(model->pending, entry, COP_RECENT_IDS_ANSWERED, now);
	return COP_OK;
}

cop_err cop_model_count_result(cop_model *model, cop_err err, double now, const cop_feedback_result *result)
{
	if (err != COP_OK)
		return err;
	model->counters.feedback[*result]++;
	cop_model_forget_old(model, now);
	return COP_OK;
}

cop_err cop_model_feedback(cop_model *model, const cop_event_id *id, const double *loss, size_t count, double now,
        cop_feedback_result *result)
{
	double scaled[2] = { 0.0, 0.0 };
	cop_err err = cop_model_scale(model, loss, count, scaled);
	if (err != COP_OK)
		return err;
	cop_pending_entry entry;
	bool waits = cop_model_find_open(model, id, now, &entry);
	*result = waits ? result_of(model, &entry, now) : not_waiting(model, id);
	if (waits)
		err = cop_model_join(model, &entry, scaled, *result, now);
	return cop_model_count_result(model, err, now, result);
}

/* A decision that is not known here, or was another one. */
cop_err cop_model_take_foreign(
        cop_model *model, const cop_model_played *played, const double *scaled, cop_model_answered *answered)
{
	if (answered != NULL && !answered->observed)
		cop_model_view_answered(model, answered);
	cop_err err = cop_model_count_learned(model, learn_foreign(model->learner, played, scaled), scaled);
	if (err != COP_OK)
		return err;
	cop_model_losses_count(model, NULL, &model->told);
	model->counters.shorter += is_short(model, played->x);
	if (model->shadow.learner != NULL)
		model->shadow.refused += learn_foreign(model->shadow.learner, played, scaled) != COP_OK;
	if (answered == NULL)
		return COP_OK;
	answered->observed = true;
	cop_apprentice_note(&model->apprentice, answered->own_p, answered->agrees);
	cop_apprentice_weigh(&model->apprentice, answered->p, answered->own_p, scaled[0]);
	return COP_OK;
}

cop_err cop_model_take_sent(
        cop_model *model, const cop_event_id *id, const cop_model_sent *sent, double now, cop_feedback_result *result)
{
	const cop_model_played *played = &sent->played;
	cop_pending_entry entry;
	bool waits = cop_model_find_open(model, id, now, &entry);
	bool same =
	        waits && (is_values(model) || played->arm == COP_MODEL_ANY_ARM || entry.decision.arm == played->arm);
	if (same) {
		*result = result_of(model, &entry, now);
		cop_err err = cop_model_join(model, &entry, sent->scaled, *result, now);
		return cop_model_count_result(model, err, now, result);
	}
	*result = waits ? COP_FEEDBACK_UNKNOWN : not_waiting(model, id);
	if (*result == COP_FEEDBACK_UNKNOWN) {
		cop_err err = cop_model_take_foreign(model, played, sent->scaled, sent->answered);
		const cop_wire_settlement another = { .id = *id, .outcome = COP_WIRE_OUTCOME_ANOTHER };
		if (err != COP_OK)
			return err;
		if (waits)
			cop_model_settle(model, &entry, &another, now);
		else
			cop_pending_remember(model->pending, id, COP_RECENT_IDS_ANSWERED, now);
		*result = COP_FEEDBACK_APPLIED;
	}
	return cop_model_count_result(model, COP_OK, now, result);
}

cop_err cop_model_feedback_full(cop_model *model, const cop_event_id *id, const cop_row *x, uint32_t arm, double p,
        const double *loss, size_t count, double now, cop_feedback_result *result)
{
	bool values = is_values(model);
	if (values ? !two_point(model) || model->set.learner.delta_decay > 0.0
	           : arm >= model->set.learner.arms || !(p > 0.0 && p <= 1.0))
		return COP_EINVAL; /* ranking models have no arms */
	cop_model_sent sent = { .played = { .x = x, .arm = values ? 0 : arm, .p = values ? 1.0 : p } };
	cop_err err = cop_model_scale(model, loss, count, sent.scaled);
	return err != COP_OK ? err : cop_model_take_sent(model, id, &sent, now, result);
}

cop_err cop_model_feedback_played(cop_model *model, const cop_event_id *id, const cop_model_played *played, double loss,
        double now, cop_feedback_result *result)
{
	bool placed = played->arm == COP_MODEL_ANY_ARM || played->arm < model->set.learner.max_candidates;
	if (!model->learner->class->candidates || !placed || !(played->p > 0.0 && played->p <= 1.0))
		return COP_EINVAL;
	cop_model_sent sent = { .played = *played };
	cop_err err = cop_model_scale(model, &loss, 1, sent.scaled);
	return err != COP_OK ? err : cop_model_take_sent(model, id, &sent, now, result);
}

size_t cop_model_expire(cop_model *model, double now, size_t most)
{
	size_t ended = 0;
	cop_pending_entry entry;
	cop_model_begin(model);
	while (ended < most && cop_pending_oldest(model->pending, &entry) && window_is_over(model, &entry, now)) {
		end(model, &entry, false, now);
		ended++;
	}
	while (ended < most && cop_pending_count(model->pending) > model->set.pending_max &&
	        cop_pending_gives_way(model->pending, 0, false, &entry)) {
		end(model, &entry, true, now);
		ended++;
	}
	if (ended > 0)
		cop_model_forget_old(model, now);
	return ended;
}

size_t cop_model_forget(cop_model *model, const cop_event_id *ids, size_t count, double now)
{
	cop_pending_entry entry;
	cop_model_begin(model);
	for (size_t i = 0; i < count; i++) {
		const cop_wire_settlement is = { .id = ids[i], .outcome = COP_WIRE_OUTCOME_UNANSWERED };
		if (cop_model_find(model, &ids[i], &entry))
			cop_model_settle(model, &entry, &is, now);
	}
	return model->ended.count;
}

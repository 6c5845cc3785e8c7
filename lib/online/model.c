/* A decision waits in the pending table until feedback or the end of its window takes it out; only then may the learner
 * move. Explanations of the newest decisions are made at decide time, in a ring indexed by the decision's serial
 * number. */
#include "online/model.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "online/model_file_state.h"

void cop_model_settings_init(cop_model_settings *settings)
{
	*settings = (cop_model_settings){
		.reward_window = 600.0,
		.reward = COP_REWARD_EARLIEST,
		.loss_high = 1.0,
		.value_high = 1.0,
		.pending_max = 1000000,
	};
	cop_learner_settings_init(&settings->learner);
}

const char *cop_feedback_result_text(cop_feedback_result result)
{
	static const char *const texts[COP_FEEDBACK_RESULTS] = { "applied", "recorded", "duplicate", "late",
		"unknown" };
	return (unsigned)result < COP_FEEDBACK_RESULTS ? texts[result] : "unknown";
}

static const char *refusal(const cop_model_settings *s)
{
	if (!(s->reward_window > 0.0) || !isfinite(s->reward_window))
		return "reward_window: expected a time above 0";
	if (!isfinite(s->loss_low) || !isfinite(s->loss_high) || s->loss_low >= s->loss_high)
		return "loss_range: expected {low, high} with low < high";
	if (!isfinite(s->value_low) || !isfinite(s->value_high) || s->value_low >= s->value_high)
		return "value_range: expected {low, high} with low < high";
	if (s->has_default_loss && !(s->default_loss >= s->loss_low && s->default_loss <= s->loss_high))
		return "default_loss: expected a loss in loss_range, or none";
	if (s->pending_max < 1 || s->pending_max > (size_t)1 << 28)
		return "pending_max: expected 1 to 268435456";
	if (s->explain_keep > (size_t)1 << 20)
		return "explain_keep: expected at most 1048576";
	return NULL;
}

static void free_kept(cop_explanation *kept, uint64_t *serial, size_t count)
{
	for (size_t i = 0; kept != NULL && i < count; i++)
		cop_explanation_fini(&kept[i]);
	cop_mem_free(kept);
	cop_mem_free(serial);
}

/* A ring for `count` explanations in place of the one there is, which stays when memory is short. */
static cop_err keep_explanations(cop_model *model, size_t count)
{
	uint64_t *serial = cop_mem_alloc(count, sizeof *serial);
	cop_explanation *kept = cop_mem_alloc(count, sizeof *kept);
	cop_err err = kept == NULL || serial == NULL ? COP_ENOMEM : COP_OK;
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		serial[i] = UINT64_MAX;
		err = cop_learner_explanation_init(model->learner, &kept[i]);
	}
	if (err != COP_OK) {
		free_kept(kept, serial, count);
		return err;
	}
	free_kept(model->kept, model->kept_serial, model->kept_count);
	model->kept = kept;
	model->kept_serial = serial;
	model->kept_count = count;
	return COP_OK;
}

cop_err cop_model_new(const cop_model_settings *settings, cop_model **out, cop_diag *diag)
{
	*out = NULL;
	const char *wrong = refusal(settings);
	if (wrong != NULL) {
		cop_diag_set(diag, "", 0, 0, "%s", wrong);
		return COP_EINVAL;
	}
	cop_model *model = cop_mem_alloc(1, sizeof *model);
	if (model == NULL) {
		cop_diag_set(diag, "", 0, 0, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	model->set = *settings;
	cop_learner_settings learner = settings->learner;
	learner.delta /= settings->value_high - settings->value_low;
	cop_err err = cop_learner_new(&learner, &model->learner, diag);
	if (err == COP_OK) {
		model->set.learner = model->learner->settings;
		model->set.learner.delta *= settings->value_high - settings->value_low;
		err = cop_pending_new(cop_learner_dimension(&learner), learner.features == 0, learner.max_nonzeros,
		        settings->pending_max, learner.seed * UINT64_C(0x9e3779b97f4a7c15) + 1, &model->pending);
	}
	if (err == COP_OK)
		err = cop_learner_explanation_init(model->learner, &model->fresh);
	if (err == COP_OK)
		err = keep_explanations(model, settings->explain_keep);
	if (err != COP_OK) {
		if (err == COP_ENOMEM)
			cop_diag_set(diag, "", 0, 0, "%s", cop_err_text(err));
		cop_model_free(model);
		return err;
	}
	*out = model;
	return COP_OK;
}

void cop_model_free(cop_model *model)
{
	if (model == NULL)
		return;
	free_kept(model->kept, model->kept_serial, model->kept_count);
	cop_explanation_fini(&model->fresh);
	cop_pending_free(model->pending);
	cop_learner_free(model->learner);
	cop_mem_free(model);
}

const cop_model_settings *cop_model_get_settings(const cop_model *model) { return &model->set; }
cop_learner *cop_model_learner(cop_model *model) { return model->learner; }
const cop_model_counters *cop_model_get_counters(const cop_model *model) { return &model->counters; }
size_t cop_model_pending(const cop_model *model) { return cop_pending_count(model->pending); }

cop_err cop_model_adjust(cop_model *model, const cop_model_settings *settings, cop_diag *diag)
{
	const char *wrong = refusal(settings);
	if (wrong == NULL)
		wrong = cop_learner_exploration_refusal(&settings->learner.exploration);
	if (wrong != NULL) {
		cop_diag_set(diag, "", 0, 0, "%s", wrong);
		return COP_EINVAL;
	}
	if (settings->explain_keep != model->kept_count && keep_explanations(model, settings->explain_keep) != COP_OK) {
		cop_diag_set(diag, "", 0, 0, "explain_keep: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	model->set.explain_keep = settings->explain_keep;
	cop_learner_explore(model->learner, &settings->learner.exploration);
	model->set.learner.exploration = model->learner->settings.exploration;
	model->set.reward_window = settings->reward_window;
	model->set.has_default_loss = settings->has_default_loss;
	model->set.default_loss = settings->default_loss;
	model->set.reward = settings->reward;
	model->set.pending_max = settings->pending_max;
	cop_pending_set_max(model->pending, settings->pending_max);
	return COP_OK;
}

static bool two_point(const cop_model *model) { return model->learner->class->values && !model->set.learner.one_point; }

double cop_model_value(const cop_model *model, double y)
{
	return model->set.value_low + y * (model->set.value_high - model->set.value_low);
}

/* Losses from outside: finite, as many as the model takes, scaled. */
static cop_err scale(const cop_model *model, const double *loss, size_t count, double *scaled)
{
	const cop_model_settings *s = &model->set;
	if (count != (two_point(model) ? 2u : 1u))
		return COP_EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(loss[i]))
			return COP_ENONFINITE;
		scaled[i] = (loss[i] - s->loss_low) / (s->loss_high - s->loss_low);
		if (!isfinite(scaled[i]))
			return COP_ENONFINITE;
		if (!model->learner->class->values && (scaled[i] < 0.0 || scaled[i] > 1.0))
			return COP_EINVAL;
	}
	return COP_OK;
}

static cop_err learn(cop_model *model, const cop_row *x, const cop_decision *decision, const double *scaled, bool here)
{
	cop_err err = cop_learner_learn(model->learner, x, decision, scaled, here);
	if (err != COP_OK) {
		model->counters.refused++;
		return err;
	}
	double loss = two_point(model) ? (scaled[0] + scaled[1]) / 2.0 : scaled[0];
	model->counters.learned++;
	model->counters.loss_sum += model->set.loss_low + loss * (model->set.loss_high - model->set.loss_low);
	return COP_OK;
}

/* A sum is one of losses as they were sent: of scaled ones, each further one brings the range's low end along. */
static cop_err record_loss(cop_model *model, cop_pending_entry *entry, const double *scaled)
{
	const cop_model_settings *s = &model->set;
	bool adds = s->reward == COP_REWARD_SUM && entry->losses > 0;
	double zero = (0.0 - s->loss_low) / (s->loss_high - s->loss_low);
	for (size_t i = 0; i < 2; i++) {
		entry->loss[i] = adds ? entry->loss[i] + (scaled[i] - zero) : scaled[i];
		if (!isfinite(entry->loss[i]))
			return COP_EDIVERGED;
	}
	entry->losses++;
	cop_pending_record(model->pending, entry);
	return COP_OK;
}

/* What the end of a window teaches: the recorded losses, else the default, else nothing. */
static bool final_loss(const cop_model *model, const cop_pending_entry *entry, double *scaled)
{
	const cop_model_settings *s = &model->set;
	if (entry->losses > 0) {
		for (size_t i = 0; i < 2; i++) {
			scaled[i] = entry->loss[i];
			if (!model->learner->class->values)
				scaled[i] = fmin(fmax(scaled[i], 0.0), 1.0);
		}
		return true;
	}
	scaled[0] = scaled[1] = (s->default_loss - s->loss_low) / (s->loss_high - s->loss_low);
	return s->has_default_loss;
}

static bool window_is_over(const cop_model *model, const cop_pending_entry *entry, double now)
{
	return entry->time + model->set.reward_window <= now;
}

static void end_window(cop_model *model, const cop_pending_entry *entry, double now)
{
	double scaled[2];
	bool teaches = final_loss(model, entry, scaled);
	cop_remembered as = entry->losses > 0 ? COP_REMEMBERED_ANSWERED : COP_REMEMBERED_EXPIRED;
	if (teaches && learn(model, &entry->x, &entry->decision, scaled, true) == COP_OK)
		model->counters.defaulted += entry->losses == 0;
	model->counters.dropped += !teaches;
	cop_pending_remove(model->pending, entry, as, now);
}

/* The id's decision, if it is waiting and its window is not over; one that is over is ended here. */
static bool find_open(cop_model *model, const cop_event_id *id, double now, cop_pending_entry *entry)
{
	if (!cop_pending_find(model->pending, id, entry))
		return false;
	if (!window_is_over(model, entry, now))
		return true;
	end_window(model, entry, now);
	return false;
}

static void evict_oldest(cop_model *model, double now)
{
	cop_pending_entry oldest;
	if (!cop_pending_oldest(model->pending, &oldest))
		return;
	cop_pending_remove(model->pending, &oldest, COP_REMEMBERED_EXPIRED, now);
	model->counters.evicted++;
}

static void keep_explanation(cop_model *model, const cop_row *x, const cop_decision *decision, uint64_t serial)
{
	if (model->kept_count == 0)
		return;
	size_t at = (size_t)(serial % model->kept_count);
	model->kept_serial[at] = serial;
	cop_learner_explain(model->learner, x, decision, &model->kept[at]);
}

cop_err cop_model_decide(cop_model *model, const cop_event_id *id, const cop_row *x, const uint8_t *mask, double now,
        cop_decision *out, bool *repeated)
{
	cop_pending_entry entry;
	*repeated = find_open(model, id, now, &entry);
	if (*repeated) {
		*out = entry.decision;
		model->counters.repeated++;
		return COP_OK;
	}
	cop_err err = cop_learner_decide(model->learner, x, mask, out);
	if (err != COP_OK)
		return err;
	while (cop_pending_count(model->pending) >= model->set.pending_max)
		evict_oldest(model, now);
	err = cop_pending_add(model->pending, id, x, out, model->serial, now);
	if (err != COP_OK)
		return err;
	keep_explanation(model, x, out, model->serial);
	model->serial++;
	model->counters.decisions++;
	model->counters.greedy += out->greedy;
	return COP_OK;
}

static cop_err join(
        cop_model *model, cop_pending_entry *entry, const double *scaled, double now, cop_feedback_result *result)
{
	bool records = model->set.reward != COP_REWARD_EARLIEST;
	cop_err err =
	        records ? record_loss(model, entry, scaled) : learn(model, &entry->x, &entry->decision, scaled, true);
	if (err != COP_OK)
		return err;
	if (records) {
		*result = COP_FEEDBACK_RECORDED;
	} else {
		cop_pending_remove(model->pending, entry, COP_REMEMBERED_ANSWERED, now);
		*result = COP_FEEDBACK_APPLIED;
	}
	model->counters.feedback[*result]++;
	return COP_OK;
}

static cop_feedback_result not_waiting(const cop_model *model, const cop_event_id *id)
{
	switch (cop_pending_recall(model->pending, id)) {
	case COP_REMEMBERED_ANSWERED:
		return COP_FEEDBACK_DUPLICATE;
	case COP_REMEMBERED_EXPIRED:
		return COP_FEEDBACK_LATE;
	case COP_REMEMBERED_NOT:
		break;
	}
	return COP_FEEDBACK_UNKNOWN;
}

cop_err cop_model_feedback(cop_model *model, const cop_event_id *id, const double *loss, size_t count, double now,
        cop_feedback_result *result)
{
	double scaled[2] = { 0.0, 0.0 };
	cop_err err = scale(model, loss, count, scaled);
	if (err != COP_OK)
		return err;
	cop_pending_entry entry;
	if (find_open(model, id, now, &entry))
		return join(model, &entry, scaled, now, result);
	*result = not_waiting(model, id);
	model->counters.feedback[*result]++;
	return COP_OK;
}

cop_err cop_model_feedback_full(cop_model *model, const cop_event_id *id, const cop_row *x, uint32_t arm, double p,
        const double *loss, size_t count, double now, cop_feedback_result *result)
{
	bool values = model->learner->class->values;
	if (values ? !two_point(model) : arm >= model->set.learner.arms || !(p > 0.0 && p <= 1.0))
		return COP_EINVAL;
	double scaled[2] = { 0.0, 0.0 };
	cop_err err = scale(model, loss, count, scaled);
	if (err != COP_OK)
		return err;
	cop_pending_entry entry;
	if (find_open(model, id, now, &entry))
		return join(model, &entry, scaled, now, result);
	*result = not_waiting(model, id);
	if (*result == COP_FEEDBACK_UNKNOWN) {
		cop_decision decision = { .arm = values ? 0 : arm, .p = values ? 1.0 : p };
		err = learn(model, x, &decision, scaled, false);
		if (err != COP_OK)
			return err;
		cop_pending_remember(model->pending, id, COP_REMEMBERED_ANSWERED, now);
		*result = COP_FEEDBACK_APPLIED;
	}
	model->counters.feedback[*result]++;
	return COP_OK;
}

size_t cop_model_expire(cop_model *model, double now, size_t most)
{
	size_t ended = 0;
	cop_pending_entry entry;
	while (ended < most && cop_pending_oldest(model->pending, &entry) && window_is_over(model, &entry, now)) {
		end_window(model, &entry, now);
		ended++;
	}
	cop_pending_forget(model->pending, now - model->set.reward_window);
	return ended;
}

cop_err cop_model_explain(
        cop_model *model, const cop_event_id *id, cop_decision *decision, const cop_explanation **out, bool *kept)
{
	cop_pending_entry entry;
	if (!cop_pending_find(model->pending, id, &entry))
		return COP_ENOTFOUND;
	*decision = entry.decision;
	size_t keep = model->kept_count;
	*kept = keep > 0 && model->kept_serial[entry.serial % keep] == entry.serial;
	if (*kept) {
		*out = &model->kept[entry.serial % keep];
		return COP_OK;
	}
	cop_learner_explain(model->learner, &entry.x, decision, &model->fresh);
	*out = &model->fresh;
	return COP_OK;
}

void cop_model_explain_row(
        cop_model *model, const cop_row *x, const uint8_t *mask, cop_decision *decision, const cop_explanation **out)
{
	double best = cop_learner_greedy(model->learner, x, mask);
	*decision = (cop_decision){ .p = 1.0, .greedy = true, .rev = model->learner->rev };
	if (model->learner->class->values)
		decision->y = best;
	else
		decision->arm = (uint32_t)best;
	cop_learner_explain(model->learner, x, decision, &model->fresh);
	*out = &model->fresh;
}

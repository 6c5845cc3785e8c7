/* Making, adjusting and explaining models; what happens to them is in model_events.c, model_logged.c and
 * model_apprentice.c. */
#include "online/model.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "online/model_losses.h"
#include "online/model_record.h"
#include "online/model_state.h"

#define ENDED_ROOM 256 /* bytes: of what an event usually ends */

void cop_model_settings_init(cop_model_settings *settings)
{
	*settings = (cop_model_settings){
		.reward_window = 600.0,
		.reward = COP_REWARD_EARLIEST,
		.loss_high = 1.0,
		.value_high = 1.0,
		.pending_max = 1000000,
		.pending_bytes = (size_t)1 << 30,
	};
	cop_learner_settings_init(&settings->learner);
}

bool cop_model_needs_caller(const cop_model_settings *s)
{
	return s->holdout > 0.0 && !s->has_baseline && s->baseline > 0.0;
}

static const char *control_refusal(const cop_model_settings *s)
{
	bool ranks = cop_learner_plays_candidates(&s->learner);
	if (!(s->holdout >= 0.0 && s->holdout < 1.0))
		return "holdout: expected a share from 0 to below 1";
	if (s->holdout > 0.0 && cop_learner_plays_values(&s->learner))
		return "holdout: models of values have no control group; expected 0";
	if (!(s->conservative >= 0.0) || !isfinite(s->conservative))
		return "conservative: expected 0 or more, in units of loss_range";
	if (s->conservative > 0.0 && !(s->holdout > 0.0))
		return "conservative: needs a control group to compare with; expected a holdout above 0";
	if (s->has_baseline && (!(s->baseline >= 0.0) || s->baseline != floor(s->baseline)))
		return "baseline: expected uniform, caller, or the number of an arm";
	if (s->has_baseline && !ranks && s->holdout > 0.0 && s->baseline >= (double)s->learner.arms)
		return "baseline: there is no such arm; expected one of the model's, from 0";
	if (s->has_baseline && !ranks && s->holdout > 0.0 &&
	        cop_shares_retired(&s->learner.exploration.shares, (size_t)s->baseline))
		return "baseline: share_max gives this arm 0; expected one that is not retired";
	return NULL;
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
	if (s->pending_bytes < 1)
		return "pending_bytes: expected at least 1";
	if (s->explain_keep > (size_t)1 << 20)
		return "explain_keep: expected at most 1048576";
	return control_refusal(s);
}

/* Whether the settings can be a model's; else *diag has the reason. */
static bool judge(const cop_model_settings *s, cop_diag *diag)
{
	char text[COP_NAMED_LOSSES_TEXT];
	const char *wrong = refusal(s);
	if (wrong == NULL && s->losses.weights.count > 0 && cop_learner_plays_values(&s->learner))
		wrong = "losses: those of models of values have no names; expected none";
	if (wrong == NULL && !cop_named_losses_fit(&s->losses, s->loss_low, s->loss_high, text))
		wrong = text;
	if (wrong != NULL)
		cop_diag_message(diag, "%s", wrong);
	return wrong == NULL;
}

static void free_kept(cop_explanation *kept, uint32_t *handle, size_t count)
{
	for (size_t i = 0; kept != NULL && i < count; i++)
		cop_explanation_fini(&kept[i]);
	cop_mem_free(kept);
	cop_mem_free(handle);
}

/* Room for explanations of the model's learners; other: of one more, or NULL. Where none has all that the others need
 * the paths of a refit may be missing. */
static cop_err make_room(const cop_model *model, const cop_learner *other, cop_explanation *e)
{
	cop_err err = cop_learner_explanation_init(model->learner, e);
	if (other == NULL)
		other = model->shadow.learner;
	if (err != COP_OK || other == NULL || cop_learner_explanation_fits(other, e))
		return err;
	cop_explanation_fini(e);
	return cop_learner_explanation_init(other, e);
}

/* A ring for `count` explanations in place of the one there is, which stays when memory is short. */
static cop_err keep_explanations(cop_model *model, size_t count, const cop_learner *other)
{
	uint32_t *handle = cop_mem_alloc(count, sizeof *handle);
	cop_explanation *kept = cop_mem_alloc(count, sizeof *kept);
	cop_err err = kept == NULL || handle == NULL ? COP_ENOMEM : COP_OK;
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = make_room(model, other, &kept[i]);
	if (err != COP_OK) {
		free_kept(kept, handle, count);
		return err;
	}
	free_kept(model->kept, model->kept_handle, model->kept_count);
	model->kept = kept;
	model->kept_handle = handle;
	model->kept_count = count;
	model->kept_next = 0;
	return COP_OK;
}

cop_err cop_model_explain_also(cop_model *model, const cop_learner *learner)
{
	if (cop_learner_explanation_fits(learner, &model->fresh))
		return COP_OK;
	cop_explanation fresh;
	cop_err err = make_room(model, learner, &fresh);
	if (err != COP_OK)
		return err;
	err = keep_explanations(model, model->kept_count, learner);
	if (err != COP_OK) {
		cop_explanation_fini(&fresh);
		return err;
	}
	cop_explanation_fini(&model->fresh);
	model->fresh = fresh;
	return COP_OK;
}

static cop_err make_pending(cop_model *model)
{
	const cop_learner_settings *l = &model->learner->settings;
	cop_pending_shape shape = {
		.d = cop_learner_dimension(l),
		.sparse = l->features == 0,
		.max_nonzeros = l->max_nonzeros,
		.arms = model->learner->class->candidates ? l->max_candidates : l->arms,
		.masks = model->learner->class->masks || l->arms > 0, /* arm_gains.h */
		.predictions = model->learner->class->predictions,
		.candidate_d = cop_learner_candidate_dimension(l),
	};
	uint64_t key = l->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return cop_pending_new(&shape, model->set.pending_max, key, &model->pending);
}

cop_err cop_model_new(const cop_model_settings *settings, cop_model **out, cop_diag *diag)
{
	*out = NULL;
	static const cop_named_losses none;
	if (!judge(settings, diag))
		return COP_EINVAL;
	cop_model *model = cop_mem_alloc(1, sizeof *model);
	if (model == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	model->set = *settings;
	cop_model_shadow_init(model);
	cop_apprentice_init(&model->apprentice);
	cop_control_init(&model->control);
	cop_learner_settings learner = settings->learner;
	learner.delta /= settings->value_high - settings->value_low;
	learner.delta_floor /= settings->value_high - settings->value_low;
	cop_err err = cop_learner_new(&learner, &model->learner, diag);
	if (err == COP_OK) {
		model->set.learner = model->learner->settings;
		model->set.learner.delta *= settings->value_high - settings->value_low;
		model->set.learner.delta_floor *= settings->value_high - settings->value_low;
		err = make_pending(model);
	}
	if (err == COP_OK) /* of models of arms */
		err = cop_constant_arms_init(&model->constant, model->learner->settings.arms);
	if (err == COP_OK)
		err = cop_arm_gains_init(&model->gains, model->learner->settings.arms);
	if (err == COP_OK)
		err = cop_named_accounts_change(&model->named, &none, &settings->losses);
	model->playable = cop_mem_alloc(settings->learner.arms, sizeof *model->playable);
	if (err == COP_OK && model->playable == NULL)
		err = COP_ENOMEM;
	if (err == COP_OK)
		err = cop_learner_explanation_init(model->learner, &model->fresh);
	if (err == COP_OK)
		err = keep_explanations(model, settings->explain_keep, NULL);
	cop_bytes_reserve(&model->ended.items, ENDED_ROOM);
	if (err == COP_OK)
		err = model->ended.items.err;
	if (err != COP_OK) {
		if (err == COP_ENOMEM)
			cop_diag_message(diag, "%s", cop_err_text(err));
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
	free_kept(model->kept, model->kept_handle, model->kept_count);
	cop_explanation_fini(&model->fresh);
	cop_bytes_fini(&model->ended.items);
	cop_pending_free(model->pending);
	cop_constant_arms_fini(&model->constant);
	cop_arm_gains_fini(&model->gains);
	cop_mem_free(model->playable);
	cop_named_accounts_fini(&model->named);
	cop_positions_fini(&model->positions);
	cop_learner_free(model->learner);
	cop_learner_free(model->shadow.learner);
	cop_mem_free(model);
}

const cop_model_settings *cop_model_get_settings(const cop_model *model) { return &model->set; }
cop_learner *cop_model_learner(cop_model *model) { return model->learner; }
const cop_model_counters *cop_model_get_counters(const cop_model *model) { return &model->counters; }
const cop_model_maker *cop_model_made_by(const cop_model *model) { return &model->made_by; }
const cop_control *cop_model_control(const cop_model *model) { return &model->control; }
const cop_constant_arms *cop_model_constant_arms(const cop_model *model) { return &model->constant; }
const cop_arm_gains *cop_model_arm_gains(const cop_model *model) { return &model->gains; }
size_t cop_model_known(const cop_model *model)
{
	return model->learner->known > 0 ? model->learner->known : model->set.learner.features;
}
size_t cop_model_pending(const cop_model *model) { return cop_pending_count(model->pending); }
size_t cop_model_pending_bytes(const cop_model *model) { return cop_pending_bytes(model->pending); }

cop_err cop_model_adjust(cop_model *model, const cop_model_settings *settings, cop_diag *diag)
{
	if (!judge(settings, diag))
		return COP_EINVAL;
	const char *wrong = cop_learner_exploration_refusal(&settings->learner);
	if (wrong != NULL) {
		cop_diag_message(diag, "%s", wrong);
		return COP_EINVAL;
	}
	if (settings->explain_keep != model->kept_count &&
	        keep_explanations(model, settings->explain_keep, NULL) != COP_OK) {
		cop_diag_message(diag, "explain_keep: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	model->set.explain_keep = settings->explain_keep;
	if (cop_model_losses_change(model, &settings->losses) != COP_OK) {
		cop_diag_message(diag, "losses: %s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	cop_learner_explore(model->learner, &settings->learner.exploration);
	if (model->shadow.learner != NULL)
		cop_learner_explore(model->shadow.learner, &settings->learner.exploration);
	model->set.learner.exploration = model->learner->settings.exploration;
	model->set.reward_window = settings->reward_window;
	model->set.has_default_loss = settings->has_default_loss;
	model->set.default_loss = settings->default_loss;
	model->set.reward = settings->reward;
	model->set.pending_max = settings->pending_max;
	model->set.pending_bytes = settings->pending_bytes;
	model->set.holdout = settings->holdout;
	model->set.conservative = settings->conservative;
	model->set.has_baseline = settings->has_baseline;
	model->set.baseline = settings->baseline;
	cop_pending_set_max(model->pending, settings->pending_max);
	return COP_OK;
}

/* The newest explanation made for that handle: a handle is used again only after its decision went, and later decisions
 * push older explanations out. */
static const cop_explanation *find_kept(const cop_model *model, uint32_t handle)
{
	for (size_t i = 1; i <= model->kept_count; i++) {
		size_t at = (model->kept_next + model->kept_count - i) % model->kept_count;
		if (model->kept_handle[at] == handle)
			return &model->kept[at];
	}
	return NULL;
}

void cop_model_explain_applied(cop_model *model, bool on) { model->explains_applied = on; }

cop_err cop_model_explain(
        cop_model *model, const cop_event_id *id, cop_decision *decision, const cop_explanation **out, bool *kept)
{
	cop_pending_entry entry;
	if (!cop_pending_find(model->pending, id, &entry))
		return COP_ENOTFOUND;
	*decision = entry.decision;
	cop_learner_probes(model->learner, decision);
	*out = find_kept(model, entry.handle);
	*kept = *out != NULL;
	if (*kept)
		return COP_OK;
	const cop_candidates left = cop_model_state_left(&entry);
	cop_learner_explain(model->learner, &entry.x, &left, decision, &model->fresh);
	*out = &model->fresh;
	return COP_OK;
}

cop_err cop_model_waiting_rows(const cop_model *model, const cop_event_id *id, cop_row *x, cop_row *candidate)
{
	cop_pending_entry entry;
	if (!cop_pending_find(model->pending, id, &entry))
		return COP_ENOTFOUND;
	*x = entry.x;
	*candidate = entry.candidate;
	return COP_OK;
}

typedef struct visit {
	const cop_model *model;
	cop_model_visitor *visitor;
	void *context;
} visit;

static size_t eligible_of(const cop_model *model, const cop_pending_entry *entry)
{
	size_t eligible = 0;
	for (size_t k = 0; entry->mask != NULL && k < model->set.learner.arms; k++)
		eligible += entry->mask[k] != 0;
	return eligible;
}

static cop_model_waiting waiting_of(const cop_model *model, const cop_pending_entry *entry)
{
	const cop_wire_maker by = cop_model_record_maker(cop_model_state_maker(entry));
	return (cop_model_waiting){ .time = entry->time,
		.decision = entry->decision,
		.by = entry->observed && !entry->split ? COP_WIRE_BY_OBSERVED : by,
		.own_p = entry->own_p,
		.eligible = eligible_of(model, entry) };
}

static bool visit_entry(void *context, const cop_event_id *id, const cop_pending_entry *entry)
{
	const visit *v = context;
	const cop_model_waiting waiting = waiting_of(v->model, entry);
	return v->visitor(v->context, id, &waiting);
}

size_t cop_model_visit(const cop_model *model, size_t most, cop_model_visitor *visitor, void *context)
{
	visit v = { model, visitor, context };
	return cop_pending_visit(model->pending, most, visit_entry, &v);
}

bool cop_model_visit_one(const cop_model *model, const cop_event_id *id, cop_model_visitor *visitor, void *context)
{
	cop_pending_entry entry;
	if (!cop_pending_find(model->pending, id, &entry))
		return false;
	const cop_model_waiting waiting = waiting_of(model, &entry);
	return visitor(context, id, &waiting);
}

cop_err cop_model_explain_context(
        cop_model *model, const cop_model_context *context, cop_decision *decision, const cop_explanation **out)
{
	const cop_candidates set = cop_model_candidates(context);
	if (!cop_model_fits(model, context))
		return COP_EINVAL;
	double best = cop_learner_greedy(model->learner, context->x, &set);
	*decision = (cop_decision){ .p = 1.0, .greedy = true, .rev = model->learner->rev };
	if (model->learner->class->values)
		decision->y = best;
	else
		decision->arm = (uint32_t)best;
	cop_learner_explain(model->learner, context->x, &set, decision, &model->fresh);
	*out = &model->fresh;
	return COP_OK;
}

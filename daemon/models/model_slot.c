/* A slot is made by the configuration, filled from a saved state or from another slot, and follows that one's counts.
 */
#include "daemon/models/model_slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "daemon/models/apprentice_body.h"
#include "daemon/models/model_slot_private.h"
#include "online/model_names.h"
#include "online/model_positions.h"
#include "online/model_shadow.h"
#include "store/section_file.h"

/* What evidence for or against a challenger goes by, and the detector of drift. */
static void prepare_refits(cop_model_slot *slot, const cop_config_model *config)
{
	cop_promotion_test_settings rule;
	cop_model_judge_defaults(&rule);
	if (config->refit.promote == COP_PROMOTE_BOUND)
		rule.estimator = COP_PROMOTION_TEST_DR;
	rule.margin = config->refit.margin;
	rule.risk = config->refit.risk;
	(void)!cop_model_judge_by(slot->model, &rule); /* the configuration's limits are its own */
	cop_refit_state_configure(&slot->refit, &config->refit);
}

/* What found no memory fills no diagnostic. */
static const char *reason_of(const cop_diag *why, cop_err err)
{
	return why->message[0] != '\0' ? why->message : cop_err_text(err);
}

static cop_err make_workspace(cop_model_slot *slot)
{
	const cop_config_model *config = slot->config;
	const cop_learner_settings *l = &cop_model_get_settings(slot->model)->learner;
	size_t candidates = cop_config_model_is(config, COP_SETTING_OF_RANK) ? l->max_candidates : 0;
	size_t entries = candidates * (l->features != 0 ? l->candidate_features : l->max_nonzeros);
	slot->shape = (cop_wire_shape){
		.features = l->features,
		.bits = l->bits,
		.max_nonzeros = l->max_nonzeros,
		.arms = l->arms,
		.max_candidates = candidates,
		.candidate_features = l->candidate_features,
		.losses = (uint32_t)cop_learner_losses(l),
		.apprentice = config->apprentice,
		.caller = cop_model_needs_caller(&config->set),
	};
	slot->workspace = (cop_wire_workspace){
		.dense = cop_mem_alloc(l->features, sizeof(float)),
		.index = cop_mem_alloc(l->max_nonzeros, sizeof(uint32_t)),
		.value = cop_mem_alloc(l->max_nonzeros, sizeof(float)),
		.mask = cop_mem_alloc(l->arms + candidates, 1),
		.candidate = cop_mem_alloc(candidates, sizeof(cop_row)),
		.candidate_value = cop_mem_alloc(entries, sizeof(float)),
		.candidate_index = cop_mem_alloc(l->features != 0 ? 0 : entries, sizeof(uint32_t)),
	};
	slot->order = cop_mem_alloc(candidates, sizeof *slot->order);
	slot->played = cop_mem_alloc(candidates > 0, sizeof *slot->played);
	slot->held_probability = cop_mem_alloc(l->arms + candidates, sizeof *slot->held_probability);
	slot->counted_arms = l->arms <= COP_COUNTED_ARMS ? l->arms : 0;
	slot->arm_decisions = cop_mem_alloc(slot->counted_arms, sizeof *slot->arm_decisions);
	slot->arm_baseline = cop_mem_alloc(slot->counted_arms, sizeof *slot->arm_baseline);
	const cop_wire_workspace *w = &slot->workspace;
	bool made = w->dense != NULL && w->index != NULL && w->value != NULL && w->mask != NULL &&
	            w->candidate != NULL && w->candidate_value != NULL && w->candidate_index != NULL &&
	            slot->order != NULL && slot->played != NULL && slot->held_probability != NULL &&
	            slot->arm_decisions != NULL && slot->arm_baseline != NULL;
	return made ? COP_OK : COP_ENOMEM;
}

static cop_err start(cop_model_slot *slot, const cop_config_model *config, const cop_model_size *size, cop_diag *diag)
{
	cop_model_settings settings = config->set;
	settings.learner.arms = size->arms;
	settings.learner.features = size->features;
	if (size->arms <
	        config->set.learner.arms) { /* what may name later arms comes with the saved state, or with a record */
		settings.learner.exploration.shares.min.count = settings.learner.exploration.shares.max.count = 0;
		settings.has_baseline = false;
		settings.baseline = 0.0;
	}
	(void)snprintf(slot->name, sizeof slot->name, "%s", config->name);
	(void)snprintf(slot->stored, sizeof slot->stored, "%s", config->stored);
	(void)snprintf(slot->topic, sizeof slot->topic, "act.%s", config->name);
	slot->config = config;
	cop_err err = cop_model_new(&settings, &slot->model, diag);
	if (err != COP_OK)
		return err;
	prepare_refits(slot, config);
	err = make_workspace(slot);
	if (err == COP_OK)
		err = cop_timeline_init(&slot->timeline, slot->counted_arms <= COP_TIMED_ARMS ? slot->counted_arms : 0);
	cop_model_slot_name_losses(slot);
	if (err == COP_OK)
		err = cop_model_slot_name_arms(slot);
	if (err == COP_OK)
		err = cop_model_slot_name_candidates(slot);
	return err == COP_OK ? cop_model_slot_name_features(slot) : err;
}
cop_err cop_model_slot_open(const cop_config_model *config, cop_model_slot **out, cop_diag *diag)
{
	const cop_model_size size = cop_model_slot_configured(config);
	return cop_model_slot_open_with(config, &size, out, diag);
}

cop_model_size cop_model_slot_size(const cop_model_slot *slot)
{
	const cop_learner_settings *l = &cop_model_get_settings(slot->model)->learner;
	return (cop_model_size){ l->arms, l->features };
}

bool cop_model_slot_alike(const cop_model_slot *a, const cop_model_slot *b)
{
	const cop_model_size x = cop_model_slot_size(a), y = cop_model_slot_size(b);
	return x.arms == y.arms && x.features == y.features;
}

cop_model_size cop_model_slot_configured(const cop_config_model *config)
{
	return (cop_model_size){ config->set.learner.arms, config->set.learner.features };
}

cop_err cop_model_slot_open_with(
        const cop_config_model *config, const cop_model_size *size, cop_model_slot **out, cop_diag *diag)
{
	cop_diag why = { 0 };
	*out = cop_mem_alloc(1, sizeof **out);
	cop_err err = *out == NULL ? COP_ENOMEM : start(*out, config, size, &why);
	if (err != COP_OK) {
		cop_diag_message(diag, "model \"%s\": %s", config->name, reason_of(&why, err));
		cop_model_slot_close(*out);
		*out = NULL;
	}
	return err;
}

void cop_model_slot_close(cop_model_slot *slot)
{
	if (slot == NULL)
		return;
	cop_model_free(slot->model);
	cop_mem_free(slot->workspace.dense);
	cop_mem_free(slot->workspace.index);
	cop_mem_free(slot->workspace.value);
	cop_mem_free(slot->workspace.mask);
	cop_mem_free(slot->workspace.candidate);
	cop_mem_free(slot->workspace.candidate_value);
	cop_mem_free(slot->workspace.candidate_index);
	cop_mem_free(slot->order);
	cop_mem_free(slot->played);
	cop_mem_free(slot->held_probability);
	cop_mem_free(slot->arm_decisions);
	cop_mem_free(slot->arm_baseline);
	cop_timeline_fini(&slot->timeline);
	cop_bytes_fini(&slot->room);
	cop_unheard_fini(&slot->unheard);
	cop_wire_names_free(slot->shape.naming);
	cop_wire_names_free(slot->shape.candidate_naming);
	cop_name_table_fini(&slot->arm_names);
	cop_refit_state_fini(&slot->refit);
	cop_mem_free(slot);
}

cop_err cop_model_slot_load(cop_model_slot *slot, const void *data, size_t length, cop_diag *diag)
{
	cop_diag why = { 0 };
	slot->restored = true;
	cop_err err = cop_model_load(slot->model, data, length, &why);
	cop_model_slot_name_losses(slot);
	cop_model_slot_know_features(slot);
	if (err == COP_OK)
		err = cop_model_slot_take_names(slot, data, length, &why);
	if (err == COP_ESHAPE)
		cop_diag_message(diag,
		        "model \"%s\": %s; give the model a new name, or start with --reset-model %s to begin anew",
		        slot->name, why.message, slot->name);
	else if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", slot->name, reason_of(&why, err));
	return err;
}

static cop_err follow_refits(cop_model_slot *slot, const cop_model_slot *from, cop_diag *diag)
{
	cop_bytes bytes;
	cop_cursor cursor;
	if (!cop_refit_state_used(&from->refit))
		return COP_OK;
	cop_bytes_init(&bytes);
	cop_refit_state_save(&from->refit, &bytes);
	cop_err err = bytes.err;
	cop_cursor_init(&cursor, bytes.data, bytes.length);
	if (err == COP_OK)
		err = cop_refit_state_load(&slot->refit, &cursor);
	if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", slot->name, cop_err_text(err));
	cop_bytes_fini(&bytes);
	return err;
}

static cop_err copy_state(cop_model_slot *slot, const cop_model_slot *from, cop_diag *diag)
{
	cop_bytes *state = &slot->room;
	cop_model_slot_save(from, state);
	cop_err err = state->err;
	if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", slot->name, cop_err_text(err));
	else
		err = cop_model_slot_load(slot, state->data, state->length, diag);
	cop_bytes_fini(state);
	return err;
}

/* The general way is to save and load, also of columns whose names the model saves; of a model that is as the other one
 * but for further arms and features the state changes hands at the end, when the one slot follows the other. */
static cop_err take_over(cop_model_slot *slot, const cop_model_slot *from, cop_diag *diag)
{
	cop_diag why = { 0 };
	const bool wider = slot->shape.features > from->shape.features;
	if (!cop_model_inherits(slot->model, from->model) || (wider && from->names_saved))
		return copy_state(slot, from, diag);
	slot->heir = true;
	cop_err err = cop_model_make_room(slot->model, from->model, &slot->room, &why);
	cop_bytes_fini(&slot->room);
	if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", slot->name, reason_of(&why, err));
	return err;
}

cop_err cop_model_slot_fill(cop_model_slot *slot, const cop_model_slot *from, cop_diag *diag)
{
	cop_err err = take_over(slot, from, diag);
	if (err == COP_OK)
		err = follow_refits(slot, from, diag);
	if (err == COP_OK && !slot->heir)
		cop_model_slot_settle(slot);
	return err;
}

/* *out goes after an error. */
static cop_err finish(cop_err err, cop_model_slot **out)
{
	if (err == COP_OK)
		return COP_OK;
	cop_model_slot_close(*out);
	*out = NULL;
	return err;
}

cop_err cop_model_slot_grow(const cop_model_slot *from, const cop_config_model *config, const cop_model_size *size,
        cop_model_slot **out, cop_diag *diag)
{
	cop_err err = cop_model_slot_open_with(config, size, out, diag);
	return err == COP_OK ? finish(cop_model_slot_fill(*out, from, diag), out) : err;
}

/* Learners with further features are saved and loaded: with the pages for it, too. */
static cop_err make_room(cop_model_slot *slot, const cop_model_extent *extent)
{
	cop_bytes *room = &slot->room;
	if (cop_model_get_settings(slot->model)->learner.features == extent->set.learner.features)
		return COP_OK;
	cop_bytes_reserve(room, extent->bytes);
	if (room->err == COP_OK)
		memset(room->data, 0, room->capacity);
	return room->err;
}

cop_err cop_model_slot_open_for(const cop_config_model *config, const cop_model_size *size,
        const cop_model_extent *extent, cop_model_slot **out, cop_diag *diag)
{
	cop_diag why = { 0 };
	cop_err err = cop_model_slot_open_with(config, size, out, diag);
	if (err != COP_OK)
		return err;
	err = cop_model_hold((*out)->model, extent, &why);
	if (err == COP_OK)
		err = make_room(*out, extent);
	if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", config->name, reason_of(&why, err));
	return finish(err, out);
}

/* What names mean is the model's where it saves that, and where they have places of their own in it. */
static void inherit(cop_model_slot *slot, cop_model_slot *from)
{
	slot->heir = false;
	cop_model_inherit(slot->model, from->model);
	cop_model_slot_name_losses(slot);
	if (from->names_saved || slot->shape.features == 0) {
		cop_mem_exchange(&slot->shape.naming, &from->shape.naming, sizeof slot->shape.naming);
		slot->names_saved = from->names_saved;
		slot->unknown_past = from->unknown_past; /* the naming has counted the others */
	}
	cop_model_slot_know_features(slot);
	cop_model_slot_settle(slot);
}

void cop_model_slot_follow(cop_model_slot *slot, cop_model_slot *from)
{
	size_t arms = slot->counted_arms < from->counted_arms ? slot->counted_arms : from->counted_arms;
	slot->restored = from->restored;
	slot->has_began = from->has_began;
	slot->began = from->began;
	slot->shape.least_mask = from->shape.least_mask != 0 ? from->shape.least_mask : from->shape.arms;
	slot->contexts = from->contexts;
	slot->feedback = from->feedback;
	slot->unheard = from->unheard;
	from->unheard = (cop_unheard){ 0 };
	slot->unheard_decisions = from->unheard_decisions;
	memcpy(slot->arm_decisions, from->arm_decisions, arms * sizeof *slot->arm_decisions);
	memcpy(slot->arm_baseline, from->arm_baseline, arms * sizeof *slot->arm_baseline);
	slot->quota = from->quota;
	slot->limited = from->limited;
	slot->least_p = from->least_p;
	slot->weighed = from->weighed;
	slot->weights = from->weights;
	slot->weights_squared = from->weights_squared;
	cop_timeline_follow(&slot->timeline, &from->timeline);
	slot->decided = from->decided;
	slot->outliers_before = from->outliers_before;
	slot->outliers_logged = from->outliers_logged;
	slot->before = from->before;
	slot->apprentice_before = from->apprentice_before;
	slot->gain_told = from->gain_told;
	slot->split_told = from->split_told;
	slot->uneven_told = from->uneven_told;
	slot->unknown_past = cop_model_slot_unknown_names(from);
	slot->refit.has_last = from->refit.has_last;
	slot->refit.last = from->refit.last;
	slot->refit.last_time = from->refit.last_time;
	slot->refit.last_seconds = from->refit.last_seconds;
	slot->refit.spent_total = from->refit.spent_total;
	memcpy(slot->refit.outcomes, from->refit.outcomes, sizeof slot->refit.outcomes);
	memcpy(slot->refit.promotions, from->refit.promotions, sizeof slot->refit.promotions);
	if (slot->heir)
		inherit(slot, from);
}

void cop_model_slot_replace(cop_model_slot *slot, cop_model_slot *from)
{
	cop_timeline_sums was, now;
	cop_loss_sum named_was[COP_NAMED_LOSSES_MOST], named_now[COP_NAMED_LOSSES_MOST];
	cop_model_slot_follow(slot, from);
	cop_model_slot_sums(from, &was);
	cop_model_slot_sums(slot, &now);
	cop_timeline_shift(&slot->timeline, &was, &now);
	cop_model_slot_loss_sums(from, named_was);
	cop_model_slot_loss_sums(slot, named_now);
	if (memcmp(&slot->timeline.named.names, &from->timeline.named.names, sizeof slot->timeline.named.names) == 0)
		cop_loss_series_shift(&slot->timeline.named, named_was, named_now);
	else
		cop_loss_series_begin(&slot->timeline.named, named_now);
	cop_model_counters_shift(
	        &slot->before, cop_model_get_counters(from->model), cop_model_get_counters(slot->model));
	slot->decided = now.decisions;
	cop_refit_state_replace(&slot->refit, &from->refit);
}

cop_err cop_model_slot_start_from(cop_model_slot *slot, const cop_bytes *file, cop_log *log, cop_diag *diag)
{
	const char *path = slot->config->start_from_path;
	cop_diag why = { 0 };
	cop_err err = cop_model_load(slot->model, file->data, file->length, &why);
	cop_model_positions_clear(slot->model); /* the logs that the other one read are not this one's */
	cop_model_slot_name_losses(slot);
	cop_model_slot_know_features(slot);
	if (err == COP_OK)
		err = cop_model_slot_take_names(slot, file->data, file->length, &why);
	cop_refit_state_sync(&slot->refit, slot->model);
	slot->has_began = err == COP_OK;
	slot->began = cop_crc32c(0, file->data, file->length);
	if (err != COP_OK)
		cop_diag_of(diag, path, "model \"%s\": start_from: %s", slot->name, reason_of(&why, err));
	else
		cop_log_line(log, COP_LOG_EVENT(started_from), "model=%s file=\"%s\" rev=%" PRIu64, slot->name, path,
		        cop_model_learner(slot->model)->rev);
	return err;
}

void cop_model_slot_settle(cop_model_slot *slot)
{
	cop_refit_state_configure(&slot->refit, &slot->config->refit);
	cop_refit_state_sync(&slot->refit, slot->model);
}

void cop_model_slot_save(const cop_model_slot *slot, cop_bytes *bytes)
{
	size_t file = cop_section_file_begin(bytes);
	cop_model_save(slot->model, bytes);
	if (slot->names_saved)
		cop_model_names_save(slot->shape.naming->space, bytes);
	if (slot->shape.naming != NULL)
		cop_model_names_save_places(slot->shape.naming->space, bytes);
	cop_section_file_end(bytes, file);
}

bool cop_model_slot_take(cop_model_slot *slot, uint64_t now_us)
{
	const cop_quota_limits limits = { .rate = slot->config->rate };
	if (limits.rate == 0 || cop_quota_take(&slot->quota, &limits, now_us, 0) == NULL)
		return true;
	slot->limited++;
	return false;
}

void cop_model_slot_charge(cop_model_slot *slot, size_t events)
{
	if (slot->config->rate != 0 && events > 0)
		cop_quota_charge(&slot->quota, events, 0);
}

void cop_model_slot_sums(const cop_model_slot *slot, cop_timeline_sums *sums)
{
	const cop_model_counters *c = cop_model_get_counters(slot->model);
	*sums = (cop_timeline_sums){ c->decisions, c->learned, c->loss_sum, slot->weighed, slot->weights,
		slot->weights_squared };
}

void cop_model_slot_loss_sums(const cop_model_slot *slot, cop_loss_sum out[COP_NAMED_LOSSES_MOST])
{
	cop_loss_series_sums(cop_model_named_losses(slot->model), &cop_model_get_settings(slot->model)->losses, out);
}

void cop_model_slot_begin(cop_model_slot *slot, double now)
{
	cop_timeline_sums sums;
	cop_loss_sum losses[COP_NAMED_LOSSES_MOST];
	slot->before = *cop_model_get_counters(slot->model);
	cop_learner_outliers(cop_model_learner(slot->model), &slot->outliers_before);
	slot->outliers_logged = slot->outliers_before;
	cop_model_get_apprentice(slot->model, &slot->apprentice_before);
	cop_model_slot_sums(slot, &sums);
	cop_model_slot_loss_sums(slot, losses);
	cop_timeline_begin(&slot->timeline, now, &sums, slot->arm_decisions, losses);
}

void cop_model_slot_adjust(cop_model_slot *slot, const cop_config_model *next)
{
	cop_model_settings settings = next->set;
	settings.explain_keep = cop_model_get_settings(slot->model)->explain_keep;
	/* The configuration's own check refuses what this would; memory cannot be short without explain_keep. */
	(void)!cop_model_adjust(slot->model, &settings, NULL);
	cop_model_slot_name_losses(slot);
	prepare_refits(slot, next);
}

/* With what was found so far: it is what somebody decided by. */
static void set_apprentice(cop_model_slot *slot, bool on, cop_log *log)
{
	char figures[COP_APPRENTICE_TEXT];
	if (slot->shape.apprentice == on)
		return;
	slot->shape.apprentice = on;
	cop_apprentice_body_text(slot->model, figures);
	cop_log_line(log, on ? COP_LOG_EVENT(apprentice_on) : COP_LOG_EVENT(apprentice_off), "model=%s %s", slot->name,
	        figures);
}

void cop_model_slot_reconfigure(cop_model_slot *slot, const cop_config_model *next, cop_log *log)
{
	cop_model_slot_adjust(slot, next);
	cop_model_settings settings = *cop_model_get_settings(slot->model);
	slot->config = next;
	set_apprentice(slot, next->apprentice, log);
	slot->shape.caller = cop_model_needs_caller(&next->set);
	settings.explain_keep = next->set.explain_keep;
	(void)!cop_model_adjust(slot->model, &settings, NULL); /* short of memory: the old number stays */
	(void)!cop_model_slot_name_features(slot);             /* short of memory: the old names stay */
	(void)!cop_model_slot_name_arms(slot);                 /* the same */
	(void)!cop_model_slot_name_candidates(slot);
}

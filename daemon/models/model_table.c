/* A model's configuration is borrowed and replaced at a reload; its workspace is sized once, from what a reload cannot
 * change, so the arrays that rows are decoded into never grow. Loading goes section by section: one of a configured
 * model fills it, one of another is parked as bytes, and one of a model to be reset is passed over. Saving writes
 * models, then parked ones, then the state of refits, which finds its model by name. A model's own names of features,
 * from its file, go before the configuration's. */
#include "daemon/models/model_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/models/apprentice_body.h"
#include "online/model_names.h"
#include "online/model_shadow.h"
#include "store/section_file.h"
#include "store/state_dir.h"

#define SECTION         COP_STATE_DIR_MODEL /* the name, then a model file */
#define SECTION_VERSION 1
#define REFIT_SECTION   "refit"

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

static void replace_naming(cop_model_slot *slot, cop_wire_naming *naming)
{
	slot->unknown_past = cop_model_table_unknown_names(slot);
	cop_wire_names_free(slot->shape.naming);
	slot->shape.naming = naming;
}

/* What found no memory fills no diagnostic. */
static const char *reason_of(const cop_diag *why, cop_err err)
{
	return why->message[0] != '\0' ? why->message : cop_err_text(err);
}

/* The configuration's names, or plain hashes, unless the saved state has a better way; how many a sparse model keeps is
 * the configuration's in any case. */
static cop_err name_features(cop_model_slot *slot)
{
	const cop_config_list *list = &slot->config->feature_name_list;
	const cop_feature_space_settings hashed = { .bits = slot->config->set.learner.bits };
	cop_wire_naming *naming = NULL;
	cop_feature_space *space = NULL;
	cop_err err = COP_OK;
	if (slot->shape.naming != NULL && slot->shape.features == 0)
		return cop_feature_space_keep_names(slot->shape.naming->space, slot->config->names_bytes);
	if (slot->names_saved)
		return COP_OK;
	if (slot->shape.features == 0) {
		err = cop_feature_space_new(&hashed, &space, NULL);
		if (err == COP_OK)
			err = cop_feature_space_keep_names(space, slot->config->names_bytes);
		if (err == COP_OK)
			err = cop_wire_names_new(&space, slot->shape.max_nonzeros, slot->shape.max_candidates, &naming);
		cop_feature_space_free(space);
	} else if (list->count > 0) {
		err = cop_wire_names_new_list(
		        (const char *const *)list->items, list->count, slot->shape.max_candidates, &naming);
	}
	if (err == COP_OK)
		replace_naming(slot, naming);
	return err;
}

/* The configuration's; on error the names of before stay. */
static cop_err name_candidates(cop_model_slot *slot)
{
	const cop_config_list *list = &slot->config->candidate_name_list;
	cop_wire_naming *naming = NULL;
	cop_err err = COP_OK;
	if (list->count > 0)
		err = cop_wire_names_new_list(
		        (const char *const *)list->items, list->count, slot->shape.max_candidates, &naming);
	if (err != COP_OK)
		return err;
	cop_wire_names_free(slot->shape.candidate_naming);
	slot->shape.candidate_naming = naming;
	return COP_OK;
}

static cop_err name_arms(cop_model_slot *slot)
{
	const cop_config_list *list = &slot->config->arm_name_list;
	const cop_name_prefix none = { 0 };
	cop_name_table names;
	cop_name_table_init(&names);
	cop_err err = COP_OK;
	for (size_t i = 0; err == COP_OK && i < list->count; i++) {
		uint32_t arm;
		err = cop_name_table_add(&names, 0, none, list->items[i], strlen(list->items[i]), &arm);
	}
	if (err != COP_OK) {
		cop_name_table_fini(&names);
		return err;
	}
	cop_name_table_fini(&slot->arm_names);
	slot->arm_names = names;
	slot->shape.arm_names = list->count > 0 ? &slot->arm_names : NULL;
	return COP_OK;
}

static cop_err take_space(cop_model_slot *slot, const cop_section_file *file, cop_diag *diag)
{
	cop_feature_space *space;
	cop_wire_naming *naming;
	cop_err err = cop_model_names_load(file, &cop_model_get_settings(slot->model)->learner, &space, diag);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_OK : err;
	err = cop_wire_names_new(&space, slot->shape.max_nonzeros, slot->shape.max_candidates, &naming);
	if (err != COP_OK)
		return err;
	replace_naming(slot, naming);
	slot->names_saved = true;
	return COP_OK;
}

/* The space that stands beside the model in its file, if one does, and the names that were kept. */
static cop_err take_names(cop_model_slot *slot, const void *data, size_t length, cop_diag *diag)
{
	cop_section_file file;
	cop_err err = cop_section_file_open(&file, data, length, NULL, diag);
	if (err == COP_OK)
		err = take_space(slot, &file, diag);
	if (err == COP_OK && slot->shape.naming != NULL)
		err = cop_model_names_load_places(&file, slot->config->names_bytes, slot->shape.naming->space, diag);
	return err;
}

static cop_place_names *place_names(const cop_model_slot *slot)
{
	return slot->shape.naming == NULL ? NULL : cop_feature_space_names(slot->shape.naming->space);
}

bool cop_model_table_place_name(const cop_model_slot *slot, size_t place, char *out, size_t size)
{
	return cop_place_names_text(place_names(slot), place, out, size) > 0;
}

void cop_model_table_insist_on_names(cop_model_slot *slot, bool on)
{
	cop_place_names *names = place_names(slot);
	if (names != NULL)
		cop_place_names_insist(names, on);
}

const char *cop_model_table_feature_name(const cop_model_slot *slot, size_t index)
{
	const cop_config_list *list = &slot->config->feature_name_list;
	const cop_wire_naming *naming = slot->shape.naming;
	if (index < list->count)
		return list->items[index];
	bool dense = naming != NULL && cop_feature_space_is_dense(naming->space);
	return dense && index < cop_feature_space_dimension(naming->space)
	               ? cop_feature_space_column(naming->space, index)
	               : NULL;
}

const char *cop_model_table_candidate_name(const cop_model_slot *slot, size_t index)
{
	const cop_config_list *list = &slot->config->candidate_name_list;
	if (index < list->count)
		return list->items[index];
	return slot->names_saved && slot->shape.candidate_features == slot->shape.features
	               ? cop_model_table_feature_name(slot, index)
	               : NULL;
}

uint64_t cop_model_table_unknown_names(const cop_model_slot *slot)
{
	const cop_wire_naming *naming = slot->shape.naming;
	return slot->unknown_past + (naming == NULL ? 0 : cop_feature_space_dropped(naming->space));
}

static cop_err make_workspace(cop_model_slot *slot)
{
	const cop_config_model *config = slot->config;
	const cop_learner_settings *l = &config->set.learner;
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
	const cop_wire_workspace *w = &slot->workspace;
	bool made = w->dense != NULL && w->index != NULL && w->value != NULL && w->mask != NULL &&
	            w->candidate != NULL && w->candidate_value != NULL && w->candidate_index != NULL &&
	            slot->order != NULL && slot->played != NULL && slot->held_probability != NULL &&
	            slot->arm_decisions != NULL;
	return made ? COP_OK : COP_ENOMEM;
}

static cop_err start(cop_model_slot *slot, const cop_config_model *config, cop_diag *diag)
{
	(void)snprintf(slot->name, sizeof slot->name, "%s", config->name);
	(void)snprintf(slot->topic, sizeof slot->topic, "act.%s", config->name);
	slot->config = config;
	cop_err err = cop_model_new(&config->set, &slot->model, diag);
	if (err != COP_OK)
		return err;
	prepare_refits(slot, config);
	err = make_workspace(slot);
	if (err == COP_OK)
		err = cop_timeline_init(&slot->timeline, slot->counted_arms <= COP_TIMED_ARMS ? slot->counted_arms : 0);
	if (err == COP_OK)
		err = name_arms(slot);
	if (err == COP_OK)
		err = name_candidates(slot);
	return err == COP_OK ? name_features(slot) : err;
}

cop_err cop_model_table_init(cop_model_table *set, const cop_config *config, cop_diag *diag)
{
	*set = (cop_model_table){ 0 };
	set->items = cop_mem_alloc(config->model_count, sizeof *set->items);
	if (set->items == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < config->model_count; i++) {
		cop_diag why = { 0 };
		set->count = i + 1;
		cop_err err = start(&set->items[i], &config->models[i], &why);
		if (err != COP_OK) {
			cop_diag_message(diag, "model \"%s\": %s", config->models[i].name, reason_of(&why, err));
			return err;
		}
	}
	return COP_OK;
}

void cop_model_table_fini(cop_model_table *set)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_model_slot *slot = &set->items[i];
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
		cop_timeline_fini(&slot->timeline);
		cop_unheard_fini(&slot->unheard);
		cop_wire_names_free(slot->shape.naming);
		cop_wire_names_free(slot->shape.candidate_naming);
		cop_name_table_fini(&slot->arm_names);
		cop_refit_state_fini(&slot->refit);
	}
	for (size_t i = 0; i < set->parked_count; i++)
		cop_bytes_fini(&set->parked[i].section);
	cop_mem_free(set->items);
	cop_mem_free(set->parked);
	*set = (cop_model_table){ 0 };
}

cop_model_slot *cop_model_table_find(cop_model_table *set, const char *name, size_t length)
{
	if (length == 0 && set->count == 1)
		return &set->items[0];
	for (size_t i = 0; i < set->count; i++)
		if (strlen(set->items[i].name) == length && memcmp(set->items[i].name, name, length) == 0)
			return &set->items[i];
	return NULL;
}

bool cop_model_table_take(cop_model_slot *slot, uint64_t now_us)
{
	const cop_quota_limits limits = { .rate = slot->config->rate };
	if (limits.rate == 0 || cop_quota_take(&slot->quota, &limits, now_us, 0) == NULL)
		return true;
	slot->limited++;
	return false;
}

void cop_model_table_charge(cop_model_slot *slot, size_t events)
{
	if (slot->config->rate != 0 && events > 0)
		cop_quota_charge(&slot->quota, events, 0);
}

void cop_model_table_sums(const cop_model_slot *slot, cop_timeline_sums *sums)
{
	const cop_model_counters *c = cop_model_get_counters(slot->model);
	*sums = (cop_timeline_sums){ c->decisions, c->learned, c->loss_sum, slot->weights, slot->weights_squared };
}

void cop_model_table_begin(cop_model_table *set, double now)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_timeline_sums sums;
		cop_model_table_sums(&set->items[i], &sums);
		cop_timeline_begin(&set->items[i].timeline, now, &sums, set->items[i].arm_decisions);
	}
}

void cop_model_table_tick(cop_model_table *set, double now)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_timeline_sums sums;
		cop_model_table_sums(&set->items[i], &sums);
		cop_timeline_take(&set->items[i].timeline, now, &sums, set->items[i].arm_decisions);
	}
}

void cop_model_table_adjust(cop_model_table *set, const cop_config *config)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_model_slot *slot = &set->items[i];
		const cop_config_model *next = cop_config_find(config, slot->name, strlen(slot->name));
		cop_model_settings settings;
		if (next == NULL)
			continue;
		settings = next->set;
		settings.explain_keep = cop_model_get_settings(slot->model)->explain_keep;
		/* The configuration's own check refuses what this would; memory cannot be short without explain_keep.
		 */
		(void)!cop_model_adjust(slot->model, &settings, NULL);
		prepare_refits(slot, next);
	}
}

/* With what was found so far: it is what somebody decided by. */
static void set_apprentice(cop_model_slot *slot, bool on, cop_log *log)
{
	char figures[COP_APPRENTICE_TEXT];
	if (slot->shape.apprentice == on)
		return;
	slot->shape.apprentice = on;
	cop_apprentice_body_text(slot->model, figures);
	cop_log_line(log, COP_LOG_NOTICE, on ? "apprentice_on" : "apprentice_off", "model=%s %s", slot->name, figures);
}

void cop_model_table_reconfigure(cop_model_table *set, const cop_config *config, cop_log *log)
{
	cop_model_table_adjust(set, config);
	for (size_t i = 0; i < set->count; i++) {
		cop_model_slot *slot = &set->items[i];
		const cop_config_model *next = cop_config_find(config, slot->name, strlen(slot->name));
		if (next == NULL)
			continue;
		cop_model_settings settings = *cop_model_get_settings(slot->model);
		slot->config = next;
		set_apprentice(slot, next->apprentice, log);
		slot->shape.caller = cop_model_needs_caller(&next->set);
		settings.explain_keep = next->set.explain_keep;
		(void)!cop_model_adjust(slot->model, &settings, NULL); /* short of memory: the old number stays */
		(void)!name_features(slot);                            /* short of memory: the old names stay */
		(void)!name_arms(slot);                                /* the same */
		(void)!name_candidates(slot);
	}
}

static void save_refits(const cop_model_slot *slot, cop_bytes *bytes)
{
	if (!cop_refit_state_used(&slot->refit))
		return;
	size_t section = cop_section_file_begin_section(bytes, REFIT_SECTION, COP_REFIT_STATE_VERSION);
	cop_bytes_put_text(bytes, slot->name);
	cop_refit_state_save(&slot->refit, bytes);
	cop_section_file_end_section(bytes, section);
}

void cop_model_table_save_slot(const cop_model_slot *slot, cop_bytes *bytes)
{
	size_t file = cop_section_file_begin(bytes);
	cop_model_save(slot->model, bytes);
	if (slot->names_saved)
		cop_model_names_save(slot->shape.naming->space, bytes);
	if (slot->shape.naming != NULL)
		cop_model_names_save_places(slot->shape.naming->space, bytes);
	cop_section_file_end(bytes, file);
}

void cop_model_table_save(const cop_model_table *set, cop_bytes *bytes)
{
	for (size_t i = 0; i < set->count; i++) {
		size_t section = cop_section_file_begin_section(bytes, SECTION, SECTION_VERSION);
		cop_bytes_put_text(bytes, set->items[i].name);
		cop_model_table_save_slot(&set->items[i], bytes);
		cop_section_file_end_section(bytes, section);
	}
	for (size_t i = 0; i < set->parked_count; i++) {
		size_t section = cop_section_file_begin_section(bytes, SECTION, SECTION_VERSION);
		cop_bytes_put(bytes, set->parked[i].section.data, set->parked[i].section.length);
		cop_section_file_end_section(bytes, section);
	}
	for (size_t i = 0; i < set->count; i++)
		save_refits(&set->items[i], bytes);
}

static bool listed(const char *const *names, const char *name)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static cop_err park(cop_model_table *set, const char *name, const cop_model_section *section)
{
	cop_parked *parked = cop_mem_resize(set->parked, set->parked_count, set->parked_count + 1, sizeof *parked);
	if (parked == NULL)
		return COP_ENOMEM;
	set->parked = parked;
	cop_parked *last = &parked[set->parked_count++];
	(void)snprintf(last->name, sizeof last->name, "%s", name);
	cop_bytes_init(&last->section);
	cop_bytes_put(&last->section, section->data, section->length);
	return last->section.err;
}

static cop_err load_section(
        cop_model_table *set, const cop_model_section *section, const char *const *reset, cop_diag *diag)
{
	char name[COP_CONFIG_NAME_MAX + 1];
	cop_cursor cursor;
	cop_cursor_init(&cursor, section->data, section->length);
	cop_cursor_text(&cursor, name, sizeof name);
	if (cursor.err != COP_OK) {
		cop_diag_message(diag, "checkpoint: a model's name cannot be read");
		return cursor.err;
	}
	if (listed(reset, name))
		return COP_OK;
	cop_model_slot *slot = name[0] == '\0' ? NULL : cop_model_table_find(set, name, strlen(name));
	if (slot == NULL)
		return park(set, name, section);
	cop_diag why = { 0 };
	slot->restored = true;
	size_t length = cop_cursor_left(&cursor);
	const uint8_t *data = cop_cursor_take(&cursor, length);
	cop_err err = cop_model_load(slot->model, data, length, &why);
	if (err == COP_OK)
		err = take_names(slot, data, length, &why);
	if (err == COP_ESHAPE)
		cop_diag_message(diag,
		        "model \"%s\": %s; give the model a new name, or start with --reset-model %s to begin anew",
		        name, why.message, name);
	else if (err != COP_OK)
		cop_diag_message(diag, "model \"%s\": %s", name, reason_of(&why, err));
	return err;
}

/* Of a model that is parked or begun anew it is forgotten. */
static cop_err load_refits(
        cop_model_table *set, const cop_model_section *section, const char *const *reset, cop_diag *diag)
{
	char name[COP_CONFIG_NAME_MAX + 1];
	cop_cursor cursor;
	cop_cursor_init(&cursor, section->data, section->length);
	cop_cursor_text(&cursor, name, sizeof name);
	cop_model_slot *slot = cursor.err != COP_OK || name[0] == '\0' || listed(reset, name)
	                               ? NULL
	                               : cop_model_table_find(set, name, strlen(name));
	if (cursor.err == COP_OK && slot == NULL)
		return COP_OK;
	cop_err err = slot == NULL ? cursor.err : cop_refit_state_load(&slot->refit, &cursor);
	if (err != COP_OK)
		cop_diag_message(diag, "checkpoint: refits of a model: %s", cop_err_text(err));
	return err;
}

static cop_err load_any(
        cop_model_table *set, const cop_model_section *section, const char *const *reset, cop_diag *diag)
{
	bool refit = strcmp(section->name, REFIT_SECTION) == 0;
	if (!refit && strcmp(section->name, SECTION) != 0)
		return COP_OK;
	if (section->version > (refit ? COP_REFIT_STATE_VERSION : SECTION_VERSION)) {
		cop_diag_message(diag, "checkpoint: %s", cop_err_text(COP_EVERSION));
		return COP_EVERSION;
	}
	return refit ? load_refits(set, section, reset, diag) : load_section(set, section, reset, diag);
}

/* What was learned before is nothing new to the detector, which is the configuration's. */
static void settle_refits(cop_model_table *set)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_refit_state_configure(&set->items[i].refit, &set->items[i].config->refit);
		cop_refit_state_sync(&set->items[i].refit, set->items[i].model);
	}
}

cop_err cop_model_table_load(cop_model_table *set, const cop_bytes *body, const char *const *reset, cop_diag *diag)
{
	cop_section_file file;
	cop_err err = cop_section_file_open(&file, body->data, body->length, NULL, diag);
	if (err != COP_OK)
		return err;
	cop_model_section section;
	for (size_t at = 0; cop_section_file_next(&file, &at, &section);) {
		err = load_any(set, &section, reset, diag);
		if (err != COP_OK)
			return err;
	}
	settle_refits(set);
	return COP_OK;
}

static cop_err start_from(cop_model_slot *slot, cop_diag *diag)
{
	const char *path = slot->config->start_from_path;
	cop_bytes bytes;
	cop_diag why = { 0 };
	cop_bytes_init(&bytes);
	cop_err err = cop_section_file_load(path, &bytes, &why);
	if (err == COP_OK)
		err = cop_model_load(slot->model, bytes.data, bytes.length, &why);
	if (err == COP_OK)
		err = take_names(slot, bytes.data, bytes.length, &why);
	cop_refit_state_sync(&slot->refit, slot->model);
	if (err != COP_OK)
		cop_diag_of(diag, path, "model \"%s\": start_from: %s", slot->name, reason_of(&why, err));
	cop_bytes_fini(&bytes);
	return err;
}

cop_err cop_model_table_start_from(cop_model_table *set, cop_log *log, size_t *count, cop_diag *diag)
{
	*count = 0;
	for (size_t i = 0; i < set->count; i++) {
		cop_model_slot *slot = &set->items[i];
		if (slot->restored || slot->config->start_from_path == NULL)
			continue;
		cop_err err = start_from(slot, diag);
		if (err != COP_OK)
			return err;
		cop_log_line(log, COP_LOG_NOTICE, "started_from", "model=%s file=\"%s\" rev=%" PRIu64, slot->name,
		        slot->config->start_from_path, cop_model_learner(slot->model)->rev);
		++*count;
	}
	return COP_OK;
}

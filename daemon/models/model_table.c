/* Loading goes section by section: one of a configured model fills it, one of another is parked as bytes, and one of a
 * model to be reset, or of an earlier life of a model, is passed over. Saving writes models, then the state of refits,
 * which finds its model by name. A slot that leaves goes back to the place that it had, for nothing else moves slots
 * while any leaves. */
#include "daemon/models/model_table.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "daemon/models/listed_names.h"
#include "daemon/models/model_table_private.h"
#include "online/model_trained.h"
#include "store/section_file.h"
#include "store/state_dir.h"

#define SECTION         COP_STATE_DIR_MODEL /* the name, then a model file */
#define SECTION_VERSION 1
#define REFIT_SECTION   "refit"
#define LISTED_SECTION  "listed"
#define LISTED_VERSION  1

cop_err cop_model_table_init(cop_model_table *set, const cop_config *config, cop_diag *diag)
{
	*set = (cop_model_table){ 0 };
	set->items = cop_mem_alloc(config->model_count, sizeof *set->items);
	if (set->items == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < config->model_count; i++) {
		cop_err err = cop_model_slot_open(&config->models[i], &set->items[i], diag);
		if (err != COP_OK)
			return err;
		set->count = i + 1;
	}
	return COP_OK;
}

void cop_model_table_free_parked(cop_parked *parked, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cop_bytes_fini(&parked[i].section);
	cop_mem_free(parked);
}

void cop_model_table_fini(cop_model_table *set)
{
	for (size_t i = 0; i < set->count; i++)
		cop_model_slot_close(set->items[i]);
	for (size_t i = 0; i < set->leaving_count; i++)
		cop_model_slot_close(set->leaving[i].slot);
	cop_mem_free(set->leaving);
	cop_model_table_free_parked(set->parked, set->parked_count);
	cop_bytes_fini(&set->listed);
	cop_mem_free(set->items);
	*set = (cop_model_table){ 0 };
}

static bool is_text(const char *text, const char *name, size_t length)
{
	return strlen(text) == length && memcmp(text, name, length) == 0;
}

cop_model_slot *cop_model_table_find(cop_model_table *set, const char *name, size_t length)
{
	if (length == 0 && set->count == 1 && set->leaving_count == 0)
		return set->items[0];
	for (size_t i = 0; i < set->count; i++)
		if (is_text(set->items[i]->name, name, length))
			return set->items[i];
	return NULL;
}

bool cop_model_table_is_leaving(const cop_model_table *set, const char *name, size_t length)
{
	for (size_t i = 0; i < set->leaving_count; i++)
		if (is_text(set->leaving[i].slot->name, name, length) || (length == 0 && set->count == 0))
			return true;
	return false;
}

cop_model_slot *cop_model_table_find_stored(const cop_model_table *set, const char *stored, size_t length)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_text(set->items[i]->stored, stored, length))
			return set->items[i];
	for (size_t i = 0; i < set->leaving_count; i++)
		if (is_text(set->leaving[i].slot->stored, stored, length))
			return set->leaving[i].slot;
	return NULL;
}

const cop_parked *cop_model_table_find_parked(const cop_model_table *set, const char *stored, bool refit)
{
	for (size_t i = 0; i < set->parked_count; i++)
		if (set->parked[i].refit == refit && strcmp(set->parked[i].stored, stored) == 0)
			return &set->parked[i];
	return NULL;
}

void cop_model_table_begin(cop_model_table *set, double now)
{
	for (size_t i = 0; i < set->count; i++)
		cop_model_slot_begin(set->items[i], now);
}

void cop_model_table_tick(cop_model_table *set, double now)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_model_slot *slot = set->items[i];
		cop_timeline_sums sums;
		cop_loss_sum losses[COP_NAMED_LOSSES_MOST];
		cop_model_slot_sums(slot, &sums);
		cop_model_slot_loss_sums(slot, losses);
		cop_timeline_take(&slot->timeline, now, &sums, slot->arm_decisions, losses);
	}
}

void cop_model_table_adjust(cop_model_table *set, const cop_config *config)
{
	for (size_t i = 0; i < set->count; i++) {
		const cop_config_model *next =
		        cop_config_find(config, set->items[i]->name, strlen(set->items[i]->name));
		if (next != NULL)
			cop_model_slot_adjust(set->items[i], next);
	}
}

void cop_model_table_reconfigure(cop_model_table *set, const cop_config *config, cop_log *log)
{
	for (size_t i = 0; i < set->count; i++) {
		const cop_config_model *next =
		        cop_config_find(config, set->items[i]->name, strlen(set->items[i]->name));
		if (next != NULL)
			cop_model_slot_reconfigure(set->items[i], next, log);
	}
}

/* ---- saved ---- */

void cop_model_table_put_model(const cop_model_slot *slot, cop_bytes *bytes)
{
	cop_bytes_put_text(bytes, slot->stored);
	cop_model_slot_save(slot, bytes);
}

void cop_model_table_put_refits(const cop_model_slot *slot, cop_bytes *bytes)
{
	cop_bytes_put_text(bytes, slot->stored);
	cop_refit_state_save(&slot->refit, bytes);
}

static void save_parked(const cop_model_table *set, bool refit, cop_bytes *bytes)
{
	for (size_t i = 0; i < set->parked_count; i++) {
		const cop_parked *parked = &set->parked[i];
		if (parked->refit != refit)
			continue;
		size_t section = cop_section_file_begin_section(
		        bytes, refit ? REFIT_SECTION : SECTION, refit ? COP_REFIT_STATE_VERSION : SECTION_VERSION);
		cop_bytes_put(bytes, parked->section.data, parked->section.length);
		cop_section_file_end_section(bytes, section);
	}
}

/* made: what the section is to be, NULL: it is put from the slot. */
static void save_model(const cop_model_slot *slot, const cop_bytes *made, cop_bytes *bytes)
{
	size_t section = cop_section_file_begin_section(bytes, SECTION, SECTION_VERSION);
	if (made == NULL)
		cop_model_table_put_model(slot, bytes);
	else
		cop_bytes_put(bytes, made->data, made->length);
	cop_section_file_end_section(bytes, section);
}

static void save_refits(const cop_model_slot *slot, const cop_bytes *made, cop_bytes *bytes)
{
	if (!cop_refit_state_used(&slot->refit))
		return;
	size_t section = cop_section_file_begin_section(bytes, REFIT_SECTION, COP_REFIT_STATE_VERSION);
	if (made == NULL)
		cop_model_table_put_refits(slot, bytes);
	else
		cop_bytes_put(bytes, made->data, made->length);
	cop_section_file_end_section(bytes, section);
}

void cop_model_table_save(const cop_model_table *set, cop_bytes *bytes)
{
	for (size_t i = 0; i < set->count; i++)
		save_model(set->items[i], NULL, bytes);
	for (size_t i = 0; i < set->leaving_count; i++)
		save_model(set->leaving[i].slot, set->leaving[i].model, bytes);
	save_parked(set, false, bytes);
	for (size_t i = 0; i < set->count; i++)
		save_refits(set->items[i], NULL, bytes);
	for (size_t i = 0; i < set->leaving_count; i++)
		save_refits(set->leaving[i].slot, set->leaving[i].refits, bytes);
	save_parked(set, true, bytes);
	size_t section = cop_section_file_begin_section(bytes, LISTED_SECTION, LISTED_VERSION);
	cop_listed_names_put(set, bytes);
	cop_section_file_end_section(bytes, section);
}

/* ---- models that leave ---- */

static bool is_among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

cop_err cop_model_table_let_leave(cop_model_table *set, const char *const *names, size_t count)
{
	COP_ASSERT(set->leaving_count == 0);
	if (count == 0)
		return COP_OK;
	set->leaving = cop_mem_alloc(count, sizeof *set->leaving);
	if (set->leaving == NULL)
		return COP_ENOMEM;
	size_t kept = 0;
	for (size_t i = 0; i < set->count; i++) {
		if (is_among(names, count, set->items[i]->name))
			set->leaving[set->leaving_count++] = (cop_leaving){ .slot = set->items[i], .place = i };
		else
			set->items[kept++] = set->items[i];
	}
	set->count = kept;
	return COP_OK;
}

void cop_model_table_put_back(cop_model_table *set)
{
	for (size_t i = 0; i < set->leaving_count; i++) {
		const size_t place = set->leaving[i].place;
		memmove(&set->items[place + 1], &set->items[place], (set->count - place) * sizeof *set->items);
		set->items[place] = set->leaving[i].slot;
		set->count++;
	}
	cop_mem_free(set->leaving);
	set->leaving = NULL;
	set->leaving_count = 0;
}

/* ---- loaded ---- */

static bool listed(const char *const *names, const char *name)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

cop_parked *cop_model_table_add_parked(cop_parked **list, size_t *count, const char *stored, bool refit)
{
	cop_parked *parked = cop_mem_resize(*list, *count, *count + 1, sizeof *parked);
	if (parked == NULL)
		return NULL;
	*list = parked;
	cop_parked *last = &parked[(*count)++];
	(void)snprintf(last->stored, sizeof last->stored, "%s", stored);
	last->refit = refit;
	cop_bytes_init(&last->section);
	return last;
}

static cop_err park(cop_model_table *set, const char *stored, const cop_model_section *section, bool refit)
{
	if (cop_model_table_find(set, stored, strcspn(stored, "#")) != NULL)
		return COP_OK; /* the model goes on in another life */
	cop_parked *last = cop_model_table_add_parked(&set->parked, &set->parked_count, stored, refit);
	if (last == NULL)
		return COP_ENOMEM;
	cop_bytes_put(&last->section, section->data, section->length);
	return last->section.err;
}

static cop_err load_section(
        cop_model_table *set, const cop_model_section *section, bool refit, const char *const *reset, cop_diag *diag)
{
	char stored[COP_CONFIG_NAME_MAX + 1];
	cop_cursor cursor;
	cop_cursor_init(&cursor, section->data, section->length);
	cop_cursor_text(&cursor, stored, sizeof stored);
	if (cursor.err != COP_OK) {
		cop_diag_message(diag, "checkpoint: a model's name cannot be read");
		return cursor.err;
	}
	cop_model_slot *slot = cop_model_table_find_stored(set, stored, strlen(stored));
	if (listed(reset, slot == NULL ? stored : slot->name))
		return COP_OK;
	if (slot == NULL)
		return park(set, stored, section, refit);
	cop_err err;
	if (refit) {
		err = cop_refit_state_load(&slot->refit, &cursor);
		if (err != COP_OK)
			cop_diag_message(diag, "checkpoint: refits of a model: %s", cop_err_text(err));
		return err;
	}
	size_t length = cop_cursor_left(&cursor);
	const uint8_t *data = cop_cursor_take(&cursor, length);
	cop_model_settings saved; /* as large as then, until a record or the end of recovery adds more */
	if (cop_model_peek(data, length, &saved, NULL) == COP_OK) {
		const cop_model_size size = { saved.learner.arms, saved.learner.features };
		cop_err fewer = cop_model_table_set_size(set, stored, strlen(stored), &size, diag);
		if (fewer != COP_OK)
			return fewer;
		slot = cop_model_table_find_stored(set, stored, strlen(stored));
	}
	return cop_model_slot_load(slot, data, length, diag);
}

/* A newer one is none. */
static cop_err load_listed(cop_model_table *set, const cop_model_section *section, cop_diag *diag)
{
	cop_bytes_clear(&set->listed);
	if (section->version <= LISTED_VERSION)
		cop_bytes_put(&set->listed, section->data, section->length);
	if (set->listed.err != COP_OK)
		cop_diag_message(diag, "checkpoint: names: %s", cop_err_text(set->listed.err));
	return set->listed.err;
}

static cop_err load_any(
        cop_model_table *set, const cop_model_section *section, const char *const *reset, cop_diag *diag)
{
	bool refit = strcmp(section->name, REFIT_SECTION) == 0;
	if (strcmp(section->name, LISTED_SECTION) == 0)
		return load_listed(set, section, diag);
	if (!refit && strcmp(section->name, SECTION) != 0)
		return COP_OK;
	if (section->version > (refit ? COP_REFIT_STATE_VERSION : SECTION_VERSION)) {
		cop_diag_message(diag, "checkpoint: %s", cop_err_text(COP_EVERSION));
		return COP_EVERSION;
	}
	return load_section(set, section, refit, reset, diag);
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
	for (size_t i = 0; i < set->count; i++)
		cop_model_slot_settle(set->items[i]);
	return COP_OK;
}

/* What a model may become of a size that was reported: its own where that is none or more than configured. */
static size_t within(size_t has, size_t reported, size_t most)
{
	return has == 0 || reported == 0 || reported > most ? has : reported;
}

/* The slot's model gets that size: further arms and features, or, as long as nothing was done to it, fewer. */
static cop_err set_size(cop_model_slot **slot, const cop_model_size *size, cop_diag *diag)
{
	cop_model_slot *now = NULL, *was = *slot;
	const cop_model_counters *c = cop_model_get_counters(was->model);
	const cop_model_size has = cop_model_slot_size(was), most = cop_model_slot_configured(was->config);
	const size_t features = within(has.features, size->features, most.features);
	const bool widens = cop_learner_takes_features(&was->config->set.learner, features);
	const cop_model_size next = { within(has.arms, size->arms, most.arms), widens ? features : has.features };
	cop_err err = COP_OK;
	if (next.arms == has.arms && next.features == has.features)
		return COP_OK;
	if (next.arms >= has.arms && next.features >= has.features)
		err = cop_model_slot_grow(was, was->config, &next, &now, diag);
	else if (c->decisions == 0 && cop_model_learner(was->model)->rev == 0 && !was->restored)
		err = cop_model_slot_open_with(was->config, &next, &now, diag);
	if (err != COP_OK || now == NULL)
		return err;
	cop_model_slot_follow(now, was);
	cop_model_slot_close(was);
	*slot = now;
	return COP_OK;
}

static cop_model_size size_of(const cop_model_settings *s)
{
	return (cop_model_size){ s->learner.arms, s->learner.features };
}

cop_err cop_model_table_complete_slot(cop_model_slot **slot, cop_diag *diag)
{
	const cop_model_size all = cop_model_slot_configured((*slot)->config);
	return set_size(slot, &all, diag);
}

cop_err cop_model_table_start_slot(cop_model_slot **slot, cop_log *log, cop_diag *diag)
{
	const char *path = (*slot)->config->start_from_path;
	cop_bytes file;
	cop_model_settings saved;
	cop_diag why = { 0 };
	cop_bytes_init(&file);
	cop_err err = cop_model_trained_load(path, &file, &why);
	if (err != COP_OK)
		cop_diag_of(diag, path, "model \"%s\": start_from: %s", (*slot)->name,
		        why.message[0] != '\0' ? why.message : cop_err_text(err));
	if (err == COP_OK && cop_model_peek(file.data, file.length, &saved, NULL) == COP_OK) {
		const cop_model_size size = size_of(&saved);
		err = set_size(slot, &size, diag);
	}
	if (err == COP_OK)
		err = cop_model_slot_start_from(*slot, &file, log, diag);
	cop_bytes_fini(&file);
	return err;
}

cop_err cop_model_table_start_from(cop_model_table *set, cop_log *log, size_t *count, cop_diag *diag)
{
	*count = 0;
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i]->restored || set->items[i]->config->start_from_path == NULL)
			continue;
		cop_err err = cop_model_table_start_slot(&set->items[i], log, diag);
		if (err != COP_OK)
			return err;
		++*count;
	}
	return COP_OK;
}

static cop_model_slot **place_of(cop_model_table *set, const char *stored)
{
	size_t i = 0;
	while (i < set->count && strcmp(set->items[i]->stored, stored) != 0)
		i++;
	COP_ASSERT(i < set->count);
	return &set->items[i];
}

void cop_model_table_swap(cop_model_table *one, cop_model_table *other, const char *stored)
{
	cop_model_slot **a = place_of(one, stored), **b = place_of(other, stored), *slot = *a;
	*a = *b;
	*b = slot;
}

/* ---- sizes, as records report them ---- */

cop_err cop_model_table_set_size(
        cop_model_table *set, const char *stored, size_t length, const cop_model_size *size, cop_diag *diag)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_text(set->items[i]->stored, stored, length))
			return set_size(&set->items[i], size, diag);
	return COP_OK;
}

static cop_err begin_as(cop_model_slot **slot, const cop_wire_model *model, cop_log *log, cop_diag *diag)
{
	if (!model->has_began)
		return COP_OK;
	cop_err err =
	        (*slot)->config->start_from_path == NULL ? COP_ENOTFOUND : cop_model_table_start_slot(slot, log, diag);
	if (err == COP_OK && (*slot)->began != model->began)
		err = COP_EFORMAT;
	if (err == COP_ENOTFOUND || err == COP_EFORMAT)
		cop_diag_message(diag,
		        "model \"%s\" began anew as a saved model; expected start_from to name that file",
		        (*slot)->name);
	return err;
}

cop_err cop_model_table_begin_anew(cop_model_table *set, const cop_wire_model *model, cop_log *log, cop_diag *diag)
{
	const cop_model_slot *was = cop_model_table_find_stored(set, model->name, model->name_length);
	cop_model_slot *now;
	if (was == NULL)
		return COP_OK;
	const cop_model_size most = cop_model_slot_configured(was->config);
	const cop_model_size size = { within(most.arms, model->arms, most.arms),
		within(most.features, model->features, most.features) };
	cop_err err = cop_model_slot_open_with(was->config, &size, &now, diag);
	if (err != COP_OK)
		return err;
	err = begin_as(&now, model, log, diag);
	if (err != COP_OK) {
		cop_model_slot_close(now);
		return err;
	}
	cop_model_slot **place = place_of(set, was->stored);
	cop_model_slot_close(*place);
	*place = now;
	return COP_OK;
}

cop_err cop_model_table_complete(cop_model_table *set, cop_diag *diag)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_err err = cop_model_table_complete_slot(&set->items[i], diag);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

/* Loading goes section by section: one of a configured model fills it, one of another is parked as bytes, and one of a
 * model to be reset, or of an earlier life of a model, is passed over. Saving writes models, then the state of refits,
 * which finds its model by name. */
#include "daemon/models/model_table.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "daemon/common/clock.h"
#include "store/section_file.h"
#include "store/state_dir.h"

#define SECTION         COP_STATE_DIR_MODEL /* the name, then a model file */
#define SECTION_VERSION 1
#define REFIT_SECTION   "refit"

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

static void free_parked(cop_parked *parked, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cop_bytes_fini(&parked[i].section);
	cop_mem_free(parked);
}

void cop_model_table_fini(cop_model_table *set)
{
	for (size_t i = 0; i < set->count; i++)
		cop_model_slot_close(set->items[i]);
	free_parked(set->parked, set->parked_count);
	cop_mem_free(set->items);
	*set = (cop_model_table){ 0 };
}

static bool is_text(const char *text, const char *name, size_t length)
{
	return strlen(text) == length && memcmp(text, name, length) == 0;
}

cop_model_slot *cop_model_table_find(cop_model_table *set, const char *name, size_t length)
{
	if (length == 0 && set->count == 1)
		return set->items[0];
	for (size_t i = 0; i < set->count; i++)
		if (is_text(set->items[i]->name, name, length))
			return set->items[i];
	return NULL;
}

cop_model_slot *cop_model_table_find_stored(cop_model_table *set, const char *stored, size_t length)
{
	for (size_t i = 0; i < set->count; i++)
		if (is_text(set->items[i]->stored, stored, length))
			return set->items[i];
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
		cop_model_slot_sums(slot, &sums);
		cop_timeline_take(&slot->timeline, now, &sums, slot->arm_decisions);
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

static void put_model(const cop_model_slot *slot, cop_bytes *bytes)
{
	cop_bytes_put_text(bytes, slot->stored);
	cop_model_slot_save(slot, bytes);
}

static void put_refits(const cop_model_slot *slot, cop_bytes *bytes)
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

void cop_model_table_save(const cop_model_table *set, cop_bytes *bytes)
{
	for (size_t i = 0; i < set->count; i++) {
		size_t section = cop_section_file_begin_section(bytes, SECTION, SECTION_VERSION);
		put_model(set->items[i], bytes);
		cop_section_file_end_section(bytes, section);
	}
	save_parked(set, false, bytes);
	for (size_t i = 0; i < set->count; i++) {
		if (!cop_refit_state_used(&set->items[i]->refit))
			continue;
		size_t section = cop_section_file_begin_section(bytes, REFIT_SECTION, COP_REFIT_STATE_VERSION);
		put_refits(set->items[i], bytes);
		cop_section_file_end_section(bytes, section);
	}
	save_parked(set, true, bytes);
}

static bool listed(const char *const *names, const char *name)
{
	for (; names != NULL && *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* One more, whose section is the caller's to fill; NULL: no memory. */
static cop_parked *add_parked(cop_parked **list, size_t *count, const char *stored, bool refit)
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
	cop_parked *last = add_parked(&set->parked, &set->parked_count, stored, refit);
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
	const bool widens = cop_learner_takes_features(&was->config->set.learner);
	const cop_model_size next = { within(has.arms, size->arms, most.arms),
		widens ? within(has.features, size->features, most.features) : has.features };
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

/* As much as configured. */
static cop_err complete(cop_model_slot **slot, cop_diag *diag)
{
	const cop_model_size all = cop_model_slot_configured((*slot)->config);
	return set_size(slot, &all, diag);
}

/* The slot's model begins as the saved one that it is configured to, as large as that one is: further arms and features are
 * added as records, or the end of recovery, have it. */
static cop_err start_from(cop_model_slot **slot, cop_log *log, cop_diag *diag)
{
	const char *path = (*slot)->config->start_from_path;
	cop_bytes file;
	cop_model_settings saved;
	cop_diag why = { 0 };
	cop_bytes_init(&file);
	cop_err err = cop_section_file_load(path, &file, &why);
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
		cop_err err = start_from(&set->items[i], log, diag);
		if (err != COP_OK)
			return err;
		++*count;
	}
	return COP_OK;
}

/* ---- models that come and go ---- */

/* What is parked of the slot's model, into it. */
static cop_err resume(const cop_model_table *set, cop_model_slot **fresh, cop_log *log, cop_diag *diag)
{
	cop_model_slot *slot = *fresh;
	char stored[COP_CONFIG_NAME_MAX + 1];
	cop_cursor cursor;
	cop_err err = COP_OK;
	const cop_parked *model = cop_model_table_find_parked(set, slot->stored, false);
	const cop_parked *refits = cop_model_table_find_parked(set, slot->stored, true);
	if (model == NULL && slot->config->start_from_path != NULL) {
		err = start_from(fresh, log, diag);
		if (err == COP_OK)
			err = complete(fresh, diag);
		slot = *fresh;
	}
	if (model != NULL) {
		cop_cursor_init(&cursor, model->section.data, model->section.length);
		cop_cursor_text(&cursor, stored, sizeof stored);
		size_t length = cop_cursor_left(&cursor);
		err = cop_model_slot_load(slot, cop_cursor_take(&cursor, length), length, diag);
	}
	if (err == COP_OK && model != NULL && refits != NULL) {
		cop_cursor_init(&cursor, refits->section.data, refits->section.length);
		cop_cursor_text(&cursor, stored, sizeof stored);
		err = cop_refit_state_load(&slot->refit, &cursor);
		if (err != COP_OK)
			cop_diag_message(diag, "its refits: %s", cop_err_text(err));
	}
	if (err == COP_OK)
		cop_model_slot_settle(slot);
	return err;
}

static void refuse(cop_config_changes *changes, const char *model, const cop_diag *why)
{
	char text[sizeof why->source + sizeof why->message];
	cop_diag_text(why, text, sizeof text);
	for (size_t i = 0; i < changes->count; i++) {
		cop_config_change *change = &changes->items[i];
		if (strcmp(change->model, model) != 0)
			continue;
		change->kind = COP_CHANGE_REFUSED;
		(void)snprintf(change->text, sizeof change->text, "model %s: %s", model, text);
	}
}

/* The slot that the changes ask for; *slot NULL: none. */
static cop_err make_slot(cop_model_table *set, const cop_config_model *model, const cop_config_changes *changes,
        cop_log *log, cop_model_slot **slot, cop_diag *diag)
{
	*slot = NULL;
	if (cop_config_changes_has(changes, COP_CHANGE_GROWS, model->name)) {
		const cop_model_slot *from = cop_model_table_find_stored(set, model->stored, strlen(model->stored));
		const cop_model_size size = cop_model_slot_configured(model);
		return from == NULL ? COP_OK : cop_model_slot_grow(from, model, &size, slot, diag);
	}
	if (!cop_config_changes_has(changes, COP_CHANGE_ADDS, model->name) &&
	        !cop_config_changes_has(changes, COP_CHANGE_RENEWS, model->name))
		return COP_OK;
	cop_err err = cop_model_slot_open(model, slot, diag);
	if (err == COP_OK)
		err = resume(set, slot, log, diag);
	if (err == COP_OK)
		cop_model_slot_begin(*slot, cop_clock_monotonic());
	return err;
}

static cop_err make_fresh(cop_model_table *set, const cop_config *next, cop_config_changes *changes, cop_log *log,
        cop_model_table_exchange *out)
{
	out->fresh = cop_mem_alloc(next->model_count, sizeof *out->fresh);
	if (out->fresh == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < next->model_count; i++) {
		cop_diag why = { 0 };
		cop_model_slot *slot;
		cop_err err = make_slot(set, &next->models[i], changes, log, &slot, &why);
		if (err == COP_OK && slot != NULL)
			out->fresh[out->count++] = slot;
		if (err == COP_OK)
			continue;
		cop_model_slot_close(slot);
		if (why.message[0] == '\0')
			cop_diag_message(&why, "%s", cop_err_text(err));
		refuse(changes, next->models[i].name, &why);
	}
	return COP_OK;
}

static cop_err make_leaving(const cop_model_slot *slot, cop_model_table_exchange *out)
{
	cop_parked *model = add_parked(&out->leaving, &out->leaving_count, slot->stored, false);
	if (model == NULL)
		return COP_ENOMEM;
	put_model(slot, &model->section);
	if (model->section.err != COP_OK || !cop_refit_state_used(&slot->refit))
		return model->section.err;
	cop_parked *refits = add_parked(&out->leaving, &out->leaving_count, slot->stored, true);
	if (refits == NULL)
		return COP_ENOMEM;
	put_refits(slot, &refits->section);
	return refits->section.err;
}

cop_err cop_model_table_prepare(cop_model_table *set, const cop_config *next, cop_config_changes *changes, cop_log *log,
        cop_model_table_exchange *out)
{
	*out = (cop_model_table_exchange){ 0 };
	cop_err err = make_fresh(set, next, changes, log, out);
	for (size_t i = 0; i < set->count && err == COP_OK; i++)
		if (cop_config_changes_has(changes, COP_CHANGE_REMOVES, set->items[i]->name))
			err = make_leaving(set->items[i], out);
	if (err != COP_OK)
		return err;
	out->items = cop_mem_alloc(set->count + next->model_count, sizeof *out->items);
	out->parked = cop_mem_alloc(set->parked_count + out->leaving_count, sizeof *out->parked);
	return out->items == NULL || out->parked == NULL ? COP_ENOMEM : COP_OK;
}

void cop_model_table_drop(cop_model_table_exchange *exchange)
{
	for (size_t i = 0; i < exchange->count; i++)
		cop_model_slot_close(exchange->fresh[i]);
	cop_mem_free(exchange->fresh);
	cop_mem_free(exchange->items);
	cop_mem_free(exchange->parked);
	free_parked(exchange->leaving, exchange->leaving_count);
	*exchange = (cop_model_table_exchange){ 0 };
}

/* Forgets what is parked of models that are served now. */
static void unpark(cop_model_table *set)
{
	size_t kept = 0;
	for (size_t i = 0; i < set->parked_count; i++) {
		cop_parked *parked = &set->parked[i];
		if (cop_model_table_find(set, parked->stored, strcspn(parked->stored, "#")) == NULL)
			set->parked[kept++] = *parked;
		else
			cop_bytes_fini(&parked->section);
	}
	set->parked_count = kept;
}

static cop_model_slot *take_from(cop_model_slot **slots, size_t count, const char *stored)
{
	for (size_t i = 0; i < count; i++) {
		cop_model_slot *slot = slots[i];
		if (slot == NULL || strcmp(slot->stored, stored) != 0)
			continue;
		slots[i] = NULL;
		return slot;
	}
	return NULL;
}

void cop_model_table_take(cop_model_table *set, const cop_config *config, cop_model_table_exchange *exchange,
        void (*gone)(void *context, cop_model_slot *slot), void *context)
{
	cop_model_slot **left = set->items;
	size_t left_count = set->count;
	set->count = 0;
	set->items = exchange->items;
	for (size_t i = 0; i < config->model_count; i++) {
		const char *stored = config->models[i].stored;
		cop_model_slot *slot = take_from(exchange->fresh, exchange->count, stored);
		if (slot != NULL)
			slot->config = &config->models[i]; /* it was made by one that is gone by now */
		else
			slot = take_from(left, left_count, stored);
		if (slot != NULL)
			set->items[set->count++] = slot;
	}
	for (size_t i = 0; i < left_count; i++) {
		if (left[i] == NULL)
			continue;
		cop_model_slot *now = cop_model_table_find_stored(set, left[i]->stored, strlen(left[i]->stored));
		if (now != NULL)
			cop_model_slot_follow(now, left[i]);
		gone(context, left[i]);
		cop_model_slot_close(left[i]);
	}
	cop_mem_free(left);
	for (size_t i = 0; i < set->parked_count; i++)
		exchange->parked[i] = set->parked[i];
	for (size_t i = 0; i < exchange->leaving_count; i++)
		exchange->parked[set->parked_count++] = exchange->leaving[i];
	cop_mem_free(set->parked);
	set->parked = exchange->parked;
	exchange->items = NULL;
	exchange->parked = NULL;
	exchange->leaving_count = 0;
	unpark(set);
	cop_model_table_drop(exchange);
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

cop_err cop_model_table_complete(cop_model_table *set, cop_diag *diag)
{
	for (size_t i = 0; i < set->count; i++) {
		cop_err err = complete(&set->items[i], diag);
		if (err != COP_OK)
			return err;
	}
	return COP_OK;
}

/* All that can fail comes before take, which only moves pointers, and what a growing model hands over. */
#include "daemon/models/model_exchange.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/common/clock.h"
#include "daemon/models/model_table_private.h"

static bool comes(const cop_config_changes *changes, const char *model)
{
	return cop_config_changes_has(changes, COP_CHANGE_ADDS, model) ||
	       cop_config_changes_has(changes, COP_CHANGE_RENEWS, model);
}

/* Those that are removed or begun anew. */
static cop_err let_leave(cop_model_table *set, const cop_config_changes *changes)
{
	const char **names = cop_mem_alloc(changes->count, sizeof *names);
	size_t count = 0;
	if (names == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < changes->count; i++) {
		const cop_config_change *c = &changes->items[i];
		if (c->kind == COP_CHANGE_APPLIED && (c->of == COP_CHANGE_REMOVES || c->of == COP_CHANGE_RENEWS))
			names[count++] = c->model;
	}
	cop_err err = cop_model_table_let_leave(set, names, count);
	cop_mem_free(names);
	return err;
}

cop_err cop_model_exchange_begin(
        cop_model_exchange *exchange, cop_model_table *set, const cop_config *next, const cop_config_changes *changes)
{
	const size_t count = next->model_count;
	*exchange = (cop_model_exchange){
		.set = set,
		.fresh = cop_mem_alloc(count, sizeof *exchange->fresh),
		.extent = cop_mem_alloc(count, sizeof *exchange->extent),
		.grows = cop_mem_alloc(count, sizeof *exchange->grows),
		.count = count,
	};
	if (exchange->fresh == NULL || exchange->extent == NULL || exchange->grows == NULL) {
		exchange->count = 0;
		return COP_ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const cop_config_model *model = &next->models[i];
		exchange->resumes |=
		        comes(changes, model->name) && cop_model_table_find_parked(set, model->stored, false) != NULL;
		if (!cop_config_changes_has(changes, COP_CHANGE_GROWS, model->name))
			continue;
		const cop_model_slot *from = cop_model_table_find_stored(set, model->stored, strlen(model->stored));
		exchange->grows[i] = from != NULL;
		if (from != NULL)
			cop_model_measure(from->model, &exchange->extent[i]);
	}
	return let_leave(set, changes);
}

/* ---- beside the loop ---- */

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
		err = cop_model_table_start_slot(fresh, log, diag);
		if (err == COP_OK)
			err = cop_model_table_complete_slot(fresh, diag);
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

/* The slot, if there is to be one, has a fault of `err`. */
static void refuse_slot(
        cop_config_changes *changes, const char *model, cop_model_slot **slot, cop_err err, cop_diag *why)
{
	cop_model_slot_close(*slot);
	*slot = NULL;
	if (why->message[0] == '\0')
		cop_diag_message(why, "%s", cop_err_text(err));
	refuse(changes, model, why);
}

static cop_err make_fresh(
        const cop_model_table *set, const cop_config_model *model, cop_log *log, cop_model_slot **slot, cop_diag *diag)
{
	cop_err err = cop_model_slot_open(model, slot, diag);
	if (err == COP_OK)
		err = resume(set, slot, log, diag);
	if (err == COP_OK)
		cop_model_slot_begin(*slot, cop_clock_monotonic());
	return err;
}

static cop_err make_leaving(const cop_model_slot *slot, cop_model_exchange *out)
{
	cop_parked *model = cop_model_table_add_parked(&out->leaving, &out->leaving_count, slot->stored, false);
	if (model == NULL)
		return COP_ENOMEM;
	cop_model_table_put_model(slot, &model->section);
	if (model->section.err != COP_OK || !cop_refit_state_used(&slot->refit))
		return model->section.err;
	cop_parked *refits = cop_model_table_add_parked(&out->leaving, &out->leaving_count, slot->stored, true);
	if (refits == NULL)
		return COP_ENOMEM;
	cop_model_table_put_refits(slot, &refits->section);
	return refits->section.err;
}

void cop_model_exchange_make(
        cop_model_exchange *exchange, const cop_config *next, cop_config_changes *changes, cop_log *log)
{
	const cop_model_table *set = exchange->set;
	for (size_t i = 0; i < exchange->count; i++) {
		const cop_config_model *model = &next->models[i];
		const cop_model_size size = cop_model_slot_configured(model);
		cop_diag why = { 0 };
		cop_err err = COP_OK;
		if (exchange->grows[i])
			err = cop_model_slot_open_for(model, &size, &exchange->extent[i], &exchange->fresh[i], &why);
		else if (comes(changes, model->name))
			err = make_fresh(set, model, log, &exchange->fresh[i], &why);
		if (err != COP_OK)
			refuse_slot(changes, model->name, &exchange->fresh[i], err, &why);
	}
	for (size_t i = 0; i < set->leaving_count && exchange->err == COP_OK; i++)
		if (cop_config_changes_has(changes, COP_CHANGE_REMOVES, set->leaving[i].slot->name))
			exchange->err = make_leaving(set->leaving[i].slot, exchange);
}

/* ---- between two events ---- */

static const cop_bytes *find_section(const cop_model_exchange *exchange, const char *stored, bool refits)
{
	for (size_t i = 0; i < exchange->leaving_count; i++) {
		const cop_parked *parked = &exchange->leaving[i];
		if (parked->refit == refits && strcmp(parked->stored, stored) == 0)
			return &parked->section;
	}
	return NULL;
}

cop_err cop_model_exchange_made(cop_model_exchange *exchange)
{
	for (size_t i = 0; i < exchange->set->leaving_count && exchange->err == COP_OK; i++) {
		cop_leaving *leaving = &exchange->set->leaving[i];
		leaving->model = find_section(exchange, leaving->slot->stored, false);
		leaving->refits = find_section(exchange, leaving->slot->stored, true);
	}
	return exchange->err;
}

bool cop_model_exchange_holds(const cop_model_exchange *exchange)
{
	return exchange->set != NULL && (exchange->set->leaving_count > 0 || exchange->resumes);
}

static void fill(cop_model_slot **fresh, cop_model_table *set, cop_config_changes *changes)
{
	cop_model_slot *slot = *fresh;
	cop_diag why = { 0 };
	const cop_model_slot *from = cop_model_table_find_stored(set, slot->stored, strlen(slot->stored));
	cop_err err = from == NULL ? COP_ENOTFOUND : cop_model_slot_fill(slot, from, &why);
	if (err != COP_OK)
		refuse_slot(changes, slot->config->name, fresh, err, &why);
}

cop_err cop_model_exchange_ready(cop_model_exchange *exchange, const cop_config *next, cop_config_changes *changes)
{
	cop_model_table *set = exchange->set;
	const size_t most = set->count + set->leaving_count + next->model_count;
	for (size_t i = 0; i < exchange->count; i++)
		if (exchange->grows[i] && exchange->fresh[i] != NULL)
			fill(&exchange->fresh[i], set, changes);
	exchange->items = cop_mem_alloc(most, sizeof *exchange->items);
	exchange->parked = cop_mem_alloc(set->parked_count + exchange->leaving_count, sizeof *exchange->parked);
	return exchange->items == NULL || exchange->parked == NULL ? COP_ENOMEM : COP_OK;
}

void cop_model_exchange_drop(cop_model_exchange *exchange)
{
	if (exchange->set != NULL)
		cop_model_table_put_back(exchange->set);
	for (size_t i = 0; i < exchange->count; i++)
		cop_model_slot_close(exchange->fresh[i]);
	cop_mem_free(exchange->fresh);
	cop_mem_free(exchange->extent);
	cop_mem_free(exchange->grows);
	cop_mem_free(exchange->items);
	cop_mem_free(exchange->parked);
	cop_model_table_free_parked(exchange->leaving, exchange->leaving_count);
	*exchange = (cop_model_exchange){ 0 };
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

static void park_leaving(cop_model_exchange *exchange, cop_model_table *set)
{
	for (size_t i = 0; i < set->parked_count; i++)
		exchange->parked[i] = set->parked[i];
	for (size_t i = 0; i < exchange->leaving_count; i++)
		exchange->parked[set->parked_count++] = exchange->leaving[i];
	cop_mem_free(set->parked);
	set->parked = exchange->parked;
	exchange->parked = NULL;
	exchange->leaving_count = 0;
	unpark(set);
}

void cop_model_exchange_take(cop_model_exchange *exchange, const cop_config *config,
        void (*gone)(void *context, cop_model_slot *slot), void *context)
{
	cop_model_table *set = exchange->set;
	cop_model_table_put_back(set);
	cop_model_slot **left = set->items;
	size_t left_count = set->count;
	set->count = 0;
	set->items = exchange->items;
	exchange->items = NULL;
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
	}
	cop_mem_free(left);
	park_leaving(exchange, set);
	cop_model_exchange_drop(exchange);
}

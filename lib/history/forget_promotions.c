/* Records of the kind are few, so a list is looked through; only the record's place is found by halving. */
#include "history/forget_promotions.h"

#include <string.h>

#include "base/mem.h"

void cop_forget_promotions_fini(cop_forget_promotions *list)
{
	cop_mem_free(list->items);
	cop_mem_free(list->models);
	*list = (cop_forget_promotions){ 0 };
}

/* The model's place; their count: there is none of that name. */
static size_t find_model(const cop_forget_promotions *list, const char *name, size_t length)
{
	size_t i = 0;
	while (i < list->model_count &&
	        (strlen(list->models[i]) != length || memcmp(list->models[i], name, length) != 0))
		i++;
	return i;
}

static cop_err add_model(cop_forget_promotions *list, const char *name, size_t length)
{
	char(*models)[sizeof *list->models] =
	        cop_mem_resize(list->models, list->model_count, list->model_count + 1, sizeof *models);
	if (models == NULL)
		return COP_ENOMEM;
	list->models = models;
	memcpy(models[list->model_count], name, length);
	models[list->model_count++][length] = '\0';
	return COP_OK;
}

/* Of the model's last record: whose it is. */
static uint64_t current_of(const cop_forget_promotions *list, size_t model)
{
	for (size_t i = list->count; i-- > 0;)
		if (list->items[i].model == model && list->items[i].number != 0)
			return list->items[i].number;
	return 0;
}

static cop_err make_room(cop_forget_promotions *list)
{
	if (list->count < list->room)
		return COP_OK;
	size_t room = list->room == 0 ? 16 : 2 * list->room;
	cop_forget_promotion *items = cop_mem_resize(list->items, list->room, room, sizeof *items);
	if (items == NULL)
		return COP_ENOMEM;
	list->items = items;
	list->room = room;
	return COP_OK;
}

cop_err cop_forget_promotions_take(cop_forget_promotions *list, const cop_journal_record *record)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_wire_record r;
	if (record->type != COP_WIRE_RECORD_PROMOTION ||
	        cop_wire_record_decode(COP_WIRE_RECORD_PROMOTION, record->body, record->length, &no_shape,
	                &no_workspace, &r, NULL) != COP_OK ||
	        r.model_length > COP_WIRE_RECORD_MODEL)
		return COP_OK;
	size_t model = find_model(list, r.model, r.model_length);
	cop_err err = model == list->model_count ? add_model(list, r.model, r.model_length) : COP_OK;
	if (err == COP_OK)
		err = make_room(list);
	if (err != COP_OK)
		return err;
	const uint64_t number = r.promotion == COP_WIRE_PROMOTION_CHALLENGE ? r.count : current_of(list, model);
	list->items[list->count++] = (cop_forget_promotion){
		.sequence = record->sequence, .number = number, .model = (uint32_t)model, .kind = r.promotion
	};
	return COP_OK;
}

static bool is_of_challenger(cop_wire_promotion kind)
{
	return kind == COP_WIRE_PROMOTION_CHALLENGE || kind == COP_WIRE_PROMOTION_PROMOTE ||
	       kind == COP_WIRE_PROMOTION_ROLLBACK || kind == COP_WIRE_PROMOTION_RETIRE;
}

void cop_forget_promotions_drop(cop_forget_promotions *list, const char *model, uint64_t number)
{
	const size_t which = find_model(list, model, strlen(model));
	for (size_t i = 0; i < list->count; i++) {
		cop_forget_promotion *p = &list->items[i];
		if (p->model == which && p->number == number && is_of_challenger(p->kind))
			p->gone = true;
	}
}

bool cop_forget_promotions_is_gone(const cop_forget_promotions *list, uint64_t sequence)
{
	size_t low = 0, high = list->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list->items[middle].sequence < sequence)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->count && list->items[low].sequence == sequence && list->items[low].gone;
}

uint64_t cop_forget_promotions_last(const cop_forget_promotions *list)
{
	for (size_t i = list->count; i-- > 0;)
		if (list->items[i].gone)
			return list->items[i].sequence;
	return 0;
}

bool cop_forget_promotions_serving(
        const cop_forget_promotions *list, const char *model, uint64_t *serving, uint64_t *shadow)
{
	const size_t which = find_model(list, model, strlen(model));
	bool known = false;
	*serving = *shadow = 0;
	for (size_t i = 0; i < list->count; i++) {
		const cop_forget_promotion *p = &list->items[i];
		if (p->model != which)
			continue;
		if (p->kind == COP_WIRE_PROMOTION_CHALLENGE) {
			*shadow = p->number;
			known = true;
		} else if (p->kind == COP_WIRE_PROMOTION_PROMOTE || p->kind == COP_WIRE_PROMOTION_ROLLBACK) {
			const uint64_t was = *serving;
			*serving = *shadow;
			*shadow = was;
		} else if (p->kind == COP_WIRE_PROMOTION_RETIRE) {
			*shadow = 0;
		}
	}
	return known;
}

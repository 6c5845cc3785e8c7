/* Files go when the checkpoint of the models without them is on disk: until then an order that is begun anew finds them
 * again. */
#include "daemon/durable/forget_refits.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/durable/challenger.h"
#include "daemon/durable/promotion.h"
#include "online/model_shadow.h"

void cop_forget_refits_fini(cop_forget_refits *refits)
{
	cop_mem_free(refits->items);
	*refits = (cop_forget_refits){ 0 };
}

static bool has(const cop_forget_refits *refits, const char *model, uint64_t number)
{
	for (size_t i = 0; i < refits->count; i++)
		if (refits->items[i].number == number && strcmp(refits->items[i].model, model) == 0)
			return true;
	return false;
}

static cop_err add(cop_forget_refits *refits, const char *model, uint64_t number)
{
	cop_forget_refit *items = cop_mem_resize(refits->items, refits->count, refits->count + 1, sizeof *items);
	if (items == NULL)
		return COP_ENOMEM;
	refits->items = items;
	items[refits->count] = (cop_forget_refit){ .number = number };
	(void)snprintf(items[refits->count].model, sizeof items->model, "%s", model);
	refits->count++;
	return COP_OK;
}

/* COP_EEXIST: it is not concerned. */
static cop_err look(const char *state_dir, const cop_forget_model *model, uint64_t number, cop_diag *diag)
{
	uint64_t window[2] = { 0 };
	cop_err err = cop_challenger_window(state_dir, model->name, number, window, diag);
	if (err == COP_EFORMAT || err == COP_EVERSION)
		return COP_OK;
	if (err == COP_OK && (window[0] > model->last || window[1] < model->first))
		return COP_EEXIST;
	return err == COP_ENOTFOUND ? COP_EEXIST : err;
}

static cop_err find_of(cop_forget_refits *refits, const char *state_dir, const cop_forget_model *model,
        cop_forget_plan *plan, cop_diag *diag)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_err err = cop_challenger_list(state_dir, model->name, &all, &count, diag);
	for (size_t i = 0; err == COP_OK && i < count; i++) {
		err = look(state_dir, model, all[i], diag);
		bool concerned = err == COP_OK;
		err = concerned ? add(refits, model->name, all[i]) : err == COP_EEXIST ? COP_OK : err;
		if (concerned && err == COP_OK)
			cop_forget_drop_challenger(plan, model->name, all[i]);
	}
	cop_mem_free(all);
	return err;
}

cop_err cop_forget_refits_find(cop_forget_refits *refits, const char *state_dir, cop_forget_plan *plan, cop_diag *diag)
{
	size_t count;
	const cop_forget_model *models = cop_forget_models(plan, &count);
	cop_err err = COP_OK;
	cop_forget_refits_fini(refits);
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = find_of(refits, state_dir, &models[i], plan, diag);
	return err;
}

cop_err cop_forget_refits_remove(
        const cop_forget_refits *refits, const char *state_dir, const cop_forget_plan *plan, cop_diag *diag)
{
	size_t count;
	const cop_forget_model *models = cop_forget_models(plan, &count);
	cop_err err = COP_OK;
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = cop_challenger_tidy(state_dir, models[i].name, diag);
	for (size_t i = 0; i < refits->count && err == COP_OK; i++)
		err = cop_challenger_remove(state_dir, refits->items[i].model, refits->items[i].number, diag);
	return err;
}

static cop_err step(cop_durability *durable, cop_model_slot *slot, cop_wire_promotion kind, cop_diag *diag)
{
	const cop_promotion p = { .durable = durable, .slot = slot, .by = "forget", .held_too = true };
	return cop_promotion_do(&p, kind, 0, NULL, diag);
}

cop_err cop_forget_refits_leave(const cop_forget_refits *refits, const cop_forget_plan *plan, cop_durability *durable,
        cop_model_slot *slot, bool *serves, cop_diag *diag)
{
	const uint64_t current = slot->refit.controller.current;
	cop_promotion_test_roles roles;
	uint64_t serving, shadow;
	cop_err err = COP_OK;
	cop_model_shadow_roles(slot->model, &roles);
	if (!cop_forget_serving(plan, slot->stored, &serving, &shadow)) {
		serving = roles.promoted ? current : 0;
		shadow = 0;
	}
	if (has(refits, slot->stored, current) && roles.shadow) {
		if (roles.promoted) {
			err = step(durable, slot, COP_WIRE_PROMOTION_ROLLBACK, diag);
			serving = shadow;
		}
		if (err == COP_OK)
			err = step(durable, slot, COP_WIRE_PROMOTION_RETIRE, diag);
	}
	*serves = has(refits, slot->stored, serving);
	return err;
}

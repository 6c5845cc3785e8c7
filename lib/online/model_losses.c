/* Named losses that wait lie with their decision by the place of the name; a decision has room for as many as there
 * were names when it was made. */
#include "online/model_losses.h"

#include <math.h>
#include <string.h>

const cop_named_accounts *cop_model_named_losses(const cop_model *model) { return &model->named; }

void cop_model_tell_losses(cop_model *model, const cop_loss_values *losses)
{
	model->told = losses != NULL ? *losses : (cop_loss_values){ .told = 0 };
}

void cop_model_losses_count(cop_model *model, const cop_pending_entry *entry, const cop_loss_values *losses)
{
	static const cop_named_of sides[COP_CONTROL_MAKERS] = {
		[COP_CONTROL_POLICY] = COP_NAMED_OF_POLICY,
		[COP_CONTROL_HELD] = COP_NAMED_OF_CONTROL,
		[COP_CONTROL_KEPT] = COP_NAMED_OF_NEITHER,
	};
	bool compared = entry != NULL && entry->split && entry->time >= model->control.since;
	if (losses->told != 0)
		cop_named_accounts_add(&model->named, &model->set.losses, losses,
		        compared ? sides[cop_model_state_maker(entry)] : COP_NAMED_OF_NEITHER,
		        compared ? entry->cluster : 0);
}

void cop_model_losses_record(cop_model *model, const cop_pending_entry *entry, bool adds)
{
	cop_loss_values is = { .told = 0 };
	const cop_loss_values *told = &model->told;
	if (entry->names == 0)
		return;
	if (adds)
		cop_pending_get_named(model->pending, entry, &is);
	for (size_t i = 0; i < entry->names; i++) {
		if ((told->told >> i & 1u) == 0)
			continue;
		bool more = (is.told >> i & 1u) != 0;
		is.value[i] = more ? is.value[i] + told->value[i] : told->value[i];
		is.told |= 1u << i;
	}
	cop_pending_record_named(model->pending, entry, &is);
}

void cop_model_losses_recorded(
        const cop_model *model, const cop_pending_entry *entry, uint8_t room[COP_WIRE_NAMED_ROOM], cop_wire_named *out)
{
	cop_loss_values named;
	cop_pending_get_named(model->pending, entry, &named);
	for (size_t i = 0; i < entry->names; i++) {
		double low, high;
		if ((named.told >> i & 1u) == 0)
			continue;
		cop_named_losses_range(&model->set.losses, i, &low, &high);
		named.value[i] = fmin(fmax(named.value[i], low), high);
	}
	cop_wire_named_encode(&model->set.losses.weights, &named, room, out);
}

cop_err cop_model_losses_change(cop_model *model, const cop_named_losses *losses)
{
	int8_t from[COP_NAMED_LOSSES_MOST];
	const cop_named_losses *was = &model->set.losses;
	if (memcmp(was, losses, sizeof *was) == 0)
		return COP_OK;
	cop_err err = cop_named_accounts_change(&model->named, was, losses);
	if (err != COP_OK)
		return err;
	cop_named_losses_places(&was->weights, &losses->weights, from);
	bool stay = true;
	for (size_t i = 0; i < was->weights.count; i++)
		stay = stay && from[i] == (int8_t)i;
	if (!stay)
		cop_pending_rename(model->pending, from);
	model->set.losses = *losses;
	return COP_OK;
}

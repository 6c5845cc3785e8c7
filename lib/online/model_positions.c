/* What a position does to an event is decided before the event is looked at. */
#include "online/model_positions.h"

#include "online/model_state.h"

cop_err cop_model_positions_check(cop_model *model, const cop_wire_position *at, bool *passed)
{
	*passed = at->source != NULL && cop_positions_passed(&model->positions, at);
	model->counters.passed += *passed;
	return at->source == NULL || *passed ? COP_OK : cop_positions_reserve(&model->positions, at);
}

void cop_model_positions_note(cop_model *model, const cop_wire_position *at)
{
	if (at->source != NULL)
		cop_positions_note(&model->positions, at);
}

cop_err cop_model_positions_apply(cop_model *model, const cop_wire_position *at)
{
	cop_err err = at->source == NULL ? COP_OK : cop_positions_reserve(&model->positions, at);
	if (err == COP_OK)
		cop_model_positions_note(model, at);
	return err;
}

const cop_positions *cop_model_positions(const cop_model *model) { return &model->positions; }

void cop_model_positions_clear(cop_model *model) { cop_positions_fini(&model->positions); }

bool cop_model_positions_decision(cop_model *model, const cop_event_id *id, cop_decision *out)
{
	cop_pending_entry entry;
	if (!cop_model_find(model, id, &entry))
		return false;
	*out = entry.decision;
	model->made_by = (cop_model_maker){ .split = entry.split };
	model->made_by.split_by.by = entry.split ? cop_model_state_maker(&entry) : COP_CONTROL_POLICY;
	return true;
}

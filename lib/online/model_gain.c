/* Decisions with and without a control group are never counted together: each of the two begins anew where the other
 * one went on meanwhile. */
#include "online/model_gain.h"

uint8_t cop_model_gain_cluster(const cop_model *model, const cop_model_context *context, const cop_control_split *split)
{
	if (split == NULL && (context->unit == NULL || model->gains.whole.count == 0))
		return COP_PENDING_ALONE;
	const uint64_t key = cop_model_state_control_key(model);
	return (uint8_t)cop_control_cluster(split != NULL ? split->place : cop_control_place(context->unit, key));
}

void cop_model_gain_note(cop_model *model, const cop_control_split *split, double now)
{
	const bool begins = cop_control_note(&model->control, split, now);
	if (begins) {
		cop_constant_arms_clear(&model->constant);
		cop_named_accounts_clear_groups(&model->named);
	}
	if (begins || model->gains.losses > 0)
		cop_arm_gains_clear(&model->gains, now);
}

static void count_split(cop_model *model, const cop_pending_entry *entry, double loss)
{
	const cop_control_by by = cop_model_state_maker(entry);
	cop_control_end(&model->control, by, entry->cluster, entry->time, &loss);
	if (by == COP_CONTROL_POLICY && entry->time >= model->control.since)
		cop_constant_arms_add(&model->constant, entry->decision.arm, entry->decision.p, entry->mask, loss);
}

void cop_model_gain_count(cop_model *model, const cop_pending_entry *entry, double loss)
{
	const cop_decision *decision = &entry->decision;
	const cop_arm_gains_loss told = { decision->arm, decision->p, entry->mask, entry->cluster, loss };
	if (entry->split)
		count_split(model, entry, loss);
	else if (entry->time >= model->gains.since)
		cop_arm_gains_add(&model->gains, &told);
}

/* A record that does not come along is decoded again, since the first model's thread uses its own room for the next
 * one. */
#include "whatif_follower.h"

void cop_whatif_follower_fini(cop_whatif_follower *f)
{
	cop_whatif_tally_fini(&f->waiting);
	cop_recorded_model_fini(&f->room);
	cop_whatif_masks_fini(&f->masks);
}

bool cop_whatif_follower_in_span(const cop_whatif_question *question, double time)
{
	return time >= question->from && time <= question->to;
}

bool cop_whatif_follower_is_event(const cop_whatif_figures *figures, const cop_wire_record *r)
{
	return r->has_x && !r->joined && r->result == COP_WIRE_APPLIED && r->candidates == 0 && !figures->values;
}

static cop_err take(cop_whatif_follower *f, cop_wire_record_type type, const cop_wire_record *r)
{
	cop_feedback_result *result = &f->pair->would.how.result;
	bool accepted = r->result == COP_WIRE_APPLIED || r->result == COP_WIRE_RECORDED;
	*result = COP_FEEDBACK_APPLIED;
	cop_err err = cop_whatif_pair_take_second(f->pair, type, r);
	bool late = err == COP_OK && type == COP_WIRE_RECORD_FEEDBACK && *result == COP_FEEDBACK_LATE;
	f->figures->late += late && accepted;
	return err == COP_ENOMEM ? err : COP_OK; /* what does not fit it is of the first one alone */
}

static cop_err decide(cop_whatif_follower *f, const cop_wire_record *decision, const cop_whatif_item *item)
{
	cop_whatif_figures *figures = f->figures;
	cop_wire_record lengthened;
	const cop_wire_record *r = decision;
	if (cop_whatif_masks_lengthens(&f->masks)) {
		lengthened = *decision;
		cop_whatif_masks_lengthen(&f->masks, &lengthened);
		r = &lengthened;
	}
	cop_whatif_pair_look_second(f->pair, r, &item->seen, &item->view);
	cop_err err = take(f, COP_WIRE_RECORD_DECISION, r);
	if (err != COP_OK || !cop_whatif_follower_in_span(f->question, r->time))
		return err;
	if (r->split && r->observed) {
		figures->held++;
		return COP_OK;
	}
	const cop_whatif_seen *seen = &f->pair->second;
	figures->estimated |= seen->estimated;
	return figures->values || seen->estimated ? cop_whatif_tally_keep(&f->waiting, &r->id, seen) : COP_OK;
}

static void see_event(cop_whatif_follower *f, const cop_wire_record *r, const cop_whatif_item *item)
{
	if (cop_whatif_pair_view_second(f->pair, r, &item->seen, &item->view) != COP_OK || !f->pair->second.estimated) {
		f->figures->bad++;
		return;
	}
	f->figures->estimated = true;
	cop_whatif_tally_count(f->figures, &r->id, &f->pair->second, r->loss[0]);
}

cop_err cop_whatif_follower_take(void *follower, const cop_whatif_item *item)
{
	cop_whatif_follower *f = follower;
	cop_wire_record decoded;
	const cop_wire_record *r = item->record;
	const cop_wire_record_type type = item->type;
	if (r == NULL) {
		if (cop_wire_record_decode(type, item->body, item->length, &f->room.shape, &f->room.workspace, &decoded,
		            NULL) != COP_OK)
			return COP_OK; /* the first one's thread has counted it */
		r = &decoded;
	}
	cop_whatif_tally_end(&f->waiting, type, r, f->figures);
	if (f->over || !item->taken)
		return COP_OK;
	if (type == COP_WIRE_RECORD_DECISION)
		return decide(f, r, item);
	if (item->saw)
		see_event(f, r, item);
	return take(f, type, r);
}

/* A record that does not come along is decoded again, as by the first one. Where that is alone, all of a decision was
 * seen there. */
#include "whatif_second.h"

void cop_whatif_second_fini(cop_whatif_second *f)
{
	cop_whatif_tally_fini(&f->waiting);
	cop_recorded_model_fini(&f->room);
}

static cop_err take(cop_whatif_second *f, cop_wire_record_type type, const cop_wire_record *r)
{
	cop_feedback_result *result = &f->pair->would.how.result;
	bool accepted = r->result == COP_WIRE_APPLIED || r->result == COP_WIRE_RECORDED;
	*result = COP_FEEDBACK_APPLIED;
	cop_err err = cop_whatif_pair_take_second(f->pair, type, r);
	bool late = err == COP_OK && type == COP_WIRE_RECORD_FEEDBACK && *result == COP_FEEDBACK_LATE;
	f->figures->late += late && accepted;
	return err == COP_ENOMEM ? err : COP_OK; /* what does not fit it is of the first one alone */
}

static cop_err decide(cop_whatif_second *f, const cop_wire_record *r, const cop_whatif_item *item)
{
	cop_whatif_figures *figures = f->figures;
	const cop_whatif_seen *seen = &item->seen;
	cop_err err = COP_OK;
	if (!f->pair->alone) {
		cop_whatif_pair_look_second(f->pair, r, &item->seen, &item->view);
		err = take(f, COP_WIRE_RECORD_DECISION, r);
		seen = &f->pair->second;
	}
	if (err != COP_OK || !cop_whatif_run_in_span(f->question, r->time))
		return err;
	if (r->split && r->observed) {
		figures->held++;
		return COP_OK;
	}
	figures->estimated |= seen->estimated;
	return figures->values || seen->estimated ? cop_whatif_tally_keep(&f->waiting, &r->id, seen) : COP_OK;
}

static void see_event(cop_whatif_second *f, const cop_wire_record *r, const cop_whatif_item *item)
{
	const cop_whatif_seen *seen = &item->seen;
	cop_err err = COP_OK;
	if (!f->pair->alone) {
		err = cop_whatif_pair_view_second(f->pair, r, &item->seen, &item->view);
		seen = &f->pair->second;
	}
	if (err != COP_OK || !seen->estimated) {
		f->figures->bad++;
		return;
	}
	f->figures->estimated = true;
	cop_whatif_tally_count(f->figures, &r->id, seen, r->loss[0]);
}

cop_err cop_whatif_second_take(void *second, cop_whatif_item *item)
{
	cop_whatif_second *f = second;
	cop_wire_record decoded;
	const cop_wire_record *r = item->record;
	const cop_wire_record_type type = item->type;
	if (r == NULL) {
		if (cop_wire_record_decode(type, item->body, item->length, &f->room.shape, &f->room.workspace, &decoded,
		            NULL) != COP_OK)
			return COP_OK; /* the reading thread has counted it */
		r = &decoded;
	}
	cop_whatif_tally_end(&f->waiting, type, r, f->figures);
	if (f->over || !item->taken)
		return COP_OK;
	if (type == COP_WIRE_RECORD_DECISION)
		return decide(f, r, item);
	if (item->saw)
		see_event(f, r, item);
	return f->pair->alone ? COP_OK : take(f, type, r);
}

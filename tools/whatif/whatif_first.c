/* A record that does not come along is decoded again, since the reading thread uses its own room for the next one. */
#include "whatif_first.h"

#include <inttypes.h>
#include <stdio.h>

void cop_whatif_first_fini(cop_whatif_first *first) { cop_recorded_model_fini(&first->room); }

cop_err cop_whatif_first_refuse(
        const cop_whatif_question *question, uint64_t record, cop_err err, const char *what, cop_diag *diag)
{
	char text[sizeof diag->message];
	(void)snprintf(text, sizeof text, "%.300s", what != NULL && what[0] != '\0' ? what : cop_err_text(err));
	cop_diag_of(diag, question->journal,
	        "record %" PRIu64 " does not fit the model as it was: %s; expected --from after it, or --fresh", record,
	        text);
	return err == COP_ENOMEM ? err : COP_EFORMAT;
}

static cop_err take(cop_whatif_first *f, const cop_whatif_item *item, const cop_wire_record *r)
{
	const bool anew = f->figures->begun == COP_WHATIF_ANEW;
	cop_err err = cop_whatif_pair_take(f->pair, item->type, r);
	bool fits = err == COP_OK || (anew && item->type != COP_WIRE_RECORD_DECISION);
	if (err == COP_ENOMEM || (!fits && !anew))
		return cop_whatif_first_refuse(f->question, item->number, err, NULL, &f->diag);
	f->bad += !fits;
	if (f->figures->record == 0)
		f->figures->record = item->number;
	return COP_OK;
}

cop_err cop_whatif_first_take(void *first, cop_whatif_item *item)
{
	cop_whatif_first *f = first;
	cop_wire_record decoded;
	const cop_wire_record *r = item->record;
	const bool decides = item->type == COP_WIRE_RECORD_DECISION;
	if (!item->taken)
		return COP_OK;
	if (r == NULL) {
		if (cop_wire_record_decode(item->type, item->body, item->length, &f->room.shape, &f->room.workspace,
		            &decoded, NULL) != COP_OK)
			return COP_OK; /* the reading thread has counted it */
		r = &decoded;
	}
	if (decides)
		cop_whatif_pair_look(f->pair, r, &item->view);
	item->saw = item->asks && (decides || cop_whatif_pair_view(f->pair, r, &item->view) == COP_OK);
	cop_err err = take(f, item, r);
	if (item->asks) {
		item->seen = f->pair->first;
		item->seen.record = item->number;
	}
	return err;
}

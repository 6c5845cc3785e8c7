/* Decisions end by a record of their own, so that later records never speak of one. */
#include "daemon/durable/forget_waiting.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/models/unheard_forget.h"
#include "online/model_record.h"

/* Their contexts that nobody hears yet are not decided any more. */
static cop_err drop_contexts(cop_forgetting *f, cop_model_slot *slot)
{
	size_t gone;
	const char *model = f->order.model;
	if (model[0] != '\0' && strcmp(model, slot->name) != 0)
		return COP_OK;
	cop_err err = cop_unheard_forget(&slot->unheard, &f->order.whom, f->order.by_id, &gone);
	f->report.contexts += gone;
	return err;
}

/* Their decisions that wait in this model end, and nobody hears of their ids again. */
static cop_err end_waiting(cop_forgetting *f, cop_model_slot *slot)
{
	size_t count = 0;
	cop_event_id *ids = NULL;
	cop_err err = cop_forget_ids(f->work.plan, slot->stored, &ids, &count);
	size_t ended = err == COP_OK ? cop_model_forget(slot->model, ids, count, f->durable->time) : 0;
	cop_mem_free(ids);
	f->report.waiting += ended;
	if (err == COP_OK && (ended > 0 || cop_forget_work_is_of(&f->work, slot->stored)))
		err = cop_model_slot_drop_names(slot); /* they may tell whose they were */
	if (ended == 0)
		return err;
	cop_wire_record record = {
		.model = slot->stored, .model_length = strlen(slot->stored), .time = f->durable->time
	};
	cop_model_record_ended(slot->model, &record);
	(void)cop_journaler_put(f->durable->journal, COP_WIRE_RECORD_EXPIRY, &record);
	return COP_OK;
}

cop_err cop_forget_waiting_end(cop_forgetting *f)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < f->durable->models.count && err == COP_OK; i++) {
		err = drop_contexts(f, f->durable->models.items[i]);
		if (err == COP_OK)
			err = end_waiting(f, f->durable->models.items[i]);
	}
	return err;
}

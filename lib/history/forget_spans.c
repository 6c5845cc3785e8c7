/* Chains in one array: places do not move when it grows, and a new span stands before the older ones of its bucket. */
#include "history/forget_spans.h"

#include "base/mem.h"

#define FIRST_ROOM 16u
#define KEY        UINT64_C(0x9e3779b97f4a7c15) /* ids of one unit, or few, are in a table */

void cop_forget_spans_fini(cop_forget_spans *spans)
{
	cop_mem_free(spans->items);
	cop_mem_free(spans->buckets);
	*spans = (cop_forget_spans){ .items = NULL };
}

static uint64_t hash_of(uint32_t model, const cop_event_id *id) { return cop_event_id_hash(id, KEY + model); }

static void link_in(cop_forget_spans *spans, size_t place)
{
	uint32_t *bucket = &spans->buckets[spans->items[place].hash & (spans->room - 1)];
	spans->items[place].next = *bucket;
	*bucket = (uint32_t)place + 1;
}

static cop_err grow(cop_forget_spans *spans)
{
	size_t room = spans->room == 0 ? FIRST_ROOM : 2 * spans->room;
	if (room > UINT32_MAX)
		return COP_ENOMEM;
	uint32_t *buckets = cop_mem_alloc(room, sizeof *buckets);
	cop_forget_span *items =
	        buckets == NULL ? NULL : cop_mem_resize(spans->items, spans->room, room, sizeof *items);
	if (items == NULL) {
		cop_mem_free(buckets);
		return COP_ENOMEM;
	}
	cop_mem_free(spans->buckets);
	spans->buckets = buckets;
	spans->items = items;
	spans->room = room;
	for (size_t i = 0; i < spans->count; i++)
		link_in(spans, i);
	return COP_OK;
}

/* From the place on, of the same model and id. */
static cop_forget_span *follow(
        const cop_forget_spans *spans, uint32_t place, uint64_t hash, uint32_t model, const cop_event_id *id)
{
	while (place != 0) {
		cop_forget_span *span = &spans->items[place - 1];
		if (span->hash == hash && span->model == model && cop_event_id_equal(&span->id, id))
			return span;
		place = span->next;
	}
	return NULL;
}

cop_forget_span *cop_forget_spans_find(const cop_forget_spans *spans, uint32_t model, const cop_event_id *id)
{
	if (spans->count == 0)
		return NULL;
	uint64_t hash = hash_of(model, id);
	return follow(spans, spans->buckets[hash & (spans->room - 1)], hash, model, id);
}

cop_forget_span *cop_forget_spans_older(const cop_forget_spans *spans, const cop_forget_span *span)
{
	return follow(spans, span->next, span->hash, span->model, &span->id);
}

cop_err cop_forget_spans_add(cop_forget_spans *spans, uint32_t model, const cop_event_id *id, uint64_t from)
{
	cop_err err = spans->count == spans->room ? grow(spans) : COP_OK;
	if (err != COP_OK)
		return err;
	spans->items[spans->count] = (cop_forget_span){
		.hash = hash_of(model, id),
		.from = from,
		.to = UINT64_MAX,
		.model = model,
		.id = *id,
	};
	link_in(spans, spans->count++);
	return COP_OK;
}

/* A record is its head and then, each padded to 8 bytes: the value that was played, if one was; the id's bytes; the
 * mask; the context's row; a count for each candidate, and their rows. A dense row is its values (the count is its
 * dimension), a sparse one its indices and then its values. */
#include "events/event_block.h"

#include <math.h>

#include "base/assert.h"
#include "base/mem.h"

enum {
	LABELLED = 1,
	LEARN = 2,
	MASKED = 4,
	DENSE = 8,             /* the context */
	CANDIDATES_DENSE = 16, /* and its candidates */
	VALUE = 32             /* a value was played: it follows the head */
};

#define MAX_DIMENSION (UINT32_C(1) << 31)

typedef struct record {
	uint64_t line;
	double cost, p, weight;
	uint8_t flags;
	uint8_t id_kind, id_length;
	uint32_t action;
	uint32_t arms;
	uint32_t features, text;
	uint32_t d, entries; /* of the context */
	uint32_t candidates, candidate_d;
} record;

_Static_assert(sizeof(record) % 8 == 0, "what follows it is aligned");

static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static size_t row_bytes(bool dense, size_t entries)
{
	return dense ? padded(entries * sizeof(float)) : entries * (sizeof(float) + sizeof(uint32_t));
}

void cop_event_block_init(cop_event_block *block)
{
	*block = (cop_event_block){ .at = NULL };
	cop_bytes_init(&block->bytes);
}

void cop_event_block_fini(cop_event_block *block)
{
	cop_bytes_fini(&block->bytes);
	cop_mem_free(block->at);
	*block = (cop_event_block){ .at = NULL };
}

void cop_event_block_clear(cop_event_block *block)
{
	cop_bytes_clear(&block->bytes);
	block->count = 0;
	block->candidates = 0;
}

bool cop_event_block_is_full(const cop_event_block *block)
{
	return block->bytes.length >= COP_EVENT_BLOCK_BYTES || block->count >= COP_EVENT_BLOCK_EVENTS;
}

/* Room in `at` for another event. */
static cop_err reserve_place(cop_event_block *block)
{
	if (block->count < block->room)
		return COP_OK;
	size_t room = block->room == 0 ? 1024 : block->room * 2;
	uint32_t *at = cop_mem_resize(block->at, block->count, room, sizeof *at);
	if (at == NULL)
		return COP_ENOMEM;
	block->at = at;
	block->room = room;
	return COP_OK;
}

static bool is_id(const record *head)
{
	if (head->id_kind == 0 || head->id_length == 0)
		return head->id_kind == 0 && head->id_length == 0;
	bool whole = head->id_kind == COP_EVENT_ID_UNSIGNED || head->id_kind == COP_EVENT_ID_NEGATIVE;
	return head->id_kind <= COP_EVENT_ID_NEGATIVE &&
	       (whole ? head->id_length == 8 : head->id_length <= COP_EVENT_ID_MAX);
}

static cop_err check_head(const record *head)
{
	if (!is_id(head))
		return COP_EFORMAT;
	if (((head->flags & MASKED) == 0 && head->arms != 0) ||
	        (head->candidates == 0 && ((head->flags & CANDIDATES_DENSE) != 0 || head->candidate_d != 0)) ||
	        ((head->flags & DENSE) != 0 && head->d != head->entries))
		return COP_EFORMAT;
	if (!isfinite(head->cost) || !isfinite(head->p) || !isfinite(head->weight))
		return COP_ENONFINITE;
	if ((head->flags & LABELLED) == 0)
		return (head->flags & LEARN) == 0 && head->weight >= 0.0 ? COP_OK : COP_EFORMAT;
	if ((head->candidates > 0 && head->action >= head->candidates) ||
	        ((head->flags & MASKED) != 0 && head->action >= head->arms))
		return COP_EFORMAT;
	return head->weight > 0.0 && fabs(head->cost) <= COP_LOGGED_COST_MAX && head->p >= COP_LOGGED_PROBABILITY_MIN &&
	                       head->p <= 1.0
	               ? COP_OK
	               : COP_EFORMAT;
}

/* ---- writing ---- */

static uint32_t cut(size_t count) { return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count; }

static size_t record_bytes(const cop_logged_event *event)
{
	size_t bytes = sizeof(record) + (event->has_y ? sizeof event->y : 0) +
	               row_bytes(event->x.dense != NULL, cop_row_entries(&event->x));
	bytes += event->id.kind != 0 ? padded(event->id.length) : 0;
	bytes += event->mask != NULL ? padded(event->arms) : 0;
	bytes += padded(event->candidates * sizeof(uint32_t));
	for (size_t i = 0; i < event->candidates && bytes <= COP_EVENT_BLOCK_MAX; i++)
		bytes += row_bytes(event->candidate[i].dense != NULL, cop_row_entries(&event->candidate[i]));
	return bytes;
}

static uint8_t *put_bytes(uint8_t *to, const void *data, size_t length)
{
	size_t room = padded(length);
	if (length == 0)
		return to;
	memset(to + room - 8, 0, 8);
	memcpy(to, data, length);
	return to + room;
}

static uint8_t *put_row(uint8_t *to, const cop_row *row)
{
	if (row->dense != NULL)
		return put_bytes(to, row->dense, row->d * sizeof(float));
	if (row->nnz == 0)
		return to;
	memcpy(to, row->index, row->nnz * sizeof(uint32_t));
	memcpy(to + row->nnz * sizeof(uint32_t), row->value, row->nnz * sizeof(float));
	return to + row_bytes(false, row->nnz);
}

static uint8_t *put_candidates(uint8_t *to, const cop_logged_event *event)
{
	uint8_t *end = to + padded(event->candidates * sizeof(uint32_t));
	memset(end - 8, 0, 8);
	for (size_t i = 0; i < event->candidates; i++) {
		const cop_row *row = &event->candidate[i];
		COP_ASSERT((row->dense != NULL) == (event->candidate[0].dense != NULL));
		uint32_t entries = (uint32_t)cop_row_entries(row);
		memcpy(to + i * sizeof entries, &entries, sizeof entries);
	}
	for (size_t i = 0; i < event->candidates; i++)
		end = put_row(end, &event->candidate[i]);
	return end;
}

static record make_head(const cop_logged_event *event)
{
	bool several = event->candidates > 0;
	int flags = (event->labelled ? LABELLED : 0) | (event->learn ? LEARN : 0) | (event->mask != NULL ? MASKED : 0) |
	            (event->x.dense != NULL ? DENSE : 0) |
	            (several && event->candidate[0].dense != NULL ? CANDIDATES_DENSE : 0) | (event->has_y ? VALUE : 0);
	return (record){
		.line = event->line,
		.cost = event->cost,
		.p = event->p,
		.weight = event->weight,
		.flags = (uint8_t)flags,
		.id_kind = event->id.kind,
		.id_length = event->id.kind != 0 ? event->id.length : 0,
		.action = event->action,
		.arms = event->mask != NULL ? (uint32_t)event->arms : 0,
		.features = cut(event->features),
		.text = cut(event->text),
		.d = (uint32_t)event->x.d,
		.entries = (uint32_t)cop_row_entries(&event->x),
		.candidates = (uint32_t)event->candidates,
		.candidate_d = several ? (uint32_t)event->candidate[0].d : 0,
	};
}

cop_err cop_event_block_add(cop_event_block *block, const cop_logged_event *event)
{
	COP_ASSERT(event->x.d <= MAX_DIMENSION && event->arms <= UINT32_MAX);
	COP_ASSERT(event->candidates == 0 || event->candidate[0].d <= MAX_DIMENSION);
	size_t bytes = record_bytes(event);
	if (bytes > COP_EVENT_BLOCK_MAX - block->bytes.length)
		return COP_EFULL;
	record head = make_head(event);
	if (check_head(&head) != COP_OK || (event->has_y && !(event->y >= 0.0 && event->y <= 1.0)))
		return COP_EINVAL;
	cop_err err = reserve_place(block);
	if (err != COP_OK)
		return err;
	cop_bytes_reserve(&block->bytes, bytes);
	if (block->bytes.err != COP_OK) {
		block->bytes.err = COP_OK; /* what it holds is as it was */
		return COP_ENOMEM;
	}
	uint8_t *to = block->bytes.data + block->bytes.length;
	uint8_t *end = to + bytes;
	memcpy(to, &head, sizeof head);
	to = put_bytes(to + sizeof head, &event->y, event->has_y ? sizeof event->y : 0);
	to = put_bytes(to, event->id.bytes, head.id_length);
	to = put_bytes(to, event->mask, head.arms);
	to = put_row(to, &event->x);
	if (event->candidates > 0)
		to = put_candidates(to, event);
	COP_ASSERT(to == end);
	block->at[block->count++] = (uint32_t)(block->bytes.length / 8);
	block->bytes.length += bytes;
	if (event->candidates > block->candidates)
		block->candidates = event->candidates;
	return COP_OK;
}

/* ---- reading ---- */

static const record *record_at(const cop_event_block *block, size_t i)
{
	return (const record *)(const void *)(block->bytes.data + (size_t)block->at[i] * 8);
}

/* The row at `from`; where the next thing lies. */
static const uint8_t *view_row(const uint8_t *from, bool dense, size_t d, size_t entries, cop_row *row)
{
	const void *values = dense ? from : from + entries * sizeof(uint32_t);
	*row = (cop_row){
		.d = dense ? entries : d,
		.dense = dense ? values : NULL,
		.nnz = dense ? 0 : entries,
		.index = dense ? NULL : (const void *)from,
		.value = dense ? NULL : values,
	};
	return from + row_bytes(dense, entries);
}

static void view_candidates(const record *head, const uint8_t *from, cop_row *rows)
{
	const uint32_t *entries = (const void *)from;
	from += padded(head->candidates * sizeof(uint32_t));
	for (size_t i = 0; i < head->candidates; i++)
		from = view_row(from, (head->flags & CANDIDATES_DENSE) != 0, head->candidate_d, entries[i], &rows[i]);
}

void cop_event_block_get(const cop_event_block *block, size_t i, cop_row *rows, cop_logged_event *out)
{
	COP_ASSERT(i < block->count);
	const record *head = record_at(block, i);
	const uint8_t *from = (const uint8_t *)(head + 1);
	out->has_y = (head->flags & VALUE) != 0;
	out->y = 0.0;
	if (out->has_y)
		memcpy(&out->y, from, sizeof out->y);
	from += out->has_y ? sizeof out->y : 0;
	out->line = head->line;
	memset(&out->id, 0, sizeof out->id); /* bytes beyond its length are zero */
	out->id.kind = head->id_kind;
	out->id.length = head->id_length;
	if (head->id_length > 0)
		memcpy(out->id.bytes, from, head->id_length);
	from += padded(head->id_length);
	out->mask = (head->flags & MASKED) != 0 ? from : NULL;
	out->arms = head->arms;
	from += padded(head->arms);
	from = view_row(from, (head->flags & DENSE) != 0, head->d, head->entries, &out->x);
	out->candidates = head->candidates;
	out->candidate = head->candidates > 0 ? rows : NULL;
	if (head->candidates > 0)
		view_candidates(head, from, rows);
	out->labelled = (head->flags & LABELLED) != 0;
	out->learn = (head->flags & LEARN) != 0;
	out->action = head->action;
	out->cost = head->cost;
	out->p = head->p;
	out->weight = head->weight;
	out->features = head->features;
	out->text = head->text;
}

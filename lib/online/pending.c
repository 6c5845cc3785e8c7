/* Records live in a slab: a fixed head, the id's bytes, then the context. They are chained from oldest to youngest and
 * indexed by an open-addressing table of (hash tag, handle) with linear probing and backward-shift deletion. */
#include "online/pending.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "online/remembered.h"
#include "online/slab.h"

#define SMALLEST 256

typedef struct record {
	double time;
	double p;
	double y;
	double loss[2];
	uint64_t rev;
	uint64_t serial;
	uint32_t older, younger; /* handles */
	uint32_t arm;
	uint32_t nnz;
	uint32_t losses;
	float prediction[COP_LEARNER_EXPERTS];
	int8_t u;
	uint8_t greedy;
	uint8_t id_kind;
	uint8_t id_length;
	double probe[2];
} record;

typedef struct slot {
	uint32_t tag;    /* high half of the id's hash */
	uint32_t handle; /* 0: empty */
} slot;

struct cop_pending {
	size_t d;
	bool sparse;
	size_t max_nonzeros;
	size_t max, count;
	uint64_t key;
	cop_slab *slab;
	slot *slots;
	size_t capacity; /* power of two */
	uint32_t oldest, youngest;
	cop_memory memory;
};

static size_t context_at(uint8_t id_length) { return sizeof(record) + (((size_t)id_length + 7) & ~(size_t)7); }

static size_t record_size(const cop_pending *table, uint8_t id_length, size_t nnz)
{
	return context_at(id_length) + (table->sparse ? nnz * 8 : table->d * sizeof(float));
}

cop_err cop_pending_new(size_t d, bool sparse, size_t max_nonzeros, size_t max, uint64_t hash_key, cop_pending **out)
{
	*out = NULL;
	if (d == 0 || max == 0 || max > UINT32_MAX / 4)
		return COP_EINVAL;
	cop_pending *table = cop_mem_alloc(1, sizeof *table);
	if (table == NULL)
		return COP_ENOMEM;
	table->d = d;
	table->sparse = sparse;
	table->max_nonzeros = max_nonzeros;
	table->max = max;
	table->key = hash_key;
	cop_memory_init(&table->memory, max);
	table->capacity = SMALLEST;
	table->slots = cop_mem_alloc(table->capacity, sizeof *table->slots);
	cop_err err = table->slots == NULL ? COP_ENOMEM : COP_OK;
	if (err == COP_OK)
		err = cop_slab_new(record_size(table, COP_EVENT_ID_MAX, max_nonzeros), &table->slab);
	if (err != COP_OK) {
		cop_pending_free(table);
		return err;
	}
	*out = table;
	return COP_OK;
}

void cop_pending_free(cop_pending *table)
{
	if (table == NULL)
		return;
	cop_slab_free(table->slab);
	cop_mem_free(table->slots);
	cop_memory_fini(&table->memory);
	cop_mem_free(table);
}

size_t cop_pending_count(const cop_pending *table) { return table->count; }
size_t cop_pending_max(const cop_pending *table) { return table->max; }

void cop_pending_set_max(cop_pending *table, size_t max)
{
	table->max = max;
	table->memory.max = max;
}

static record *record_at(const cop_pending *table, uint32_t handle) { return cop_slab_at(table->slab, handle); }

static void id_of(const record *r, cop_event_id *id)
{
	memset(id, 0, sizeof *id);
	id->kind = r->id_kind;
	id->length = r->id_length;
	memcpy(id->bytes, r + 1, r->id_length);
}

static bool same_id(const record *r, const cop_event_id *id)
{
	return r->id_kind == id->kind && r->id_length == id->length && memcmp(r + 1, id->bytes, id->length) == 0;
}

/* The id's slot, or the empty slot where it would go. The tag's bits choose the home slot, so deletion needs no id. */
static size_t slot_of(const cop_pending *table, const cop_event_id *id, uint32_t tag)
{
	size_t mask = table->capacity - 1;
	size_t at = tag & mask;
	while (table->slots[at].handle != 0) {
		if (table->slots[at].tag == tag && same_id(record_at(table, table->slots[at].handle), id))
			break;
		at = (at + 1) & mask;
	}
	return at;
}

static uint32_t tag_of(const cop_pending *table, const cop_event_id *id)
{
	return (uint32_t)(cop_event_id_hash(id, table->key) >> 32);
}

static cop_err grow(cop_pending *table)
{
	size_t capacity = table->capacity * 2;
	slot *slots = cop_mem_alloc(capacity, sizeof *slots);
	if (slots == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < table->capacity; i++) {
		if (table->slots[i].handle == 0)
			continue;
		size_t at = table->slots[i].tag & (capacity - 1);
		while (slots[at].handle != 0)
			at = (at + 1) & (capacity - 1);
		slots[at] = table->slots[i];
	}
	cop_mem_free(table->slots);
	table->slots = slots;
	table->capacity = capacity;
	return COP_OK;
}

static void fill(const cop_pending *table, record *r, const cop_event_id *id, const cop_row *x)
{
	r->id_kind = id->kind;
	r->id_length = id->length;
	memcpy(r + 1, id->bytes, id->length);
	uint8_t *context = (uint8_t *)r + context_at(id->length);
	if (!table->sparse) {
		memcpy(context, x->dense, table->d * sizeof(float));
		return;
	}
	r->nnz = (uint32_t)x->nnz;
	if (x->nnz == 0)
		return;
	memcpy(context, x->index, x->nnz * sizeof(uint32_t));
	memcpy(context + x->nnz * sizeof(uint32_t), x->value, x->nnz * sizeof(float));
}

static void append(cop_pending *table, uint32_t handle)
{
	record *r = record_at(table, handle);
	r->older = table->youngest;
	r->younger = 0;
	if (table->youngest != 0)
		record_at(table, table->youngest)->younger = handle;
	else
		table->oldest = handle;
	table->youngest = handle;
}

static cop_err insert(cop_pending *table, const cop_event_id *id, const cop_row *x, uint32_t *handle)
{
	COP_ASSERT(x->d == table->d && (x->dense == NULL) == table->sparse);
	COP_ASSERT(!table->sparse || x->nnz <= table->max_nonzeros);
	if (2 * (table->count + 1) > table->capacity) {
		cop_err err = grow(table);
		if (err != COP_OK)
			return err;
	}
	uint32_t tag = tag_of(table, id);
	size_t at = slot_of(table, id, tag);
	if (table->slots[at].handle != 0)
		return COP_EEXIST;
	if (table->count >= table->max)
		return COP_EFULL;
	cop_err err = cop_slab_take(table->slab, record_size(table, id->length, x->nnz), handle);
	if (err != COP_OK)
		return err;
	memset(record_at(table, *handle), 0, sizeof(record));
	table->slots[at] = (slot){ tag, *handle };
	table->count++;
	append(table, *handle);
	return COP_OK;
}

static void put_decision(record *r, const cop_decision *decision)
{
	r->p = decision->p;
	r->y = decision->y;
	r->rev = decision->rev;
	r->arm = decision->arm;
	r->u = decision->u;
	r->greedy = decision->greedy;
	memcpy(r->probe, decision->probe, sizeof r->probe);
	memcpy(r->prediction, decision->prediction, sizeof r->prediction);
}

cop_err cop_pending_add(cop_pending *table, const cop_event_id *id, const cop_row *x, const cop_decision *decision,
        uint64_t serial, double time)
{
	uint32_t handle;
	cop_err err = insert(table, id, x, &handle);
	if (err != COP_OK)
		return err;
	record *r = record_at(table, handle);
	fill(table, r, id, x);
	put_decision(r, decision);
	r->serial = serial;
	r->time = time;
	return COP_OK;
}

static void view(const cop_pending *table, uint32_t handle, cop_pending_entry *out)
{
	const record *r = record_at(table, handle);
	*out = (cop_pending_entry){
		.handle = handle,
		.time = r->time,
		.serial = r->serial,
		.losses = r->losses,
		.loss = { r->loss[0], r->loss[1] },
		.decision = { .arm = r->arm, .greedy = r->greedy != 0, .u = r->u, .p = r->p, .y = r->y, .rev = r->rev },
		.x = { .d = table->d },
	};
	memcpy(out->decision.probe, r->probe, sizeof r->probe);
	memcpy(out->decision.prediction, r->prediction, sizeof r->prediction);
	const uint8_t *context = (const uint8_t *)r + context_at(r->id_length);
	if (!table->sparse) {
		out->x.dense = (const float *)(const void *)context;
		return;
	}
	out->x.nnz = r->nnz;
	out->x.index = (const uint32_t *)(const void *)context;
	out->x.value = (const float *)(const void *)(context + r->nnz * sizeof(uint32_t));
}

bool cop_pending_find(const cop_pending *table, const cop_event_id *id, cop_pending_entry *out)
{
	size_t at = slot_of(table, id, tag_of(table, id));
	if (table->slots[at].handle == 0)
		return false;
	view(table, table->slots[at].handle, out);
	return true;
}

bool cop_pending_oldest(const cop_pending *table, cop_pending_entry *out)
{
	if (table->oldest == 0)
		return false;
	view(table, table->oldest, out);
	return true;
}

void cop_pending_record(cop_pending *table, const cop_pending_entry *entry)
{
	record *r = record_at(table, entry->handle);
	r->losses = entry->losses;
	memcpy(r->loss, entry->loss, sizeof r->loss);
}

static void unindex(cop_pending *table, size_t hole)
{
	size_t mask = table->capacity - 1;
	for (size_t next = (hole + 1) & mask; table->slots[next].handle != 0; next = (next + 1) & mask) {
		size_t home = table->slots[next].tag & mask;
		if (((next - home) & mask) >= ((next - hole) & mask)) {
			table->slots[hole] = table->slots[next];
			hole = next;
		}
	}
	table->slots[hole] = (slot){ 0, 0 };
}

void cop_pending_remove(cop_pending *table, const cop_pending_entry *entry, cop_remembered as, double time)
{
	record *r = record_at(table, entry->handle);
	cop_event_id id;
	id_of(r, &id);
	cop_pending_remember(table, &id, as, time);
	unindex(table, slot_of(table, &id, tag_of(table, &id)));
	if (r->older != 0)
		record_at(table, r->older)->younger = r->younger;
	else
		table->oldest = r->younger;
	if (r->younger != 0)
		record_at(table, r->younger)->older = r->older;
	else
		table->youngest = r->older;
	cop_slab_give(table->slab, entry->handle, record_size(table, r->id_length, r->nnz));
	table->count--;
}

void cop_pending_remember(cop_pending *table, const cop_event_id *id, cop_remembered as, double time)
{
	cop_memory_store(&table->memory, cop_event_id_hash(id, table->key), (uint8_t)as, time);
}

cop_remembered cop_pending_recall(const cop_pending *table, const cop_event_id *id)
{
	return (cop_remembered)cop_memory_recall(&table->memory, cop_event_id_hash(id, table->key));
}

void cop_pending_forget(cop_pending *table, double time) { cop_memory_forget(&table->memory, time); }

static void save_record(const cop_pending *table, const record *r, cop_bytes *bytes)
{
	cop_bytes_put_u8(bytes, r->id_kind);
	cop_bytes_put_u8(bytes, r->id_length);
	cop_bytes_put(bytes, r + 1, r->id_length);
	cop_bytes_put_f64(bytes, r->time);
	cop_bytes_put_f64(bytes, r->p);
	cop_bytes_put_f64(bytes, r->y);
	cop_bytes_put_f64s(bytes, r->probe, 2);
	cop_bytes_put_f64s(bytes, r->loss, 2);
	cop_bytes_put_u64(bytes, r->rev);
	cop_bytes_put_u64(bytes, r->serial);
	cop_bytes_put_u32(bytes, r->arm);
	cop_bytes_put_u32(bytes, r->losses);
	cop_bytes_put_u8(bytes, (uint8_t)r->u);
	cop_bytes_put_u8(bytes, r->greedy);
	cop_bytes_put_f32s(bytes, r->prediction, COP_LEARNER_EXPERTS);
	const uint8_t *context = (const uint8_t *)r + context_at(r->id_length);
	cop_bytes_put_u32(bytes, r->nnz);
	cop_bytes_put(bytes, context, table->sparse ? (size_t)r->nnz * 8 : table->d * sizeof(float));
}

void cop_pending_save(const cop_pending *table, cop_bytes *bytes)
{
	cop_bytes_put_u64(bytes, table->d);
	cop_bytes_put_u8(bytes, table->sparse);
	cop_bytes_put_u64(bytes, table->count);
	for (uint32_t handle = table->oldest; handle != 0; handle = record_at(table, handle)->younger)
		save_record(table, record_at(table, handle), bytes);
	cop_memory_save(&table->memory, bytes);
}

static void load_fields(cop_cursor *cursor, record *r)
{
	r->time = cop_cursor_f64(cursor);
	r->p = cop_cursor_f64(cursor);
	r->y = cop_cursor_f64(cursor);
	cop_cursor_f64s(cursor, r->probe, 2);
	cop_cursor_f64s(cursor, r->loss, 2);
	r->rev = cop_cursor_u64(cursor);
	r->serial = cop_cursor_u64(cursor);
	r->arm = cop_cursor_u32(cursor);
	r->losses = cop_cursor_u32(cursor);
	r->u = (int8_t)cop_cursor_u8(cursor);
	r->greedy = cop_cursor_u8(cursor);
	cop_cursor_f32s(cursor, r->prediction, COP_LEARNER_EXPERTS);
	r->nnz = cop_cursor_u32(cursor);
}

/* The context is checked in place, then copied into its record. */
static cop_err load_context(const cop_pending *table, uint32_t nnz, cop_cursor *cursor, cop_row *x)
{
	if (table->sparse ? nnz > table->max_nonzeros : nnz != 0)
		return COP_ESHAPE;
	size_t words = table->sparse ? (size_t)nnz : table->d;
	const uint8_t *index = cop_cursor_take(cursor, table->sparse ? words * sizeof(uint32_t) : 0);
	const uint8_t *value = cop_cursor_take(cursor, words * sizeof(float));
	if (index == NULL || value == NULL)
		return cursor->err;
	uint32_t last = 0;
	for (size_t i = 0; i < words; i++) {
		float number;
		uint32_t at = 0;
		memcpy(&number, value + i * sizeof number, sizeof number);
		if (table->sparse)
			memcpy(&at, index + i * sizeof at, sizeof at);
		if (!isfinite(number))
			return COP_ENONFINITE;
		if (at >= table->d || (i > 0 && table->sparse && at <= last))
			return COP_EFORMAT;
		last = at;
	}
	*x = (cop_row){ .d = table->d, .nnz = nnz };
	if (table->sparse) {
		x->index = (const uint32_t *)(const void *)index; /* only ever copied bytewise */
		x->value = (const float *)(const void *)value;
	} else {
		x->dense = (const float *)(const void *)value;
	}
	return COP_OK;
}

/* What a learner relies on in the decisions that it gets back. */
static bool plausible(const record *r, size_t arms)
{
	return isfinite(r->time) && r->p > 0.0 && r->p <= 1.0 && isfinite(r->y) && r->arm < arms && r->u >= -1 &&
	       r->u <= 1;
}

static cop_err load_record(cop_pending *table, size_t arms, cop_cursor *cursor)
{
	uint8_t kind = cop_cursor_u8(cursor);
	uint8_t length = cop_cursor_u8(cursor);
	const uint8_t *bytes = cop_cursor_take(cursor, length);
	cop_event_id id;
	if (bytes == NULL || kind < COP_EVENT_ID_STRING || kind > COP_EVENT_ID_NEGATIVE ||
	        !cop_event_id_from_bytes(&id, (cop_event_id_kind)kind, bytes, length))
		return COP_EFORMAT;
	record loaded = { 0 };
	load_fields(cursor, &loaded);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (!plausible(&loaded, arms))
		return COP_EFORMAT;
	cop_row x;
	cop_err err = load_context(table, loaded.nnz, cursor, &x);
	if (err != COP_OK)
		return err;
	uint32_t handle;
	err = insert(table, &id, &x, &handle);
	if (err != COP_OK)
		return err == COP_EEXIST ? COP_EFORMAT : err;
	record *r = record_at(table, handle);
	loaded.older = r->older;
	loaded.younger = r->younger;
	*r = loaded;
	fill(table, r, &id, &x);
	return COP_OK;
}

cop_err cop_pending_load(cop_pending *table, size_t arms, cop_cursor *cursor)
{
	uint64_t d = cop_cursor_u64(cursor);
	uint8_t sparse = cop_cursor_u8(cursor);
	uint64_t count = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (d != table->d || sparse != (uint8_t)table->sparse)
		return COP_ESHAPE;
	for (uint64_t i = 0; i < count; i++) {
		cop_err err = load_record(table, arms, cursor);
		if (err != COP_OK)
			return err;
	}
	return cop_memory_load(&table->memory, cursor);
}

/* Records live in a slab, chained from oldest to youngest, and are found through an open-addressing table of their
 * handles with linear probing and backward-shift deletion. Beside each handle stands a tag: how far it is from its
 * home, and a print, the bits of its id's hash behind those that make its home. So looking for an id that does not
 * wait and closing a gap seldom touch a record, which is far away in memory. Growing hashes every record's id again.
 *
 * Records that have an owner are chained with their owner's too. Of the others none is older than `unowned`, which
 * moves to the young end only, so that looking for their oldest passes each record once. */
#include "online/pending.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "learn/slab.h"
#include "online/pending_losses.h"
#include "online/pending_owners.h"
#include "online/pending_record.h"
#include "online/recent_ids.h"

#define SMALLEST 256
#define SLOT     (sizeof(uint32_t) + sizeof(uint16_t))
#define FAR      63u /* low bits of a tag: 1 + distance from home; this says: that far or farther */
#define LOW      6   /* bits of a tag below the print */
#define PRINT    10  /* bits of a print, as many as a tag has room for */
#define AHEAD    16  /* slots, while the table grows */

typedef cop_pending_record record;

struct cop_pending {
	cop_pending_shape shape;
	size_t max, count;
	size_t bytes;    /* of the records, as they count */
	size_t observed; /* of count, as unheard */
	size_t unheard;
	size_t masked;
	bool refitted, shadow; /* of the records to come */
	uint64_t key;
	cop_slab *slab;
	uint32_t *slots; /* handles */
	uint16_t *tags;  /* of the same slots; 0: empty */
	size_t capacity; /* power of two; at most 3/4 are used */
	unsigned bits;   /* of the hash that make a home: capacity's logarithm */
	uint32_t oldest, youngest;
	uint32_t unowned;          /* no record without an owner is older than this one; 0: there is none */
	size_t owned, owned_bytes; /* of count and bytes, of records that have an owner */
	cop_pending_owners owners;
	uint8_t *mask;           /* of the entry viewed last; NULL: the shape keeps none */
	cop_pending_size *sizes; /* the shape's */
	cop_recent_ids memory;
};

static size_t largest_record(const cop_pending_shape *shape)
{
	return cop_pending_record_size(shape, COP_EVENT_ID_MAX, shape->max_nonzeros, shape->max_nonzeros,
	               COP_PENDING_EXTENSIONS | (shape->masks ? COP_PENDING_MASKED : 0u)) +
	       cop_pending_losses_named(COP_NAMED_LOSSES_MOST);
}

cop_err cop_pending_new(const cop_pending_shape *shape, size_t max, uint64_t hash_key, cop_pending **out)
{
	*out = NULL;
	if (shape->d == 0 || max == 0 || max > UINT32_MAX / 4 || shape->predictions >= COP_LEARNER_EXPERTS)
		return COP_EINVAL;
	cop_pending *table = cop_mem_alloc(1, sizeof *table);
	if (table == NULL)
		return COP_ENOMEM;
	table->shape = *shape;
	table->max = max;
	table->key = hash_key;
	cop_recent_ids_init(&table->memory, max);
	table->capacity = SMALLEST;
	table->bits = (unsigned)__builtin_ctz(SMALLEST);
	table->slots = cop_mem_alloc(table->capacity, sizeof *table->slots);
	table->tags = cop_mem_alloc(table->capacity, sizeof *table->tags);
	table->mask = shape->masks ? cop_mem_alloc(shape->arms, sizeof *table->mask) : NULL;
	table->sizes = cop_mem_alloc(1, sizeof *table->sizes);
	bool room = table->slots != NULL && table->tags != NULL && table->sizes != NULL &&
	            (table->mask != NULL || !shape->masks);
	cop_err err = room ? COP_OK : COP_ENOMEM;
	if (room)
		table->sizes[0] = (cop_pending_size){ shape->d, shape->arms };
	table->shape.sizes = table->sizes;
	table->shape.size_count = 1;
	if (err == COP_OK)
		err = cop_slab_new(largest_record(shape), &table->slab);
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
	cop_mem_free(table->tags);
	cop_mem_free(table->mask);
	cop_mem_free(table->shape.row);
	cop_mem_free(table->sizes);
	cop_recent_ids_fini(&table->memory);
	cop_pending_owners_fini(&table->owners);
	cop_mem_free(table);
}

size_t cop_pending_count(const cop_pending *table) { return table->count; }
size_t cop_pending_observed(const cop_pending *table) { return table->observed; }
size_t cop_pending_unheard(const cop_pending *table) { return table->unheard; }
size_t cop_pending_masked(const cop_pending *table) { return table->masked; }
size_t cop_pending_max(const cop_pending *table) { return table->max; }

/* The index counts as large as what waits now needs, though it may have been larger: so that what gives way for want of
 * room is the same after a load. */
size_t cop_pending_bytes(const cop_pending *table)
{
	size_t capacity = SMALLEST;
	while (4 * table->count > 3 * capacity)
		capacity *= 2;
	return table->bytes + capacity * SLOT;
}

void cop_pending_set_max(cop_pending *table, size_t max)
{
	table->max = max;
	table->memory.max = max;
}

static record *record_at(const cop_pending *table, uint32_t handle) { return cop_slab_at(table->slab, handle); }

static uint64_t hash_of(const cop_pending *table, const cop_event_id *id) { return cop_event_id_hash(id, table->key); }

/* Where an id belongs, and its print. */
typedef struct place {
	size_t home;
	unsigned print;
} place;

static place place_of(const cop_pending *table, uint64_t hash)
{
	size_t word = (size_t)(hash >> 32);
	return (place){ word & (table->capacity - 1), (unsigned)(word >> table->bits) & ((1u << PRINT) - 1) };
}

static place place_of_record(const cop_pending *table, uint32_t handle)
{
	cop_event_id id;
	cop_pending_record_id(&table->shape, record_at(table, handle), &id);
	return place_of(table, hash_of(table, &id));
}

static void occupy(cop_pending *table, size_t at, uint32_t handle, place p)
{
	size_t distance = (at - p.home) & (table->capacity - 1);
	unsigned low = distance + 1 < FAR ? (unsigned)distance + 1 : FAR;
	table->slots[at] = handle;
	table->tags[at] = (uint16_t)(p.print << LOW | low);
}

/* Of an occupied slot. */
static place place_of_slot(const cop_pending *table, size_t at)
{
	unsigned low = table->tags[at] & FAR;
	if (low == FAR)
		return place_of_record(table, table->slots[at]);
	return (place){ (at - (low - 1)) & (table->capacity - 1), (unsigned)table->tags[at] >> LOW };
}

/* The id's slot, or the empty slot where it would go. */
static size_t slot_of(const cop_pending *table, const cop_event_id *id, place p)
{
	size_t at = p.home;
	while (table->tags[at] != 0) {
		bool alike = (unsigned)table->tags[at] >> LOW == p.print;
		if (alike && cop_pending_record_has_id(&table->shape, record_at(table, table->slots[at]), id))
			break;
		at = (at + 1) & (table->capacity - 1);
	}
	return at;
}

/* Every slot of a table half as large into this one, whose slots are empty. */
static void move_from(cop_pending *table, const cop_pending *old)
{
	for (size_t i = 0; i < old->capacity; i++) {
		if (i + AHEAD < old->capacity && old->tags[i + AHEAD] != 0)
			__builtin_prefetch(record_at(old, old->slots[i + AHEAD]));
		if (old->tags[i] == 0)
			continue;
		place p = place_of_record(table, old->slots[i]);
		size_t at = p.home;
		while (table->tags[at] != 0)
			at = (at + 1) & (table->capacity - 1);
		occupy(table, at, old->slots[i], p);
	}
}

static cop_err grow(cop_pending *table)
{
	const cop_pending old = *table;
	uint32_t *slots = cop_mem_alloc(2 * old.capacity, sizeof *slots);
	uint16_t *tags = cop_mem_alloc(2 * old.capacity, sizeof *tags);
	if (slots == NULL || tags == NULL) {
		cop_mem_free(slots);
		cop_mem_free(tags);
		return COP_ENOMEM;
	}
	table->slots = slots;
	table->tags = tags;
	table->capacity = 2 * old.capacity;
	table->bits = old.bits + 1;
	move_from(table, &old);
	cop_mem_free(old.slots);
	cop_mem_free(old.tags);
	return COP_OK;
}

static cop_err make_room(cop_pending *table)
{
	return 4 * (table->count + 1) > 3 * table->capacity ? grow(table) : COP_OK;
}

/* With losses it is the larger; a class of its own, so both are asked for. */
static cop_err reserve_size(cop_pending *table, const cop_pending_need *need, size_t candidate_nnz)
{
	cop_err err = COP_OK;
	unsigned compared = COP_PENDING_SHADOW | COP_PENDING_COMPARED | COP_PENDING_MEASURED;
	unsigned shadow = table->shape.arms > 0 ? compared : COP_PENDING_SHADOW;
	unsigned flags = (table->refitted ? COP_PENDING_REFITTED : 0u) | (table->shadow ? shadow : 0u) |
	                 (need->observed ? COP_PENDING_OBSERVED : 0u) |
	                 (cop_pending_record_keeps(&table->shape, need->mask) ? COP_PENDING_MASKED : 0u) |
	                 (need->owner != 0 ? COP_PENDING_OWNED : 0u);
	for (int records = 0; records < 2 && err == COP_OK; records++)
		err = cop_slab_reserve(
		        table->slab, cop_pending_record_size(&table->shape, need->id->length, need->x->nnz,
		                             candidate_nnz, flags | (records != 0 ? COP_PENDING_RECORDS : 0u)) +
		                             (records != 0 ? cop_pending_losses_named(need->names) : 0));
	return err;
}

void cop_pending_extend(cop_pending *table, bool refitted, bool shadow)
{
	table->refitted = refitted;
	table->shadow = shadow;
}

cop_err cop_pending_reserve(cop_pending *table, const cop_pending_need *need)
{
	const cop_row *candidate = need->candidate;
	cop_err err = make_room(table);
	place p = place_of(table, hash_of(table, need->id)); /* is looked at soon, and far away */
	__builtin_prefetch(&table->tags[p.home]);
	__builtin_prefetch(&table->slots[p.home], 1);
	if (err == COP_OK && need->owner != 0)
		err = cop_pending_owners_reserve(&table->owners, need->owner);
	if (err == COP_OK && need->candidates == 0)
		err = reserve_size(table, need, 0);
	for (size_t i = 0; i < need->candidates && err == COP_OK; i++)
		if (i == 0 || candidate[i].nnz != candidate[i - 1].nnz)
			err = reserve_size(table, need, candidate[i].nnz);
	return err;
}

/* To the young end of its owner's chain, or of those without an owner. */
static void append_owned(cop_pending *table, uint32_t handle, record *r)
{
	if (!(r->id_kind & COP_PENDING_OWNED_HERE)) {
		table->unowned = table->unowned == 0 ? handle : table->unowned;
		return;
	}
	cop_pending_owned own = cop_pending_record_owned(&table->shape, r);
	cop_pending_owner *owner = cop_pending_owners_find(&table->owners, own.owner);
	own.older = owner->youngest;
	own.younger = 0;
	cop_pending_record_set_owned(&table->shape, r, &own);
	if (owner->youngest != 0) {
		record *before = record_at(table, owner->youngest);
		cop_pending_owned last = cop_pending_record_owned(&table->shape, before);
		last.younger = handle;
		cop_pending_record_set_owned(&table->shape, before, &last);
	} else {
		owner->oldest = handle;
	}
	owner->youngest = handle;
}

static void set_neighbour(cop_pending *table, uint32_t handle, bool younger, uint32_t to)
{
	cop_pending_owned own = cop_pending_record_owned(&table->shape, record_at(table, handle));
	*(younger ? &own.younger : &own.older) = to;
	cop_pending_record_set_owned(&table->shape, record_at(table, handle), &own);
}

static void unchain_owned(cop_pending *table, uint32_t handle, const record *r)
{
	if (handle == table->unowned)
		table->unowned = r->younger;
	if (!(r->id_kind & COP_PENDING_OWNED_HERE))
		return;
	cop_pending_owned own = cop_pending_record_owned(&table->shape, r);
	cop_pending_owner *owner = cop_pending_owners_find(&table->owners, own.owner);
	if (own.older != 0)
		set_neighbour(table, own.older, true, own.younger);
	else
		owner->oldest = own.younger;
	if (own.younger != 0)
		set_neighbour(table, own.younger, false, own.older);
	else
		owner->youngest = own.older;
}

/* What the record adds to its owner's count and bytes, or takes from them. */
static void count_owned(cop_pending *table, const record *r, size_t size, bool add)
{
	if (!(r->id_kind & COP_PENDING_OWNED_HERE))
		return;
	cop_pending_owner *owner =
	        cop_pending_owners_find(&table->owners, cop_pending_record_owned(&table->shape, r).owner);
	owner->count += add ? 1 : (size_t)-1;
	owner->bytes += add ? size : -size;
	if (cop_pending_record_masked(&table->shape, r))
		owner->masked += add ? 1 : (size_t)-1;
	table->owned += add ? 1 : (size_t)-1;
	table->owned_bytes += add ? size : -size;
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
	append_owned(table, handle, r);
}

static void unchain(cop_pending *table, uint32_t handle, const record *r)
{
	unchain_owned(table, handle, r);
	if (r->older != 0)
		record_at(table, r->older)->younger = r->younger;
	else
		table->oldest = r->younger;
	if (r->younger != 0)
		record_at(table, r->younger)->older = r->older;
	else
		table->youngest = r->older;
}

cop_err cop_pending_add(cop_pending *table, const cop_event_id *id, const cop_pending_entry *entry, uint32_t *handle)
{
	const cop_pending_shape *shape = &table->shape;
	COP_ASSERT(entry->x.d == shape->d && (entry->x.dense == NULL) == shape->sparse);
	COP_ASSERT(!shape->sparse || entry->x.nnz <= shape->max_nonzeros);
	COP_ASSERT(entry->candidate.d == shape->candidate_d);
	COP_ASSERT(!shape->sparse || entry->candidate.nnz <= shape->max_nonzeros);
	cop_err err = make_room(table);
	if (err != COP_OK)
		return err;
	place p = place_of(table, hash_of(table, id));
	size_t at = slot_of(table, id, p);
	if (table->tags[at] != 0)
		return COP_EEXIST;
	if (table->count >= table->max)
		return COP_EFULL;
	err = entry->owner == 0 ? COP_OK : cop_pending_owners_reserve(&table->owners, entry->owner);
	if (err != COP_OK)
		return err;
	const unsigned flags = cop_pending_record_flags(shape, entry);
	size_t size = cop_pending_record_size(shape, id->length, entry->x.nnz, entry->candidate.nnz, flags) +
	              (entry->records ? cop_pending_losses_named(entry->names) : 0);
	err = cop_slab_take(table->slab, size, handle);
	if (err != COP_OK)
		return err;
	cop_pending_record_fill(shape, record_at(table, *handle), id, entry);
	occupy(table, at, *handle, p);
	table->count++;
	table->observed += entry->observed && !entry->split;
	table->unheard += entry->unheard;
	table->masked += (flags & COP_PENDING_MASKED) != 0;
	table->bytes += size;
	count_owned(table, record_at(table, *handle), size, true);
	append(table, *handle);
	return COP_OK;
}

static void view(const cop_pending *table, uint32_t handle, cop_pending_entry *out)
{
	cop_pending_record_view(&table->shape, record_at(table, handle), table->mask, out);
	out->handle = handle;
}

bool cop_pending_find(const cop_pending *table, const cop_event_id *id, cop_pending_entry *out)
{
	size_t at = slot_of(table, id, place_of(table, hash_of(table, id)));
	if (table->tags[at] == 0)
		return false;
	view(table, table->slots[at], out);
	return true;
}

bool cop_pending_oldest(const cop_pending *table, cop_pending_entry *out)
{
	if (table->oldest == 0)
		return false;
	view(table, table->oldest, out);
	return true;
}

size_t cop_pending_visit(const cop_pending *table, size_t most, cop_pending_visitor *visitor, void *context)
{
	size_t visited = 0;
	bool go_on = true;
	for (uint32_t handle = table->youngest; handle != 0 && visited < most && go_on; visited++) {
		cop_pending_entry entry;
		cop_event_id id;
		view(table, handle, &entry);
		cop_pending_id(table, &entry, &id);
		handle = record_at(table, handle)->older;
		go_on = visitor(context, &id, &entry);
	}
	return visited;
}

size_t cop_pending_owned_count(const cop_pending *table, uint32_t owner)
{
	const cop_pending_owner *found = owner == 0 ? NULL : cop_pending_owners_find(&table->owners, owner);
	return owner == 0 ? table->count - table->owned : found == NULL ? 0 : found->count;
}

/* Moves `unowned` on. */
static uint32_t oldest_unowned(cop_pending *table)
{
	while (table->unowned != 0 && record_at(table, table->unowned)->id_kind & COP_PENDING_OWNED_HERE)
		table->unowned = record_at(table, table->unowned)->younger;
	return table->unowned;
}

bool cop_pending_owned_oldest(cop_pending *table, uint32_t owner, cop_pending_entry *out)
{
	const cop_pending_owner *found = owner == 0 ? NULL : cop_pending_owners_find(&table->owners, owner);
	uint32_t handle = owner == 0 ? oldest_unowned(table) : found == NULL ? 0 : found->oldest;
	if (handle == 0)
		return false;
	view(table, handle, out);
	return true;
}

bool cop_pending_gives_way(cop_pending *table, uint32_t newcomer, bool by_bytes, cop_pending_entry *out)
{
	if (table->owned == 0) /* as all are nobody's */
		return cop_pending_oldest(table, out);
	const cop_pending_owner nobody = { .count = table->count - table->owned,
		.bytes = table->bytes - table->owned_bytes };
	const cop_pending_owner *largest = cop_pending_owners_largest(&table->owners, by_bytes);
	const cop_pending_owner *own = newcomer == 0 ? &nobody : cop_pending_owners_find(&table->owners, newcomer);
	if (cop_pending_owners_size(&nobody, by_bytes) > cop_pending_owners_size(largest, by_bytes))
		largest = &nobody;
	bool most = own != NULL && cop_pending_owners_size(own, by_bytes) >= cop_pending_owners_size(largest, by_bytes);
	return cop_pending_owned_oldest(table, most ? newcomer : largest->owner, out);
}

void cop_pending_id(const cop_pending *table, const cop_pending_entry *entry, cop_event_id *id)
{
	cop_pending_record_id(&table->shape, record_at(table, entry->handle), id);
}

void cop_pending_record_loss(cop_pending *table, const cop_pending_entry *entry)
{
	cop_pending_losses_put(record_at(table, entry->handle), entry);
}

void cop_pending_get_named(const cop_pending *table, const cop_pending_entry *entry, cop_loss_values *out)
{
	cop_pending_losses_get_named(record_at(table, entry->handle), out);
}

void cop_pending_record_named(cop_pending *table, const cop_pending_entry *entry, const cop_loss_values *losses)
{
	cop_pending_losses_put_named(record_at(table, entry->handle), losses);
}

void cop_pending_rename(cop_pending *table, const int8_t from[COP_NAMED_LOSSES_MOST])
{
	for (uint32_t handle = table->oldest; handle != 0; handle = record_at(table, handle)->younger) {
		cop_loss_values was, is = { .told = 0 };
		cop_pending_losses_get_named(record_at(table, handle), &was);
		for (size_t i = 0; i < COP_NAMED_LOSSES_MOST && was.told != 0; i++) {
			bool told = from[i] >= 0 && (was.told >> from[i] & 1u) != 0;
			is.told |= (uint32_t)told << i;
			is.value[i] = told ? was.value[from[i]] : 0.0;
		}
		if (was.told != 0)
			cop_pending_losses_put_named(record_at(table, handle), &is);
	}
}

static void set_unheard(cop_pending *table, record *r, bool unheard)
{
	table->unheard -= (r->id_kind & COP_PENDING_UNHEARD) != 0;
	table->unheard += unheard;
	r->id_kind = (uint8_t)((r->id_kind & ~COP_PENDING_UNHEARD) | (unheard ? COP_PENDING_UNHEARD : 0));
}

void cop_pending_mark_unheard(cop_pending *table, const cop_pending_entry *entry)
{
	set_unheard(table, record_at(table, entry->handle), true);
}

void cop_pending_activate(cop_pending *table, const cop_pending_entry *entry, double time)
{
	record *r = record_at(table, entry->handle);
	r->flags = (uint8_t)(r->flags & ~COP_PENDING_DEFERRED);
	set_unheard(table, r, false);
	r->time = time;
	unchain(table, entry->handle, r);
	append(table, entry->handle);
}

static void unindex(cop_pending *table, size_t hole)
{
	size_t mask = table->capacity - 1;
	for (size_t next = (hole + 1) & mask; table->tags[next] != 0; next = (next + 1) & mask) {
		place p = place_of_slot(table, next);
		if (((next - p.home) & mask) < ((next - hole) & mask))
			continue;
		occupy(table, hole, table->slots[next], p);
		hole = next;
	}
	table->tags[hole] = 0;
}

void cop_pending_remove(cop_pending *table, const cop_pending_entry *entry, cop_recent_ids_why as, double time)
{
	const record *r = record_at(table, entry->handle);
	size_t size = cop_pending_record_bytes(&table->shape, r),
	       counted = cop_pending_record_counted(&table->shape, r);
	table->observed -= cop_pending_record_is_observed(r);
	table->unheard -= (r->id_kind & COP_PENDING_UNHEARD) != 0;
	table->masked -= cop_pending_record_masked(&table->shape, r);
	cop_event_id id;
	cop_pending_record_id(&table->shape, r, &id);
	uint64_t hash = hash_of(table, &id);
	cop_recent_ids_soon(&table->memory, hash);
	unindex(table, slot_of(table, &id, place_of(table, hash)));
	count_owned(table, r, counted, false);
	unchain(table, entry->handle, r);
	cop_slab_give(table->slab, entry->handle, size);
	cop_recent_ids_store(&table->memory, hash, (uint8_t)as, time);
	table->count--;
	table->bytes -= counted;
}

void cop_pending_remember(cop_pending *table, const cop_event_id *id, cop_recent_ids_why as, double time)
{
	cop_recent_ids_store(&table->memory, hash_of(table, id), (uint8_t)as, time);
}

cop_recent_ids_why cop_pending_recall(const cop_pending *table, const cop_event_id *id)
{
	return (cop_recent_ids_why)cop_recent_ids_recall(&table->memory, hash_of(table, id));
}

void cop_pending_forget(cop_pending *table, double time) { cop_recent_ids_forget(&table->memory, time); }

void cop_pending_save(const cop_pending *table, cop_bytes *bytes)
{
	const cop_pending_shape *shape = &table->shape;
	cop_bytes_put_u64(bytes, shape->d);
	cop_bytes_put_u8(bytes, shape->sparse);
	cop_bytes_put_u64(bytes, shape->predictions);
	if (shape->candidate_d != 0)
		cop_bytes_put_u64(bytes, shape->candidate_d);
	cop_bytes_put_u64(bytes, table->count);
	for (uint32_t handle = table->oldest; handle != 0; handle = record_at(table, handle)->younger)
		cop_pending_record_save(shape, record_at(table, handle), bytes);
	cop_recent_ids_save(&table->memory, bytes);
}

void cop_pending_expect(cop_pending *table, size_t arms, size_t features, size_t known)
{
	table->shape.saved_arms = arms;
	table->shape.saved_d = table->shape.sparse ? 0 : features;
	table->shape.known = table->shape.sparse ? 0 : known;
}

/* Room for rows that are shorter than the shape's. */
static bool make_row(cop_pending *table, size_t d)
{
	cop_pending_shape *shape = &table->shape;
	if (d != 0 && d < shape->d && shape->row == NULL)
		shape->row = cop_mem_alloc(shape->d, sizeof *shape->row);
	return d == 0 || d >= shape->d || shape->row != NULL;
}

cop_err cop_pending_load(cop_pending *table, cop_cursor *cursor)
{
	const cop_pending_shape *shape = &table->shape;
	uint64_t d = cop_cursor_u64(cursor);
	uint8_t sparse = cop_cursor_u8(cursor);
	uint64_t predictions = cop_cursor_u64(cursor);
	uint64_t candidate_d = shape->candidate_d != 0 ? cop_cursor_u64(cursor) : 0;
	uint64_t count = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (d != (shape->saved_d != 0 ? shape->saved_d : shape->d) || sparse != (uint8_t)shape->sparse ||
	        predictions != shape->predictions || candidate_d != shape->candidate_d)
		return COP_ESHAPE;
	if (!make_row(table, shape->saved_d))
		return COP_ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		cop_event_id id;
		cop_pending_entry entry;
		uint32_t handle;
		cop_err err = cop_pending_record_load(shape, cursor, table->mask, &id, &entry);
		if (err == COP_OK)
			err = cop_pending_add(table, &id, &entry, &handle);
		if (err != COP_OK)
			return err == COP_EEXIST ? COP_EFORMAT : err;
	}
	return cop_recent_ids_load(&table->memory, cursor);
}

/* What `count` records count more with so many bytes of mask, of which `masked` had one of `before` bytes. */
static size_t more_bytes(size_t count, size_t masked, size_t bytes, size_t before)
{
	return count * bytes - masked * before;
}

/* All that wait have a mask from here on: that of new arms is known without one. */
static void mask_all(cop_pending *table, size_t arms)
{
	const size_t bytes = (table->shape.arms + 7) / 8, before = (arms + 7) / 8;
	table->bytes += more_bytes(table->count, table->masked, bytes, before);
	table->masked = table->count;
	for (size_t i = 0; i < table->owners.capacity; i++) {
		cop_pending_owner *owner = &table->owners.items[i];
		const size_t more = more_bytes(owner->count, owner->masked, bytes, before);
		owner->bytes += more;
		table->owned_bytes += more;
		owner->masked = owner->count;
	}
}

/* The contexts of all that wait have further values from here on. */
static void widen_all(cop_pending *table, size_t d)
{
	const size_t more = (table->shape.d - d) * sizeof(float);
	table->bytes += table->count * more;
	table->owned_bytes += table->owned * more;
	for (size_t i = 0; i < table->owners.capacity; i++)
		table->owners.items[i].bytes += table->owners.items[i].count * more;
}

/* Of a table in which nothing waits no size counts. */
static size_t sizes_kept(const cop_pending *from) { return from->count == 0 ? 0 : from->shape.size_count; }

cop_err cop_pending_make_room(cop_pending *table, const cop_pending *from)
{
	const size_t kept = sizes_kept(from);
	if (kept + 1 > COP_PENDING_SIZES)
		return COP_ESHAPE;
	cop_pending_size *sizes = cop_mem_resize(table->sizes, table->shape.size_count, kept + 1, sizeof *sizes);
	if (sizes == NULL)
		return COP_ENOMEM;
	table->sizes = sizes;
	table->shape.sizes = sizes;
	return table->shape.sparse || kept == 0 || make_row(table, from->sizes[0].d) ? COP_OK : COP_ENOMEM;
}

/* The other's sizes, before the table's own, which is the newest. */
static void inherit_sizes(cop_pending *table, const cop_pending *from)
{
	const size_t kept = sizes_kept(from);
	memcpy(table->sizes, from->sizes, kept * sizeof *table->sizes);
	table->sizes[kept] = (cop_pending_size){ table->shape.d, table->shape.arms };
	table->shape.size_count = kept + 1;
}

void cop_pending_inherit(cop_pending *table, cop_pending *from)
{
	inherit_sizes(table, from);
	const cop_pending_shape shape = table->shape, before = from->shape;
	COP_ASSERT(table->count == 0 && table->key == from->key && before.arms <= shape.arms);
	COP_ASSERT(before.d <= shape.d && shape.sparse == before.sparse && shape.predictions == before.predictions &&
	           shape.candidate_d == before.candidate_d && shape.masks == before.masks);
	COP_ASSERT(!shape.sparse || before.d == shape.d);
	cop_mem_exchange(table, from, sizeof *table);
	cop_mem_exchange(&table->shape, &from->shape, sizeof shape);
	cop_mem_exchange(&table->mask, &from->mask, sizeof table->mask);
	cop_mem_exchange(&table->sizes, &from->sizes, sizeof table->sizes);
	cop_slab_widen(table->slab, largest_record(&shape));
	if (before.d < shape.d)
		widen_all(table, before.d);
	if (shape.masks && before.arms < shape.arms)
		mask_all(table, before.arms);
}

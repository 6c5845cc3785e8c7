/* Dense: columns stand in a name table; hints are the columns in the order in which rows name them, each knowing its
 * column (slot), and a new column's hint is put where the row was when it came. A name that no hint near the lane's
 * place has is looked up, and the lane goes on behind it.
 * Hashed: a row is a list of entries, which is sorted at its end; no hint counts. */
#include "events/feature_space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/mem.h"
#include "events/feature_space_private.h"

#define NEAR   8          /* hints that are tried before a name is looked up */
#define NO_ONE UINT32_MAX /* number of a namespace that has no columns */

/* ---- life ---- */

static cop_err check_settings(const cop_feature_space_settings *settings, cop_diag *diag)
{
	if (settings->bits > COP_FEATURE_SPACE_MAX_BITS) {
		cop_diag_message(diag, "bits are %u; expected 1 to %d", settings->bits, COP_FEATURE_SPACE_MAX_BITS);
		return COP_EINVAL;
	}
	if (settings->dense && settings->pair_count > 0) {
		cop_diag_message(diag, "pairs of namespaces need hashed features");
		return COP_EINVAL;
	}
	for (size_t i = 0; i < settings->pair_count; i++)
		if (strlen(settings->pairs[i]) != 2) {
			cop_diag_message(diag,
			        "pair \"%s\"; expected the first characters of two namespaces (':' is any)",
			        settings->pairs[i]);
			return COP_EINVAL;
		}
	return COP_OK;
}

static void choose_namespaces(cop_feature_space *space, const char *keep, const char *ignore)
{
	for (size_t i = 0; i < COP_FEATURE_GROUPS; i++)
		space->kept[i] = keep == NULL;
	for (; keep != NULL && *keep != '\0'; keep++)
		space->kept[(uint8_t)*keep] = true;
	for (; ignore != NULL && *ignore != '\0'; ignore++)
		space->kept[(uint8_t)*ignore] = false;
}

static cop_err columns_room(cop_feature_space *space)
{
	size_t count = space->columns.count;
	if (count < space->column_room)
		return COP_OK;
	size_t room = space->column_room == 0 ? 64 : space->column_room * 2;
	cop_name_order_hint *hint = cop_mem_resize(space->hint, count, room, sizeof *hint);
	space->hint = hint != NULL ? hint : space->hint;
	uint32_t *place_of = cop_mem_resize(space->place_of, count, room, sizeof *place_of);
	space->place_of = place_of != NULL ? place_of : space->place_of;
	float *slot = cop_mem_resize(space->slot, count, room, sizeof *slot);
	space->slot = slot != NULL ? slot : space->slot;
	space->lane.hint = space->hint;
	space->lane.slot = space->slot;
	if (hint == NULL || place_of == NULL || slot == NULL)
		return COP_ENOMEM;
	space->column_room = room;
	return COP_OK;
}

cop_err cop_feature_space_make(bool dense, unsigned bits, bool hash_all, cop_feature_space **out)
{
	cop_feature_space *space = cop_mem_alloc(1, sizeof *space);
	if (space == NULL)
		return COP_ENOMEM;
	space->dense = dense;
	space->bits = bits == 0 ? COP_FEATURE_SPACE_BITS : bits;
	space->mask = (1u << space->bits) - 1;
	space->hash_all = hash_all;
	space->old_namespaces = 1;
	cop_bytes_init(&space->both);
	uint32_t number;
	cop_err err = COP_OK;
	if (dense) {
		err = cop_name_table_add(&space->namespaces, 0, (cop_name_prefix){ 0 }, "", 0, &number);
		if (err == COP_OK)
			err = columns_room(space);
	}
	if (err != COP_OK)
		cop_feature_space_free(space);
	else
		*out = space;
	return err;
}

static cop_err no_memory(cop_diag *diag)
{
	cop_diag_message(diag, "out of memory");
	return COP_ENOMEM;
}

cop_err cop_feature_space_new(const cop_feature_space_settings *settings, cop_feature_space **out, cop_diag *diag)
{
	*out = NULL;
	cop_err err = check_settings(settings, diag);
	if (err != COP_OK)
		return err;
	cop_feature_space *space;
	if (cop_feature_space_make(settings->dense, settings->bits, settings->hash_all, &space) != COP_OK)
		return no_memory(diag);
	choose_namespaces(space, settings->keep, settings->ignore);
	space->pairs = cop_mem_alloc(settings->pair_count, sizeof *space->pairs);
	if (space->pairs == NULL) {
		cop_feature_space_free(space);
		return no_memory(diag);
	}
	space->pair_count = settings->pair_count;
	for (size_t i = 0; i < settings->pair_count; i++)
		space->pairs[i] = (cop_feature_pair){ (uint8_t)settings->pairs[i][0], (uint8_t)settings->pairs[i][1] };
	*out = space;
	return COP_OK;
}

void cop_feature_space_free(cop_feature_space *space)
{
	if (space == NULL)
		return;
	cop_name_table_fini(&space->columns);
	cop_name_table_fini(&space->namespaces);
	cop_feature_entries_fini(&space->entries);
	cop_feature_parts_fini(&space->parts);
	cop_place_names_free(space->names);
	cop_bytes_fini(&space->both);
	cop_mem_free(space->hint);
	cop_mem_free(space->place_of);
	cop_mem_free(space->slot);
	cop_mem_free(space->pairs);
	cop_mem_free(space);
}

size_t cop_feature_space_dimension(const cop_feature_space *space)
{
	return space->dense ? space->columns.count : (size_t)1 << space->bits;
}

bool cop_feature_space_is_dense(const cop_feature_space *space) { return space->dense; }
void cop_feature_space_freeze(cop_feature_space *space) { space->frozen = true; }
void cop_feature_space_set_known(cop_feature_space *space, size_t known) { space->known = known; }
uint64_t cop_feature_space_dropped(const cop_feature_space *space) { return space->dropped; }
cop_name_order *cop_feature_space_lane(cop_feature_space *space) { return &space->lane; }
size_t cop_feature_space_features(const cop_feature_space *space) { return space->lane.features; }
cop_err cop_feature_space_failure(const cop_feature_space *space) { return space->err; }
bool cop_feature_space_has_pairs(const cop_feature_space *space) { return space->pair_count > 0; }

bool cop_feature_space_is_plain(const cop_feature_space *space)
{
	return !space->dense && !space->hash_all && space->pair_count == 0 && space->kept[' '];
}

cop_err cop_feature_space_reserve(cop_feature_space *space, size_t entries)
{
	if (space->dense)
		return COP_OK;
	cop_err err = cop_feature_entries_reserve(&space->entries, entries);
	return err == COP_OK && space->pair_count > 0 ? cop_feature_parts_reserve(&space->parts, 2 * entries) : err;
}

cop_place_names *cop_feature_space_names(const cop_feature_space *space) { return space->names; }

void cop_feature_space_take_names(cop_feature_space *space, cop_place_names **names)
{
	COP_ASSERT(!space->dense && (*names)->mask == space->mask);
	cop_place_names_free(space->names);
	space->names = *names;
	*names = NULL;
}

/* A table of another bound has what the one before had, as if it came from a file. */
cop_err cop_feature_space_keep_names(cop_feature_space *space, size_t bytes)
{
	cop_bytes saved;
	cop_cursor cursor;
	cop_place_names *names = NULL;
	if (space->dense || (space->names != NULL && cop_place_names_bound(space->names) == bytes))
		return COP_OK;
	cop_bytes_init(&saved);
	if (space->names != NULL)
		cop_place_names_save(space->names, &saved);
	cop_cursor_init(&cursor, saved.data, saved.length);
	cop_err err = saved.err;
	if (err == COP_OK && bytes > 0)
		err = space->names == NULL ? cop_place_names_new(bytes, space->bits, &names)
		                           : cop_place_names_load(&cursor, bytes, space->bits, &names);
	cop_bytes_fini(&saved);
	if (err != COP_OK)
		return err;
	cop_place_names_free(space->names);
	space->names = names;
	return COP_OK;
}

size_t cop_feature_space_find(
        const cop_feature_space *space, const char *namespace, size_t namespace_length, const char *name, size_t length)
{
	uint32_t of = cop_name_table_find(&space->namespaces, 0, namespace, namespace_length);
	uint32_t column = of == COP_NAME_NONE ? COP_NAME_NONE : cop_name_table_find(&space->columns, of, name, length);
	return column == COP_NAME_NONE ? SIZE_MAX : column;
}

const char *cop_feature_space_column(const cop_feature_space *space, size_t column)
{
	const cop_name *name = &space->columns.name[column];
	return name->text - name->prefix;
}

/* ---- beginning ---- */

static void begin_dense(cop_feature_space *space)
{
	if (!space->candidate) {
		space->old_columns = space->columns.count;
		space->old_namespaces = space->namespaces.count;
	}
	memset(space->slot, 0, space->columns.count * sizeof *space->slot);
	for (size_t i = space->known; i < space->columns.count && space->known > 0; i++)
		space->slot[i] = -0.0F; /* which no sum with a value is */
	space->lane.count = space->columns.count;
	space->lane.at = space->first_hint[space->candidate];
	space->first_put = true;
}

static void begin_hashed(cop_feature_space *space)
{
	if (space->names != NULL)
		cop_place_names_row(space->names);
	space->entries.count = 0;
	if (!space->candidate)
		space->parts.shared = 0;
	space->parts.count = space->parts.shared;
}

static void begin(cop_feature_space *space, bool candidate)
{
	space->err = COP_OK;
	space->candidate = candidate;
	space->lane.features = 0;
	if (space->dense)
		begin_dense(space);
	else
		begin_hashed(space);
	cop_feature_space_namespace(space, "", 0, 1.0);
}

void cop_feature_space_begin(cop_feature_space *space) { begin(space, false); }
void cop_feature_space_begin_candidate(cop_feature_space *space) { begin(space, true); }

static uint32_t hash_name(const cop_feature_space *space, const char *name, size_t length, uint32_t seed)
{
	return space->hash_all && length > 0 ? cop_hash_murmur3(name, length, seed)
	                                     : cop_hash_feature(name, length, seed);
}

static void fail(cop_feature_space *space, cop_err err)
{
	if (space->err == COP_OK)
		space->err = err;
	space->lane.open = false;
}

/* The namespace's number; NO_ONE when it cannot have columns any more. */
static uint32_t namespace_number(cop_feature_space *space, const char *name, size_t length)
{
	if (space->lane.at < space->lane.count) { /* most likely the next hint's */
		uint32_t likely = space->lane.hint[space->lane.at].space;
		const cop_name *known = &space->namespaces.name[likely];
		if (known->length == length && memcmp(known->text, name, length) == 0)
			return likely;
	}
	uint32_t number = cop_name_table_find(&space->namespaces, 0, name, length);
	if (number != COP_NAME_NONE || space->frozen)
		return number;
	cop_err err = cop_name_table_add(&space->namespaces, 0, (cop_name_prefix){ 0 }, name, length, &number);
	if (err != COP_OK)
		fail(space, err);
	return number;
}

void cop_feature_space_namespace(cop_feature_space *space, const char *name, size_t length, double scale)
{
	cop_name_order *lane = &space->lane;
	space->group = length == 0 ? ' ' : (uint8_t)name[0];
	space->keeping = space->kept[space->group];
	lane->scale = scale;
	lane->open = space->keeping && space->err == COP_OK && space->dense;
	if (!space->keeping || space->err != COP_OK)
		return;
	lane->space = space->dense ? namespace_number(space, name, length) : hash_name(space, name, length, 0);
	space->space_name = name;
	space->space_name_length = length;
}

/* ---- putting ---- */

/* Digits without a leading zero, below 2^32 - 1; UINT32_MAX for any other text. */
static uint32_t ordinal_of(const char *name, size_t length)
{
	uint64_t value = 0;
	if (length == 0 || length > 10 || (length > 1 && name[0] == '0'))
		return UINT32_MAX;
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)(name[i] - '0') > 9)
			return UINT32_MAX;
		value = value * 10 + (uint64_t)(name[i] - '0');
	}
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void hint_set(cop_name_order_hint *hint, const char *name, size_t length, uint32_t space, uint32_t slot)
{
	size_t head = length < sizeof hint->head ? length : sizeof hint->head;
	*hint = (cop_name_order_hint){ .name = name,
		.length = (uint32_t)length,
		.space = space,
		.slot = slot,
		.ordinal = ordinal_of(name, length) };
	memcpy(&hint->head, name, head);
	memset(&hint->mask, 0xff, head);
}

void cop_feature_space_add_column(cop_feature_space *space, const char *name, size_t length)
{
	cop_name_order *lane = &space->lane;
	if (space->columns.count >= COP_FEATURE_SPACE_MAX_DENSE) {
		fail(space, COP_EFULL);
		return;
	}
	cop_err err = columns_room(space);
	const cop_name *namespace = &space->namespaces.name[lane->space];
	char *prefix = NULL;
	if (err == COP_OK && namespace->length > 0) {
		prefix = cop_mem_alloc((size_t) namespace->length + 1, 1);
		if (prefix == NULL)
			err = COP_ENOMEM;
		else
			memcpy(prefix, namespace->text, namespace->length);
	}
	uint32_t column = 0;
	if (err == COP_OK) {
		cop_name_prefix before = { prefix, prefix == NULL ? 0 : (size_t) namespace->length + 1 };
		if (prefix != NULL)
			prefix[namespace->length] = '^';
		err = cop_name_table_add(&space->columns, lane->space, before, name, length, &column);
	}
	cop_mem_free(prefix);
	if (err != COP_OK) {
		fail(space, err);
		return;
	}
	size_t at = lane->at < lane->count ? lane->at : lane->count;
	memmove(space->hint + at + 1, space->hint + at, (lane->count - at) * sizeof *space->hint);
	const cop_name *kept = &space->columns.name[column];
	hint_set(&space->hint[at], kept->text, kept->length, lane->space, column);
	lane->count++;
	for (size_t i = at; i < lane->count; i++)
		space->place_of[space->hint[i].slot] = (uint32_t)i;
	space->slot[column] = 0.0F;
}

/* Whether one of the next hints is this one; the lane stands at it then. */
static bool find_near(cop_name_order *lane, const char *name, size_t length)
{
	if (!lane->open)
		return false;
	size_t end = lane->count - lane->at < NEAR ? lane->count : lane->at + NEAR;
	for (size_t i = lane->at; i < end; i++) {
		const cop_name_order_hint *hint = &lane->hint[i];
		if (hint->length != length || hint->space != lane->space)
			continue;
		if (memcmp(hint->name, name, length) == 0) {
			lane->at = i;
			return true;
		}
	}
	return false;
}

static void put_dense(cop_feature_space *space, const char *name, size_t length, float value)
{
	cop_name_order *lane = &space->lane;
	if (!find_near(lane, name, length)) {
		uint32_t column = lane->space == NO_ONE
		                          ? COP_NAME_NONE
		                          : cop_name_table_find(&space->columns, lane->space, name, length);
		if (column == COP_NAME_NONE && space->frozen) {
			space->dropped++;
			lane->features += value != 0.0F;
			return;
		}
		if (column == COP_NAME_NONE)
			cop_feature_space_add_column(space, name, length);
		else
			lane->at = space->place_of[column];
		if (space->err != COP_OK)
			return;
	}
	if (space->first_put)
		space->first_hint[space->candidate] = lane->at;
	space->first_put = false;
	cop_name_order_put(lane, &lane->hint[lane->at], value);
}

static void put_listed(cop_feature_space *space, uint32_t hash, float value)
{
	if (value == 0.0F)
		return;
	cop_err err = cop_feature_entries_grow(&space->entries, COP_FEATURE_SPACE_MAX_ENTRIES);
	if (err == COP_OK && space->pair_count > 0) {
		cop_feature_part part = { hash, value, space->group, false };
		err = cop_feature_parts_add(&space->parts, &part, COP_FEATURE_SPACE_MAX_ENTRIES);
	}
	if (err != COP_OK) {
		fail(space, err);
		return;
	}
	space->entries.entry[space->entries.count++] = (cop_feature_entry){ hash & space->mask, value };
	space->lane.features++;
}

/* The feature of that hash is called so: a name, a name with a text, or the number of one without a name. */
static void name_place(
        cop_feature_space *space, uint32_t hash, const char *name, size_t length, const char *text, size_t text_length)
{
	const cop_place_name whole = { space->space_name, name, text, space->space_name_length,
		name != NULL ? length : 0, text_length, length };
	cop_place_names_meet(space->names, hash, &whole);
}

static inline bool wants_name(const cop_feature_space *space, uint32_t hash)
{
	return space->names != NULL && cop_place_names_wants(space->names, hash & space->mask);
}

static void put_named(cop_feature_space *space, const char *name, size_t length, uint32_t hash, float value)
{
	if (wants_name(space, hash))
		name_place(space, hash, name, length, NULL, 0);
	put_listed(space, hash, value);
}

/* false: nothing more is to be done. */
static bool value_of(cop_feature_space *space, double value, float *out)
{
	*out = (float)(value * space->lane.scale);
	if (!space->keeping || space->err != COP_OK)
		return false;
	if (!isfinite(*out))
		fail(space, COP_ENONFINITE);
	return space->err == COP_OK;
}

void cop_feature_space_put(cop_feature_space *space, const char *name, size_t length, double value)
{
	float v;
	if (!value_of(space, value, &v))
		return;
	if (space->dense)
		put_dense(space, name, length, v);
	else
		put_named(space, name, length, hash_name(space, name, length, space->lane.space), v);
}

void cop_feature_space_put_unnamed(cop_feature_space *space, size_t ordinal, double value)
{
	float v;
	char name[24];
	if (!value_of(space, value, &v))
		return;
	if (space->dense) {
		int length = snprintf(name, sizeof name, "%zu", ordinal);
		put_dense(space, name, (size_t)length, v);
		return;
	}
	put_named(space, NULL, ordinal, space->lane.space + (uint32_t)ordinal, v);
}

void cop_feature_space_put_text(
        cop_feature_space *space, const char *name, size_t length, const char *text, size_t text_length)
{
	float v;
	if (!value_of(space, 1.0, &v))
		return;
	if (!space->dense) {
		uint32_t seed = hash_name(space, name, length, space->lane.space);
		uint32_t hash = hash_name(space, text, text_length, seed);
		if (wants_name(space, hash))
			name_place(space, hash, name, length, text, text_length);
		put_listed(space, hash, v);
		return;
	}
	cop_bytes *both = &space->both;
	cop_bytes_clear(both);
	cop_bytes_put(both, name, length);
	cop_bytes_put(both, ":", 1);
	cop_bytes_put(both, text, text_length);
	if (both->err != COP_OK)
		fail(space, both->err);
	else
		put_dense(space, (const char *)both->data, both->length, v);
}

void cop_feature_space_put_place(cop_feature_space *space, size_t place, double value)
{
	float v = (float)value;
	COP_ASSERT(place < cop_feature_space_dimension(space));
	if (space->err != COP_OK)
		return;
	if (!isfinite(v)) {
		fail(space, COP_ENONFINITE);
		return;
	}
	space->lane.features += v != 0.0F;
	if (space->dense) {
		space->slot[place] += v;
		return;
	}
	cop_err err = cop_feature_entries_grow(&space->entries, COP_FEATURE_SPACE_MAX_ENTRIES);
	if (err != COP_OK)
		fail(space, err);
	else if (v != 0.0F)
		space->entries.entry[space->entries.count++] = (cop_feature_entry){ (uint32_t)place, v };
}

cop_err cop_feature_space_add_columns(cop_feature_space *space, const char *const *names, size_t count)
{
	cop_feature_room room = { 0 };
	cop_feature_span span;
	size_t features;
	space->frozen = false;
	cop_feature_space_begin(space);
	for (size_t i = 0; i < count; i++) {
		const char *caret = strchr(names[i], '^');
		const char *feature = caret == NULL ? names[i] : caret + 1;
		cop_feature_space_namespace(space, names[i], caret == NULL ? 0 : (size_t)(caret - names[i]), 1.0);
		cop_feature_space_put(space, feature, strlen(feature), 0.0);
	}
	cop_err err = cop_feature_space_end(space, &room, &span, &features);
	cop_feature_room_fini(&room);
	cop_feature_space_freeze(space);
	return err;
}

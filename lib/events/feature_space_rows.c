/* A dense row's slots, or a sorted list, become a row; a list's equal places add up in the order in which they were
 * put. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "events/feature_space_private.h"

/* Room for `more` entries behind `used`. */
static cop_err room_grow(cop_feature_room *room, size_t more, bool indices)
{
	if (more > COP_FEATURE_ROOM_MAX - room->used)
		return COP_EFULL;
	size_t want = room->used + more;
	if (want <= room->capacity && room->value != NULL && (!indices || room->index != NULL))
		return COP_OK;
	size_t capacity = room->capacity < 256 ? 256 : room->capacity;
	while (capacity < want)
		capacity *= 2;
	float *value = cop_mem_resize(room->value, room->used, capacity, sizeof *value);
	room->value = value != NULL ? value : room->value;
	uint32_t *index = indices ? cop_mem_resize(room->index, room->used, capacity, sizeof *index) : NULL;
	room->index = index != NULL ? index : room->index;
	if (value == NULL || (indices && index == NULL))
		return COP_ENOMEM;
	room->capacity = capacity;
	return COP_OK;
}

static cop_err end_dense(cop_feature_space *space, cop_feature_room *room, size_t *count)
{
	size_t columns = space->columns.count;
	cop_err err = room_grow(room, columns, false);
	if (err != COP_OK)
		return err;
	bool finite = true;
	for (size_t i = 0; i < columns; i++)
		finite &= isfinite(space->slot[i]) != 0;
	if (!finite)
		return COP_ENONFINITE;
	float *value = room->value + room->used;
	memcpy(value, space->slot, columns * sizeof *space->slot);
	for (size_t i = space->known; i < columns && space->known > 0; i++)
		if (value[i] == 0.0F && signbit(value[i]))
			value[i] = NAN;
	*count = columns;
	return COP_OK;
}

/* Appends what is not zero. */
static inline void room_put(cop_feature_room *room, size_t *at, uint32_t place, float value)
{
	room->index[*at] = place;
	room->value[*at] = value;
	*at += value != 0.0F;
}

static cop_err end_list(cop_feature_space *space, cop_feature_room *room, size_t *count)
{
	cop_feature_entries *entries = &space->entries;
	size_t made = 0;
	cop_err err = COP_OK;
	space->parts.names = space->names;
	if (space->pair_count > 0)
		err = cop_feature_pairs_make(space->pairs, space->pair_count, &space->parts, space->mask, entries,
		        COP_FEATURE_SPACE_MAX_ENTRIES, &made);
	space->lane.features += made;
	if (!space->candidate)
		space->parts.shared = space->parts.count;
	if (err == COP_OK)
		err = room_grow(room, entries->count, true);
	if (err != COP_OK)
		return err;
	cop_feature_entries_sort(entries, space->bits);
	size_t at = room->used;
	for (size_t i = 0; i < entries->count;) {
		uint32_t place = entries->entry[i].place;
		float sum = entries->entry[i].value;
		for (i++; i < entries->count && entries->entry[i].place == place; i++)
			sum += entries->entry[i].value;
		if (!isfinite(sum))
			return COP_ENONFINITE;
		room_put(room, &at, place, sum);
	}
	*count = at - room->used;
	return COP_OK;
}

cop_err cop_feature_space_end(
        cop_feature_space *space, cop_feature_room *room, cop_feature_span *span, size_t *features)
{
	*span = (cop_feature_span){ room->used, 0 };
	*features = 0;
	cop_err err = space->err;
	if (err == COP_OK)
		err = space->dense ? end_dense(space, room, &span->count) : end_list(space, room, &span->count);
	space->lane.open = false;
	if (err != COP_OK) {
		cop_feature_space_abandon(space);
		return err;
	}
	room->used += span->count;
	*features = space->lane.features;
	return COP_OK;
}

/* Hints without those of columns from `count` on. */
static void cut_hints(cop_feature_space *space, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < space->columns.count; i++)
		if (space->hint[i].slot < count) {
			space->place_of[space->hint[i].slot] = (uint32_t)kept;
			space->hint[kept++] = space->hint[i];
		}
}

void cop_feature_space_abandon(cop_feature_space *space)
{
	space->lane.open = false;
	space->lane.at = 0;
	if (!space->dense) {
		space->parts.shared = space->parts.count = 0;
		return;
	}
	if (space->old_columns < space->columns.count) {
		cut_hints(space, space->old_columns);
		cop_name_table_cut(&space->columns, space->old_columns);
	}
	cop_name_table_cut(&space->namespaces, space->old_namespaces);
	space->lane.count = space->columns.count;
	space->first_hint[0] = space->first_hint[1] = 0;
}

/* ---- rows ---- */

cop_err cop_feature_space_widen(
        const cop_feature_space *space, cop_feature_room *room, cop_feature_span *span, size_t count)
{
	if (!space->dense || count == 0 || span[0].count == span[count - 1].count)
		return COP_OK;
	size_t wide = span[count - 1].count;
	if (count > COP_FEATURE_ROOM_MAX / wide)
		return COP_EFULL;
	cop_err err = count * wide > room->used ? room_grow(room, count * wide - room->used, false) : COP_OK;
	if (err != COP_OK)
		return err;
	for (size_t i = count; i-- > 0;) { /* the last first: none reaches over one that has not moved */
		float *to = room->value + i * wide;
		memmove(to, room->value + span[i].start, span[i].count * sizeof *to);
		memset(to + span[i].count, 0, (wide - span[i].count) * sizeof *to);
		span[i] = (cop_feature_span){ i * wide, wide };
	}
	room->used = count * wide;
	return COP_OK;
}

void cop_feature_space_row(
        const cop_feature_space *space, const cop_feature_room *room, const cop_feature_span *span, cop_row *out)
{
	if (space->dense)
		*out = (cop_row){ .d = span->count, .dense = room->value + span->start };
	else
		*out = (cop_row){ .d = (size_t)1 << space->bits,
			.nnz = span->count,
			.index = room->index + span->start,
			.value = room->value + span->start };
}

void cop_feature_room_clear(cop_feature_room *room) { room->used = 0; }

void cop_feature_room_fini(cop_feature_room *room)
{
	cop_mem_free(room->value);
	cop_mem_free(room->index);
	memset(room, 0, sizeof *room);
}

/* While a row is recorded, names lie one behind the other in `names` and a hint's slot is its place; finishing turns
 * both into pointers and ranks. */
#include "events/feature_memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MAX_HINTS    65536
#define MAX_NAMES    ((size_t)1 << 20) /* bytes */
#define MAX_DOUBLING 8                 /* the longest wait is 2^this rows */

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

void cop_feature_hint_set(cop_feature_hint *hint, const char *name, size_t length, uint32_t space, uint32_t slot)
{
	size_t head = length < sizeof hint->head ? length : sizeof hint->head;
	*hint = (cop_feature_hint){ .name = name,
		.length = (uint32_t)length,
		.space = space,
		.slot = slot,
		.ordinal = ordinal_of(name, length) };
	memcpy(&hint->head, name, head);
	memset(&hint->mask, 0xff, head);
}

/* No name is taken for it: none begins with a space. */
static void set_unnamed(cop_feature_hint *hint, size_t ordinal, uint32_t space, uint32_t slot)
{
	cop_feature_hint_set(hint, " ", 1, space, slot);
	hint->length = 0;
	hint->ordinal = ordinal < UINT32_MAX ? (uint32_t)ordinal : UINT32_MAX;
}

void cop_feature_memo_fini(cop_feature_memo *memo)
{
	cop_bytes_fini(&memo->names);
	cop_mem_free(memo->hint);
	cop_mem_free(memo->place);
	cop_mem_free(memo->slot);
	memset(memo, 0, sizeof *memo);
}

bool cop_feature_memo_begin(cop_feature_memo *memo, cop_feature_lane *lane)
{
	lane->at = 0;
	lane->count = 0;
	if (!memo->ready)
		return false;
	lane->hint = memo->hint;
	lane->count = memo->count;
	lane->slot = memo->slot;
	memset(memo->slot, 0, memo->places * sizeof *memo->slot);
	return true;
}

void cop_feature_memo_fitted(cop_feature_memo *memo) { memo->missed = 0; }

void cop_feature_memo_missed(cop_feature_memo *memo)
{
	memo->ready = false;
	memo->wait = (1u << memo->missed) - 1;
	if (memo->missed < MAX_DOUBLING)
		memo->missed++;
}

bool cop_feature_memo_record(cop_feature_memo *memo)
{
	if (memo->wait > 0) {
		memo->wait--;
		return false;
	}
	memo->count = 0;
	cop_bytes_clear(&memo->names);
	return true;
}

bool cop_feature_memo_name(cop_feature_memo *memo, const char *name, size_t length, uint32_t space, uint32_t place)
{
	size_t bytes = name == NULL ? 0 : length;
	bool fits = memo->count < MAX_HINTS && bytes <= MAX_NAMES - memo->names.length;
	if (fits && memo->count == memo->room) {
		size_t room = memo->room == 0 ? 64 : memo->room * 2;
		cop_feature_hint *hint = cop_mem_resize(memo->hint, memo->count, room, sizeof *hint);
		fits = hint != NULL;
		if (fits) {
			memo->hint = hint;
			memo->room = room;
		}
	}
	if (fits)
		cop_bytes_put(&memo->names, name, bytes);
	if (!fits || memo->names.err != COP_OK) {
		cop_feature_memo_missed(memo);
		return false;
	}
	cop_feature_hint *hint = &memo->hint[memo->count++];
	if (name == NULL)
		set_unnamed(hint, length, space, place);
	else
		cop_feature_hint_set(hint, name, length, space, place);
	return true;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Slots from the places that hints hold so far. */
static void rank(cop_feature_memo *memo)
{
	for (size_t i = 0; i < memo->count; i++)
		memo->place[i] = memo->hint[i].slot;
	qsort(memo->place, memo->count, sizeof *memo->place, ascending);
	size_t places = 0;
	for (size_t i = 0; i < memo->count; i++)
		if (places == 0 || memo->place[places - 1] != memo->place[i])
			memo->place[places++] = memo->place[i];
	memo->places = places;
	for (size_t i = 0; i < memo->count; i++) {
		const uint32_t *found =
		        bsearch(&memo->hint[i].slot, memo->place, places, sizeof *memo->place, ascending);
		memo->hint[i].slot = (uint32_t)(found - memo->place);
	}
}

cop_err cop_feature_memo_finish(cop_feature_memo *memo)
{
	cop_mem_free(memo->place);
	cop_mem_free(memo->slot);
	memo->place = cop_mem_alloc(memo->count, sizeof *memo->place);
	memo->slot = cop_mem_alloc(memo->count, sizeof *memo->slot);
	if (memo->place == NULL || memo->slot == NULL)
		return COP_ENOMEM;
	rank(memo);
	const char *name = (const char *)memo->names.data;
	for (size_t i = 0; i < memo->count; i++)
		if (memo->hint[i].length > 0) {
			memo->hint[i].name = name;
			name += memo->hint[i].length;
		}
	memo->ready = true;
	return COP_OK;
}

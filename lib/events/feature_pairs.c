/* Places are sorted digit by digit, least significant first, or by insertion when they are few. Parts are brought
 * together by group with the shared ones behind the others, the order in which Vowpal Wabbit has them when it adds
 * shared features to a candidate. */
#include "events/feature_pairs_private.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define PRIME        16777619u
#define WILD         ':'
#define FEW          40
#define DIGIT        9 /* bits */
#define DIGITS       (1u << DIGIT)
#define GROUPS       256
#define NAMED_ONE    16 /* product of up to so many gets its name, of a row whose names are met */
#define NAMED_SOON   2  /* while there is room for all */
#define PRINTABLE(c) ((c) >= ' ' && (c) <= '~')

cop_err cop_feature_entries_grow(cop_feature_entries *entries, size_t limit)
{
	if (entries->count >= limit)
		return COP_EFULL;
	if (entries->count < entries->capacity)
		return COP_OK;
	return cop_feature_entries_reserve(entries, entries->capacity == 0 ? 256 : entries->capacity * 2);
}

cop_err cop_feature_entries_reserve(cop_feature_entries *entries, size_t capacity)
{
	if (capacity <= entries->capacity)
		return COP_OK;
	cop_feature_entry *spare = cop_mem_alloc(capacity, sizeof *spare);
	if (spare == NULL)
		return COP_ENOMEM;
	cop_feature_entry *entry = cop_mem_resize(entries->entry, entries->count, capacity, sizeof *entry);
	if (entry == NULL) {
		cop_mem_free(spare);
		return COP_ENOMEM;
	}
	cop_mem_free(entries->spare);
	*entries = (cop_feature_entries){ entry, spare, entries->count, capacity };
	return COP_OK;
}

void cop_feature_entries_fini(cop_feature_entries *entries)
{
	cop_mem_free(entries->entry);
	cop_mem_free(entries->spare);
	memset(entries, 0, sizeof *entries);
}

static void sort_few(cop_feature_entry *entry, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		cop_feature_entry moved = entry[i];
		size_t at = i;
		for (; at > 0 && entry[at - 1].place > moved.place; at--)
			entry[at] = entry[at - 1];
		entry[at] = moved;
	}
}

static void sort_digit(const cop_feature_entry *from, cop_feature_entry *to, size_t count, unsigned shift)
{
	uint32_t start[DIGITS] = { 0 };
	for (size_t i = 0; i < count; i++)
		start[from[i].place >> shift & (DIGITS - 1)]++;
	uint32_t sum = 0;
	for (size_t i = 0; i < DIGITS; i++) {
		uint32_t here = start[i];
		start[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[start[from[i].place >> shift & (DIGITS - 1)]++] = from[i];
}

void cop_feature_entries_sort(cop_feature_entries *entries, unsigned bits)
{
	if (entries->count <= FEW) {
		sort_few(entries->entry, entries->count);
		return;
	}
	for (unsigned shift = 0; shift < bits; shift += DIGIT) {
		sort_digit(entries->entry, entries->spare, entries->count, shift);
		cop_feature_entry *sorted = entries->spare;
		entries->spare = entries->entry;
		entries->entry = sorted;
	}
}

cop_err cop_feature_parts_add(cop_feature_parts *parts, const cop_feature_part *part, size_t limit)
{
	if (parts->count >= limit)
		return COP_EFULL;
	if (parts->count == parts->capacity) {
		cop_err err = cop_feature_parts_reserve(parts, parts->capacity == 0 ? 256 : parts->capacity * 2);
		if (err != COP_OK)
			return err;
	}
	parts->part[parts->count++] = *part;
	return COP_OK;
}

cop_err cop_feature_parts_reserve(cop_feature_parts *parts, size_t capacity)
{
	if (capacity <= parts->capacity)
		return COP_OK;
	cop_feature_part *sorted = cop_mem_alloc(capacity, sizeof *sorted);
	if (sorted == NULL)
		return COP_ENOMEM;
	cop_feature_part *grown = cop_mem_resize(parts->part, parts->count, capacity, sizeof *grown);
	if (grown == NULL) {
		cop_mem_free(sorted);
		return COP_ENOMEM;
	}
	cop_mem_free(parts->sorted);
	parts->part = grown;
	parts->sorted = sorted;
	parts->capacity = capacity;
	return COP_OK;
}

void cop_feature_parts_fini(cop_feature_parts *parts)
{
	cop_mem_free(parts->part);
	cop_mem_free(parts->sorted);
	memset(parts, 0, sizeof *parts);
}

/* sorted[start[g], start[g + 1]) is group g. */
static void sort_groups(cop_feature_parts *parts, size_t start[GROUPS + 1])
{
	memset(start, 0, (GROUPS + 1) * sizeof *start);
	for (size_t i = 0; i < parts->count; i++)
		start[parts->part[i].group + 1]++;
	for (size_t g = 0; g < GROUPS; g++)
		start[g + 1] += start[g];
	size_t at[GROUPS];
	memcpy(at, start, sizeof at);
	for (size_t i = parts->shared; i < parts->count; i++)
		parts->sorted[at[parts->part[i].group]++] = parts->part[i];
	for (size_t i = 0; i < parts->shared; i++) {
		cop_feature_part *part = &parts->sorted[at[parts->part[i].group]++];
		*part = parts->part[i];
		part->shared = true;
	}
}

typedef struct maker {
	cop_feature_parts *parts;
	cop_place_names *names; /* NULL: not of this row */
	const size_t *start;
	uint32_t mask;
	cop_feature_entries *entries;
	size_t limit;
	size_t made;
	uint8_t done[GROUPS][GROUPS / 8]; /* pairs of groups made, the smaller first */
} maker;

static void name_product(maker *m, uint32_t hash, uint32_t first, uint32_t second)
{
	if (!m->names->insisting && m->parts->wait-- > 0)
		return;
	m->parts->wait = cop_place_names_draw(m->names, m->names->given_up == 0 ? NAMED_SOON : NAMED_ONE);
	cop_place_names_meet_product(m->names, hash, first, second);
}

static cop_err multiply(
        maker *m, const cop_feature_part *first, const cop_feature_part *from, const cop_feature_part *to)
{
	uint32_t half = first->hash * PRIME;
	for (const cop_feature_part *second = from; second < to; second++) {
		if (first->shared && second->shared)
			continue;
		cop_err err = cop_feature_entries_grow(m->entries, m->limit);
		if (err != COP_OK)
			return err;
		float value = first->value * second->value;
		if (!isfinite(value))
			return COP_ENONFINITE;
		m->entries->entry[m->entries->count++] = (cop_feature_entry){ (half ^ second->hash) & m->mask, value };
		if (m->names != NULL)
			name_product(m, half ^ second->hash, first->hash, second->hash);
		m->made++;
	}
	return COP_OK;
}

static cop_err make_pair(maker *m, unsigned first, unsigned second)
{
	unsigned low = first < second ? first : second;
	unsigned high = first < second ? second : first;
	const cop_feature_part *sorted = m->parts->sorted;
	if (m->start[low] == m->start[low + 1] || m->start[high] == m->start[high + 1] ||
	        (m->done[low][high / 8] >> high % 8 & 1) != 0)
		return COP_OK;
	m->done[low][high / 8] |= (uint8_t)(1u << high % 8);
	cop_err err = COP_OK;
	for (size_t i = m->start[first]; i < m->start[first + 1] && err == COP_OK; i++)
		err = multiply(m, &sorted[i], sorted + (first == second ? i : m->start[second]),
		        sorted + m->start[second + 1]);
	return err;
}

/* first over [first, first_end), second likewise. */
static cop_err make_pairs(maker *m, const cop_feature_pair *pair)
{
	bool wild1 = pair->first == WILD;
	bool wild2 = pair->second == WILD;
	cop_err err = COP_OK;
	for (unsigned a = wild1 ? ' ' : pair->first; err == COP_OK && (wild1 ? PRINTABLE(a) : a == pair->first); a++) {
		if (m->start[a] == m->start[a + 1])
			continue;
		unsigned b = wild2 ? (wild1 ? a : ' ') : pair->second;
		for (; err == COP_OK && (wild2 ? PRINTABLE(b) : b == pair->second); b++)
			err = make_pair(m, a, b);
	}
	return err;
}

cop_err cop_feature_pairs_make(const cop_feature_pair *pairs, size_t pair_count, cop_feature_parts *parts,
        uint32_t mask, cop_feature_entries *entries, size_t limit, size_t *made)
{
	size_t start[GROUPS + 1];
	bool named = parts->names != NULL && parts->names->all;
	maker m = { .parts = parts,
		.names = named ? parts->names : NULL,
		.start = start,
		.mask = mask,
		.entries = entries,
		.limit = limit };
	cop_err err = COP_OK;
	if (parts->count > 0)
		sort_groups(parts, start);
	for (size_t i = 0; i < pair_count && parts->count > 0 && err == COP_OK; i++)
		err = make_pairs(&m, &pairs[i]);
	*made = m.made;
	return err;
}

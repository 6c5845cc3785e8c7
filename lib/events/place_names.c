/* Entries stand in the order in which they came, and so do their texts, from the end of the arena downwards; a place's
 * chain of entries begins at head[mixed place]. The arena is full when entries and texts meet. Giving up halves the
 * uses of what stays, so that old fame fades, and closes the gaps: order, chains and known bits are then what they
 * would be had only those names ever come. */
#include "events/place_names.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define ALL_ROWS   256 /* whose names are all met */
#define ONE_ROW    32  /* of so many later on */
#define PASSED_BY  64  /* fewer unknown names than this in a row, when some were given up */
#define QUARTER    4
#define RANKS      256 /* uses that are kept apart when some are given up */
#define KNOWN_BITS 18
#define NONE       UINT32_MAX
#define DOTS       "..."
#define BETWEEN    " | "

typedef struct entry {
	uint32_t hash, next, uses;
	uint32_t at; /* of its text in the arena */
	uint32_t length;
} entry;

/* ---- life ---- */

static size_t known_words(unsigned bits) { return bits <= 6 ? 1 : (size_t)1 << (bits - 6); }

static size_t fixed_bytes(const cop_place_names *names)
{
	return sizeof *names + ((size_t)names->known_mask + 1 + 63) / 64 * sizeof *names->known +
	       names->heads * sizeof *names->head;
}

static void forget_places(cop_place_names *names)
{
	memset(names->known, 0, ((size_t)names->known_mask + 1 + 63) / 64 * sizeof *names->known);
	memset(names->head, 0xff, names->heads * sizeof *names->head);
}

cop_err cop_place_names_new(size_t bytes, unsigned bits, cop_place_names **out)
{
	cop_place_names *names = cop_mem_alloc(1, sizeof *names);
	*out = NULL;
	if (names == NULL)
		return COP_ENOMEM;
	unsigned known = bits;
	names->bytes = bytes < COP_PLACE_NAMES_LEAST ? COP_PLACE_NAMES_LEAST : bytes;
	while (known > KNOWN_BITS || known_words(known) * sizeof *names->known > names->bytes / 16)
		known--;
	for (names->heads = 64; names->heads * 128 < names->bytes && names->heads < (size_t)1 << 24; names->heads *= 2)
		;
	names->known_mask = (1u << known) - 1;
	names->mask = (uint32_t)((UINT64_C(1) << bits) - 1);
	names->draw = 1;
	names->known = cop_mem_alloc(known_words(known), sizeof *names->known);
	names->head = cop_mem_alloc(names->heads, sizeof *names->head);
	if (names->known == NULL || names->head == NULL) {
		cop_place_names_free(names);
		return COP_ENOMEM;
	}
	forget_places(names);
	names->arena_size = names->bytes - fixed_bytes(names);
	names->arena_size -= names->arena_size % sizeof(entry);
	if (names->arena_size > UINT32_MAX)
		names->arena_size = UINT32_MAX - UINT32_MAX % sizeof(entry);
	names->text = names->arena_size;
	*out = names;
	return COP_OK;
}

void cop_place_names_free(cop_place_names *names)
{
	if (names == NULL)
		return;
	cop_mem_free(names->known);
	cop_mem_free(names->head);
	cop_mem_free(names->arena);
	cop_mem_free(names);
}

size_t cop_place_names_count(const cop_place_names *names) { return names->count; }
size_t cop_place_names_bound(const cop_place_names *names) { return names->bytes; }
uint64_t cop_place_names_given_up(const cop_place_names *names) { return names->given_up; }

size_t cop_place_names_used(const cop_place_names *names)
{
	return names->count * sizeof(entry) + names->arena_size - names->text;
}

/* ---- entries ---- */

static entry *entries(const cop_place_names *names) { return (entry *)(void *)names->arena; }

static uint32_t *head_of(const cop_place_names *names, uint32_t place)
{
	return &names->head[(uint64_t)(place * UINT32_C(0x9e3779b1)) * names->heads >> 32];
}

/* An entry becomes the first of its chain. */
static void link_entry(cop_place_names *names, size_t i)
{
	entry *e = &entries(names)[i];
	uint32_t place = e->hash & names->mask;
	uint32_t *head = head_of(names, place);
	e->next = *head;
	*head = (uint32_t)i;
	names->known[(place & names->known_mask) / 64] |= UINT64_C(1) << place % 64;
}

static size_t entry_bytes(const entry *e) { return sizeof *e + e->length; }

/* How many of which uses are to go: all below *rank, and of those with it the first ones up to *bytes. */
static void choose(const cop_place_names *names, size_t *rank, size_t *bytes)
{
	size_t of_rank[RANKS] = { 0 }, all = 0;
	for (size_t i = 0; i < names->count; i++) {
		const entry *e = &entries(names)[i];
		of_rank[e->uses < RANKS ? e->uses : RANKS - 1] += entry_bytes(e);
		all += entry_bytes(e);
	}
	*bytes = all / QUARTER + 1;
	for (*rank = 0; *rank + 1 < RANKS && of_rank[*rank] < *bytes; ++*rank)
		*bytes -= of_rank[*rank];
}

static void give_up(cop_place_names *names)
{
	size_t rank, bytes, kept = 0, text = names->arena_size;
	choose(names, &rank, &bytes);
	size_t gone = 0;
	for (size_t i = 0; i < names->count; i++) {
		entry e = entries(names)[i];
		size_t own = e.uses < RANKS ? e.uses : RANKS - 1;
		if (own < rank || (own == rank && gone < bytes)) {
			gone += own == rank ? entry_bytes(&e) : 0;
			names->given_up++;
			continue;
		}
		text -= e.length;
		memmove(names->arena + text, names->arena + e.at, e.length);
		e.at = (uint32_t)text;
		e.uses = (e.uses + 1) / 2;
		entries(names)[kept++] = e;
	}
	names->count = kept;
	names->text = text;
	forget_places(names);
	for (size_t i = 0; i < kept; i++)
		link_entry(names, i);
}

static bool fits(const cop_place_names *names, size_t length)
{
	return names->text >= (names->count + 1) * sizeof(entry) + length;
}

static void insert(cop_place_names *names, uint32_t hash, uint32_t uses, const char *text, size_t length)
{
	if (names->arena == NULL)
		names->arena = cop_mem_alloc(names->arena_size, 1);
	if (names->arena == NULL)
		return;
	if (!fits(names, length))
		give_up(names);
	if (!fits(names, length))
		return;
	names->text -= length;
	memcpy(names->arena + names->text, text, length);
	entries(names)[names->count] =
	        (entry){ .hash = hash, .uses = uses, .at = (uint32_t)names->text, .length = (uint32_t)length };
	link_entry(names, names->count++);
}

/* ---- meeting ---- */

unsigned cop_place_names_draw(cop_place_names *names, unsigned below)
{
	names->draw ^= names->draw << 13;
	names->draw ^= names->draw >> 17;
	names->draw ^= names->draw << 5;
	return names->draw & (below - 1);
}

void cop_place_names_row(cop_place_names *names)
{
	names->all = names->rows < ALL_ROWS || names->insisting || cop_place_names_draw(names, ONE_ROW) == 0;
	names->rows += names->rows < ALL_ROWS;
}

void cop_place_names_insist(cop_place_names *names, bool on) { names->insisting = on; }

/* A name as it is kept. */
typedef struct spelling {
	char text[COP_PLACE_NAMES_LONG];
	size_t length;
	bool cut;
} spelling;

static void spell(spelling *s, const char *text, size_t length)
{
	size_t room = sizeof s->text - s->length;
	size_t taken = length < room ? length : room;
	if (taken > 0)
		memcpy(s->text + s->length, text, taken);
	s->length += taken;
	s->cut |= taken < length;
}

/* A name that was cut ends with dots, behind a whole character. */
static void spell_end(spelling *s)
{
	if (!s->cut)
		return;
	s->length = sizeof s->text - (sizeof DOTS - 1);
	while (s->length > 0 && ((uint8_t)s->text[s->length] & 0xc0) == 0x80)
		s->length--;
	s->cut = false;
	spell(s, DOTS, sizeof DOTS - 1);
}

/* The first entry of that hash from i on. */
static uint32_t of_hash(const cop_place_names *names, uint32_t i, uint32_t hash)
{
	while (i != NONE && entries(names)[i].hash != hash)
		i = entries(names)[i].next;
	return i;
}

static void keep(cop_place_names *names, uint32_t hash, const spelling *s)
{
	uint32_t i = *head_of(names, hash & names->mask);
	while ((i = of_hash(names, i, hash)) != NONE) {
		entry *e = &entries(names)[i];
		if (e->length == s->length && memcmp(names->arena + e->at, s->text, s->length) == 0) {
			e->uses += e->uses < UINT32_MAX;
			return;
		}
		i = e->next;
	}
	insert(names, hash, 1, s->text, s->length);
}

/* Whether the only entry of that hash, which is mostly this name's, ends as the name does. */
static bool is_known(cop_place_names *names, uint32_t hash, const cop_place_name *name)
{
	uint32_t i = of_hash(names, *head_of(names, hash & names->mask), hash);
	if (i == NONE || name->name == NULL || name->text != NULL)
		return false;
	entry *e = &entries(names)[i];
	size_t before = name->space_length > 0 ? name->space_length + 1 : 0;
	const uint8_t *text = names->arena + e->at;
	if (e->length != before + name->name_length || memcmp(text + before, name->name, name->name_length) != 0 ||
	        (before > 0 && memcmp(text, name->space, name->space_length) != 0))
		return false;
	e->uses += e->uses < UINT32_MAX;
	return true;
}

/* Most of a stream of new names is passed by. */
static bool pass_by(cop_place_names *names)
{
	if (names->given_up == 0 || names->insisting)
		return false;
	if (names->all && names->passing > 0) { /* wants has not counted it */
		names->passing--;
		return true;
	}
	names->passing = cop_place_names_draw(names, PASSED_BY);
	return false;
}

void cop_place_names_meet(cop_place_names *names, uint32_t hash, const cop_place_name *name)
{
	spelling s;
	char number[24];
	if (is_known(names, hash, name) || pass_by(names))
		return;
	s.length = 0;
	s.cut = false;
	if (name->space_length > 0) {
		spell(&s, name->space, name->space_length);
		spell(&s, "^", 1);
	}
	if (name->name != NULL)
		spell(&s, name->name, name->name_length);
	else
		spell(&s, number, (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)name->number));
	if (name->text != NULL) {
		spell(&s, ":", 1);
		spell(&s, name->text, name->text_length);
	}
	spell_end(&s);
	keep(names, hash, &s);
}

void cop_place_names_meet_product(cop_place_names *names, uint32_t hash, uint32_t first, uint32_t second)
{
	spelling s;
	uint32_t a = of_hash(names, *head_of(names, first & names->mask), first);
	uint32_t b = of_hash(names, *head_of(names, second & names->mask), second);
	if (a == NONE || b == NONE || pass_by(names))
		return;
	s.length = 0;
	s.cut = false;
	spell(&s, (const char *)names->arena + entries(names)[a].at, entries(names)[a].length);
	spell(&s, "*", 1);
	spell(&s, (const char *)names->arena + entries(names)[b].at, entries(names)[b].length);
	spell_end(&s);
	keep(names, hash, &s);
}

/* ---- showing ---- */

/* The next of the place's names: fewer uses than `last`, or as many and later (NULL: the first one). */
static const entry *next_of(const cop_place_names *names, uint32_t place, const entry *last)
{
	const entry *best = NULL;
	for (uint32_t i = *head_of(names, place); i != NONE; i = entries(names)[i].next) {
		const entry *e = &entries(names)[i];
		if ((e->hash & names->mask) != place)
			continue;
		bool left = last == NULL || e->uses < last->uses || (e->uses == last->uses && e > last);
		if (left && (best == NULL || e->uses > best->uses || (e->uses == best->uses && e < best)))
			best = e;
	}
	return best;
}

/* Appends what can be read; false: it does not fit, with room for dots behind it. */
static bool put_clean(const uint8_t *text, size_t length, char *out, size_t size, size_t *used)
{
	while (length > 0) {
		size_t step = cop_json_utf8_length(text, length);
		bool plain = step > 1 || (step == 1 && *text >= 0x20 && *text != 0x7f);
		size_t width = plain ? step : 1;
		if (*used + width + sizeof DOTS > size)
			return false;
		memcpy(out + *used, plain ? (const char *)text : "?", width);
		*used += width;
		step = step == 0 ? 1 : step;
		text += step;
		length -= step;
	}
	return true;
}

size_t cop_place_names_text(const cop_place_names *names, size_t place, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	if (names == NULL || place > names->mask)
		return 0;
	const entry *e = NULL;
	while ((e = next_of(names, (uint32_t)place, e)) != NULL) {
		bool fit = used == 0 || put_clean((const uint8_t *)BETWEEN, sizeof BETWEEN - 1, out, size, &used);
		if (!fit || !put_clean(names->arena + e->at, e->length, out, size, &used)) {
			memcpy(out + used, DOTS, sizeof DOTS - 1);
			used += sizeof DOTS - 1;
			break;
		}
	}
	out[used] = '\0';
	return used;
}

size_t cop_place_names_place(const cop_place_names *names, size_t i) { return entries(names)[i].hash & names->mask; }

uint64_t cop_place_names_uses(const cop_place_names *names, size_t place)
{
	uint64_t uses = 0;
	if (place > names->mask)
		return 0;
	for (uint32_t i = *head_of(names, (uint32_t)place); i != NONE; i = entries(names)[i].next)
		uses += (entries(names)[i].hash & names->mask) == place ? entries(names)[i].uses : 0;
	return uses;
}

/* ---- files ---- */

void cop_place_names_save(const cop_place_names *names, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, names->mask);
	cop_bytes_put_u64(bytes, names->rows);
	cop_bytes_put_u64(bytes, names->given_up);
	cop_bytes_put_u32(bytes, names->draw);
	cop_bytes_put_u32(bytes, names->passing);
	cop_bytes_put_u32(bytes, (uint32_t)names->count);
	for (size_t i = 0; i < names->count; i++) {
		const entry *e = &entries(names)[i];
		cop_bytes_put_u32(bytes, e->hash);
		cop_bytes_put_u32(bytes, e->uses);
		cop_bytes_put_u8(bytes, (uint8_t)e->length);
		cop_bytes_put(bytes, names->arena + e->at, e->length);
	}
}

static cop_err load_entries(cop_cursor *cursor, cop_place_names *names)
{
	uint32_t mask = cop_cursor_u32(cursor);
	uint64_t rows = cop_cursor_u64(cursor);
	uint64_t given_up = cop_cursor_u64(cursor);
	uint32_t drawn = cop_cursor_u32(cursor);
	uint32_t passing = cop_cursor_u32(cursor);
	uint32_t count = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK || mask != names->mask || drawn == 0 || passing >= PASSED_BY)
		return COP_EFORMAT;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t hash = cop_cursor_u32(cursor);
		uint32_t uses = cop_cursor_u32(cursor);
		uint8_t length = cop_cursor_u8(cursor);
		const uint8_t *text = cop_cursor_take(cursor, length);
		if (text == NULL)
			return COP_EFORMAT;
		insert(names, hash, uses, (const char *)text, length);
		if (names->arena == NULL)
			return COP_ENOMEM;
	}
	names->rows = rows;
	names->given_up += given_up;
	names->draw = drawn;
	names->passing = passing;
	return cursor->err;
}

cop_err cop_place_names_load(cop_cursor *cursor, size_t bytes, unsigned bits, cop_place_names **out)
{
	cop_err err = cop_place_names_new(bytes, bits, out);
	if (err == COP_OK)
		err = load_entries(cursor, *out);
	if (err != COP_OK) {
		cop_place_names_free(*out);
		*out = NULL;
	}
	return err;
}

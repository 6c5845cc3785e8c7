/* Open addressing, at most half full, over an array of names whose bytes lie in chunks; a chunk counts how many names
 * there were when it began, so that cutting frees the newest ones and takes back room in the one that stays. */
#include "base/name_table.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define CHUNK ((size_t)16 << 10)

struct cop_name_chunk {
	cop_name_chunk *older;
	size_t first; /* names that were there before it */
	size_t used, room;
	char bytes[];
};

void cop_name_table_init(cop_name_table *table) { memset(table, 0, sizeof *table); }

void cop_name_table_fini(cop_name_table *table)
{
	while (table->chunk != NULL) {
		cop_name_chunk *chunk = table->chunk;
		table->chunk = chunk->older;
		cop_mem_free(chunk);
	}
	cop_mem_free(table->name);
	cop_mem_free(table->slot);
	cop_name_table_init(table);
}

static uint32_t hash_of(uint32_t tag, const char *text, size_t length)
{
	return cop_hash_murmur3(text, length, tag * 2654435761u);
}

uint32_t cop_name_table_find(const cop_name_table *table, uint32_t tag, const char *text, size_t length)
{
	if (table->slots == 0)
		return COP_NAME_NONE;
	uint32_t hash = hash_of(tag, text, length);
	for (size_t at = hash & (table->slots - 1); table->slot[at] != 0; at = (at + 1) & (table->slots - 1)) {
		const cop_name *name = &table->name[table->slot[at] - 1];
		if (name->hash == hash && name->tag == tag && name->length == length &&
		        (length == 0 || memcmp(name->text, text, length) == 0))
			return table->slot[at] - 1;
	}
	return COP_NAME_NONE;
}

static void put_slot(cop_name_table *table, uint32_t number)
{
	size_t at = table->name[number].hash & (table->slots - 1);
	while (table->slot[at] != 0)
		at = (at + 1) & (table->slots - 1);
	table->slot[at] = number + 1;
}

static void fill_slots(cop_name_table *table)
{
	memset(table->slot, 0, table->slots * sizeof *table->slot);
	for (size_t i = 0; i < table->count; i++)
		put_slot(table, (uint32_t)i);
}

/* Room for one more name in the array and in the slots. */
static cop_err grow(cop_name_table *table)
{
	if (table->count == table->capacity) {
		size_t capacity = table->capacity == 0 ? 64 : table->capacity * 2;
		cop_name *name = cop_mem_resize(table->name, table->count, capacity, sizeof *name);
		if (name == NULL)
			return COP_ENOMEM;
		table->name = name;
		table->capacity = capacity;
	}
	if (2 * (table->count + 1) > table->slots) {
		size_t slots = table->slots == 0 ? 256 : table->slots * 4;
		uint32_t *slot = cop_mem_alloc(slots, sizeof *slot);
		if (slot == NULL)
			return COP_ENOMEM;
		cop_mem_free(table->slot);
		table->slot = slot;
		table->slots = slots;
		fill_slots(table);
	}
	return COP_OK;
}

/* `length` bytes that stay where they are; NULL: no memory. */
static char *bytes_room(cop_name_table *table, size_t length)
{
	cop_name_chunk *chunk = table->chunk;
	if (chunk == NULL || chunk->room - chunk->used < length) {
		size_t room = length > CHUNK ? length : CHUNK;
		chunk = cop_mem_alloc(sizeof *chunk + room, 1);
		if (chunk == NULL)
			return NULL;
		chunk->room = room;
		chunk->first = table->count;
		chunk->older = table->chunk;
		table->chunk = chunk;
	}
	char *bytes = chunk->bytes + chunk->used;
	chunk->used += length;
	return bytes;
}

cop_err cop_name_table_add(
        cop_name_table *table, uint32_t tag, cop_name_prefix prefix, const char *text, size_t length, uint32_t *number)
{
	size_t bytes;
	*number = COP_NAME_NONE;
	if (__builtin_add_overflow(prefix.length, length, &bytes) || bytes >= COP_NAME_TABLE_MAX - table->bytes ||
	        table->count >= COP_NAME_NONE - 1)
		return COP_EFULL;
	if (grow(table) != COP_OK)
		return COP_ENOMEM;
	char *to = bytes_room(table, bytes + 1);
	if (to == NULL)
		return COP_ENOMEM;
	if (prefix.length > 0)
		memcpy(to, prefix.text, prefix.length);
	if (length > 0)
		memcpy(to + prefix.length, text, length);
	to[bytes] = '\0';
	table->bytes += bytes + 1;
	*number = (uint32_t)table->count++;
	table->name[*number] = (cop_name){ to + prefix.length, (uint32_t)prefix.length, (uint32_t)length, tag,
		hash_of(tag, text, length) };
	put_slot(table, *number);
	return COP_OK;
}

void cop_name_table_cut(cop_name_table *table, size_t count)
{
	if (count >= table->count)
		return;
	for (size_t i = count; i < table->count; i++)
		table->bytes -= (size_t)table->name[i].prefix + table->name[i].length + 1;
	const char *start = table->name[count].text - table->name[count].prefix;
	while (table->chunk->first > count) { /* the oldest begins with name 0 */
		cop_name_chunk *chunk = table->chunk;
		table->chunk = chunk->older;
		cop_mem_free(chunk);
	}
	table->chunk->used = (size_t)(start - table->chunk->bytes);
	table->count = count;
	fill_slots(table);
}

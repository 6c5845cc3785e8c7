/* A chained hash table whose entries are also a list by age. */
#include "history/open_decisions.h"

#include <string.h>

#include "base/mem.h"

#define SMALLEST 64
#define KEY      UINT64_C(0x6a09e667f3bcc909)

void cop_open_decisions_entry_name(cop_open_decisions_entry *entry, const cop_event_id *id)
{
	entry->id = *id;
	entry->hash = cop_event_id_hash(id, KEY);
}

cop_open_decisions_entry *cop_open_decisions_entry_new(const cop_event_id *id, const uint8_t *body, size_t length)
{
	cop_open_decisions_entry *entry = cop_mem_alloc(1, sizeof *entry + length);
	if (entry == NULL)
		return NULL;
	cop_open_decisions_entry_name(entry, id);
	entry->length = length;
	if (length > 0)
		memcpy(entry->body, body, length);
	return entry;
}

void cop_open_decisions_fini(cop_open_decisions *table)
{
	for (cop_open_decisions_entry *entry = table->oldest; entry != NULL;) {
		cop_open_decisions_entry *next = entry->younger;
		cop_mem_free(entry);
		entry = next;
	}
	cop_mem_free(table->buckets);
	*table = (cop_open_decisions){ 0 };
}

static cop_open_decisions_entry **bucket(const cop_open_decisions *table, uint64_t hash)
{
	return &table->buckets[hash & (table->room - 1)];
}

static cop_err grow(cop_open_decisions *table)
{
	size_t room = table->room == 0 ? SMALLEST : 2 * table->room;
	cop_open_decisions_entry **buckets = cop_mem_alloc(room, sizeof(cop_open_decisions_entry *));
	if (buckets == NULL)
		return COP_ENOMEM;
	cop_mem_free(table->buckets);
	table->buckets = buckets;
	table->room = room;
	for (cop_open_decisions_entry *entry = table->oldest; entry != NULL; entry = entry->younger) {
		cop_open_decisions_entry **first = bucket(table, entry->hash);
		entry->chain = *first;
		*first = entry;
	}
	return COP_OK;
}

static void append(cop_open_decisions *table, cop_open_decisions_entry *entry)
{
	entry->older = table->youngest;
	entry->younger = NULL;
	if (table->youngest != NULL)
		table->youngest->younger = entry;
	else
		table->oldest = entry;
	table->youngest = entry;
}

static void detach(cop_open_decisions *table, cop_open_decisions_entry *entry)
{
	if (entry->older != NULL)
		entry->older->younger = entry->younger;
	else
		table->oldest = entry->younger;
	if (entry->younger != NULL)
		entry->younger->older = entry->older;
	else
		table->youngest = entry->older;
	entry->older = entry->younger = NULL;
}

cop_err cop_open_decisions_add(cop_open_decisions *table, cop_open_decisions_entry *entry)
{
	if (table->count >= table->room && grow(table) != COP_OK)
		return COP_ENOMEM;
	cop_open_decisions_entry **first = bucket(table, entry->hash);
	entry->chain = *first;
	*first = entry;
	append(table, entry);
	table->count++;
	table->bytes += sizeof *entry + entry->length;
	return COP_OK;
}

cop_open_decisions_entry *cop_open_decisions_find(const cop_open_decisions *table, const cop_event_id *id)
{
	if (table->count == 0)
		return NULL;
	uint64_t hash = cop_event_id_hash(id, KEY);
	cop_open_decisions_entry *entry = *bucket(table, hash);
	while (entry != NULL && (entry->hash != hash || !cop_event_id_equal(&entry->id, id)))
		entry = entry->chain;
	return entry;
}

void cop_open_decisions_remove(cop_open_decisions *table, cop_open_decisions_entry *entry)
{
	cop_open_decisions_entry **at = bucket(table, entry->hash);
	while (*at != entry)
		at = &(*at)->chain;
	*at = entry->chain;
	entry->chain = NULL;
	detach(table, entry);
	table->count--;
	table->bytes -= sizeof *entry + entry->length;
}

void cop_open_decisions_renew(cop_open_decisions *table, cop_open_decisions_entry *entry)
{
	detach(table, entry);
	append(table, entry);
}

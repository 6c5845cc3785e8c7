/* base/name_table.h: names to numbers, counted from 0 in order of appearance.
 *
 * A name is a tag (whatever keeps equal texts apart) and bytes. Names never move while they are in the table. One
 * thread per table. */
#ifndef COP_BASE_NAME_TABLE_H
#define COP_BASE_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COP_NAME_NONE UINT32_MAX
/* Bytes of all names of a table together. */
#define COP_NAME_TABLE_MAX ((size_t)64 << 20)

typedef struct cop_name {
	const char *text; /* terminated; what was given as prefix stands before it */
	uint32_t prefix;  /* length of that */
	uint32_t length;
	uint32_t tag;
	uint32_t hash;
} cop_name;

typedef struct cop_name_chunk cop_name_chunk;

typedef struct cop_name_table {
	cop_name *name; /* count of them */
	size_t count, capacity;
	uint32_t *slot; /* slots, a power of two: number + 1, or 0 */
	size_t slots;
	cop_name_chunk *chunk; /* newest */
	size_t bytes;
} cop_name_table;

/* All zero is an empty table too. */
void cop_name_table_init(cop_name_table *table);
void cop_name_table_fini(cop_name_table *table);

/* COP_NAME_NONE: it is not there. */
uint32_t cop_name_table_find(const cop_name_table *table, uint32_t tag, const char *text, size_t length);

typedef struct cop_name_prefix {
	const char *text;
	size_t length;
} cop_name_prefix;
/* A name that is not there yet. COP_EFULL: all names together would pass COP_NAME_TABLE_MAX bytes. COP_ENOMEM. */
COP_CHECK cop_err cop_name_table_add(
        cop_name_table *table, uint32_t tag, cop_name_prefix prefix, const char *text, size_t length, uint32_t *number);

/* Forgets all names from number `count` on. Costs as much as the table is large. */
void cop_name_table_cut(cop_name_table *table, size_t count);

#endif

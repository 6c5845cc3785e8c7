/* wire/wire_table.h: messages of a link by a table: each key once, with the kinds of message that carry it.
 *
 * A message is a struct whose first member is its kind, an unsigned enumeration; on the wire it is a map whose key `k`
 * has the kind's name. All that a kind carries is put, and needed when it is read; unknown keys are passed over. Pure
 * functions. */
#ifndef COP_WIRE_WIRE_TABLE_H
#define COP_WIRE_WIRE_TABLE_H

#include "base/bytes.h"
#include "wire/wire_code.h"

#define COP_WIRE_TABLE_KEYS 31 /* at most */

typedef struct cop_wire_table_text {
	const char *text; /* borrowed, not terminated; NULL: "" */
	size_t length;
} cop_wire_table_text;

/* Members: uint64_t, double, and cop_wire_table_text for the last two. */
typedef enum cop_wire_table_form {
	COP_WIRE_TABLE_WHOLE,
	COP_WIRE_TABLE_NUMBER,
	COP_WIRE_TABLE_TEXT,
	COP_WIRE_TABLE_BINARY
} cop_wire_table_form;

typedef struct cop_wire_table_key {
	const char *name;
	size_t offset; /* in the message */
	cop_wire_table_form form;
	unsigned kinds; /* bit i: kind i carries it */
} cop_wire_table_key;

typedef struct cop_wire_table {
	const cop_wire_table_key *keys;
	size_t key_count; /* at most COP_WIRE_TABLE_KEYS */
	const char *const *kinds;
	size_t kind_count;
} cop_wire_table;

/* Appends the map. */
void cop_wire_table_put(const cop_wire_table *table, cop_bytes *out, const void *message);
/* Fills in the kind and what it carries; the rest is as it was. Texts are borrowed from data. COP_EFORMAT, COP_EINVAL,
 * with the fault. */
COP_CHECK cop_err cop_wire_table_read(
        const cop_wire_table *table, const void *data, size_t length, void *message, cop_wire_fault *fault);

#endif

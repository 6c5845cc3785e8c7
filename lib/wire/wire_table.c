/* The walk's last name is that of the kind, so that keys have the table's numbers. */
#include "wire/wire_table.h"

#include <string.h>

#include "base/assert.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"

static void put_field(cop_bytes *out, const cop_wire_table_key *key, const void *field)
{
	const cop_wire_table_text *text = field;
	cop_wire_put_text(out, key->name);
	switch (key->form) {
	case COP_WIRE_TABLE_WHOLE:
		cop_wire_put_unsigned(out, *(const uint64_t *)field);
		break;
	case COP_WIRE_TABLE_NUMBER:
		cop_wire_put_double(out, *(const double *)field);
		break;
	case COP_WIRE_TABLE_TEXT:
		cop_wire_put_string(out, text->text == NULL ? "" : text->text, text->length);
		break;
	case COP_WIRE_TABLE_BINARY:
		cop_wire_put_binary(out, text->text == NULL ? "" : text->text, text->length);
		break;
	}
}

void cop_wire_table_put(const cop_wire_table *table, cop_bytes *out, const void *message)
{
	unsigned kind = *(const unsigned *)message;
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "k", table->kinds[kind]);
	for (size_t i = 0; i < table->key_count; i++)
		if ((table->keys[i].kinds >> kind & 1) != 0)
			put_field(out, &table->keys[i], (const char *)message + table->keys[i].offset);
	cop_wire_put_map_close(out, map);
}

static cop_err read_kind(const cop_wire_table *table, cop_wire_cursor *cursor, unsigned *kind)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return err;
	for (unsigned i = 0; i < table->kind_count; i++)
		if (strlen(table->kinds[i]) == length && memcmp(table->kinds[i], text, length) == 0) {
			*kind = i;
			return COP_OK;
		}
	return COP_EINVAL;
}

static cop_err read_field(cop_wire_cursor *cursor, cop_wire_table_form form, void *field)
{
	cop_wire_table_text *text = field;
	const uint8_t *bytes = NULL;
	cop_err err;
	switch (form) {
	case COP_WIRE_TABLE_WHOLE:
		return cop_wire_cursor_unsigned(cursor, field);
	case COP_WIRE_TABLE_NUMBER:
		return cop_wire_cursor_double(cursor, field);
	case COP_WIRE_TABLE_TEXT:
		return cop_wire_cursor_string(cursor, &text->text, &text->length);
	case COP_WIRE_TABLE_BINARY:
		err = cop_wire_cursor_binary(cursor, &bytes, &text->length);
		text->text = (const char *)bytes;
		return err;
	}
	return COP_EINVAL;
}

static cop_err read_all(const cop_wire_table *table, cop_wire_keys *walk, void *message, cop_wire_fault *fault)
{
	static const char *const expected[] = { "a whole number", "a number", "a string", "bytes" };
	unsigned which;
	cop_err err;
	while ((err = cop_wire_keys_next(walk, &which)) == COP_OK) {
		bool is_kind = which == table->key_count;
		const cop_wire_table_key *key = is_kind ? NULL : &table->keys[which];
		err = is_kind ? read_kind(table, walk->cursor, message)
		              : read_field(walk->cursor, key->form, (char *)message + key->offset);
		if (err != COP_OK)
			return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, walk->cursor, walk->names[which],
			        is_kind ? "a kind of message" : expected[key->form]);
	}
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_wire_table_read(
        const cop_wire_table *table, const void *data, size_t length, void *message, cop_wire_fault *fault)
{
	const char *names[COP_WIRE_TABLE_KEYS + 1];
	cop_wire_cursor cursor;
	cop_wire_keys walk;
	unsigned *kind = message;
	size_t count = table->key_count;
	COP_ASSERT(count <= COP_WIRE_TABLE_KEYS);
	for (size_t i = 0; i < count; i++)
		names[i] = table->keys[i].name;
	names[count] = "k";
	*kind = (unsigned)table->kind_count;
	cop_wire_cursor_init(&cursor, data, length);
	cop_err err = cop_wire_keys_open(&walk, &cursor, names, (unsigned)count + 1, fault);
	if (err == COP_OK)
		err = read_all(table, &walk, message, fault);
	uint32_t need = 1u << count;
	for (size_t i = 0; i < count && *kind < table->kind_count; i++)
		need |= (table->keys[i].kinds >> *kind & 1) << i;
	return err == COP_OK ? cop_wire_keys_need(&walk, need) : err;
}

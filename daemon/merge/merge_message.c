/* A table has each key once, with the kinds that carry it; all that a kind carries is put, and needed when it is read. */
#include "daemon/merge/merge_message.h"

#include <stddef.h>
#include <string.h>

#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define BIT(kind) (1u << COP_MERGE_##kind)
#define ALL       (BIT(ASK) | BIT(SUMMARY) | BIT(END) | BIT(REFUSED))

typedef enum form { WHOLE, NUMBER, TEXT, BINARY } form;

#define AT(member) #member, offsetof(cop_merge_message, member)
static const struct {
	const char *name;
	size_t offset;
	form form;
	unsigned kinds;
} keys[] = {
	{ AT(version), WHOLE, ALL },
	{ AT(of), WHOLE, BIT(ASK) | BIT(SUMMARY) },
	{ AT(part), WHOLE, BIT(ASK) | BIT(SUMMARY) },
	{ AT(own), WHOLE, BIT(SUMMARY) },
	{ AT(life), WHOLE, BIT(SUMMARY) },
	{ AT(number), WHOLE, BIT(SUMMARY) },
	{ AT(features), WHOLE, BIT(SUMMARY) },
	{ AT(arms), WHOLE, BIT(SUMMARY) },
	{ AT(crc), WHOLE, BIT(SUMMARY) },
	{ AT(time), NUMBER, BIT(SUMMARY) },
	{ AT(model), TEXT, BIT(SUMMARY) },
	{ AT(learner), TEXT, BIT(SUMMARY) },
	{ AT(reason), TEXT, BIT(REFUSED) },
	{ AT(known), BINARY, BIT(ASK) },
};
#define KEYS (sizeof keys / sizeof *keys)

static const char *const kinds[COP_MERGE_KINDS] = { "ask", "summary", "end", "refused" };

cop_merge_text cop_merge_message_text(const char *text) { return (cop_merge_text){ text, strlen(text) }; }

static void put_field(cop_bytes *out, size_t key, const void *field)
{
	const cop_merge_text *text = field;
	cop_wire_put_text(out, keys[key].name);
	switch (keys[key].form) {
	case WHOLE:
		cop_wire_put_unsigned(out, *(const uint64_t *)field);
		break;
	case NUMBER:
		cop_wire_put_double(out, *(const double *)field);
		break;
	case TEXT:
		cop_wire_put_string(out, text->text == NULL ? "" : text->text, text->length);
		break;
	case BINARY:
		cop_wire_put_binary(out, text->text == NULL ? "" : text->text, text->length);
		break;
	}
}

void cop_merge_message_put(cop_bytes *out, const cop_merge_message *message)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "k", kinds[message->kind]);
	for (size_t i = 0; i < KEYS; i++)
		if ((keys[i].kinds >> message->kind & 1) != 0)
			put_field(out, i, (const char *)message + keys[i].offset);
	cop_wire_put_map_close(out, map);
}

static cop_err read_kind(cop_wire_cursor *cursor, cop_merge_message *out)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return err;
	for (unsigned i = 0; i < COP_MERGE_KINDS; i++)
		if (strlen(kinds[i]) == length && memcmp(kinds[i], text, length) == 0) {
			out->kind = (cop_merge_kind)i;
			return COP_OK;
		}
	return COP_EINVAL;
}

static cop_err read_field(cop_wire_cursor *cursor, size_t key, cop_merge_message *out)
{
	void *field = (char *)out + keys[key].offset;
	cop_merge_text *text = field;
	const uint8_t *bytes = NULL;
	cop_err err;
	switch (keys[key].form) {
	case WHOLE:
		return cop_wire_cursor_unsigned(cursor, field);
	case NUMBER:
		return cop_wire_cursor_double(cursor, field);
	case TEXT:
		return cop_wire_cursor_string(cursor, &text->text, &text->length);
	case BINARY:
		err = cop_wire_cursor_binary(cursor, &bytes, &text->length);
		text->text = (const char *)bytes;
		return err;
	}
	return COP_EINVAL;
}

static cop_err read_all(cop_wire_keys *walk, cop_merge_message *out, cop_wire_fault *fault)
{
	static const char *const expected[] = { "a whole number", "a number", "a string", "bytes" };
	unsigned which;
	cop_err err;
	while ((err = cop_wire_keys_next(walk, &which)) == COP_OK) {
		err = which == KEYS ? read_kind(walk->cursor, out) : read_field(walk->cursor, which, out);
		if (err != COP_OK)
			return cop_wire_refuse(fault, COP_WIRE_BAD_REQUEST, err, walk->cursor, walk->names[which],
			        which == KEYS ? "a kind of message" : expected[keys[which].form]);
	}
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_merge_message_read(const void *data, size_t length, cop_merge_message *out, cop_wire_fault *fault)
{
	const char *names[KEYS + 1];
	cop_wire_cursor cursor;
	cop_wire_keys walk;
	_Static_assert(KEYS < 32, "a walk's mask has 32 bits");
	for (size_t i = 0; i < KEYS; i++)
		names[i] = keys[i].name;
	names[KEYS] = "k";
	*out = (cop_merge_message){ .kind = COP_MERGE_KINDS };
	cop_wire_cursor_init(&cursor, data, length);
	cop_err err = cop_wire_keys_open(&walk, &cursor, names, KEYS + 1, fault);
	if (err == COP_OK)
		err = read_all(&walk, out, fault);
	uint32_t need = 1u << KEYS;
	for (size_t i = 0; i < KEYS && out->kind < COP_MERGE_KINDS; i++)
		need |= (keys[i].kinds >> out->kind & 1) << i;
	return err == COP_OK ? cop_wire_keys_need(&walk, need) : err;
}

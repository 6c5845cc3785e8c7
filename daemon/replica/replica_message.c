/* A table has each key once, with the kinds that carry it; all that a kind carries is put, and needed when it is read. */
#include "daemon/replica/replica_message.h"

#include <stddef.h>
#include <stdio.h>

#include "wire/wire_keys.h"
#include "wire/wire_put.h"

#define BIT(kind) (1u << COP_REPLICA_##kind)

typedef enum form { WHOLE, NUMBER, TEXT } form;

#define AT(member) #member, offsetof(cop_replica_message, member)
static const struct {
	const char *name;
	size_t offset;
	form form;
	unsigned kinds;
} keys[] = {
	{ AT(version), WHOLE, BIT(JOIN) | BIT(WELCOME) },
	{ AT(epoch), WHOLE,
	        BIT(JOIN) | BIT(HAVE) | BIT(WELCOME) | BIT(RECORDS) | BIT(STATE) | BIT(BEAT) | BIT(REFUSED) |
	                BIT(LEADS) },
	{ AT(next), WHOLE, BIT(JOIN) | BIT(WELCOME) | BIT(BEAT) },
	{ AT(last_epoch), WHOLE, BIT(JOIN) },
	{ AT(last_crc), WHOLE, BIT(JOIN) },
	{ AT(alone), WHOLE, BIT(JOIN) },
	{ AT(full), WHOLE, BIT(JOIN) },
	{ AT(written), WHOLE, BIT(HAVE) },
	{ AT(synced), WHOLE, BIT(HAVE) },
	{ AT(applied), WHOLE, BIT(HAVE) },
	{ AT(bytes), WHOLE, BIT(HAVE) },
	{ AT(first), WHOLE, BIT(WELCOME) | BIT(RECORDS) },
	{ AT(count), WHOLE, BIT(RECORDS) },
	{ AT(sequence), WHOLE, BIT(STATE) },
	{ AT(number), WHOLE, BIT(ASK) | BIT(PART) },
	{ AT(size), WHOLE, BIT(PART) },
	{ AT(offset), WHOLE, BIT(ASK) | BIT(PART) },
	{ AT(time), NUMBER, BIT(BEAT) },
	{ AT(name), TEXT, BIT(JOIN) | BIT(WELCOME) },
	{ AT(program), TEXT, BIT(JOIN) | BIT(WELCOME) },
	{ AT(kernel), TEXT, BIT(JOIN) | BIT(WELCOME) },
	{ AT(model), TEXT, BIT(ASK) | BIT(PART) },
	{ AT(reason), TEXT, BIT(REFUSED) },
	{ AT(leader), TEXT, BIT(REFUSED) | BIT(LEADS) },
	{ AT(live), TEXT, BIT(WELCOME) },
	{ AT(requests), TEXT, BIT(WELCOME) | BIT(BEAT) | BIT(REFUSED) | BIT(LEADS) },
};
#define KEYS (sizeof keys / sizeof *keys)

static const char *const kinds[COP_REPLICA_KINDS] = { "join", "have", "ask", "welcome", "records", "part", "state",
	"beat", "refused", "leads" };

const char *cop_replica_message_kind_text(cop_replica_kind kind)
{
	return (unsigned)kind < COP_REPLICA_KINDS ? kinds[kind] : "unknown";
}

void cop_replica_message_put(cop_bytes *out, const cop_replica_message *message)
{
	size_t map = cop_wire_put_map_open(out);
	cop_wire_put_key_text(out, "k", kinds[message->kind]);
	for (size_t i = 0; i < KEYS; i++) {
		const void *field = (const char *)message + keys[i].offset;
		if ((keys[i].kinds >> message->kind & 1) == 0)
			continue;
		const cop_replica_text *text = field;
		if (keys[i].form == WHOLE)
			cop_wire_put_key_unsigned(out, keys[i].name, *(const uint64_t *)field);
		else if (keys[i].form == NUMBER)
			cop_wire_put_key_double(out, keys[i].name, *(const double *)field);
		else
			cop_wire_put_key_string(out, keys[i].name, text->text == NULL ? "" : text->text, text->length);
	}
	cop_wire_put_map_close(out, map);
}

static cop_err read_kind(cop_wire_cursor *cursor, cop_replica_message *out)
{
	const char *text;
	size_t length;
	cop_err err = cop_wire_cursor_string(cursor, &text, &length);
	if (err != COP_OK)
		return err;
	for (unsigned i = 0; i < COP_REPLICA_KINDS; i++)
		if (strlen(kinds[i]) == length && memcmp(kinds[i], text, length) == 0) {
			out->kind = (cop_replica_kind)i;
			return COP_OK;
		}
	return COP_EINVAL;
}

static cop_err read_field(cop_wire_cursor *cursor, size_t key, cop_replica_message *out)
{
	void *field = (char *)out + keys[key].offset;
	cop_replica_text *text = field;
	if (keys[key].form == WHOLE)
		return cop_wire_cursor_unsigned(cursor, field);
	if (keys[key].form == NUMBER)
		return cop_wire_cursor_double(cursor, field);
	return cop_wire_cursor_string(cursor, &text->text, &text->length);
}

static cop_err read_all(cop_wire_keys *walk, cop_replica_message *out, cop_wire_fault *fault)
{
	static const char *const expected[] = { "a whole number", "a number", "a string" };
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

cop_err cop_replica_message_read(const void *data, size_t length, cop_replica_message *out, cop_wire_fault *fault)
{
	const char *names[KEYS + 1];
	cop_wire_cursor cursor;
	cop_wire_keys walk;
	_Static_assert(KEYS < 32, "a walk's mask has 32 bits");
	for (size_t i = 0; i < KEYS; i++)
		names[i] = keys[i].name;
	names[KEYS] = "k";
	*out = (cop_replica_message){ .kind = COP_REPLICA_KINDS };
	cop_wire_cursor_init(&cursor, data, length);
	cop_err err = cop_wire_keys_open(&walk, &cursor, names, KEYS + 1, fault);
	if (err == COP_OK)
		err = read_all(&walk, out, fault);
	uint32_t need = 1u << KEYS;
	for (size_t i = 0; i < KEYS && out->kind < COP_REPLICA_KINDS; i++)
		need |= (keys[i].kinds >> out->kind & 1) << i;
	return err == COP_OK ? cop_wire_keys_need(&walk, need) : err;
}

void cop_replica_message_copy(cop_replica_text text, char *out, size_t room)
{
	cop_wire_text_clean(out, room, text.text == NULL ? "" : text.text, text.length);
}

/* A table has each key once, with the kinds that carry it; all that a kind carries is put, and needed when it is read.
 */
#include "daemon/merge/merge_message.h"

#include <stddef.h>
#include <string.h>

#include "wire/wire_table.h"

#define BIT(kind) (1u << COP_MERGE_##kind)
#define ALL       (BIT(ASK) | BIT(SUMMARY) | BIT(END) | BIT(REFUSED))

#define AT(member) #member, offsetof(cop_merge_message, member)
static const cop_wire_table_key keys[] = {
	{ AT(version), COP_WIRE_TABLE_WHOLE, ALL },
	{ AT(of), COP_WIRE_TABLE_WHOLE, BIT(ASK) | BIT(SUMMARY) },
	{ AT(part), COP_WIRE_TABLE_WHOLE, BIT(ASK) | BIT(SUMMARY) },
	{ AT(own), COP_WIRE_TABLE_WHOLE, BIT(SUMMARY) },
	{ AT(life), COP_WIRE_TABLE_WHOLE, BIT(SUMMARY) },
	{ AT(number), COP_WIRE_TABLE_WHOLE, BIT(SUMMARY) },
	{ AT(features), COP_WIRE_TABLE_WHOLE, BIT(SUMMARY) },
	{ AT(arms), COP_WIRE_TABLE_WHOLE, BIT(SUMMARY) },
	{ AT(crc), COP_WIRE_TABLE_WHOLE, BIT(SUMMARY) },
	{ AT(time), COP_WIRE_TABLE_NUMBER, BIT(SUMMARY) },
	{ AT(model), COP_WIRE_TABLE_TEXT, BIT(SUMMARY) },
	{ AT(learner), COP_WIRE_TABLE_TEXT, BIT(SUMMARY) },
	{ AT(reason), COP_WIRE_TABLE_TEXT, BIT(REFUSED) },
	{ AT(known), COP_WIRE_TABLE_BINARY, BIT(ASK) },
};

static const char *const kinds[COP_MERGE_KINDS] = { "ask", "summary", "end", "refused" };

static const cop_wire_table table = { keys, sizeof keys / sizeof *keys, kinds, COP_MERGE_KINDS };

cop_merge_text cop_merge_message_text(const char *text) { return (cop_merge_text){ text, strlen(text) }; }

void cop_merge_message_put(cop_bytes *out, const cop_merge_message *message)
{
	cop_wire_table_put(&table, out, message);
}

cop_err cop_merge_message_read(const void *data, size_t length, cop_merge_message *out, cop_wire_fault *fault)
{
	*out = (cop_merge_message){ .kind = COP_MERGE_KINDS };
	return cop_wire_table_read(&table, data, length, out, fault);
}

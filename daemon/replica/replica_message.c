/* A table has each key once, with the kinds that carry it; all that a kind carries is put, and needed when it is read.
 */
#include "daemon/replica/replica_message.h"

#include <stddef.h>
#include <stdio.h>

#include "wire/wire_table.h"

#define BIT(kind) (1u << COP_REPLICA_##kind)

#define AT(member) #member, offsetof(cop_replica_message, member)
static const cop_wire_table_key keys[] = {
	{ AT(version), COP_WIRE_TABLE_WHOLE, BIT(JOIN) | BIT(WELCOME) },
	{ AT(epoch), COP_WIRE_TABLE_WHOLE,
	        BIT(JOIN) | BIT(HAVE) | BIT(WELCOME) | BIT(RECORDS) | BIT(STATE) | BIT(BEAT) | BIT(REFUSED) |
	                BIT(LEADS) },
	{ AT(next), COP_WIRE_TABLE_WHOLE, BIT(JOIN) | BIT(WELCOME) | BIT(BEAT) },
	{ AT(last_epoch), COP_WIRE_TABLE_WHOLE, BIT(JOIN) },
	{ AT(last_crc), COP_WIRE_TABLE_WHOLE, BIT(JOIN) },
	{ AT(alone), COP_WIRE_TABLE_WHOLE, BIT(JOIN) },
	{ AT(full), COP_WIRE_TABLE_WHOLE, BIT(JOIN) },
	{ AT(forgot), COP_WIRE_TABLE_WHOLE, BIT(JOIN) },
	{ AT(written), COP_WIRE_TABLE_WHOLE, BIT(HAVE) },
	{ AT(synced), COP_WIRE_TABLE_WHOLE, BIT(HAVE) },
	{ AT(applied), COP_WIRE_TABLE_WHOLE, BIT(HAVE) },
	{ AT(bytes), COP_WIRE_TABLE_WHOLE, BIT(HAVE) },
	{ AT(first), COP_WIRE_TABLE_WHOLE, BIT(WELCOME) | BIT(RECORDS) },
	{ AT(count), COP_WIRE_TABLE_WHOLE, BIT(RECORDS) },
	{ AT(sequence), COP_WIRE_TABLE_WHOLE, BIT(STATE) },
	{ AT(number), COP_WIRE_TABLE_WHOLE, BIT(ASK) | BIT(PART) },
	{ AT(size), COP_WIRE_TABLE_WHOLE, BIT(PART) },
	{ AT(offset), COP_WIRE_TABLE_WHOLE, BIT(ASK) | BIT(PART) },
	{ AT(time), COP_WIRE_TABLE_NUMBER, BIT(BEAT) },
	{ AT(name), COP_WIRE_TABLE_TEXT, BIT(JOIN) | BIT(WELCOME) },
	{ AT(program), COP_WIRE_TABLE_TEXT, BIT(JOIN) | BIT(WELCOME) },
	{ AT(kernel), COP_WIRE_TABLE_TEXT, BIT(JOIN) | BIT(WELCOME) },
	{ AT(model), COP_WIRE_TABLE_TEXT, BIT(ASK) | BIT(PART) },
	{ AT(reason), COP_WIRE_TABLE_TEXT, BIT(REFUSED) },
	{ AT(leader), COP_WIRE_TABLE_TEXT, BIT(REFUSED) | BIT(LEADS) },
	{ AT(live), COP_WIRE_TABLE_TEXT, BIT(WELCOME) },
	{ AT(requests), COP_WIRE_TABLE_TEXT, BIT(WELCOME) | BIT(BEAT) | BIT(REFUSED) | BIT(LEADS) },
};

static const char *const kinds[COP_REPLICA_KINDS] = { "join", "have", "ask", "welcome", "records", "part", "state",
	"beat", "refused", "leads" };

static const cop_wire_table table = { keys, sizeof keys / sizeof *keys, kinds, COP_REPLICA_KINDS };

void cop_replica_message_put(cop_bytes *out, const cop_replica_message *message)
{
	cop_wire_table_put(&table, out, message);
}

cop_err cop_replica_message_read(const void *data, size_t length, cop_replica_message *out, cop_wire_fault *fault)
{
	*out = (cop_replica_message){ .kind = COP_REPLICA_KINDS };
	return cop_wire_table_read(&table, data, length, out, fault);
}

void cop_replica_message_copy(cop_replica_text text, char *out, size_t room)
{
	cop_wire_text_clean(out, room, text.text == NULL ? "" : text.text, text.length);
}

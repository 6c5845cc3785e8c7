/* Bytes beyond the length are zero, so hashing takes whole words. A number keeps its eight bytes, and a negative one
 * has a kind of its own: equal ids have equal kind, length and bytes, and no two numbers of different sign are equal.
 * The hash is keyed, so that clients cannot choose ids that collide. */
#include "events/event_id.h"

#include <string.h>

static void from_word(cop_event_id *id, cop_event_id_kind kind, uint64_t word)
{
	memset(id, 0, sizeof *id);
	id->kind = (uint8_t)kind;
	id->length = sizeof word;
	memcpy(id->bytes, &word, sizeof word);
}

void cop_event_id_from_unsigned(cop_event_id *id, uint64_t value) { from_word(id, COP_EVENT_ID_UNSIGNED, value); }

void cop_event_id_from_signed(cop_event_id *id, int64_t value)
{
	from_word(id, value < 0 ? COP_EVENT_ID_NEGATIVE : COP_EVENT_ID_UNSIGNED, (uint64_t)value);
}

bool cop_event_id_from_bytes(cop_event_id *id, cop_event_id_kind kind, const void *bytes, size_t length)
{
	memset(id, 0, sizeof *id);
	if (length == 0 || length > COP_EVENT_ID_MAX)
		return false;
	id->kind = (uint8_t)kind;
	id->length = (uint8_t)length;
	memcpy(id->bytes, bytes, length);
	return true;
}

bool cop_event_id_equal(const cop_event_id *a, const cop_event_id *b)
{
	return a->kind == b->kind && a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Multiply-fold of 128-bit products over 8-byte words; both factors depend on the key. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t cop_event_id_hash(const cop_event_id *id, uint64_t key)
{
	uint64_t h = fold(key ^ UINT64_C(0x9e3779b97f4a7c15),
	        ((uint64_t)id->kind << 8) | id->length | UINT64_C(0xa24baed4963ee400));
	uint64_t word;
	for (size_t at = 0; at < id->length; at += sizeof word) { /* bytes beyond length are zero */
		memcpy(&word, id->bytes + at, sizeof word);
		h = fold(h ^ word ^ UINT64_C(0xd6e8feb86659fd93), key | 1) ^
		    fold(word + h, UINT64_C(0x9fb21c651e98df25));
	}
	return fold(h ^ key, UINT64_C(0xe7037ed1a0b428db));
}

#define PART_KEY UINT64_C(0x65636970706f63) /* "coppice" */

uint32_t cop_event_id_part(const cop_event_id *key, uint32_t of)
{
	return (uint32_t)(cop_event_id_hash(key, PART_KEY) % of);
}

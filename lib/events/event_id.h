/* events/event_id.h: the name a client gives to a decision, and under which its feedback comes back.
 *
 * A string, binary or integer; the types are distinct: the integer 17 is not the string "17". Plain values. */
#ifndef COP_EVENTS_EVENT_ID_H
#define COP_EVENTS_EVENT_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COP_EVENT_ID_MAX   64
#define COP_EVENT_ID_PARTS 65536 /* among which keys are divided, at most */

typedef enum cop_event_id_kind {
	COP_EVENT_ID_STRING = 1,   /* UTF-8, not checked, 1 to COP_EVENT_ID_MAX bytes */
	COP_EVENT_ID_BINARY = 2,   /* 1 to COP_EVENT_ID_MAX bytes */
	COP_EVENT_ID_UNSIGNED = 3, /* 8 bytes little-endian, integers >= 0 */
	COP_EVENT_ID_NEGATIVE = 4, /* 8 bytes little-endian two's complement, integers < 0 */
} cop_event_id_kind;

typedef struct cop_event_id {
	uint8_t kind;   /* cop_event_id_kind; 0: no id */
	uint8_t length; /* bytes used */
	uint8_t bytes[COP_EVENT_ID_MAX];
} cop_event_id;

void cop_event_id_from_unsigned(cop_event_id *id, uint64_t value);
void cop_event_id_from_signed(cop_event_id *id, int64_t value);
/* length in [1, COP_EVENT_ID_MAX] or false. kind: string or binary. */
bool cop_event_id_from_bytes(cop_event_id *id, cop_event_id_kind kind, const void *bytes, size_t length);
bool cop_event_id_equal(const cop_event_id *a, const cop_event_id *b);
/* 64 bits, well mixed; keyed so that hostile ids cannot be made to collide without knowing the key. */
uint64_t cop_event_id_hash(const cop_event_id *id, uint64_t key);
/* The part of 1 .. `of`, from 0, that a key belongs to, where models are divided by key among instances: its hash under
 * a fixed key, modulo `of`. Publishers find it by the same rule (docs/reference/merging.md), so it never changes. */
uint32_t cop_event_id_part(const cop_event_id *key, uint32_t of);

#endif

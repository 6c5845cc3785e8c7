/* wire/wire_past.h: questions about decisions of a model: one by its id or record, or those whose id begins with a
 * text.
 *
 * What a client asks (verbs `decision` and `decisions`), and what is handed to the process that looks for the answer.
 * No state: any thread. */
#ifndef COP_WIRE_WIRE_PAST_H
#define COP_WIRE_WIRE_PAST_H

#include "base/bytes.h"
#include "wire/wire_keys.h"

#define COP_WIRE_PAST_PREFIX (2 * COP_EVENT_ID_MAX) /* bytes that an id is written in, at most */
#define COP_WIRE_PAST_LIMIT  100                    /* decisions of one answer, at most */
#define COP_WIRE_PAST_USUAL  20

typedef struct cop_wire_past {
	cop_event_id id;                       /* decision; kind 0: only the record is given */
	uint64_t record;                       /* decision: of the journal; 0: the last one of that id */
	char prefix[COP_WIRE_PAST_PREFIX + 1]; /* decisions: how the id is written; "" fits all */
	uint64_t before;                       /* decisions: of records before this one; 0: all */
	size_t limit;                          /* decisions: in [1, COP_WIRE_PAST_LIMIT] */
	bool waiting;                          /* decisions: only those that wait, and at once */
	cop_wire_seq seq;
} cop_wire_past;

/* Of `decision`: `id`, `record` or both. COP_EFORMAT, COP_EINVAL, with the fault filled. */
COP_CHECK cop_err cop_wire_past_decision(const void *body, size_t length, cop_wire_past *out, cop_wire_fault *fault);
/* Of `decisions`. COP_EFORMAT, COP_EINVAL, with the fault filled. */
COP_CHECK cop_err cop_wire_past_decisions(const void *body, size_t length, cop_wire_past *out, cop_wire_fault *fault);
/* Appends the body again, without seq: equal questions are equal bytes. */
void cop_wire_past_put(const cop_wire_past *question, cop_bytes *out);
/* Its pairs alone; how many they are. */
uint32_t cop_wire_past_put_pairs(const cop_wire_past *question, cop_bytes *out);

/* How an id is written where it is looked for: a text as it is, a number in decimal, bytes in hexadecimal digits.
 * Returns the length; out is not terminated. */
size_t cop_wire_past_spell(const cop_event_id *id, char out[COP_WIRE_PAST_PREFIX]);
/* Whether the id is written with this text at its beginning. */
bool cop_wire_past_begins(const cop_event_id *id, const char *prefix);

#endif

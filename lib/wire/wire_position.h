/* wire/wire_position.h: where an event stood in an event log: `from: [source, partition, offset]`, with a fourth number
 * where the log numbers in two parts, as Redis does.
 *
 * Positions of one source and partition are ordered by offset, then by minor. Views point into the message. No state:
 * any thread. */
#ifndef COP_WIRE_WIRE_POSITION_H
#define COP_WIRE_WIRE_POSITION_H

#include "base/bytes.h"
#include "wire/wire_code.h"
#include "wire/wire_cursor.h"

#define COP_WIRE_POSITION_SOURCE 64 /* bytes of a source's name */

typedef struct cop_wire_position {
	const char *source; /* borrowed, not terminated; NULL: no position */
	size_t length;      /* 1 to COP_WIRE_POSITION_SOURCE */
	uint64_t partition;
	uint64_t offset;
	uint64_t minor; /* 0 where the log has one number */
} cop_wire_position;

/* Below, at, above 0: a stands before, at, behind b, in one source and partition. */
int cop_wire_position_compare(const cop_wire_position *a, const cop_wire_position *b);

/* Reads the value of a key, `from` or `after`. COP_EFORMAT with the fault (NULL allowed) filled. */
COP_CHECK cop_err cop_wire_position_read(
        cop_wire_cursor *cursor, const char *key, cop_wire_position *out, cop_wire_fault *fault);
/* Appends that value. */
void cop_wire_position_put(cop_bytes *bytes, const cop_wire_position *position);
/* Key `from` and its value; nothing when there is none. */
void cop_wire_position_put_key(cop_bytes *bytes, const cop_wire_position *position);

#endif

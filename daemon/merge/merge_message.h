/* daemon/merge/merge_message.h: what instances of a partition say to each other to merge models
 * (docs/reference/merging.md).
 *
 * A message is one MessagePack map; behind that of a summary stands a frame with its sums. Unknown keys are passed
 * over. Pure functions. */
#ifndef COP_DAEMON_MERGE_MERGE_MESSAGE_H
#define COP_DAEMON_MERGE_MERGE_MESSAGE_H

#include "base/bytes.h"
#include "wire/wire_table.h"

#define COP_MERGE_VERSION 1 /* of this protocol */

typedef enum cop_merge_kind {
	COP_MERGE_ASK,     /* what does the peer know beyond `known`? */
	COP_MERGE_SUMMARY, /* one instance's sums of one model */
	COP_MERGE_END,     /* that was all */
	COP_MERGE_REFUSED, /* and the reason */
	COP_MERGE_KINDS
} cop_merge_kind;

typedef cop_wire_table_text cop_merge_text;

typedef struct cop_merge_message {
	cop_merge_kind kind;
	uint64_t version, of, part; /* part: of who asks, or of who learned */
	uint64_t own;               /* 1: who tells it learned it */
	uint64_t life, number;
	uint64_t features, arms; /* of the model */
	uint64_t crc;            /* CRC-32C of the sums */
	double time;
	cop_merge_text model, learner, reason;
	cop_merge_text known; /* pairs of life and number, u64 little-endian */
} cop_merge_message;

cop_merge_text cop_merge_message_text(const char *text);
/* Appends the map: those keys that its kind has. */
void cop_merge_message_put(cop_bytes *out, const cop_merge_message *message);
/* Texts are borrowed from data. COP_EFORMAT, COP_EINVAL, with the fault. */
COP_CHECK cop_err cop_merge_message_read(
        const void *data, size_t length, cop_merge_message *out, cop_wire_fault *fault);

#endif

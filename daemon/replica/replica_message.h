/* daemon/replica/replica_message.h: what leader and followers of a journal say to each other
 * (docs/reference/replication.md).
 *
 * A message is one MessagePack map, and behind it a frame of bytes in those kinds that carry some: records, parts of a
 * file, checksums of the state. Unknown keys are passed over. Pure functions. */
#ifndef COP_DAEMON_REPLICA_REPLICA_MESSAGE_H
#define COP_DAEMON_REPLICA_REPLICA_MESSAGE_H

#include "base/bytes.h"
#include "wire/wire_table.h"

#define COP_REPLICA_VERSION 1 /* of this protocol */

typedef enum cop_replica_kind {
	/* Of a follower: */
	COP_REPLICA_JOIN, /* it wants the records from `next` on; behind the record before it, if there is one */
	COP_REPLICA_HAVE, /* how far it is */
	COP_REPLICA_ASK,  /* for a part of a file: a challenger's, or where `model` is empty the checkpoint's */
	/* Of a leader: */
	COP_REPLICA_WELCOME, /* records come from `next` on; 0: a checkpoint is to be asked for first */
	COP_REPLICA_RECORDS, /* `count` records from `first` on, as in a segment */
	COP_REPLICA_PART,    /* of a file of `size` bytes, from `offset` on; 0: there is no such file */
	COP_REPLICA_STATE,   /* checksums of the state behind record `sequence` */
	COP_REPLICA_BEAT,    /* it is there */
	COP_REPLICA_REFUSED, /* and the reason */
	COP_REPLICA_LEADS,   /* to all others, who may follow another one or lead: where its link and requests are */
	COP_REPLICA_KINDS
} cop_replica_kind;

typedef cop_wire_table_text cop_replica_text;

typedef struct cop_replica_message {
	cop_replica_kind kind;
	uint64_t version; /* of the protocol */
	uint64_t epoch;
	uint64_t next;       /* sequence number of the record to come */
	uint64_t last_epoch; /* of the record before it, */
	uint64_t last_crc;   /* and its checksum; both mean nothing where next is 1 */
	uint64_t alone;      /* 1: there is a checkpoint alone, and no such record to tell the checksum of */
	uint64_t full;       /* of a join, 1: from a checkpoint */
	uint64_t forgot;     /* the same: since which record somebody is forgotten; 0: nobody is */
	uint64_t written, synced, applied; /* last sequence numbers */
	uint64_t bytes;                    /* of records that were taken since the welcome */
	uint64_t first;                    /* of records; of a welcome, the first record of the leader's epoch */
	uint64_t count, sequence;
	uint64_t number, size, offset;
	double time;
	cop_replica_text name, program, kernel, model, reason;
	cop_replica_text leader;   /* where the leader's link is, as it was told, divided by spaces; "": not known */
	cop_replica_text live;     /* of a welcome: what was changed live (daemon/config/live.h) */
	cop_replica_text requests; /* where the leader takes requests, divided by spaces */
} cop_replica_message;

/* Appends the map: those keys that its kind has. */
void cop_replica_message_put(cop_bytes *out, const cop_replica_message *message);
/* Texts are borrowed from data. COP_EFORMAT, with the fault. */
COP_CHECK cop_err cop_replica_message_read(
        const void *data, size_t length, cop_replica_message *out, cop_wire_fault *fault);

/* The text with an end behind it, in as much of the room as there is. */
void cop_replica_message_copy(cop_replica_text text, char *out, size_t room);
static inline cop_replica_text cop_replica_message_text(const char *text)
{
	return (cop_replica_text){ text, strlen(text) };
}

#endif

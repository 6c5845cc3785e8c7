/* daemon/replica/replica_log.h: the newest records of a leader's journal, in memory, for followers that are near.
 *
 * Batches as they were written, oldest first, within a bound of bytes: what does not fit any more is forgotten, and who
 * still wants it reads the journal's files. Behind a batch there may be the checksums of the state there. One thread.
 */
#ifndef COP_DAEMON_REPLICA_REPLICA_LOG_H
#define COP_DAEMON_REPLICA_REPLICA_LOG_H

#include <stdbool.h>

#include "base/bytes.h"

typedef struct cop_replica_batch cop_replica_batch;

typedef struct cop_replica_log {
	cop_replica_batch **ring;  /* in order */
	size_t room, begin, count; /* batches; room: a power of two, or 0 */
	size_t bytes, most;
	uint64_t next; /* sequence number of the record to come */
} cop_replica_log;

/* Empty: the next record is `next`; at most about `most` bytes are kept. */
void cop_replica_log_init(cop_replica_log *log, uint64_t next, size_t most);
void cop_replica_log_fini(cop_replica_log *log);

/* `count` whole records from `first` on. Where they do not follow what is there, or memory is short, what was there is
 * forgotten. */
void cop_replica_log_put(cop_replica_log *log, const void *data, size_t length, uint64_t first, uint64_t count);
/* The encoded checksums (copied) of the state behind the newest record. */
void cop_replica_log_put_state(cop_replica_log *log, const cop_bytes *state);
/* Forgets them all: the state became another one without a record. */
void cop_replica_log_drop_states(cop_replica_log *log);

/* Number of the oldest record that is there; log->next: there is none. */
uint64_t cop_replica_log_first(const cop_replica_log *log);
/* Appends records from `next` on, which is in [first, log->next], up to about `most` bytes or to a batch with checksums
 * behind it; how many. */
uint64_t cop_replica_log_take(const cop_replica_log *log, uint64_t next, size_t most, cop_bytes *out);
/* The checksums behind the record; NULL: there are none. */
const cop_bytes *cop_replica_log_state(const cop_replica_log *log, uint64_t sequence);
/* Checksum of one record that is there. */
uint32_t cop_replica_log_crc(const cop_replica_log *log, uint64_t sequence);

/* Bytes of the record that data begins with, and the checksum in its head. */
size_t cop_replica_log_frame(const uint8_t *data);
uint32_t cop_replica_log_frame_crc(const uint8_t *data);

#endif

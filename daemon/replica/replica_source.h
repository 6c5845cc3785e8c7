/* daemon/replica/replica_source.h: what a leader's follower takes from the disk: records that are no longer in memory,
 * the newest checkpoint, challengers; read by a job, so that serving never waits for it.
 *
 * One source for each follower. What a job reads and writes is its own until it is done. The loop's thread starts and
 * looks. */
#ifndef COP_DAEMON_REPLICA_REPLICA_SOURCE_H
#define COP_DAEMON_REPLICA_REPLICA_SOURCE_H

#include "base/bytes.h"
#include "daemon/common/job.h"
#include "daemon/config/config.h"
#include "store/journal_reader.h"

#define COP_REPLICA_PART_BYTES ((size_t)1 << 20) /* of a file or of records in one message, about */

typedef enum cop_replica_task {
	COP_REPLICA_TASK_NONE,
	COP_REPLICA_TASK_PLACE,   /* finds the record before `next`, whose checksum and epoch go into crc and epoch;
	                             until 0: only whether there are records from `next` on */
	COP_REPLICA_TASK_RECORDS, /* from `next` on, up to `until` */
	COP_REPLICA_TASK_PART,    /* of a file */
} cop_replica_task;

typedef struct cop_replica_source {
	const char *state_dir; /* kept */
	cop_job job;
	cop_replica_task task;
	uint64_t next, until;
	char model[COP_CONFIG_NAME_MAX + 1]; /* of a challenger; "": the newest checkpoint */
	uint64_t number, offset;             /* number: of the challenger; of the checkpoint, out */
	/* What came of it: */
	cop_err err; /* COP_ENOTFOUND: the records are gone, or there is no such file */
	cop_diag why;
	uint32_t crc;
	uint64_t epoch;
	uint64_t count; /* records in out */
	uint64_t size;  /* of the file */
	cop_bytes out;
	cop_journal_reader *reader; /* which stands at `at`; NULL: none */
	uint64_t at;
	int file; /* -1: none */
} cop_replica_source;

void cop_replica_source_init(cop_replica_source *source, const char *state_dir);
/* Waits for a job. */
void cop_replica_source_fini(cop_replica_source *source);
/* No job is under way; what the task needs is filled in. COP_EIO. */
COP_CHECK cop_err cop_replica_source_start(cop_replica_source *source, cop_replica_task task);
/* A job is done: which one, whose results are there until the next starts. COP_REPLICA_TASK_NONE: none is, or not yet.
 */
cop_replica_task cop_replica_source_take(cop_replica_source *source);

#endif

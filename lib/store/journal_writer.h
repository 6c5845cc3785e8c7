/* store/journal_writer.h: appends batches of records to a journal and makes them durable.
 *
 * The caller encodes batches (cop_journal_record_put, on any thread) and gives them in order: write, then sync. Every
 * segment but the last one is wholly synced. After a write, sync or roll has failed the writer is *broken*: it
 * refuses everything until cop_journal_writer_recover, which puts what is not known to be durable into a new segment;
 * a file whose sync failed is never trusted again, nor synced again. One process writes a folder; one thread per
 * writer; no clock. */
#ifndef COP_STORE_JOURNAL_WRITER_H
#define COP_STORE_JOURNAL_WRITER_H

#include "store/journal_segment.h"

typedef struct cop_journal_writer cop_journal_writer;

typedef struct cop_journal_settings {
	uint64_t segment_bytes; /* a batch that would pass it begins a new segment; 0: never */
	bool preallocate;       /* reserve segment_bytes on the disk at once, where the file system can */
	const void *model_set;  /* goes into every segment's header; copied */
	size_t model_set_length;
	uint64_t epoch; /* of every segment, but that it never falls below that of the segments that are there */
} cop_journal_settings;

/* Syncs the newest segment that is there (the process that wrote it may have been killed), removes unfinished ones,
 * and begins a new segment with next_sequence, which is 1 in an empty folder, else the tail's next_sequence that a
 * reader gave. Caller closes with cop_journal_writer_close; on error *out is NULL.
 * COP_EINVAL: next_sequence 0 or above COP_JOURNAL_BASE_MAX, or a model set above COP_JOURNAL_MODEL_SET_MAX.
 * COP_EEXIST: there are records from next_sequence on in a segment that begins there or later. COP_ENOTFOUND: no such
 * folder. COP_EIO, COP_ENOMEM, and COP_EFORMAT, COP_EVERSION of a segment that is in the way. */
COP_CHECK cop_err cop_journal_writer_open(const char *folder, const cop_journal_settings *settings,
        uint64_t next_sequence, cop_journal_writer **out, cop_diag *diag);

/* Syncs (unless broken), closes and frees in every case; NULL is allowed. COP_EIO: the sync failed. */
COP_CHECK cop_err cop_journal_writer_close(cop_journal_writer *writer, cop_diag *diag);

/* Writes batch[0, length): whole records with the `count` sequence numbers from first_sequence on, which is written
 * + 1. On error nothing of it counts as written and the writer is broken: what was written of it is cut off again, or
 * is a torn tail. COP_EINVAL: another first_sequence (nothing happens). COP_EIO. */
COP_CHECK cop_err cop_journal_writer_write(cop_journal_writer *writer, const void *batch, size_t length,
        uint64_t first_sequence, uint64_t count, cop_diag *diag);

/* All that was written is durable when this gives COP_OK. On error the writer is broken. Free when nothing is new.
 * COP_EIO. */
COP_CHECK cop_err cop_journal_writer_sync(cop_journal_writer *writer, cop_diag *diag);

/* The same in three steps, so that the wait for the disk can be on another thread while batches go on being written
 * here: begin gives a ticket for all that was written so far; run waits, and takes what has become durable out of the
 * page cache; end (here again) takes in what run found. One ticket at a time; the writer may roll, break or recover in
 * between. begin: COP_EINVAL: broken. COP_EIO: no descriptor. end: errors as sync. */
typedef struct cop_journal_ticket {
	int fd;
	uint64_t base, sequence;
	uint64_t bytes;     /* of the segment */
	uint64_t forgotten; /* of them, out of the page cache */
	int error;          /* errno that run met; 0: none */
	bool gone;          /* the segment has no name any more, or is shorter than it was */
} cop_journal_ticket;

COP_CHECK cop_err cop_journal_writer_sync_begin(cop_journal_writer *writer, cop_journal_ticket *ticket);
/* A ticket that was begun and not yet run covers all that is written by now. Errors as begin; the ticket is as it was.
 */
COP_CHECK cop_err cop_journal_writer_sync_extend(cop_journal_writer *writer, cop_journal_ticket *ticket);
void cop_journal_writer_sync_run(cop_journal_ticket *ticket);
COP_CHECK cop_err cop_journal_writer_sync_end(cop_journal_writer *writer, cop_journal_ticket *ticket, cop_diag *diag);

/* Whether the segment being written, and the folder, are still what their names stand for, and the segment is as long
 * as it was written. If not, the writer is broken, and what it held is gone (cop_journal_writer_recover). Before each
 * write and after each sync the segment alone is looked at, which no name is looked up for. COP_EIO. */
COP_CHECK cop_err cop_journal_writer_check(cop_journal_writer *writer, cop_diag *diag);

/* Checks, syncs, and begins a new segment, whatever the size of this one. Errors as check and sync; then the writer is
 * broken. */
COP_CHECK cop_err cop_journal_writer_roll(cop_journal_writer *writer, cop_diag *diag);

/* The model set of the segments to come. COP_EINVAL: too long. COP_ENOMEM. */
COP_CHECK cop_err cop_journal_writer_set_models(cop_journal_writer *writer, const void *model_set, size_t length);

/* The epoch of the segments to come; cop_journal_writer_roll begins one. COP_EINVAL: it would fall. */
COP_CHECK cop_err cop_journal_writer_set_epoch(cop_journal_writer *writer, uint64_t epoch);

/* Heals a broken writer (contract: it is broken) by a new, synced segment that begins behind the last durable record
 * and appears whole or not at all. Into it go: the records durable + 1 to first_sequence - 1, read back from the broken
 * segment and checked, then batch[0, length) with `count` records from first_sequence on (count 0: none). So a caller
 * that kept what is not durable gives it, and one that did not gives (NULL, 0, written + 1, 0). On success everything
 * is durable; on error the writer stays broken and nothing is lost; try again later.
 * COP_EINVAL: first_sequence is not in [1, written + 1] or below the segment's base, or the batch ends before written.
 * COP_EFORMAT: a record could not be read back, diag->offset and message identify it; a caller that has it may give a
 * batch that begins with it. COP_ENOTFOUND: the segment is gone, and with it records that had been durable: a caller
 * that has their effect elsewhere opens a new writer. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_writer_recover(cop_journal_writer *writer, const void *batch, size_t length,
        uint64_t first_sequence, uint64_t count, cop_diag *diag);

/* Last sequence numbers written, and known to be durable; next_sequence - 1 before the first. */
uint64_t cop_journal_writer_written(const cop_journal_writer *writer);
uint64_t cop_journal_writer_durable(const cop_journal_writer *writer);
bool cop_journal_writer_broken(const cop_journal_writer *writer);
/* Broken, and the segment is gone. */
bool cop_journal_writer_gone(const cop_journal_writer *writer);

/* The segments to come have it. */
uint64_t cop_journal_writer_epoch(const cop_journal_writer *writer);

/* Base and bytes so far of the segment being written. */
uint64_t cop_journal_writer_base(const cop_journal_writer *writer);
uint64_t cop_journal_writer_bytes(const cop_journal_writer *writer);

#endif

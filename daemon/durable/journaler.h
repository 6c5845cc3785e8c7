/* daemon/durable/journaler.h: the daemon's journal: what happens to the models, on disk before it is answered.
 *
 * The loop puts records while it handles messages and commits them once a turn: one write for all of them. A second
 * thread waits for the disk (fdatasync), so that one sync covers many answers and serving never waits for it. An answer
 * may leave when its record is committed: synced under `always`, written under `interval` and `never`, written and held
 * by followers under `replica`. A write or sync
 * that fails breaks the journal: nothing more is recorded, decisions go on, feedback is refused, until
 * cop_journaler_heal has put what is missing into a new segment. All calls are the loop's thread's. */
#ifndef COP_DAEMON_DURABLE_JOURNALER_H
#define COP_DAEMON_DURABLE_JOURNALER_H

#include "daemon/common/histogram.h"
#include "daemon/config/config.h"
#include "wire/wire_record.h"

typedef struct cop_journaler cop_journaler;

typedef struct cop_journaler_counts {
	uint64_t records, bytes; /* put by this process */
	uint64_t writes, syncs;
	uint64_t failures; /* times it broke */
	cop_histogram sync_durations;
} cop_journaler_counts;

/* Writes into the folder from sequence number `next` on (store/journal_writer.h); config's journal section. When the
 * disk is full the journal is there, broken, and *diag says why. Other errors of cop_journal_writer_open, COP_EIO,
 * COP_ENOMEM, with *diag. Caller closes; on error *out is NULL. */
COP_CHECK cop_err cop_journaler_open(
        const char *folder, const cop_config *config, uint64_t next, cop_journaler **out, cop_diag *diag);
/* Commits and syncs what is there, closes and frees; NULL is allowed. Its error, with *diag. */
COP_CHECK cop_err cop_journaler_close(cop_journaler *journaler, cop_diag *diag);

/* The models of this configuration go into the segments to come. Short of memory, they stay as they were. */
void cop_journaler_set_models(cop_journaler *journaler, const cop_config *config);

/* Appends a record; its sequence number. 0: the journal is broken, or off (NULL), and nothing was recorded. */
uint64_t cop_journaler_put(cop_journaler *journaler, cop_wire_record_type type, const cop_wire_record *record);
/* Writes what was put, and sees to it that it is synced in time. False when this broke the journal; then
 * *diag says why. */
bool cop_journaler_commit(cop_journaler *journaler, cop_diag *diag);
/* Takes in a finished sync; call when fd is readable. False when this broke the journal; then *diag says why. */
bool cop_journaler_take(cop_journaler *journaler, cop_diag *diag);
int cop_journaler_fd(const cop_journaler *journaler);

/* Whether the file that is written to is still the one of its name (cop_journal_writer_check). False when this broke
 * the journal; then *diag says why. */
bool cop_journaler_check(cop_journaler *journaler, cop_diag *diag);

/* Sequence numbers: the next record's; the last written; the last whose answer may leave; the last synced. */
uint64_t cop_journaler_next(const cop_journaler *journaler);
uint64_t cop_journaler_written(const cop_journaler *journaler);
uint64_t cop_journaler_committed(const cop_journaler *journaler);
uint64_t cop_journaler_durable(const cop_journaler *journaler);
/* The first record of the segment being written; 0: broken. */
uint64_t cop_journaler_base(const cop_journaler *journaler);
/* Bytes that were put and are not yet synced. */
uint64_t cop_journaler_lag(const cop_journaler *journaler);
bool cop_journaler_broken(const cop_journaler *journaler);
/* Broken, and the file that was written to is gone: there is nothing to wait for. */
bool cop_journaler_gone(const cop_journaler *journaler);
const cop_journaler_counts *cop_journaler_get_counts(const cop_journaler *journaler);

/* Everything put is written and synced when this gives COP_OK. Waits. COP_EIO: broken, *diag says why. */
COP_CHECK cop_err cop_journaler_flush(cop_journaler *journaler, cop_diag *diag);
/* The same, and what is put from then on goes into a new segment. */
COP_CHECK cop_err cop_journaler_roll(cop_journaler *journaler, cop_diag *diag);
/* The same, under this epoch (store/journal_segment.h). COP_EINVAL: it is lower than that of the journal. */
COP_CHECK cop_err cop_journaler_begin_epoch(cop_journaler *journaler, uint64_t epoch, cop_diag *diag);
uint64_t cop_journaler_epoch(const cop_journaler *journaler);
/* What is put from now on goes behind `copy` too (kept; NULL: no longer), record by record as in a segment; short of
 * memory, copy->err says so. */
void cop_journaler_listen(cop_journaler *journaler, cop_bytes *copy);
/* Called with each batch of records once it is written. */
typedef void cop_journaler_tap(void *context, const void *data, size_t length, uint64_t first, uint64_t count);
/* From now on; tap NULL: no longer. */
void cop_journaler_set_tap(cop_journaler *journaler, cop_journaler_tap *tap, void *context);
/* Under `replica`: the last record that as many followers have as there must be. It never falls. */
void cop_journaler_set_held(cop_journaler *journaler, uint64_t sequence);
/* Whether what is written from now on is synced at once, whatever the configuration says. */
void cop_journaler_set_eager(cop_journaler *journaler, bool eager);
/* Appends `count` whole records, as another journal has them, of which the first has the next number. False: the
 * journal is broken, or memory short, and nothing was appended. room: whether append will not be short of memory. */
bool cop_journaler_room(cop_journaler *journaler, size_t length);
bool cop_journaler_append(cop_journaler *journaler, const void *data, size_t length, uint64_t count);
/* Tries to go on after a break: all that was put is in a new segment then, synced. The caller writes a checkpoint
 * before it records again, for what happened meanwhile is in no record. COP_EFORMAT, COP_ENOTFOUND: what was put cannot
 * be read back, or its file is gone: cop_journaler_begin_anew leads on. COP_EIO, COP_ENOMEM: still broken. */
COP_CHECK cop_err cop_journaler_heal(cop_journaler *journaler, cop_diag *diag);
/* Goes on with a new segment behind all that was put, which is in a checkpoint that the caller has written; what lies
 * before it cannot be read. Makes the folder when it is not there. COP_EIO, COP_ENOMEM: still broken. */
COP_CHECK cop_err cop_journaler_begin_anew(cop_journaler *journaler, cop_diag *diag);
/* Whether something that was to be recorded is in no record, since this was asked last. */
bool cop_journaler_take_lost(cop_journaler *journaler);
/* Broken again: what was to make a healed journal good did not come about. */
void cop_journaler_rebreak(cop_journaler *journaler);

#endif

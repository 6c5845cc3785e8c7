/* store/journal_segment.h: the bytes of a journal: segment headers, records, file names.
 * docs/reference/journal.md shows them.
 *
 * A journal is a folder of segments BASE.journal, BASE the sequence number of the first record as 20 decimal digits.
 * Little-endian; a segment is its header, then frames:
 *
 *     "COPJOURN"  u32 version  u32 header length  u64 base  u64 epoch  u32 n  n bytes of model set
 *                 u32 CRC32C of all before
 *     u32 body length  u32 CRC32C  u64 sequence  u8 type  3 zero bytes  body
 *
 * A frame's CRC32C covers the length and everything behind the checksum. Sequence numbers count from 1 and are
 * consecutive over all segments. Type 0 is no record but a mark by the writer: everything up to its sequence number
 * was synced before it. The epoch counts the instances that led a group of replicas, one after another: it never falls
 * along a journal. A segment's records end where the next segment's base begins; what follows there was written
 * again into the next segment. Closed segments may be BASE.journal.zst. Functions of the journal that list COP_EIO
 * return COP_EFULL when the disk is full. No state: any thread. */
#ifndef COP_STORE_JOURNAL_SEGMENT_H
#define COP_STORE_JOURNAL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_JOURNAL_VERSION       1u
#define COP_JOURNAL_HEADER_MIN    40 /* of a segment: all but the model set */
#define COP_JOURNAL_FRAME_HEAD    20 /* of a record: all but the body */
#define COP_JOURNAL_BODY_MAX      ((size_t)64 << 20)
#define COP_JOURNAL_MODEL_SET_MAX ((size_t)1 << 20)
#define COP_JOURNAL_MARK          0                    /* type of a mark; records have 1 to 255 */
#define COP_JOURNAL_BASE_MAX      9999999999999999999u /* so that numbers to come never wrap around */

/* Room for any segment's name (without its folder), temporary ones too. */
#define COP_JOURNAL_NAME_ROOM 48

typedef struct cop_journal_record {
	uint64_t sequence;
	uint64_t offset; /* of its head in the (decompressed) segment */
	size_t length;
	const uint8_t *body; /* length bytes, borrowed; the head lies before it */
	uint8_t type;
} cop_journal_record;

typedef struct cop_journal_header {
	uint64_t base;
	uint64_t epoch;
	size_t length;            /* of the whole header */
	const uint8_t *model_set; /* borrowed */
	size_t model_set_length;
} cop_journal_header;

/* Appends one record. bytes->err becomes COP_EINVAL when type is COP_JOURNAL_MARK, sequence 0, or the body longer than
 * COP_JOURNAL_BODY_MAX; COP_ENOMEM. */
void cop_journal_record_put(cop_bytes *bytes, uint64_t sequence, uint8_t type, const void *body, size_t length);

/* The same for a body that is put straight into bytes: begin gives where the record starts, end completes its head.
 * What lies before `start` is left alone. */
size_t cop_journal_segment_record_begin(cop_bytes *bytes, uint64_t sequence, uint8_t type);
void cop_journal_segment_record_end(cop_bytes *bytes, size_t start);

/* A mark's COP_JOURNAL_FRAME_HEAD bytes. */
void cop_journal_segment_mark_make(uint64_t durable, uint8_t out[COP_JOURNAL_FRAME_HEAD]);

/* Whether data[0, have) begins with an intact frame (its offset is not set). COP_EEND: that takes *need > have bytes.
 * COP_EFORMAT: it does not. */
COP_CHECK cop_err cop_journal_segment_frame_parse(
        const uint8_t *data, size_t have, cop_journal_record *out, size_t *need);

/* Appends a segment's header. */
void cop_journal_segment_header_put(
        cop_bytes *bytes, uint64_t base, uint64_t epoch, const void *model_set, size_t length);

/* Reads the header that data[0, have) begins with. COP_EEND: that takes *need > have bytes. COP_EFORMAT: no segment, or
 * a damaged header. COP_EVERSION: of a newer version. On these two *diag (its source kept) has what was wrong. */
COP_CHECK cop_err cop_journal_segment_header_parse(
        const uint8_t *data, size_t have, cop_journal_header *out, size_t *need, cop_diag *diag);

/* A segment's name without its folder, terminated. */
void cop_journal_name(uint64_t base, bool compressed, char out[COP_JOURNAL_NAME_ROOM]);

/* folder/name; NULL when memory is short. Caller frees with cop_mem_free. */
char *cop_journal_path(const char *folder, const char *name) __attribute__((malloc, warn_unused_result));

typedef struct cop_journal_file {
	uint64_t base;
	uint64_t bytes;   /* on the disk */
	int64_t modified; /* seconds of the epoch */
	bool compressed;
} cop_journal_file;

/* The folder's segments by rising base (one that is there plain and compressed counts as plain); caller frees with
 * cop_mem_free. None: *count 0, *files NULL. COP_ENOTFOUND: no such folder. COP_EFORMAT: a name whose base is above
 * COP_JOURNAL_BASE_MAX, which *diag names. COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_journal_list(const char *folder, cop_journal_file **files, size_t *count, cop_diag *diag);

/* The same of a path that names a folder, or one segment's file, which then is all; *folder is where they lie. Caller
 * frees both with cop_mem_free; on error both are NULL. Errors as cop_journal_list. */
COP_CHECK cop_err cop_journal_segment_find(
        const char *path, char **folder, cop_journal_file **files, size_t *count, cop_diag *diag);

/* Removes, overwritten, what a crash left of segments with a base below `below` that were being made. The folder's
 * only writer calls it, or one who knows that the writer is making none of these. COP_ENOTFOUND, COP_EIO. */
COP_CHECK cop_err cop_journal_segment_drop_temporary(const char *folder, uint64_t below, cop_diag *diag);

/* Gives the file at `path` the permissions and the time of the last change of the open file `from`, and syncs it. */
COP_CHECK cop_err cop_journal_segment_settle(const char *path, int from, cop_diag *diag);

/* Fills *diag from errno: COP_ENOTFOUND for ENOENT, COP_EFULL for ENOSPC and EDQUOT, else COP_EIO. */
cop_err cop_journal_segment_refused(const char *source, const char *what, cop_diag *diag);

#endif

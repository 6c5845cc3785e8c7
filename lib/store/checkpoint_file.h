/* store/checkpoint_file.h: bytes that outlive a crash, one file for each checkpoint in a state folder.
 *
 * Name: PREFIX.SEQUENCE.checkpoint, the sequence as 20 decimal digits; prefix: 1 to COP_CHECKPOINT_PREFIX_MAX of
 * [A-Za-z0-9_.#-], not beginning with a point. File, little-endian:
 *
 *     "COPCHECK"  u32 version  u32 CRC32C of these 12 bytes        the same in every version
 *     u64 length  u32 CRC32C of the length and the body  body      version 1
 *
 * A file appears whole or not at all: written under a temporary name, synced, renamed, its folder synced. One process
 * writes a prefix; *diag may be NULL everywhere. */
#ifndef COP_STORE_CHECKPOINT_FILE_H
#define COP_STORE_CHECKPOINT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_CHECKPOINT_VERSION      1u
#define COP_CHECKPOINT_PREFIX_MAX   128
#define COP_CHECKPOINT_SEQUENCE_MAX 9999999999999999999u /* so that numbers to come never wrap around */

/* Room for any file's name (without its folder). */
#define COP_CHECKPOINT_NAME_ROOM (COP_CHECKPOINT_PREFIX_MAX + 48)

/* Replaces a file of the same sequence. On error the folder is as it was, but for a temporary file that could not be
 * removed. COP_EINVAL: the prefix, or a sequence above COP_CHECKPOINT_SEQUENCE_MAX. COP_ENOTFOUND: no such folder.
 * COP_EFULL: the disk is full. COP_EIO. */
COP_CHECK cop_err cop_checkpoint_write(
        const char *folder, const char *prefix, uint64_t sequence, const void *body, size_t length, cop_diag *diag);

/* Sequences of the prefix's files, newest first; caller frees with cop_mem_free. None: *count 0, *sequences NULL.
 * COP_EINVAL: the prefix. COP_EFORMAT: a name with a sequence above COP_CHECKPOINT_SEQUENCE_MAX, which *diag names.
 * COP_ENOTFOUND, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_checkpoint_list(
        const char *folder, const char *prefix, uint64_t **sequences, size_t *count, cop_diag *diag);

/* The file's name without its folder, terminated, into out. The prefix is valid. */
void cop_checkpoint_name(const char *prefix, uint64_t sequence, char out[COP_CHECKPOINT_NAME_ROOM]);

/* The body of one file into *out (initialised by the caller; what it held is dropped), empty on error.
 * COP_EFORMAT: damaged or no checkpoint. COP_EVERSION: written by a newer version. COP_ENOTFOUND, COP_EIO, COP_ENOMEM.
 */
COP_CHECK cop_err cop_checkpoint_read(const char *path, cop_bytes *out, cop_diag *diag);

/* The first bytes of the body, at most so many, unchecked: the head is sound and the file has the length in it. Errors
 * as above. */
COP_CHECK cop_err cop_checkpoint_file_beginning(
        const char *path, size_t most, void *out, size_t *length, cop_diag *diag);

/* Hears of each file that is passed over, and why. */
typedef struct cop_checkpoint_listener {
	void (*skipped)(void *context, uint64_t sequence, const cop_diag *why);
	void *context;
} cop_checkpoint_listener;

/* The newest file that is whole. Damaged ones are passed over and reported to the listener (NULL allowed); one of a
 * newer version is not: it ends the search with COP_EVERSION, for going back behind it would lose what it holds.
 * COP_ENOTFOUND: no folder, no file, or none that is whole. Else as list and read. */
COP_CHECK cop_err cop_checkpoint_newest(const char *folder, const char *prefix, cop_bytes *out, uint64_t *sequence,
        const cop_checkpoint_listener *listener, cop_diag *diag);

/* Removes all but the newest `keep` files, and temporary ones left by a crash. COP_EINVAL: keep is 0, or the prefix.
 * COP_ENOTFOUND, COP_EIO, COP_ENOMEM. */
COP_CHECK cop_err cop_checkpoint_prune(const char *folder, const char *prefix, size_t keep, cop_diag *diag);

/* Which files stay. */
typedef struct cop_checkpoint_stay {
	size_t newest;            /* so many, at least 1, */
	const uint64_t *sequence; /* and these; borrowed, NULL: none */
	size_t count;
} cop_checkpoint_stay;

/* The same for all others. */
COP_CHECK cop_err cop_checkpoint_file_prune(
        const char *folder, const char *prefix, const cop_checkpoint_stay *stay, cop_diag *diag);

#endif

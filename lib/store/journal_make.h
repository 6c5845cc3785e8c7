/* store/journal_make.h: a new segment that appears whole or not at all; for the journal's own files.
 *
 * begin creates it under a temporary name, finish syncs it, names it and syncs the folder. One thread per object. */
#ifndef COP_STORE_JOURNAL_MAKE_H
#define COP_STORE_JOURNAL_MAKE_H

#include <sys/uio.h>

#include "store/journal_segment.h"

typedef struct cop_journal_make {
	const char *path; /* of the folder, kept */
	int folder;       /* the same, open; kept */
	int fd;           /* -1: none; after finish the caller's */
	uint64_t base;
	uint64_t size; /* bytes appended */
	char temporary[COP_JOURNAL_NAME_ROOM];
} cop_journal_make;

/* Reserves `room` bytes on the disk as far as they can be had (0: none). After begin, whatever it gave, drop is
 * allowed. COP_EIO. */
COP_CHECK cop_err cop_journal_make_begin(
        cop_journal_make *make, const char *path, int folder, uint64_t base, uint64_t room, cop_diag *diag);

/* COP_EIO: then the temporary file is gone, as after drop. */
COP_CHECK cop_err cop_journal_make_append(cop_journal_make *make, const void *data, size_t length, cop_diag *diag);

/* *stray (caller's, false at first): an earlier finish may have named a segment without making that durable; those that
 * begin behind this one are removed. COP_EIO: dropped, but it may have its name (*stray). */
COP_CHECK cop_err cop_journal_make_finish(cop_journal_make *make, bool *stray, cop_diag *diag);
void cop_journal_make_drop(cop_journal_make *make);

/* From errno, naming the segment of this base in the folder `path`; COP_EFULL or COP_EIO. */
cop_err cop_journal_make_refused(const char *path, uint64_t base, const char *what, cop_diag *diag);

/* All of parts[0, count), whose fields are used up, at the offset. False: errno. */
bool cop_journal_make_write_at(int fd, struct iovec *parts, int count, uint64_t offset);
struct iovec cop_journal_make_part(const void *data, size_t length);

/* False: errno. Never call again on a file for which it was false. */
bool cop_journal_make_sync_data(int fd);
/* Gives back the page cache's copy of the bytes from `from` up to, at most, `to`, which are synced; where the next call
 * is to begin. In large pieces: one call costs as much as some pages. */
uint64_t cop_journal_make_forget(int fd, uint64_t from, uint64_t to);

#endif

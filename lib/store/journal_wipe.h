/* store/journal_wipe.h: files whose bytes are overwritten before they are removed.
 *
 * As far as the file system overwrites in place: copies that it keeps (snapshots, copy on write, a disk's spare blocks)
 * are out of reach. No state: any thread. */
#ifndef COP_STORE_JOURNAL_WIPE_H
#define COP_STORE_JOURNAL_WIPE_H

#include <stdbool.h>

/* Overwrites all of the open file with zeros and syncs it, unless it has more than one name, for then another one's
 * bytes would go, too. False: it could not (errno), or has. */
bool cop_journal_wipe_bytes(int fd);
/* The same, and removes the file. False: it is still there (errno); one that is not there is no fault. */
bool cop_journal_wipe_file(int folder, const char *name);

#endif

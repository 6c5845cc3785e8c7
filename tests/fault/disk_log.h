/* fault/disk_log.h: what a process does to files and names, in order, so that machine.py can take back what a power cut
 * would have taken.
 *
 * COPPICE_DISK names the log; disk_log.c has its form. A change is made between disk_log_begin and disk_log_end, which
 * one thread holds at a time, and recorded there once it was made; a sync is recorded when it begins and when it has
 * succeeded. Without the variable nothing is recorded. Any thread. */
#ifndef COP_FAULT_DISK_LOG_H
#define COP_FAULT_DISK_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Whether what is written to it would be recorded. All functions here keep errno. */
bool disk_log_takes(int fd);

void disk_log_begin(void);
void disk_log_end(void);

/* `written` bytes of the parts are in the file from `offset` on; not positive: nothing is. */
void disk_log_wrote(int fd, off_t offset, const struct iovec *parts, int count, ssize_t written);

/* The file has another length. */
void disk_log_length(int fd);

/* Whether the name is there. Paths are as in openat. */
bool disk_log_has(int folder, const char *path);

/* A new file or folder has this name. */
void disk_log_made(int folder, const char *path);

/* What had a name has this one, too. */
void disk_log_linked(int folder, const char *path);
void disk_log_renamed(int from_folder, const char *from, int to_folder, const char *to);
void disk_log_removed(int folder, const char *path);

/* A sync of the file or folder begins; its number, for disk_log_synced. */
uint64_t disk_log_syncing(int fd);
void disk_log_synced(int fd, uint64_t number);

#endif

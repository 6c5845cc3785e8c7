/* sim/sim_disk_private.h: what stands beside a machine's files (sim_disk.c), and the calls that change it
 * (sim_disk_calls.c).
 *
 * inode 0 stands for none. Names and changes are few, since segments are small and old ones are removed. */
#ifndef COP_SIM_SIM_DISK_PRIVATE_H
#define COP_SIM_SIM_DISK_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SIM_NAME    96
#define SIM_NAMES   1024
#define SIM_CHANGES 4096
#define SIM_PATH    512

typedef struct sim_inode {
	ino_t number;
	bool folder;
	char *synced, *last; /* last: when its last name went, or the power */
	size_t length, last_length;
} sim_inode;

/* Something is taken from `from` (0: from nowhere) and put to `to` (0: nowhere). */
typedef struct sim_change {
	ino_t from_folder, to_folder, inode;
	char from[SIM_NAME], to[SIM_NAME];
} sim_change;

typedef struct sim_disk {
	char root[SIM_PATH / 2];
	dev_t device;
	ino_t root_inode;
	sim_inode *inodes;
	size_t inode_count, inode_room;
	struct {
		ino_t folder, inode;
		char name[SIM_NAME];
	} names[SIM_NAMES]; /* that a cut leaves */
	size_t name_count;
	sim_change changes[SIM_CHANGES];
	size_t change_count;
	uint64_t dies_in; /* calls until the machine dies; 0: never */
} sim_disk;

sim_disk *sim_disk_of(int node);
/* The inode of that number, which is made if there is none yet. Until the next one is made. */
sim_inode *sim_disk_inode(sim_disk *disk, ino_t number, bool folder);
void sim_disk_change(sim_disk *disk, const sim_change *change);
void sim_disk_sync_folder(sim_disk *disk, ino_t folder);
void sim_disk_remove(const char *path); /* with all that is in it */

#endif

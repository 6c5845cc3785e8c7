/* Files are real ones, in a folder in memory; beside them stands what a power cut cannot take: of each file the bytes
 * as of its last sync, of each folder the names as of its own. Changes of names wait in order until one of their
 * folders is synced. A cut keeps nothing of the rest, or everything, or a beginning, or any part of it, and writes the
 * folder anew: the rules of tests/fault/machine.py, for calls of this process. */
#include "tests/sim/sim.h"
#include "tests/sim/sim_disk_private.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static sim_disk disks[SIM_NODES];

sim_disk *sim_disk_of(int node) { return &disks[node]; }

sim_inode *sim_disk_inode(sim_disk *disk, ino_t number, bool folder)
{
	for (size_t i = 0; i < disk->inode_count; i++)
		if (disk->inodes[i].number == number)
			return &disk->inodes[i];
	if (disk->inode_count == disk->inode_room) {
		disk->inode_room = 2 * disk->inode_room + 64;
		disk->inodes = realloc(disk->inodes, disk->inode_room * sizeof *disk->inodes);
	}
	sim_inode *made = &disk->inodes[disk->inode_count++];
	*made = (sim_inode){ .number = number, .folder = folder };
	return made;
}

size_t sim_disk_read(const char *path, char **out)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	size_t length = 0;
	*out = NULL;
	if (file != NULL && fstat(fileno(file), &status) == 0) {
		*out = malloc((size_t)status.st_size + 1);
		length = *out == NULL ? 0 : fread(*out, 1, (size_t)status.st_size, file);
	}
	if (file != NULL)
		(void)fclose(file);
	return length;
}

/* ---- names ---- */

static void set_name(sim_disk *disk, ino_t folder, const char *name, ino_t inode)
{
	size_t i = 0;
	while (i < disk->name_count && (disk->names[i].folder != folder || strcmp(disk->names[i].name, name) != 0))
		i++;
	if (i == SIM_NAMES || strlen(name) >= SIM_NAME)
		abort();
	if (inode == 0) {
		if (i < disk->name_count)
			disk->names[i] = disk->names[--disk->name_count];
		return;
	}
	if (i == disk->name_count)
		disk->name_count++;
	disk->names[i].folder = folder;
	(void)snprintf(disk->names[i].name, SIM_NAME, "%s", name);
	disk->names[i].inode = inode;
}

static void apply(sim_disk *disk, const sim_change *change)
{
	if (change->from_folder != 0)
		set_name(disk, change->from_folder, change->from, 0);
	if (change->to_folder != 0)
		set_name(disk, change->to_folder, change->to, change->inode);
}

void sim_disk_change(sim_disk *disk, const sim_change *change)
{
	if (disk->change_count == SIM_CHANGES)
		abort();
	disk->changes[disk->change_count++] = *change;
}

void sim_disk_sync_folder(sim_disk *disk, ino_t folder)
{
	size_t kept = 0;
	for (size_t i = 0; i < disk->change_count; i++) {
		if (disk->changes[i].from_folder == folder || disk->changes[i].to_folder == folder)
			apply(disk, &disk->changes[i]);
		else
			disk->changes[kept++] = disk->changes[i];
	}
	disk->change_count = kept;
}

/* ---- a start, and a power cut ---- */

static void take_tree(sim_disk *disk, const char *path, ino_t number)
{
	char below[SIM_PATH];
	DIR *folder = opendir(path);
	const struct dirent *entry;
	struct stat status;
	(void)sim_disk_inode(disk, number, true);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		(void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		if (lstat(below, &status) != 0)
			abort();
		set_name(disk, number, entry->d_name, status.st_ino);
		if (S_ISDIR(status.st_mode)) {
			take_tree(disk, below, status.st_ino);
			continue;
		}
		sim_inode *inode = sim_disk_inode(disk, status.st_ino, false);
		inode->length = sim_disk_read(below, &inode->synced);
	}
	if (folder != NULL)
		(void)closedir(folder);
}

static void forget(sim_disk *disk)
{
	for (size_t i = 0; i < disk->inode_count; i++) {
		free(disk->inodes[i].synced);
		free(disk->inodes[i].last);
	}
	disk->inode_count = disk->name_count = disk->change_count = 0;
}

static void begin(sim_disk *disk)
{
	struct stat status;
	forget(disk);
	if (stat(disk->root, &status) != 0)
		abort();
	disk->device = status.st_dev;
	disk->root_inode = status.st_ino;
	take_tree(disk, disk->root, status.st_ino);
}

void sim_disk_init(int node, const char *root)
{
	(void)snprintf(disks[node].root, sizeof disks[node].root, "%s", root);
	begin(&disks[node]);
}

/* What files hold now, also those that have no name any more. */
static void take_last(sim_disk *disk, const char *path)
{
	char below[SIM_PATH];
	DIR *folder = opendir(path);
	const struct dirent *entry;
	struct stat status;
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		(void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.'))
			continue;
		if (lstat(below, &status) == 0 && S_ISDIR(status.st_mode)) {
			take_last(disk, below);
			continue;
		}
		sim_inode *inode = sim_disk_inode(disk, status.st_ino, false);
		free(inode->last);
		inode->last_length = sim_disk_read(below, &inode->last);
	}
	if (folder != NULL)
		(void)closedir(folder);
}

typedef enum keeps { KEEPS_NOTHING, KEEPS_ALL, KEEPS_BEGINNING, KEEPS_PARTS, KEEPS } keeps;

static char byte_of(const char *bytes, size_t length, size_t at) { return at < length ? bytes[at] : '\0'; }

static void write_file(const sim_inode *inode, const char *path, keeps how)
{
	FILE *file = fopen(path, "we");
	const size_t length = inode->length, last = inode->last_length;
	size_t end = how == KEEPS_NOTHING ? length : how == KEEPS_ALL || sim_chance(0.5) ? last : length;
	size_t upto = how == KEEPS_NOTHING ? 0 : how == KEEPS_ALL ? last : 0;
	size_t same = 0;
	while (same < length && same < last && inode->synced[same] == inode->last[same])
		same++;
	if (how == KEEPS_BEGINNING)
		upto = end = same + sim_draw(last - same + 1);
	bool kept = false;
	for (size_t i = 0; i < end && file != NULL; i++) {
		if (how == KEEPS_PARTS && i % 4096 == 0)
			kept = sim_chance(0.5);
		bool newer = how == KEEPS_PARTS ? kept : i < upto;
		(void)fputc(newer ? byte_of(inode->last, last, i) : byte_of(inode->synced, length, i), file);
	}
	if (file == NULL || fclose(file) != 0)
		abort();
}

static void write_tree(sim_disk *disk, ino_t folder, const char *path, keeps how)
{
	char below[SIM_PATH];
	if (mkdir(path, 0750) != 0)
		abort();
	for (size_t i = 0; i < disk->name_count; i++) {
		if (disk->names[i].folder != folder)
			continue;
		const sim_inode *inode = sim_disk_inode(disk, disk->names[i].inode, false);
		(void)snprintf(below, sizeof below, "%s/%s", path, disk->names[i].name);
		if (inode->folder)
			write_tree(disk, inode->number, below, how);
		else
			write_file(inode, below, how);
	}
}

void sim_disk_cut(int node)
{
	sim_disk *disk = &disks[node];
	char aside[SIM_PATH + 16];
	const keeps how = (keeps)sim_draw(KEEPS);
	size_t part = sim_draw(disk->change_count + 1);
	take_last(disk, disk->root);
	for (size_t i = 0; i < disk->change_count; i++)
		if (how == KEEPS_ALL || (how == KEEPS_BEGINNING && i < part) || (how == KEEPS_PARTS && sim_chance(0.5)))
			apply(disk, &disk->changes[i]);
	(void)snprintf(aside, sizeof aside, "%s.%llu", disk->root, (unsigned long long)sim_now());
	if (rename(disk->root, aside) != 0)
		abort();
	write_tree(disk, disk->root_inode, disk->root, how);
	sim_disk_remove(aside);
	begin(disk);
	sim_trace("cut of %d: keeps %d", node, (int)how);
}

/* Of a checkpoint's place: what was there is moved first, name by name, or erased, then the new file takes its name. A
 * start that ends in between goes on where the one before stopped. */
#include "daemon/replica/replica_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_atomic.h"
#include "base/folder.h"
#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "store/journal_reader.h"
#include "store/journal_wipe.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "store/state_mark.h"

#define TEMPORARY COP_STATE_DIR_REPLICA ".tmp"
#define PATH      (4096 + COP_CHECKPOINT_NAME_ROOM + 64)
#define ASIDES    1000 /* folders diverged.N */

void cop_replica_copy_init(cop_replica_copy *copy, const char *state_dir)
{
	*copy = (cop_replica_copy){ .file = -1 };
	(void)snprintf(copy->state_dir, sizeof copy->state_dir, "%s", state_dir);
}

static cop_err refused(const char *path, const char *what, cop_diag *diag)
{
	cop_err err = errno == ENOSPC || errno == EDQUOT ? COP_EFULL : COP_EIO;
	cop_diag_of(diag, path, "%s: %s", what, strerror(errno));
	return err;
}

static void temporary(const cop_replica_copy *copy, char path[PATH])
{
	(void)snprintf(path, PATH, "%s/" TEMPORARY, copy->state_dir);
}

void cop_replica_copy_fini(cop_replica_copy *copy)
{
	char path[PATH];
	if (copy->file < 0)
		return;
	(void)close(copy->file);
	copy->file = -1;
	temporary(copy, path);
	(void)unlink(path);
}

cop_err cop_replica_copy_begin(cop_replica_copy *copy, const char *model, uint64_t number, cop_diag *diag)
{
	char path[PATH];
	cop_replica_copy_fini(copy);
	temporary(copy, path);
	(void)snprintf(copy->model, sizeof copy->model, "%s", model);
	copy->number = number;
	copy->offset = 0;
	copy->file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	return copy->file >= 0 ? COP_OK : refused(path, "cannot be made", diag);
}

/* Whether all of the file is right: a checkpoint's and a challenger's format is the same. */
static cop_err check(cop_replica_copy *copy, cop_diag *diag)
{
	char path[PATH];
	cop_bytes body;
	cop_bytes_init(&body);
	temporary(copy, path);
	cop_err err = fsync(copy->file) == 0 ? COP_OK : refused(path, "cannot be synced", diag);
	if (err == COP_OK)
		err = cop_checkpoint_read(path, &body, diag);
	cop_bytes_fini(&body);
	return err == COP_OK ? COP_EEND : err;
}

cop_err cop_replica_copy_take(cop_replica_copy *copy, const void *data, size_t length, uint64_t size, cop_diag *diag)
{
	char path[PATH];
	temporary(copy, path);
	if (length == 0 || copy->offset + length > size) {
		cop_diag_of(diag, path, "it ends before its size");
		cop_replica_copy_fini(copy);
		return COP_EFORMAT;
	}
	cop_err err = cop_file_write_all(copy->file, data, length) == COP_OK ? COP_OK
	                                                                     : refused(path, "cannot be written", diag);
	copy->offset += length;
	if (err == COP_OK && copy->offset == size)
		err = check(copy, diag);
	if (err != COP_OK && err != COP_EEND)
		cop_replica_copy_fini(copy);
	return err;
}

static cop_err sync_folder(const char *path, cop_diag *diag)
{
	return cop_folder_sync(path) == COP_OK ? COP_OK : refused(path, "cannot be synced", diag);
}

/* The temporary file gets this name in this folder. */
static cop_err take_name(cop_replica_copy *copy, const char *folder, const char *name, cop_diag *diag)
{
	char from[PATH], to[2 * PATH];
	temporary(copy, from);
	(void)snprintf(to, sizeof to, "%s/%s", folder, name);
	if (rename(from, to) != 0)
		return refused(to, "cannot take its name", diag);
	(void)close(copy->file);
	copy->file = -1;
	return sync_folder(folder, diag);
}

cop_err cop_replica_copy_place_challenger(cop_replica_copy *copy, cop_diag *diag)
{
	char folder[PATH], name[COP_CHECKPOINT_NAME_ROOM];
	char prefix[sizeof COP_STATE_DIR_CHALLENGER + COP_CONFIG_NAME_MAX];
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_CHALLENGERS, copy->state_dir);
	if (mkdir(folder, 0750) != 0 && errno != EEXIST)
		return refused(folder, "cannot be made", diag);
	(void)snprintf(prefix, sizeof prefix, COP_STATE_DIR_CHALLENGER "%s", copy->model);
	cop_checkpoint_name(prefix, copy->number, name);
	return take_name(copy, folder, name, diag);
}

/* Journal, checkpoints, challengers. */
static bool is_state(const char *name)
{
	static const char prefix[] = COP_STATE_DIR_CHECKPOINT ".", ending[] = COP_STATE_DIR_ENDING;
	size_t length = strlen(name);
	bool checkpoint = strncmp(name, prefix, sizeof prefix - 1) == 0 && length > sizeof ending &&
	                  strcmp(name + length - (sizeof ending - 1), ending) == 0;
	return checkpoint || strcmp(name, COP_STATE_DIR_JOURNAL) == 0 || strcmp(name, COP_STATE_DIR_CHALLENGERS) == 0;
}

/* Whether there is nothing to keep: no checkpoint, no challenger, and no record in the journal. Then the journal's
 * files, which are segments without a record, are removed. */
static bool drop_empty(const char *state_dir)
{
	char folder[PATH], name[COP_JOURNAL_NAME_ROOM];
	uint64_t *all = NULL;
	size_t count = 0, segments = 0;
	cop_journal_file *files = NULL;
	cop_journal_reader *reader = NULL;
	cop_journal_record record;
	(void)snprintf(folder, sizeof folder, "%s/" COP_STATE_DIR_JOURNAL, state_dir);
	bool empty = cop_checkpoint_list(state_dir, COP_STATE_DIR_CHECKPOINT, &all, &count, NULL) == COP_OK &&
	             count == 0 && cop_journal_list(folder, &files, &segments, NULL) == COP_OK && segments == 1 &&
	             cop_journal_reader_open(folder, 0, false, &reader, NULL) == COP_OK &&
	             cop_journal_next(reader, &record, NULL) == COP_EEND;
	cop_journal_reader_close(reader);
	cop_mem_free(all);
	if (empty) {
		char *path = NULL;
		cop_journal_name(files[0].base, files[0].compressed, name);
		path = cop_journal_path(folder, name);
		empty = path != NULL && unlink(path) == 0 && rmdir(folder) == 0;
		cop_mem_free(path);
	}
	cop_mem_free(files);
	return empty;
}

static cop_err make_aside(const cop_replica_copy *copy, char *to, size_t room, cop_diag *diag)
{
	for (unsigned i = 1; i <= ASIDES; i++) {
		(void)snprintf(to, room, "%s/" COP_STATE_DIR_DIVERGED ".%u", copy->state_dir, i);
		if (mkdir(to, 0750) == 0)
			return COP_OK;
		if (errno != EEXIST)
			break;
	}
	return refused(to, "cannot be made", diag);
}

static cop_err move_aside(const cop_replica_copy *copy, char *to, size_t room, cop_diag *diag)
{
	char from[PATH], aside[2 * PATH];
	cop_err err = COP_OK;
	to[0] = '\0';
	DIR *folder = opendir(copy->state_dir);
	if (folder == NULL)
		return refused(copy->state_dir, "cannot be read", diag);
	for (const struct dirent *entry; err == COP_OK && (entry = readdir(folder)) != NULL;) {
		if (!is_state(entry->d_name))
			continue;
		if (to[0] == '\0')
			err = make_aside(copy, to, room, diag);
		(void)snprintf(from, sizeof from, "%s/%.*s", copy->state_dir, COP_CHECKPOINT_NAME_ROOM, entry->d_name);
		(void)snprintf(aside, sizeof aside, "%s/%s", to, entry->d_name);
		if (err == COP_OK && rename(from, aside) != 0)
			err = refused(from, "cannot be moved aside", diag);
	}
	(void)closedir(folder);
	return err;
}

/* Of what is in the folder, all, or what is of the state alone: overwritten, and gone, with folders in it. */
static cop_err erase(const char *path, bool all, bool *any, cop_diag *diag)
{
	char inner[PATH + NAME_MAX + 2];
	struct stat status;
	cop_err err = COP_OK;
	DIR *folder = opendir(path);
	if (folder == NULL)
		return refused(path, "cannot be read", diag);
	for (const struct dirent *entry; err == COP_OK && (entry = readdir(folder)) != NULL;) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !(all || is_state(name)))
			continue;
		*any = true;
		(void)snprintf(inner, sizeof inner, "%s/%s", path, name);
		const bool is_folder = lstat(inner, &status) == 0 && S_ISDIR(status.st_mode);
		if (is_folder)
			err = erase(inner, true, any, diag);
		if (err == COP_OK && !(is_folder ? rmdir(inner) == 0 : cop_journal_wipe_file(dirfd(folder), name)))
			err = refused(inner, "cannot be erased", diag);
	}
	(void)closedir(folder);
	return err;
}

cop_err cop_replica_copy_live(cop_replica_copy *copy, cop_bytes *out, cop_diag *diag)
{
	char path[PATH];
	cop_bytes body;
	cop_section_file file;
	cop_model_section section;
	cop_bytes_init(&body);
	cop_bytes_clear(out);
	temporary(copy, path);
	cop_err err = cop_checkpoint_read(path, &body, diag);
	if (err == COP_OK)
		err = cop_section_file_open(&file, body.data, body.length, path, diag);
	if (err == COP_OK)
		err = cop_section_file_find(&file, COP_STATE_DIR_LIVE_PART, 0, COP_STATE_DIR_LIVE_VERSION, &section);
	if (err == COP_OK)
		cop_bytes_put(out, section.data, section.length);
	cop_bytes_fini(&body);
	return err == COP_OK ? out->err : err;
}

cop_err cop_replica_copy_keep_checkpoint(cop_replica_copy *copy, uint64_t forgot, cop_diag *diag)
{
	char name[COP_CHECKPOINT_NAME_ROOM], path[PATH];
	cop_state_mark mark;
	temporary(copy, path);
	cop_err err = cop_state_mark_glance(path, &mark, diag);
	if (err != COP_OK && err != COP_ENOTFOUND)
		return err;
	const char *prefix = mark.forgot > forgot ? COP_STATE_DIR_RENEW : COP_STATE_DIR_REPLICA;
	cop_checkpoint_name(prefix, copy->number, name);
	return take_name(copy, copy->state_dir, name, diag);
}

/* The newest that waits with this prefix; 0: none. */
static cop_err find_waiting(const char *state_dir, const char *prefix, uint64_t *number, cop_diag *diag)
{
	uint64_t *all = NULL;
	size_t count = 0;
	cop_err err = cop_checkpoint_list(state_dir, prefix, &all, &count, diag);
	*number = err == COP_OK && count > 0 ? all[0] : 0;
	cop_mem_free(all);
	return err == COP_ENOTFOUND ? COP_OK : err;
}

cop_err cop_replica_copy_settle(const char *state_dir, cop_replica_settled *settled, cop_diag *diag)
{
	char name[COP_CHECKPOINT_NAME_ROOM], from[PATH], as[PATH];
	cop_replica_copy copy;
	const char *prefix = COP_STATE_DIR_RENEW;
	*settled = (cop_replica_settled){ .done = false };
	cop_replica_copy_init(&copy, state_dir);
	cop_err err = find_waiting(state_dir, prefix, &copy.number, diag);
	const bool erases = copy.number > 0;
	if (err == COP_OK && !erases)
		err = find_waiting(state_dir, prefix = COP_STATE_DIR_REPLICA, &copy.number, diag);
	if (err != COP_OK || copy.number == 0)
		return err;
	(void)drop_empty(state_dir);
	err = erases ? erase(state_dir, false, &settled->erased, diag)
	             : move_aside(&copy, settled->to, sizeof settled->to, diag);
	if (err == COP_OK)
		err = sync_folder(state_dir, diag);
	cop_checkpoint_name(prefix, copy.number, name);
	(void)snprintf(from, sizeof from, "%s/%s", state_dir, name);
	cop_checkpoint_name(COP_STATE_DIR_CHECKPOINT, copy.number, name);
	(void)snprintf(as, sizeof as, "%s/%s", state_dir, name);
	if (err == COP_OK && rename(from, as) != 0)
		err = refused(as, "cannot take its name", diag);
	settled->done = err == COP_OK;
	return err == COP_OK ? sync_folder(state_dir, diag) : err;
}

/* Every part of a state folder is a file with a name of its own, or a folder of such: copied if it is there. */
#include "backup_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_atomic.h"
#include "base/folder.h"
#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "store/journal_segment.h"
#include "store/state_dir.h"

#define FILE_MODE 0640
#define CHUNK     ((size_t)1 << 20)

typedef cop_err on_name(const char *from, const char *to, const char *name, cop_diag *diag);

static cop_err refused(const char *path, const char *what, cop_diag *diag)
{
	return cop_journal_segment_refused(path, what, diag);
}

cop_err cop_backup_files_no_memory(cop_diag *diag)
{
	cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
	return COP_ENOMEM;
}

cop_err cop_backup_files_join(const char *folder, const char *name, char **out, cop_diag *diag)
{
	cop_mem_free(*out);
	*out = cop_journal_path(folder, name);
	return *out != NULL ? COP_OK : cop_backup_files_no_memory(diag);
}

/* ---- folders ---- */

cop_err cop_backup_files_sync(const char *folder, cop_diag *diag)
{
	return cop_folder_sync(folder) == COP_OK ? COP_OK : refused(folder, "the folder cannot be synced", diag);
}

static cop_err check_empty(const char *path, cop_diag *diag)
{
	DIR *folder = opendir(path);
	if (folder == NULL)
		return refused(path, "cannot be opened", diag);
	bool empty = true;
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
		empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	(void)closedir(folder);
	if (empty)
		return COP_OK;
	cop_diag_of(diag, path, "is not empty; expected a new or an empty folder");
	return COP_EEXIST;
}

cop_err cop_backup_files_make_folder(const char *path, bool *made, cop_diag *diag)
{
	*made = mkdir(path, COP_BACKUP_FILES_MODE) == 0;
	if (!*made && errno != EEXIST)
		return refused(path, "cannot be made", diag);
	if (!*made)
		return check_empty(path, diag);
	return cop_folder_sync_parent(path) == COP_OK ? COP_OK : refused(path, "its name cannot be synced", diag);
}

/* ---- files ---- */

/* The first `length` bytes. COP_EEND: there are fewer. */
static cop_err copy_bytes(int from, int to, uint64_t length, const char *source, const char *target, cop_diag *diag)
{
	uint8_t *chunk = cop_mem_alloc(CHUNK, 1);
	cop_err err = chunk == NULL ? cop_backup_files_no_memory(diag) : COP_OK;
	while (err == COP_OK && length > 0) {
		ssize_t n = read(from, chunk, length < CHUNK ? (size_t)length : CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = refused(source, "cannot be read", diag);
		else if (n == 0)
			err = COP_EEND;
		else if (cop_file_write_all(to, chunk, (size_t)n) != COP_OK)
			err = refused(target, "cannot be written", diag);
		length -= n > 0 ? (uint64_t)n : 0;
	}
	cop_mem_free(chunk);
	return err;
}

static cop_err copy_path(const char *source, const char *target, uint64_t length, cop_diag *diag)
{
	int from = open(source, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return refused(source, "cannot be opened", diag);
	int to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	cop_err err = COP_EIO;
	if (to < 0) {
		(void)refused(target, "cannot be made", diag);
	} else {
		err = copy_bytes(from, to, length, source, target, diag);
		if (err == COP_EEND && length == UINT64_MAX)
			err = COP_OK;
		else if (err == COP_EEND)
			cop_diag_of(diag, source, "is shorter than it was");
		if (err == COP_OK && fsync(to) != 0)
			err = refused(target, "cannot be synced", diag);
		if (close(to) != 0 && err == COP_OK)
			err = refused(target, "cannot be closed", diag);
	}
	(void)close(from);
	return err;
}

cop_err cop_backup_files_copy(const char *from, const char *to, const char *name, uint64_t length, cop_diag *diag)
{
	char *source = NULL, *target = NULL;
	cop_err err = cop_backup_files_join(from, name, &source, diag);
	if (err == COP_OK)
		err = cop_backup_files_join(to, name, &target, diag);
	if (err == COP_OK)
		err = copy_path(source, target, length, diag);
	cop_mem_free(source);
	cop_mem_free(target);
	return err;
}

void cop_backup_files_discard(const char *folder, const char *name)
{
	char *path = NULL;
	if (cop_backup_files_join(folder, name, &path, NULL) == COP_OK)
		(void)unlink(path);
	cop_mem_free(path);
}

/* ---- parts ---- */

static cop_err copy_part(const char *from, const char *to, const char *name, cop_diag *diag)
{
	cop_err err = cop_backup_files_copy(from, to, name, UINT64_MAX, diag);
	return err == COP_ENOTFOUND ? COP_OK : err;
}

static cop_err discard_part(const char *from, const char *to, const char *name, cop_diag *diag)
{
	(void)from;
	(void)diag;
	cop_backup_files_discard(to, name);
	return COP_OK;
}

/* Of a folder's challengers; a folder that is not there has none. */
static cop_err each_challenger(const char *of, const char *from, const char *to, on_name *each, cop_diag *diag)
{
	DIR *folder = opendir(of);
	if (folder == NULL)
		return errno == ENOENT ? COP_OK : refused(of, "cannot be opened", diag);
	cop_err err = COP_OK;
	for (const struct dirent *entry; err == COP_OK && (entry = readdir(folder)) != NULL;) {
		size_t length = strlen(entry->d_name), ending = strlen(COP_STATE_DIR_ENDING);
		if (length > ending && strcmp(entry->d_name + length - ending, COP_STATE_DIR_ENDING) == 0)
			err = each(from, to, entry->d_name, diag);
	}
	(void)closedir(folder);
	return err;
}

/* Orders to forget somebody that are under way: whoever restores the copy carries them out. */
static cop_err each_order(const char *of, const char *from, const char *to, on_name *each, cop_diag *diag)
{
	uint64_t *all;
	size_t count;
	char name[COP_CHECKPOINT_NAME_ROOM];
	cop_err err = cop_checkpoint_list(of, COP_STATE_DIR_FORGET, &all, &count, diag);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < count && err == COP_OK; i++) {
		cop_checkpoint_name(COP_STATE_DIR_FORGET, all[i], name);
		err = each(from, to, name, diag);
	}
	cop_mem_free(all);
	return err;
}

/* The journal's records may name them. */
static cop_err copy_challengers(const char *state, const char *folder, cop_diag *diag)
{
	char *from = NULL, *to = NULL;
	cop_err err = cop_backup_files_join(state, COP_STATE_DIR_CHALLENGERS, &from, diag);
	if (err == COP_OK)
		err = cop_backup_files_join(folder, COP_STATE_DIR_CHALLENGERS, &to, diag);
	if (err == COP_OK && access(from, F_OK) == 0) {
		if (mkdir(to, COP_BACKUP_FILES_MODE) != 0)
			err = refused(to, "cannot be made", diag);
		if (err == COP_OK)
			err = each_challenger(from, from, to, copy_part, diag);
		if (err == COP_OK)
			err = cop_backup_files_sync(to, diag);
	}
	cop_mem_free(from);
	cop_mem_free(to);
	return err;
}

cop_err cop_backup_files_copy_parts(const char *state, const char *to, cop_diag *diag)
{
	cop_err err = copy_challengers(state, to, diag);
	if (err == COP_OK)
		err = copy_part(state, to, COP_STATE_DIR_LIVE, diag);
	return err == COP_OK ? each_order(state, state, to, copy_part, diag) : err;
}

void cop_backup_files_discard_parts(const char *folder)
{
	char *path = NULL;
	if (cop_backup_files_join(folder, COP_STATE_DIR_CHALLENGERS, &path, NULL) == COP_OK) {
		(void)!each_challenger(path, NULL, path, discard_part, NULL);
		(void)rmdir(path);
	}
	cop_mem_free(path);
	cop_backup_files_discard(folder, COP_STATE_DIR_LIVE);
	(void)!each_order(folder, NULL, folder, discard_part, NULL);
}

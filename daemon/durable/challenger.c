/* A challenger is a checkpoint file under another prefix, so writing, listing and reading are those of
 * store/checkpoint_file.h: a file appears whole or not at all. A number is never used twice, and therefore names the
 * same trees for as long as its file exists. Pruning passes over the newest `keep` files, then asks for each older one
 * whether a record still needs it. */
#include "daemon/durable/challenger.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"
#include "store/checkpoint_file.h"
#include "store/state_dir.h"
#include "tree/trees_checkpoint.h"

typedef struct place {
	char folder[PATH_MAX];
	char prefix[COP_CHECKPOINT_PREFIX_MAX + 1];
} place;

static cop_err find(const char *state_dir, const char *model, place *out, cop_diag *diag)
{
	int folder = snprintf(out->folder, sizeof out->folder, "%s/" COP_STATE_DIR_CHALLENGERS, state_dir);
	int prefix = snprintf(out->prefix, sizeof out->prefix, COP_STATE_DIR_CHALLENGER "%s", model);
	if (folder < (int)sizeof out->folder && prefix < (int)sizeof out->prefix)
		return COP_OK;
	cop_diag_of(diag, state_dir, "the path of challengers is too long");
	return COP_EIO;
}

static void path_of(const place *at, uint64_t number, char out[PATH_MAX + COP_CHECKPOINT_NAME_ROOM])
{
	char name[COP_CHECKPOINT_NAME_ROOM];
	cop_checkpoint_name(at->prefix, number, name);
	(void)snprintf(out, PATH_MAX + COP_CHECKPOINT_NAME_ROOM, "%s/%s", at->folder, name);
}

static cop_err find_file(const char *state_dir, const char *model, uint64_t number,
        char out[PATH_MAX + COP_CHECKPOINT_NAME_ROOM], cop_diag *diag)
{
	place at = { .folder = "" };
	cop_err err = find(state_dir, model, &at, diag);
	if (err == COP_OK)
		path_of(&at, number, out);
	return err;
}

cop_err cop_challenger_write(
        const char *state_dir, const char *model, uint64_t number, const cop_bytes *body, cop_diag *diag)
{
	place at = { .folder = "" };
	cop_err err = find(state_dir, model, &at, diag);
	if (err != COP_OK)
		return err;
	if (cop_folder_make(at.folder, 0750) != COP_OK) {
		cop_diag_of(diag, at.folder, "cannot make the folder: %s", strerror(errno));
		return COP_EIO;
	}
	err = cop_checkpoint_write(at.folder, at.prefix, number, body->data, body->length, diag);
	return err == COP_ENOTFOUND || err == COP_EINVAL ? COP_EIO : err;
}

cop_err cop_challenger_read(
        const char *state_dir, const char *model, uint64_t number, cop_trees **out, uint32_t *crc, cop_diag *diag)
{
	char path[PATH_MAX + COP_CHECKPOINT_NAME_ROOM];
	*out = NULL;
	cop_err err = find_file(state_dir, model, number, path, diag);
	return err == COP_OK ? cop_trees_checkpoint_read(path, out, crc, diag) : err;
}

/* No folder: none. */
static cop_err list(const place *at, uint64_t **all, size_t *count, cop_diag *diag)
{
	cop_err err = cop_checkpoint_list(at->folder, at->prefix, all, count, diag);
	if (err != COP_ENOTFOUND)
		return err == COP_EINVAL ? COP_EIO : err;
	*all = NULL;
	*count = 0;
	return COP_OK;
}

cop_err cop_challenger_list(const char *state_dir, const char *model, uint64_t **all, size_t *count, cop_diag *diag)
{
	place at = { .folder = "" };
	*all = NULL;
	*count = 0;
	cop_err err = find(state_dir, model, &at, diag);
	return err == COP_OK ? list(&at, all, count, diag) : err;
}

cop_err cop_challenger_window(
        const char *state_dir, const char *model, uint64_t number, uint64_t window[2], cop_diag *diag)
{
	char path[PATH_MAX + COP_CHECKPOINT_NAME_ROOM];
	cop_err err = find_file(state_dir, model, number, path, diag);
	return err == COP_OK ? cop_trees_checkpoint_window(path, window, diag) : err;
}

static cop_err remove_file(const char *path, cop_diag *diag)
{
	if (unlink(path) == 0 || errno == ENOENT)
		return COP_OK;
	cop_diag_of(diag, path, "cannot be removed: %s", strerror(errno));
	return COP_EIO;
}

cop_err cop_challenger_remove(const char *state_dir, const char *model, uint64_t number, cop_diag *diag)
{
	place at = { .folder = "" };
	char path[PATH_MAX + COP_CHECKPOINT_NAME_ROOM];
	cop_err err = find(state_dir, model, &at, diag);
	if (err != COP_OK)
		return err;
	path_of(&at, number, path);
	err = remove_file(path, diag);
	if (err == COP_OK)
		err = cop_folder_sync(at.folder);
	return err;
}

cop_err cop_challenger_tidy(const char *state_dir, const char *model, cop_diag *diag)
{
	place at = { .folder = "" };
	cop_err err = find(state_dir, model, &at, diag);
	if (err == COP_OK)
		err = cop_checkpoint_prune(at.folder, at.prefix, SIZE_MAX, diag);
	return err == COP_ENOTFOUND ? COP_OK : err == COP_EINVAL ? COP_EIO : err;
}

cop_err cop_challenger_newest(const char *state_dir, const char *model, uint64_t *number, cop_diag *diag)
{
	place at = { .folder = "" };
	uint64_t *all = NULL;
	size_t count = 0;
	*number = 0;
	cop_err err = find(state_dir, model, &at, diag);
	if (err == COP_OK)
		err = list(&at, &all, &count, diag);
	if (err == COP_OK && count > 0)
		*number = all[0];
	cop_mem_free(all);
	return err;
}

cop_err cop_challenger_prune(const char *state_dir, const char *model, size_t keep, cop_challenger_needed *needed,
        const void *context, cop_challenger_pruned *pruned, cop_diag *diag)
{
	place at = { .folder = "" };
	char path[PATH_MAX + COP_CHECKPOINT_NAME_ROOM];
	uint64_t *all = NULL;
	size_t count = 0;
	struct stat file;
	*pruned = (cop_challenger_pruned){ 0 };
	cop_err err = find(state_dir, model, &at, diag);
	if (err == COP_OK)
		err = list(&at, &all, &count, diag);
	for (size_t i = keep; err == COP_OK && i < count; i++) {
		path_of(&at, all[i], path);
		if (needed(context, all[i])) {
			pruned->held += stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
			continue;
		}
		err = remove_file(path, diag);
		pruned->removed += err == COP_OK;
	}
	cop_mem_free(all);
	return err;
}

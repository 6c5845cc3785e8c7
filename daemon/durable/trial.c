/* The steps are those of cop_server_open, on objects of their own that are thrown away; whatever a start would refuse
 * is refused here by the same functions, so the two cannot differ. Only the state folder is judged by rights alone,
 * since making it would change something. */
#include "daemon/durable/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/durable/checkpoint.h"
#include "daemon/models/model_parked.h"
#include "daemon/models/model_table.h"

#define PATH_ROOM 4096

/* The folder that the path's last part would be made in. */
static bool parent_of(const char *path, char parent[PATH_ROOM])
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	while (length > 0 && path[length - 1] != '/')
		length--;
	if (length >= PATH_ROOM)
		return false;
	memcpy(parent, path, length);
	parent[length] = '\0';
	if (length == 0)
		(void)strcpy(parent, ".");
	return true;
}

static cop_err refuse(const char *folder, const char *what, cop_diag *diag)
{
	cop_diag_of(diag, folder, "%s: %s; expected a state folder that can be written", what, strerror(errno));
	return COP_EIO;
}

static cop_err check_state_dir(const char *folder, cop_diag *diag)
{
	char parent[PATH_ROOM];
	struct stat status;
	if (stat(folder, &status) == 0) {
		errno = ENOTDIR;
		if (!S_ISDIR(status.st_mode))
			return refuse(folder, "cannot be used", diag);
		return faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS) == 0
		               ? COP_OK
		               : refuse(folder, "cannot be written", diag);
	}
	if (errno != ENOENT)
		return refuse(folder, "cannot be used", diag);
	errno = ENAMETOOLONG;
	if (!parent_of(folder, parent) || stat(parent, &status) != 0)
		return refuse(folder, "cannot make the state folder", diag);
	errno = ENOTDIR;
	if (!S_ISDIR(status.st_mode) || faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) != 0)
		return refuse(folder, "cannot make the state folder", diag);
	return COP_OK;
}

/* What is in the folder, which may not be there yet. */
static cop_err restore(
        const cop_config *config, const char *const *reset, cop_log *log, cop_model_table *models, cop_diag *diag)
{
	struct stat status;
	cop_checkpoint checkpoint;
	if (stat(config->state_dir, &status) != 0)
		return COP_OK;
	cop_checkpoint_init(&checkpoint, config->state_dir);
	cop_err err = cop_checkpoint_restore(&checkpoint, models, config, reset, log, diag);
	cop_checkpoint_fini(&checkpoint);
	return err;
}

cop_err cop_trial_start(const cop_config *config, const char *const *reset, cop_log *log, cop_diag *diag)
{
	cop_model_table models = { 0 };
	size_t begun = 0;
	cop_err err = check_state_dir(config->state_dir, diag);
	if (err == COP_OK)
		err = cop_model_table_init(&models, config, diag);
	if (err == COP_OK)
		err = restore(config, reset, log, &models, diag);
	if (err == COP_OK)
		err = cop_model_table_start_from(&models, log, &begun, diag);
	cop_model_table_fini(&models);
	return err;
}

/* The settings that the state of a model of this stored name was made with; false: there is none. */
static bool settings_of(cop_model_table *set, const char *stored, cop_model_settings *settings)
{
	const cop_model_slot *slot = cop_model_table_find_stored(set, stored, strlen(stored));
	const cop_parked *parked = cop_model_table_find_parked(set, stored, false);
	if (slot != NULL)
		*settings = *cop_model_get_settings(slot->model);
	if (slot != NULL || parked == NULL)
		return slot != NULL;
	return cop_model_parked_peek(parked, settings) == COP_OK;
}

static cop_err refuse_model(const char *name, const char *why, cop_config_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		if (strcmp(changes->items[i].model, name) == 0 &&
		        (changes->items[i].kind == COP_CHANGE_RESTART || changes->items[i].of == COP_CHANGE_ADDS))
			changes->items[i].kind = COP_CHANGE_REFUSED;
	cop_config_change *change = cop_config_changes_add(changes, COP_CHANGE_REFUSED, name);
	if (change == NULL)
		return COP_ENOMEM;
	(void)snprintf(change->text, sizeof change->text,
	        "model %s: a restart refuses it: %s; give the model a new name, or start with --reset-model %s to "
	        "begin "
	        "anew",
	        name, why, name);
	return COP_OK;
}

cop_err cop_trial_changes(
        cop_model_table *set, const cop_config *old, const cop_config *next, cop_config_changes *changes)
{
	cop_err err = COP_OK;
	if (strcmp(old->state_dir, next->state_dir) != 0) /* whatever is there, these models are not */
		return COP_OK;
	for (size_t i = 0; i < next->model_count && err == COP_OK; i++) {
		cop_model_settings was;
		cop_diag why = { 0 };
		if (!settings_of(set, next->models[i].stored, &was))
			continue;
		if (cop_model_can_load(&was, &next->models[i].set, &why) != COP_OK)
			err = refuse_model(next->models[i].name, why.message, changes);
	}
	return err;
}

#include "replay_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct named {
	const char *path; /* NULL: not given */
	const char *what;
} named;

static bool same_file(const char *a, const char *b)
{
	struct stat one;
	struct stat other;
	if (stat(a, &one) != 0 || stat(b, &other) != 0)
		return strcmp(a, b) == 0;
	return one.st_dev == other.st_dev && one.st_ino == other.st_ino && !S_ISCHR(one.st_mode);
}

static bool refused(const char *path, const char *why, cop_diag *diag)
{
	cop_diag_of(diag, path, "%s", why);
	return false;
}

static bool can_be_written(const char *path, cop_diag *diag)
{
	struct stat there;
	char folder[PATH_MAX];
	if (strcmp(path, "-") == 0)
		return true;
	if (stat(path, &there) == 0) {
		if (S_ISDIR(there.st_mode))
			return refused(path, "is a folder; expected the name of a file to write", diag);
		return access(path, W_OK) == 0 || refused(path, strerror(errno), diag);
	}
	if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
		return refused(path, strerror(ENAMETOOLONG), diag);
	char *slash = strrchr(folder, '/');
	if (slash == NULL)
		(void)snprintf(folder, sizeof folder, ".");
	else
		slash[slash == folder ? 1 : 0] = '\0';
	return access(folder, W_OK | X_OK) == 0 || refused(path, strerror(errno), diag);
}

static bool distinct(const named *out, const named *others, size_t count, cop_diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		if (others[i].path == NULL || !same_file(out->path, others[i].path))
			continue;
		cop_diag_of(diag, out->path, "cannot be both %s and %s; expected two files", others[i].what, out->what);
		return false;
	}
	return true;
}

cop_err cop_replay_check_files(const cop_replay_options *options, cop_diag *diag)
{
	named files[] = {
		{ options->path, "the log" },
		{ options->columns, "the file of --columns" },
		{ options->dump, "the file of --dump" },
		{ options->save, "the file of --save" },
	};
	const size_t count = sizeof files / sizeof *files;
	if (strcmp(options->path, "-") == 0)
		files[0].path = NULL;
	for (size_t i = 2; i < count; i++)
		if (files[i].path != NULL &&
		        (!distinct(&files[i], files, i, diag) || !can_be_written(files[i].path, diag)))
			return COP_EINVAL;
	const named models[] = {
		{ options->frozen, "the model of --evaluate" },
		{ options->resume, "the file of --resume" },
	};
	for (size_t i = 2; i < count; i++) {
		bool again = files[i].path == options->save; /* a resumed file may be written again */
		if (files[i].path != NULL && !distinct(&files[i], models, again ? 1 : 2, diag))
			return COP_EINVAL;
	}
	return COP_OK;
}

/* The link /proc/self/exe keeps the daemon's folder also when its file was replaced ("... (deleted)" is behind the
 * name, which is cut), so a daemon finds the program that was installed with its successor; the worker compares
 * versions. */
#include "daemon/common/refit_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat is;
	return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

/* self: the daemon's program; "": not known. */
static cop_err find_from(const char *self, const char *name, char out[COP_REFIT_PROGRAM_ROOM], cop_diag *diag)
{
	static const char *const beside[] = { ".", COP_REFIT_FROM_DAEMON };
	const char *slash = strrchr(self, '/');
	for (size_t i = 0; slash != NULL && i < sizeof beside / sizeof *beside; i++) {
		int folder = (int)(slash - self);
		int n = snprintf(out, COP_REFIT_PROGRAM_ROOM, "%.*s/%s/%s", folder, self, beside[i], name);
		if (n > 0 && n < COP_REFIT_PROGRAM_ROOM && is_program(out))
			return COP_OK;
	}
	(void)snprintf(out, COP_REFIT_PROGRAM_ROOM, COP_REFIT_INSTALLED "/%s", name);
	if (is_program(out))
		return COP_OK;
	cop_diag_message(diag,
	        "the program of refits is missing: expected " COP_REFIT_INSTALLED "/%s, or %s beside coppiced", name,
	        name);
	return COP_ENOTFOUND;
}

cop_err cop_refit_program_find(const char *name, char out[COP_REFIT_PROGRAM_ROOM], cop_diag *diag)
{
	char self[COP_REFIT_PROGRAM_ROOM];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	self[length > 0 ? length : 0] = '\0';
	return find_from(self, name, out, diag);
}

static bool find_on_path(const char *name, char out[COP_REFIT_PROGRAM_ROOM])
{
	const char *at = getenv("PATH");
	while (at != NULL) {
		size_t length = strcspn(at, ":");
		int n = snprintf(out, COP_REFIT_PROGRAM_ROOM, "%.*s/%s", (int)length, at, name);
		if (length > 0 && n > 0 && n < COP_REFIT_PROGRAM_ROOM && is_program(out))
			return true;
		at = at[length] == ':' ? at + length + 1 : NULL;
	}
	return false;
}

cop_err cop_refit_program_launcher(char *text, char out[COP_REFIT_PROGRAM_ROOM], char *argv[COP_REFIT_LAUNCHER_MOST],
        unsigned *count, cop_diag *diag)
{
	char *rest = text;
	*count = 0;
	for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
		if (*count == COP_REFIT_LAUNCHER_MOST) {
			cop_diag_message(diag, "it has too many words; expected at most %d", COP_REFIT_LAUNCHER_MOST);
			return COP_EFULL;
		}
		argv[(*count)++] = word;
	}
	bool there = *count > 0 && strchr(argv[0], '/') != NULL;
	if (there)
		(void)snprintf(out, COP_REFIT_PROGRAM_ROOM, "%s", argv[0]);
	if (*count > 0 && (there ? is_program(out) : find_on_path(argv[0], out)))
		return COP_OK;
	cop_diag_message(
	        diag, "%s is no program; expected one such as mpirun, and its options", *count > 0 ? argv[0] : "\"\"");
	return COP_ENOTFOUND;
}

/* The link /proc/self/exe keeps the daemon's folder also when its file was replaced ("... (deleted)" is behind the
 * name, which is cut), so a daemon finds the program that was installed with its successor; the worker compares
 * versions. */
#include "daemon/common/refit_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "coppice-refit"

static bool is_program(const char *path)
{
	struct stat is;
	return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

/* self: the daemon's program; "": not known. */
static cop_err find_from(const char *self, char out[COP_REFIT_PROGRAM_ROOM], cop_diag *diag)
{
	static const char *const beside[] = { NAME, COP_REFIT_FROM_DAEMON };
	const char *slash = strrchr(self, '/');
	for (size_t i = 0; slash != NULL && i < sizeof beside / sizeof *beside; i++) {
		int folder = (int)(slash - self);
		int n = snprintf(out, COP_REFIT_PROGRAM_ROOM, "%.*s/%s", folder, self, beside[i]);
		if (n > 0 && n < COP_REFIT_PROGRAM_ROOM && is_program(out))
			return COP_OK;
	}
	(void)snprintf(out, COP_REFIT_PROGRAM_ROOM, "%s", COP_REFIT_INSTALLED);
	if (is_program(out))
		return COP_OK;
	cop_diag_message(diag,
	        "the program of refits is missing: expected " COP_REFIT_INSTALLED ", or " NAME " beside coppiced");
	return COP_ENOTFOUND;
}

cop_err cop_refit_program_find(char out[COP_REFIT_PROGRAM_ROOM], cop_diag *diag)
{
	char self[COP_REFIT_PROGRAM_ROOM];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	self[length > 0 ? length : 0] = '\0';
	return find_from(self, out, diag);
}

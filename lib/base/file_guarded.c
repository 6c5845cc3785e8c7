/* The mode is that of the open file, so what is read is what was judged. */
#include "base/file_guarded.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	mode_t forbidden;
	const char *why;
} guards[] = {
	[COP_FILE_PUBLIC] = { 0, "" },
	[COP_FILE_RULES] = { S_IWOTH, "everybody can write it; expected chmod o-w" },
	[COP_FILE_SECRET] = { S_IROTH | S_IWOTH, "everybody can read or write it; expected chmod o-rw" },
};

cop_err cop_file_guarded_open(const char *path, cop_file_guard guard, FILE **out, cop_diag *diag)
{
	struct stat info;
	*out = NULL;
	FILE *file = fopen(path, "re");
	if (file == NULL || fstat(fileno(file), &info) != 0) {
		cop_diag_of(diag, path, "%s", strerror(errno));
	} else if ((info.st_mode & guards[guard].forbidden) != 0) {
		cop_diag_of(diag, path, "%s", guards[guard].why);
	} else {
		if (guard == COP_FILE_SECRET)
			(void)setvbuf(file, NULL, _IONBF, 0); /* no other copy */
		*out = file;
		return COP_OK;
	}
	if (file != NULL)
		(void)fclose(file);
	return COP_EIO;
}

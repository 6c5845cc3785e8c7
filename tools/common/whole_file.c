/* stdio prints to a copy of the temporary file's descriptor, so that closing the stream, which reports what could not
 * be written, leaves the temporary file open for the sync and the rename. */
#include "whole_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static cop_err failed(const char *path, cop_diag *diag)
{
	cop_diag_of(diag, path, "cannot write: %s", strerror(errno));
	return COP_EIO;
}

cop_err cop_whole_file_begin(cop_whole_file *whole, const char *path, cop_diag *diag)
{
	whole->out = NULL;
	cop_err err = cop_file_atomic_begin(path, &whole->file, diag);
	if (err != COP_OK)
		return err;
	int fd = dup(cop_file_atomic_fd(whole->file));
	if (fd >= 0)
		whole->out = fdopen(fd, "w");
	if (whole->out != NULL)
		return COP_OK;
	err = failed(path, diag);
	if (fd >= 0)
		(void)close(fd);
	cop_file_atomic_abandon(whole->file);
	return err;
}

cop_err cop_whole_file_end(cop_whole_file *whole, const char *path, cop_diag *diag)
{
	bool wrote = ferror(whole->out) == 0;
	wrote = fclose(whole->out) == 0 && wrote;
	if (wrote)
		return cop_file_atomic_commit(whole->file, diag);
	cop_err err = failed(path, diag);
	cop_file_atomic_abandon(whole->file);
	return err;
}

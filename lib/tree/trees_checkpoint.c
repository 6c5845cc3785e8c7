/* The body is a model file, whose sections are those of the trees and whatever their maker put beside them. */
#include "tree/trees_checkpoint.h"

#include "base/crc32c.h"
#include "store/checkpoint_file.h"

cop_err cop_trees_checkpoint_read(const char *path, cop_trees **out, uint32_t *crc, cop_diag *diag)
{
	cop_bytes body;
	cop_section_file file;
	*out = NULL;
	cop_bytes_init(&body);
	cop_err err = cop_checkpoint_read(path, &body, diag);
	if (err == COP_OK)
		err = cop_section_file_open(&file, body.data, body.length, path, diag);
	if (err == COP_OK) {
		*crc = cop_crc32c(0, body.data, body.length);
		err = cop_trees_load(&file, out);
		if (err != COP_OK)
			cop_diag_of(diag, path, "the trees cannot be read: %s", cop_err_text(err));
		if (err == COP_ENOTFOUND)
			err = COP_EFORMAT;
	}
	cop_bytes_fini(&body);
	return err;
}

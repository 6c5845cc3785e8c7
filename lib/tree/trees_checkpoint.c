/* The body is a model file, whose sections are those of the trees and whatever their maker put beside them. */
#include "tree/trees_checkpoint.h"

#include "base/crc32c.h"
#include "store/checkpoint_file.h"

#define WINDOW_SECTION "window"
#define WINDOW_VERSION 1

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

void cop_trees_checkpoint_put_window(cop_bytes *bytes, uint64_t first, uint64_t last)
{
	size_t mark = cop_section_file_begin_section(bytes, WINDOW_SECTION, WINDOW_VERSION);
	cop_bytes_put_u64(bytes, first);
	cop_bytes_put_u64(bytes, last);
	cop_section_file_end_section(bytes, mark);
}

static cop_err read_window(const cop_bytes *body, const char *path, uint64_t window[2], cop_diag *diag)
{
	cop_section_file file;
	cop_model_section section;
	cop_cursor cursor;
	cop_err err = cop_section_file_open(&file, body->data, body->length, path, diag);
	if (err == COP_OK)
		err = cop_section_file_find(&file, WINDOW_SECTION, 0, WINDOW_VERSION, &section);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_EFORMAT : err;
	cop_cursor_init(&cursor, section.data, section.length);
	window[0] = cop_cursor_u64(&cursor);
	window[1] = cop_cursor_u64(&cursor);
	return cursor.err;
}

cop_err cop_trees_checkpoint_window(const char *path, uint64_t window[2], cop_diag *diag)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_err err = cop_checkpoint_read(path, &body, diag);
	if (err == COP_OK)
		err = read_window(&body, path, window, diag);
	cop_bytes_fini(&body);
	return err;
}

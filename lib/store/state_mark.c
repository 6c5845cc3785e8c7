/* Numbers of 8 bytes, little-endian, in the order of the struct; from the epoch on they may be missing. */
#include "store/state_mark.h"

#include <string.h>

#include "store/checkpoint_file.h"
#include "store/state_dir.h"

#define BEGINNING 256 /* bytes, more than what is before the first section and in it */

static cop_err read_section(const cop_model_section *section, cop_state_mark *out)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, section->data, section->length);
	out->time = cop_cursor_f64(&cursor);
	out->journal_next = cop_cursor_u64(&cursor);
	out->journal_base = cop_cursor_u64(&cursor);
	if (cop_cursor_left(&cursor) > 0)
		out->epoch = cop_cursor_u64(&cursor);
	if (cop_cursor_left(&cursor) > 0)
		out->forgot = cop_cursor_u64(&cursor);
	return cursor.err;
}

cop_err cop_state_mark_read(const cop_section_file *file, cop_state_mark *out)
{
	cop_model_section section;
	*out = (cop_state_mark){ 0 };
	cop_err err = cop_section_file_find(file, COP_STATE_DIR_MARK, 0, COP_STATE_DIR_MARK_VERSION, &section);
	return err == COP_OK ? read_section(&section, out) : err;
}

cop_err cop_state_mark_glance(const char *path, cop_state_mark *out, cop_diag *diag)
{
	uint8_t bytes[BEGINNING];
	size_t length;
	cop_model_section section;
	*out = (cop_state_mark){ 0 };
	cop_err err = cop_checkpoint_file_beginning(path, sizeof bytes, bytes, &length, diag);
	if (err == COP_OK) {
		err = cop_section_file_first(bytes, length, &section);
		if (err == COP_OK && strcmp(section.name, COP_STATE_DIR_MARK) != 0)
			err = COP_ENOTFOUND;
		else if (err == COP_OK && section.version > COP_STATE_DIR_MARK_VERSION)
			err = COP_EVERSION;
		if (err == COP_OK)
			err = read_section(&section, out);
		if (err != COP_OK)
			cop_diag_of(diag, path, "%s", cop_err_text(err));
	}
	return err;
}

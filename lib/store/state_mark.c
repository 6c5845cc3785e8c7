/* Four numbers, little-endian, in the order of the struct; the epoch may be missing. */
#include "store/state_mark.h"

#include "store/state_dir.h"

cop_err cop_state_mark_read(const cop_section_file *file, cop_state_mark *out)
{
	cop_model_section section;
	cop_cursor cursor;
	*out = (cop_state_mark){ 0 };
	cop_err err = cop_section_file_find(file, COP_STATE_DIR_MARK, 0, COP_STATE_DIR_MARK_VERSION, &section);
	if (err != COP_OK)
		return err;
	cop_cursor_init(&cursor, section.data, section.length);
	out->time = cop_cursor_f64(&cursor);
	out->journal_next = cop_cursor_u64(&cursor);
	out->journal_base = cop_cursor_u64(&cursor);
	if (cop_cursor_left(&cursor) > 0)
		out->epoch = cop_cursor_u64(&cursor);
	return cursor.err;
}

/* In a checkpoint each model is a section "model", a name and a file of sections; a model file is such a file alone. */
#include "tools/common/saved_file.h"

#include <string.h>

#include "base/bytes.h"
#include "store/checkpoint_file.h"
#include "store/unreleased.h"

#define MODEL_SECTION "model"
#define NEWEST        1 /* version of it that is known here; of "settings" cop_model_peek knows */

cop_err cop_saved_file_open(cop_saved_file *saved, cop_diag *diag)
{
	cop_bytes *bytes = &saved->bytes;
	cop_bytes_init(bytes);
	cop_err err = cop_section_file_load(saved->path, bytes, diag);
	if (err != COP_OK)
		return err;
	bool unreleased = cop_unreleased_begins(bytes->data, bytes->length); /* is refused when it is opened */
	saved->checkpoint = bytes->length >= 8 && memcmp(bytes->data, "COPCHECK", 8) == 0;
	if (saved->checkpoint)
		err = cop_checkpoint_read(saved->path, bytes, diag);
	else if (!unreleased && (bytes->length < 4 || memcmp(bytes->data, "COPF", 4) != 0))
		err = COP_EFORMAT;
	if (err == COP_EFORMAT && !saved->checkpoint)
		cop_diag_of(diag, saved->path, "neither a checkpoint nor a model file of coppice");
	return err != COP_OK ? err : cop_section_file_open(&saved->file, bytes->data, bytes->length, saved->path, diag);
}

void cop_saved_file_close(cop_saved_file *saved) { cop_bytes_fini(&saved->bytes); }

bool cop_saved_file_names(const cop_model_section *section, char name[COP_SAVED_FILE_NAME])
{
	cop_cursor cursor;
	name[0] = '\0';
	if (strcmp(section->name, MODEL_SECTION) != 0)
		return false;
	cop_cursor_init(&cursor, section->data, section->length);
	cop_cursor_text(&cursor, name, COP_SAVED_FILE_NAME);
	return cursor.err == COP_OK;
}

/* The model that a checkpoint's section holds. */
static cop_err take_named(const cop_saved_file *saved, const cop_model_section *section, char name[COP_SAVED_FILE_NAME],
        const void **data, size_t *length, cop_diag *diag)
{
	cop_cursor cursor;
	cop_cursor_init(&cursor, section->data, section->length);
	cop_cursor_text(&cursor, name, COP_SAVED_FILE_NAME);
	if (section->version > NEWEST || cursor.err != COP_OK) {
		cop_err err = section->version > NEWEST ? COP_EVERSION : COP_EFORMAT;
		cop_diag_of(diag, saved->path, "section model: %s", cop_err_text(err));
		return err;
	}
	*data = cursor.at;
	*length = cop_cursor_left(&cursor);
	return COP_OK;
}

cop_err cop_saved_file_next(const cop_saved_file *saved, size_t *at, char name[COP_SAVED_FILE_NAME], const void **data,
        size_t *length, cop_diag *diag)
{
	cop_model_section section;
	bool alone = cop_section_file_find(&saved->file, "settings", 0, UINT32_MAX, &section) == COP_OK;
	if (alone && *at == 0) {
		name[0] = '\0';
		*at = 1;
		*data = saved->bytes.data;
		*length = saved->bytes.length;
		return COP_OK;
	}
	while (!alone && cop_section_file_next(&saved->file, at, &section))
		if (strcmp(section.name, MODEL_SECTION) == 0)
			return take_named(saved, &section, name, data, length, diag);
	return COP_EEND;
}

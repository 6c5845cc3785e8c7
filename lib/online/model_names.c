/* The section holds what cop_feature_space_save writes and nothing behind it. */
#include "online/model_names.h"

#define SECTION "features"
#define VERSION 1

void cop_model_names_save(const cop_feature_space *space, cop_bytes *bytes)
{
	size_t section = cop_model_file_begin_section(bytes, SECTION, VERSION);
	cop_feature_space_save(space, bytes);
	cop_model_file_end_section(bytes, section);
}

static bool fits(const cop_feature_space *space, const cop_learner_settings *l)
{
	return (l->features != 0) == cop_feature_space_is_dense(space) &&
	       cop_learner_dimension(l) == cop_feature_space_dimension(space);
}

cop_err cop_model_names_load(
        const cop_model_file *file, const cop_learner_settings *settings, cop_feature_space **out, cop_diag *diag)
{
	cop_model_section section;
	cop_cursor cursor;
	*out = NULL;
	cop_err err = cop_model_file_find(file, SECTION, 0, VERSION, &section);
	if (err == COP_OK) {
		cop_cursor_init(&cursor, section.data, section.length);
		err = cop_feature_space_load(&cursor, out);
	}
	if (err == COP_OK && settings != NULL && !fits(*out, settings)) {
		cop_feature_space_free(*out);
		*out = NULL;
		err = COP_EFORMAT;
	}
	if (err == COP_OK && cop_feature_space_is_dense(*out))
		cop_feature_space_freeze(*out);
	if (err != COP_OK)
		cop_diag_set(diag, "", 0, 0, "section '" SECTION "': %s", cop_err_text(err));
	return err;
}

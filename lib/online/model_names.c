/* Each section holds what cop_feature_space_save, or cop_place_names_save, writes and nothing behind it. */
#include "online/model_names.h"

#define SECTION        "features"
#define VERSION        1
#define PLACES_SECTION "names"
#define PLACES_VERSION 1
#define MEMORY_TIMES   4 /* what names take in memory, of what they take in a file, is less */

void cop_model_names_save(const cop_feature_space *space, cop_bytes *bytes)
{
	size_t section = cop_section_file_begin_section(bytes, SECTION, VERSION);
	cop_feature_space_save(space, bytes);
	cop_section_file_end_section(bytes, section);
}

static bool fits(const cop_feature_space *space, const cop_learner_settings *l)
{
	return (l->features != 0) == cop_feature_space_is_dense(space) &&
	       cop_learner_dimension(l) == cop_feature_space_dimension(space);
}

cop_err cop_model_names_load(
        const cop_section_file *file, const cop_learner_settings *settings, cop_feature_space **out, cop_diag *diag)
{
	cop_model_section section;
	cop_cursor cursor;
	*out = NULL;
	cop_err err = cop_section_file_find(file, SECTION, 0, VERSION, &section);
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
		cop_diag_message(diag, "section '" SECTION "': %s", cop_err_text(err));
	return err;
}

void cop_model_names_save_places(const cop_feature_space *space, cop_bytes *bytes)
{
	const cop_place_names *names = cop_feature_space_names(space);
	if (names == NULL || cop_place_names_count(names) == 0)
		return;
	size_t section = cop_section_file_begin_section(bytes, PLACES_SECTION, PLACES_VERSION);
	cop_place_names_save(names, bytes);
	cop_section_file_end_section(bytes, section);
}

static unsigned bits_of(const cop_feature_space *space)
{
	unsigned bits = 0;
	while ((size_t)1 << bits < cop_feature_space_dimension(space))
		bits++;
	return bits;
}

cop_err cop_model_names_read_places(
        const cop_section_file *file, size_t bytes, unsigned bits, cop_place_names **out, cop_diag *diag)
{
	cop_model_section section;
	cop_cursor cursor;
	*out = NULL;
	cop_err err = cop_section_file_find(file, PLACES_SECTION, 0, PLACES_VERSION, &section);
	if (err == COP_ENOTFOUND)
		return COP_OK;
	if (err == COP_OK) {
		cop_cursor_init(&cursor, section.data, section.length);
		bytes = bytes == COP_MODEL_NAMES_ALL ? MEMORY_TIMES * section.length : bytes;
		err = cop_place_names_load(&cursor, bytes, bits, out);
	}
	if (err == COP_OK && cop_cursor_left(&cursor) != 0) {
		cop_place_names_free(*out);
		*out = NULL;
		err = COP_EFORMAT;
	}
	if (err != COP_OK)
		cop_diag_message(diag, "section '" PLACES_SECTION "': %s", cop_err_text(err));
	return err;
}

cop_err cop_model_names_load_places(
        const cop_section_file *file, size_t bytes, cop_feature_space *space, cop_diag *diag)
{
	cop_place_names *names;
	if (cop_feature_space_is_dense(space) || bytes == 0)
		return cop_feature_space_keep_names(space, 0);
	cop_err err = cop_model_names_read_places(file, bytes, bits_of(space), &names, diag);
	if (err != COP_OK)
		return err;
	if (names == NULL)
		return cop_feature_space_keep_names(space, bytes);
	cop_feature_space_take_names(space, &names);
	return COP_OK;
}

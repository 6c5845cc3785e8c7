/* The model is made from its own saved settings, and saved again beside the names of its columns, as
 * cop_model_slot_save has it. */
#include "daemon/models/model_parked.h"

#include "online/model_names.h"
#include "store/section_file.h"

static cop_err load_columns(const uint8_t *data, size_t length, cop_feature_space **out)
{
	cop_section_file file;
	*out = NULL;
	cop_err err = cop_section_file_open(&file, data, length, NULL, NULL);
	if (err == COP_OK)
		err = cop_model_names_load(&file, NULL, out, NULL);
	return err == COP_ENOTFOUND ? COP_OK : err;
}

static void put(const cop_parked *parked, const cop_model *model, const cop_feature_space *columns, cop_bytes *out)
{
	cop_bytes_put_text(out, parked->stored);
	size_t file = cop_section_file_begin(out);
	cop_model_save(model, out);
	if (columns != NULL)
		cop_model_names_save(columns, out);
	cop_section_file_end(out, file);
}

cop_err cop_model_parked_forget(
        cop_parked *parked, const cop_event_id *ids, size_t count, bool anyway, double now, size_t *ended)
{
	char stored[COP_CONFIG_NAME_MAX + 1];
	cop_cursor cursor;
	cop_model *model = NULL;
	cop_feature_space *columns = NULL;
	cop_bytes section;
	*ended = 0;
	cop_cursor_init(&cursor, parked->section.data, parked->section.length);
	cop_cursor_text(&cursor, stored, sizeof stored);
	const size_t length = cop_cursor_left(&cursor);
	const uint8_t *data = cop_cursor_take(&cursor, length);
	cop_err err = cop_model_open(data, length, &model, NULL);
	if (err == COP_OK)
		err = load_columns(data, length, &columns);
	cop_bytes_init(&section);
	if (err == COP_OK)
		*ended = cop_model_forget(model, ids, count, now);
	if (*ended > 0 || (anyway && err == COP_OK)) {
		put(parked, model, columns, &section);
		err = section.err;
	}
	if (err == COP_OK && section.length > 0) {
		cop_bytes_fini(&parked->section);
		parked->section = section;
	} else {
		cop_bytes_fini(&section);
	}
	cop_feature_space_free(columns);
	cop_model_free(model);
	return err;
}

/* The model is made from its own saved settings, and saved again beside the names of its columns, as
 * cop_model_slot_save has it. */
#include "daemon/models/model_parked.h"

#include "daemon/models/model_table_private.h"
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

/* Behind the name. */
static cop_cursor cursor_of(const cop_parked *parked)
{
	char stored[COP_CONFIG_NAME_MAX + 1];
	cop_cursor cursor;
	cop_cursor_init(&cursor, parked->section.data, parked->section.length);
	cop_cursor_text(&cursor, stored, sizeof stored);
	return cursor;
}

static const uint8_t *file_of(const cop_parked *parked, size_t *length)
{
	cop_cursor cursor = cursor_of(parked);
	*length = cursor.err == COP_OK ? cop_cursor_left(&cursor) : 0;
	return cop_cursor_take(&cursor, *length);
}

cop_err cop_model_parked_forget(
        cop_parked *parked, const cop_event_id *ids, size_t count, bool anyway, double now, size_t *ended)
{
	size_t length;
	const uint8_t *data = file_of(parked, &length);
	cop_model *model = NULL;
	cop_feature_space *columns = NULL;
	cop_bytes section;
	*ended = 0;
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

cop_err cop_model_parked_peek(const cop_parked *parked, cop_model_settings *settings)
{
	size_t length;
	const uint8_t *data = file_of(parked, &length);
	return cop_model_peek(data, length, settings, NULL);
}

/* What is not of its events stays. */
static cop_err follow_refits(const cop_parked *parked, cop_refit_state *state)
{
	cop_refit_state was;
	cop_cursor cursor = cursor_of(parked);
	cop_refit_state_init(&was);
	cop_err err = cop_refit_state_load(&was, &cursor);
	if (err == COP_OK)
		cop_refit_state_replace(state, &was);
	cop_refit_state_fini(&was);
	return err;
}

static void take(cop_parked *parked, cop_bytes *section)
{
	cop_bytes_fini(&parked->section);
	parked->section = *section;
	cop_bytes_init(section);
}

cop_err cop_model_parked_renew(cop_model_table *set, cop_parked *parked, cop_model_slot *slot)
{
	const cop_parked *found = cop_model_table_find_parked(set, parked->stored, true);
	cop_parked *refits = found == NULL ? NULL : &set->parked[found - set->parked];
	cop_bytes model, state;
	cop_bytes_init(&model);
	cop_bytes_init(&state);
	cop_model_slot_adjust(slot, slot->config);
	cop_model_table_put_model(slot, &model);
	cop_err err = model.err;
	if (err == COP_OK && refits != NULL)
		err = follow_refits(refits, &slot->refit);
	if (err == COP_OK && refits != NULL) {
		cop_model_table_put_refits(slot, &state);
		err = state.err;
	}
	if (err == COP_OK)
		take(parked, &model);
	if (err == COP_OK && refits != NULL)
		take(refits, &state);
	cop_bytes_fini(&model);
	cop_bytes_fini(&state);
	return err;
}

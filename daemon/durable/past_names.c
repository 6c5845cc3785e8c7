/* Today's names are set aside first, so that none of them is taken for one of then; they come back only where neither
 * a checkpoint nor a record told others. */
#include "daemon/durable/past_names.h"

#include <string.h>

#include "daemon/config/config_rules.h"
#include "daemon/durable/checkpoint.h"
#include "daemon/models/listed_names.h"
#include "online/model_names.h"
#include "store/section_file.h"
#include "store/state_dir.h"
#include "wire/wire_record.h"

_Static_assert(
        COP_CONFIG_NAMES == sizeof((cop_past_names *)0)->today / sizeof(cop_config_list), "a list for each file");

static void swap_lists(cop_past_names *names)
{
	for (size_t i = 0; i < COP_CONFIG_NAMES; i++) {
		cop_config_list *list = cop_config_rules_names_list(&cop_config_name_files[i], names->model);
		cop_config_list kept = *list;
		*list = names->today[i];
		names->today[i] = kept;
	}
}

void cop_past_names_begin(cop_past_names *names, cop_config *config, const char *stored)
{
	*names = (cop_past_names){ .known = false };
	for (size_t i = 0; i < config->model_count; i++)
		if (strcmp(config->models[i].stored, stored) == 0)
			names->model = &config->models[i];
	if (names->model != NULL)
		swap_lists(names);
}

cop_err cop_past_names_hear(cop_past_names *names, const void *data, size_t length)
{
	if (names->model == NULL)
		return COP_OK;
	cop_err err = cop_listed_names_take(data, length, names->model->stored, names->model);
	names->known = err == COP_OK;
	return err == COP_ENOMEM ? err : COP_OK;
}

cop_err cop_past_names_hear_record(cop_past_names *names, const cop_journal_record *raw)
{
	static const cop_wire_shape no_shape = { .features = 1, .arms = 1 };
	static const cop_wire_workspace no_workspace = { 0 };
	cop_wire_record record;
	if (raw->type != COP_WIRE_RECORD_CONFIG ||
	        cop_wire_record_decode(COP_WIRE_RECORD_CONFIG, raw->body, raw->length, &no_shape, &no_workspace,
	                &record, NULL) != COP_OK)
		return COP_OK;
	return cop_past_names_hear(names, record.listed, record.listed_length);
}

void cop_past_names_end(cop_past_names *names)
{
	if (names->model != NULL && !names->known)
		swap_lists(names);
}

bool cop_past_names_are_today(const cop_past_names *names, const cop_config_model *model)
{
	return !names->known && cop_listed_names_has(model);
}

static cop_err read_places(cop_past_names *names, const void *data, size_t length)
{
	cop_section_file file;
	const unsigned bits = names->model->set.learner.bits;
	cop_err err = cop_section_file_open(&file, data, length, NULL, NULL);
	if (err == COP_OK)
		err = cop_model_names_read_places(&file, COP_MODEL_NAMES_ALL, bits, &names->later, NULL);
	return err == COP_ENOMEM ? err : COP_OK;
}

static cop_err read_body(cop_past_names *names, const cop_bytes *body)
{
	cop_section_file file;
	cop_model_section section;
	char stored[COP_CONFIG_NAME_MAX + 1];
	if (cop_section_file_open(&file, body->data, body->length, NULL, NULL) != COP_OK)
		return COP_OK;
	for (size_t at = 0; cop_section_file_next(&file, &at, &section);) {
		cop_cursor cursor;
		if (strcmp(section.name, COP_STATE_DIR_MODEL) != 0)
			continue;
		cop_cursor_init(&cursor, section.data, section.length);
		cop_cursor_text(&cursor, stored, sizeof stored);
		const size_t left = cop_cursor_left(&cursor);
		const void *data = cop_cursor_take(&cursor, left);
		if (cursor.err == COP_OK && strcmp(stored, names->model->stored) == 0)
			return read_places(names, data, left);
	}
	return COP_OK;
}

cop_err cop_past_names_find_later(cop_past_names *names, const char *state_dir, uint64_t sequence, cop_diag *diag)
{
	cop_bytes body;
	const cop_config_model *model = names->model;
	if (model == NULL || model->set.learner.features != 0 || model->names_bytes == 0)
		return COP_OK;
	cop_bytes_init(&body);
	cop_err err = cop_checkpoint_read_after(state_dir, sequence, &body, diag);
	if (err == COP_OK)
		err = read_body(names, &body);
	cop_bytes_fini(&body);
	return err == COP_ENOTFOUND ? COP_OK : err;
}

void cop_past_names_fini(cop_past_names *names)
{
	for (size_t i = 0; i < COP_CONFIG_NAMES; i++)
		cop_config_list_free(&names->today[i]);
	cop_place_names_free(names->later);
	names->later = NULL;
}

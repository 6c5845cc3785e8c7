/* What a reader does not know, options too, is passed over. */
#include "daemon/models/listed_names.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/config/config_rules.h"
#include "wire/wire_cursor.h"
#include "wire/wire_put.h"

bool cop_listed_names_has(const cop_config_model *model)
{
	for (size_t i = 0; i < COP_CONFIG_NAMES; i++)
		if (cop_config_rules_names_list(&cop_config_name_files[i], model)->count > 0)
			return true;
	return false;
}

static void put_model(const cop_config_model *model, cop_bytes *bytes)
{
	size_t map = cop_wire_put_map_open(bytes);
	for (size_t i = 0; i < COP_CONFIG_NAMES; i++) {
		const cop_config_list *list = cop_config_rules_names_list(&cop_config_name_files[i], model);
		if (list->count == 0)
			continue;
		cop_wire_put_text(bytes, cop_config_name_files[i].option);
		cop_wire_put_array(bytes, list->count);
		for (size_t k = 0; k < list->count; k++)
			cop_wire_put_text(bytes, list->items[k]);
	}
	cop_wire_put_map_close(bytes, map);
}

static void put_slot(const cop_model_slot *slot, cop_bytes *bytes)
{
	if (!cop_listed_names_has(slot->config))
		return;
	cop_wire_put_text(bytes, slot->stored);
	put_model(slot->config, bytes);
}

void cop_listed_names_put(const cop_model_table *set, cop_bytes *bytes)
{
	const size_t start = bytes->length;
	size_t map = cop_wire_put_map_open(bytes);
	for (size_t i = 0; i < set->count; i++)
		put_slot(set->items[i], bytes);
	for (size_t i = 0; i < set->leaving_count; i++)
		put_slot(set->leaving[i].slot, bytes);
	cop_wire_put_map_close(bytes, map);
	if (bytes->err != COP_OK || bytes->length - start <= COP_LISTED_NAMES_MOST)
		return;
	bytes->length = start;
	cop_wire_put_nil(bytes);
}

static bool is(const char *text, const char *key, size_t length)
{
	return strlen(text) == length && memcmp(text, key, length) == 0;
}

static cop_err read_list(cop_wire_cursor *cursor, cop_config_list *out)
{
	size_t count = 0, length;
	const char *text;
	cop_config_list_free(out);
	cop_err err = cop_wire_cursor_array(cursor, &count);
	if (err == COP_OK && count > 0) {
		out->items = cop_mem_alloc(count, sizeof *out->items);
		err = out->items == NULL ? COP_ENOMEM : COP_OK;
	}
	for (; err == COP_OK && out->count < count; out->count++) {
		err = cop_wire_cursor_string(cursor, &text, &length);
		if (err != COP_OK)
			break;
		char *name = cop_mem_alloc(length + 1, 1);
		if (name == NULL)
			return COP_ENOMEM;
		memcpy(name, text, length);
		out->items[out->count] = name;
	}
	return err;
}

static cop_err read_model(cop_wire_cursor *cursor, cop_config_model *model)
{
	size_t count, length;
	const char *key;
	cop_err err = cop_wire_cursor_map(cursor, &count);
	while (err == COP_OK && count-- > 0) {
		size_t i = 0;
		err = cop_wire_cursor_string(cursor, &key, &length);
		while (err == COP_OK && i < COP_CONFIG_NAMES && !is(cop_config_name_files[i].option, key, length))
			i++;
		if (err == COP_OK && i == COP_CONFIG_NAMES)
			err = cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH);
		else if (err == COP_OK)
			err = read_list(cursor, cop_config_rules_names_list(&cop_config_name_files[i], model));
	}
	return err;
}

static void drop(cop_config_model *model)
{
	for (size_t i = 0; i < COP_CONFIG_NAMES; i++)
		cop_config_list_free(cop_config_rules_names_list(&cop_config_name_files[i], model));
}

cop_err cop_listed_names_take(const void *data, size_t length, const char *stored, cop_config_model *model)
{
	cop_wire_cursor cursor;
	size_t count, key_length;
	const char *key;
	drop(model);
	cop_wire_cursor_init(&cursor, data, length);
	cop_err err = cop_wire_cursor_map(&cursor, &count);
	while (err == COP_OK && count-- > 0) {
		err = cop_wire_cursor_string(&cursor, &key, &key_length);
		if (err == COP_OK && is(stored, key, key_length))
			err = read_model(&cursor, model);
		else if (err == COP_OK)
			err = cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH);
	}
	if (err == COP_OK)
		return COP_OK;
	drop(model);
	return err == COP_ENOMEM ? err : COP_EFORMAT;
}

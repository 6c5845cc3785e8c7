/* Settings, namespaces, then columns with the numbers of their namespaces. */
#include "base/mem.h"
#include "events/feature_space_private.h"

static void save_name(cop_bytes *bytes, const cop_name *name)
{
	cop_bytes_put_u32(bytes, name->tag);
	cop_bytes_put_u32(bytes, name->length);
	cop_bytes_put(bytes, name->text, name->length);
}

void cop_feature_space_save(const cop_feature_space *space, cop_bytes *bytes)
{
	cop_bytes_put_u8(bytes, space->dense);
	cop_bytes_put_u8(bytes, space->hash_all);
	cop_bytes_put_u8(bytes, space->frozen);
	cop_bytes_put_u8(bytes, (uint8_t)space->bits);
	for (size_t i = 0; i < COP_FEATURE_GROUPS; i++)
		cop_bytes_put_u8(bytes, space->kept[i]);
	cop_bytes_put_u32(bytes, (uint32_t)space->pair_count);
	for (size_t i = 0; i < space->pair_count; i++) {
		cop_bytes_put_u8(bytes, space->pairs[i].first);
		cop_bytes_put_u8(bytes, space->pairs[i].second);
	}
	cop_bytes_put_u32(bytes, (uint32_t)space->namespaces.count);
	for (size_t i = 1; i < space->namespaces.count; i++) /* the first is the default one */
		save_name(bytes, &space->namespaces.name[i]);
	cop_bytes_put_u32(bytes, (uint32_t)space->columns.count);
	for (size_t i = 0; i < space->columns.count; i++)
		save_name(bytes, &space->columns.name[i]);
}

static cop_err load_pairs(cop_cursor *cursor, cop_feature_space *space)
{
	uint32_t count = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK || count > cop_cursor_left(cursor) / 2 || (space->dense && count > 0))
		return COP_EFORMAT;
	space->pairs = cop_mem_alloc(count, sizeof *space->pairs);
	if (space->pairs == NULL)
		return COP_ENOMEM;
	space->pair_count = count;
	for (size_t i = 0; i < count; i++) {
		space->pairs[i].first = cop_cursor_u8(cursor);
		space->pairs[i].second = cop_cursor_u8(cursor);
	}
	return cursor->err;
}

/* A new name of the table; its tag below `tags`. */
static cop_err load_name(cop_cursor *cursor, const cop_name_table *table, size_t tags, cop_name *name)
{
	name->tag = cop_cursor_u32(cursor);
	name->length = cop_cursor_u32(cursor);
	name->text = (const char *)cop_cursor_take(cursor, name->length);
	if (cursor->err != COP_OK || name->tag >= tags ||
	        cop_name_table_find(table, name->tag, name->text, name->length) != COP_NAME_NONE)
		return COP_EFORMAT;
	return COP_OK;
}

static cop_err load_namespaces(cop_cursor *cursor, cop_feature_space *space)
{
	uint32_t count = cop_cursor_u32(cursor);
	cop_err err = cursor->err;
	if (count != space->namespaces.count && (!space->dense || count == 0))
		return COP_EFORMAT;
	for (size_t i = 1; i < count && err == COP_OK; i++) {
		cop_name name;
		uint32_t number;
		err = load_name(cursor, &space->namespaces, 1, &name);
		if (err == COP_OK)
			err = cop_name_table_add(
			        &space->namespaces, 0, (cop_name_prefix){ 0 }, name.text, name.length, &number);
	}
	return err;
}

/* Hashed features have no namespaces that a column could be of. */
static cop_err load_columns(cop_cursor *cursor, cop_feature_space *space)
{
	uint32_t count = cop_cursor_u32(cursor);
	if (cursor->err != COP_OK || count > COP_FEATURE_SPACE_MAX_DENSE)
		return COP_EFORMAT;
	for (size_t i = 0; i < count && space->err == COP_OK; i++) {
		cop_name name;
		cop_err err = load_name(cursor, &space->columns, space->namespaces.count, &name);
		if (err != COP_OK)
			return err;
		space->lane.space = name.tag;
		space->lane.at = space->lane.count;
		cop_feature_space_add_column(space, name.text, name.length);
	}
	return space->err;
}

cop_err cop_feature_space_load(cop_cursor *cursor, cop_feature_space **out)
{
	*out = NULL;
	uint8_t dense = cop_cursor_u8(cursor);
	uint8_t hash_all = cop_cursor_u8(cursor);
	uint8_t frozen = cop_cursor_u8(cursor);
	uint8_t bits = cop_cursor_u8(cursor);
	const uint8_t *kept = cop_cursor_take(cursor, COP_FEATURE_GROUPS);
	if (kept == NULL || (dense | hash_all | frozen) > 1 || bits == 0 || bits > COP_FEATURE_SPACE_MAX_BITS)
		return COP_EFORMAT;
	cop_feature_space *space;
	if (cop_feature_space_make(dense != 0, bits, hash_all != 0, &space) != COP_OK)
		return COP_ENOMEM;
	for (size_t i = 0; i < COP_FEATURE_GROUPS; i++)
		space->kept[i] = kept[i] != 0;
	cop_err err = load_pairs(cursor, space);
	if (err == COP_OK)
		err = load_namespaces(cursor, space);
	if (err == COP_OK)
		err = load_columns(cursor, space);
	space->frozen = frozen != 0;
	space->old_columns = space->columns.count;
	space->old_namespaces = space->namespaces.count;
	if (err == COP_OK)
		*out = space;
	else
		cop_feature_space_free(space);
	return err == COP_EFULL ? COP_EFORMAT : err;
}

/* Both sides serialise every model, as for a checkpoint, at the same record. */
#include "daemon/replica/replica_state.h"

#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "store/section_file.h"
#include "wire/wire_cursor.h"
#include "wire/wire_put.h"

static void put_part(const char *name, const void *data, size_t length, cop_bytes *out)
{
	cop_wire_put_array(out, 2);
	cop_wire_put_text(out, name);
	cop_wire_put_unsigned(out, cop_crc32c(0, data, length));
}

/* How many. */
static size_t put_model(const cop_model_slot *slot, cop_bytes *work, cop_bytes *out)
{
	cop_section_file file;
	cop_model_section section;
	char name[COP_REPLICA_STATE_NAME];
	size_t count = 0;
	cop_bytes_clear(work);
	cop_model_slot_save(slot, work);
	if (work->err != COP_OK || cop_section_file_open(&file, work->data, work->length, NULL, NULL) != COP_OK) {
		out->err = work->err != COP_OK ? work->err : COP_EFORMAT;
		return 0;
	}
	for (size_t at = 0; cop_section_file_next(&file, &at, &section); count++) {
		(void)snprintf(name, sizeof name, "%s/%s.%zu", slot->stored, section.name, count);
		put_part(name, section.data, section.length, out);
	}
	return count;
}

void cop_replica_state_put(const cop_model_table *models, cop_bytes *work, cop_bytes *out)
{
	size_t at = cop_wire_put_array_open(out), count = 0;
	for (size_t i = 0; i < models->count; i++)
		count += put_model(models->items[i], work, out);
	cop_wire_put_array_close(out, at, count);
}

/* The next part; false: there is none. */
static bool next(cop_wire_cursor *cursor, size_t *left, const char **name, size_t *length, uint64_t *crc)
{
	size_t two;
	if (*left == 0)
		return false;
	--*left;
	return cop_wire_cursor_array(cursor, &two) == COP_OK && two == 2 &&
	       cop_wire_cursor_string(cursor, name, length) == COP_OK &&
	       cop_wire_cursor_unsigned(cursor, crc) == COP_OK;
}

bool cop_replica_state_equal(
        const cop_bytes *mine, const void *theirs, size_t length, char differs[COP_REPLICA_STATE_NAME])
{
	cop_wire_cursor a, b;
	size_t left_a = 0, left_b = 0;
	cop_wire_cursor_init(&a, mine->data, mine->length);
	cop_wire_cursor_init(&b, theirs, length);
	bool whole = cop_wire_cursor_array(&a, &left_a) == COP_OK && cop_wire_cursor_array(&b, &left_b) == COP_OK;
	(void)snprintf(differs, COP_REPLICA_STATE_NAME, "%s", "its form");
	while (whole) {
		const char *name_a = "", *name_b = "";
		size_t length_a = 0, length_b = 0;
		uint64_t crc_a = 0, crc_b = 0;
		bool has_a = next(&a, &left_a, &name_a, &length_a, &crc_a);
		bool has_b = next(&b, &left_b, &name_b, &length_b, &crc_b);
		if (!has_a && !has_b)
			return true;
		bool same = length_a == length_b && memcmp(name_a, name_b, length_a) == 0 && crc_a == crc_b;
		if (same && has_a == has_b)
			continue;
		const char *name = has_a ? name_a : name_b;
		size_t shown = has_a ? length_a : length_b;
		(void)snprintf(differs, COP_REPLICA_STATE_NAME, "%.*s",
		        (int)(shown < COP_REPLICA_STATE_NAME ? shown : COP_REPLICA_STATE_NAME - 1), name);
		return false;
	}
	return false;
}

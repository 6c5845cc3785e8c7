/* Writers put time, model and id first (wire/wire_record.c), so the head of a record that is not wanted costs no walk
 * over its context; where they stand elsewhere the walk goes on until they came. */
#include "wire/wire_glance.h"

#include <string.h>

#include "wire/wire_keys.h"

enum {
	TIME,
	MODEL,
	ID,
	ARM,
	VALUE,
	P,
	LOSS,
	NAMED,
	RESULT,
	UNIT,
	FROM,
	X,
	JOINED,
	SETTLED,
	OWN,
	SPLIT,
	LIMIT,
	KEYS,
	HEAD = ARM
};

static const char *const names[KEYS] = { "t", "m", "id", "a", "y", "p", "loss", "l", "r", "unit", "from", "x", "j", "s",
	"o", "h", "b" };

/* One of a later version counts as none. */
static cop_err read_limit(cop_wire_cursor *cursor, cop_wire_glance *out)
{
	uint64_t word = 0;
	cop_err err = cop_wire_cursor_unsigned(cursor, &word);
	if (err == COP_OK && word < COP_WIRE_LIMITS)
		out->limit = (cop_wire_limit)word;
	return err;
}

/* The first two are taken. */
static cop_err read_losses(cop_wire_cursor *cursor, cop_wire_glance *out)
{
	const size_t most = sizeof out->loss / sizeof *out->loss;
	size_t count;
	cop_err err = cop_wire_cursor_array(cursor, &count);
	for (size_t i = 0; err == COP_OK && i < count; i++)
		err = i < most ? cop_wire_cursor_double(cursor, &out->loss[i])
		               : cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH);
	if (err == COP_OK)
		out->losses = (unsigned)(count < most ? count : most);
	return err;
}

static cop_err read_result(cop_wire_cursor *cursor, cop_wire_glance *out)
{
	uint64_t word;
	cop_err err = cop_wire_cursor_unsigned(cursor, &word);
	if (err == COP_OK && word >= COP_WIRE_RESULT_COUNT)
		err = COP_EFORMAT;
	if (err == COP_OK)
		out->result = (cop_wire_result)word;
	return err;
}

static cop_err read_value(cop_wire_cursor *cursor, unsigned which, cop_wire_glance *out)
{
	switch (which) {
	case TIME:
		out->has_time = true;
		return cop_wire_cursor_double(cursor, &out->time);
	case MODEL:
		return cop_wire_cursor_string(cursor, &out->model, &out->model_length);
	case ID:
		return cop_wire_read_id(cursor, &out->id, NULL);
	case ARM:
		out->has_arm = true;
		return cop_wire_cursor_unsigned(cursor, &out->arm);
	case VALUE:
		out->has_value = true;
		return cop_wire_cursor_double(cursor, &out->value);
	case P:
		out->has_p = true;
		return cop_wire_cursor_double(cursor, &out->p);
	case LOSS:
		return read_losses(cursor, out);
	case NAMED:
		return cop_wire_named_read(cursor, &out->named);
	case RESULT:
		return read_result(cursor, out);
	case UNIT:
		return cop_wire_keys_read_id(cursor, names[UNIT], &out->unit, NULL);
	case FROM:
		return cop_wire_position_read(cursor, "from", &out->from, NULL);
	case X:
		out->has_x = true;
		return cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	case JOINED:
		return cop_wire_cursor_bool(cursor, &out->joined);
	case SETTLED:
		out->settled_at = cursor->at;
		return cop_wire_settled_read(cursor, &out->settled);
	case OWN:
		out->observed = true;
		return cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	case LIMIT:
		return read_limit(cursor, out);
	default:
		out->splits = true;
		return cop_wire_split_read(cursor, &out->split);
	}
}

static cop_err walk(const void *body, size_t length, unsigned keys, cop_wire_glance *out)
{
	cop_wire_cursor cursor;
	cop_wire_keys walk;
	unsigned which, came = 0;
	*out = (cop_wire_glance){ .result = COP_WIRE_UNKNOWN };
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&walk, &cursor, names, keys, NULL);
	while (err == COP_OK && (keys != HEAD || came < HEAD) && (err = cop_wire_keys_next(&walk, &which)) == COP_OK) {
		came++;
		err = read_value(&cursor, which, out);
	}
	out->by = cop_wire_split_maker(out->observed, out->splits ? &out->split : NULL);
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_wire_glance_head(const void *body, size_t length, cop_wire_glance *out)
{
	return walk(body, length, HEAD, out);
}

cop_err cop_wire_glance_read(const void *body, size_t length, cop_wire_glance *out)
{
	return walk(body, length, KEYS, out);
}

bool cop_wire_glance_is_of(const cop_wire_glance *glance, const char *model)
{
	return glance->model != NULL && glance->model_length == strlen(model) &&
	       memcmp(glance->model, model, glance->model_length) == 0;
}

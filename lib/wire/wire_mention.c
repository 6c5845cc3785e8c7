/* One walk over the map's keys. What is taken out of `s` leaves every other byte of the body as it is. */
#include "wire/wire_mention.h"

#include "wire/wire_put.h"

enum { TIME, MODEL, ID, UNIT, X, JOINED, SETTLED, KEYS };

static const char *const names[KEYS] = { "t", "m", "id", "unit", "x", "j", "s" };

static cop_err read_field(cop_wire_cursor *cursor, unsigned which, cop_wire_mention *out)
{
	switch (which) {
	case TIME:
		return cop_wire_cursor_double(cursor, &out->time);
	case MODEL:
		return cop_wire_cursor_string(cursor, &out->model, &out->model_length);
	case ID:
		return cop_wire_read_id(cursor, &out->id, NULL);
	case UNIT:
		return cop_wire_keys_read_id(cursor, names[UNIT], &out->unit, NULL);
	case X:
		out->has_x = true;
		return cop_wire_cursor_skip(cursor, COP_WIRE_DEPTH - 1);
	case JOINED:
		return cop_wire_cursor_bool(cursor, &out->joined);
	default:
		out->settled_at = cursor->at;
		return cop_wire_settled_read(cursor, &out->settled);
	}
}

cop_err cop_wire_mention_read(const void *body, size_t length, cop_wire_mention *out)
{
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	cop_wire_cursor_init(&cursor, body, length);
	*out = (cop_wire_mention){ .model = NULL };
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, KEYS, NULL);
	while (err == COP_OK && (err = cop_wire_keys_next(&keys, &which)) == COP_OK)
		err = read_field(&cursor, which, out);
	if (err == COP_EEND)
		err = cop_wire_keys_need(&keys, 1u << TIME | 1u << MODEL);
	return err == COP_OK ? COP_OK : COP_EFORMAT;
}

size_t cop_wire_mention_count(const cop_wire_mention *mention, cop_wire_mention_keep keep, void *context)
{
	cop_wire_settled rest = mention->settled;
	cop_wire_settlement is;
	size_t count = 0;
	while (cop_wire_settled_next(&rest, &is))
		count += !keep(context, &is);
	return count;
}

static void put_kept(cop_bytes *bytes, const cop_wire_mention *mention, cop_wire_mention_keep keep, void *context)
{
	cop_wire_settled rest = mention->settled;
	cop_wire_settlement is;
	cop_wire_put_array(bytes, mention->settled.count - cop_wire_mention_count(mention, keep, context));
	const uint8_t *item = rest.items;
	while (cop_wire_settled_next(&rest, &is)) {
		if (keep(context, &is))
			cop_wire_put_raw(bytes, item, (size_t)(rest.items - item));
		item = rest.items;
	}
}

void cop_wire_mention_put_forgotten(
        cop_bytes *bytes, const cop_wire_mention *mention, cop_wire_mention_keep keep, void *context)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_key_double(bytes, names[TIME], mention->time);
	cop_wire_put_key_string(bytes, names[MODEL], mention->model, mention->model_length);
	if (cop_wire_mention_count(mention, keep, context) < mention->settled.count) {
		cop_wire_put_text(bytes, names[SETTLED]);
		put_kept(bytes, mention, keep, context);
	}
	cop_wire_put_map_close(bytes, map);
}

void cop_wire_mention_put_rest(cop_bytes *bytes, const void *body, size_t length, const cop_wire_mention *mention,
        cop_wire_mention_keep keep, void *context)
{
	const uint8_t *from = body, *behind = mention->settled.items + mention->settled.length;
	cop_wire_put_raw(bytes, from, (size_t)(mention->settled_at - from));
	put_kept(bytes, mention, keep, context);
	cop_wire_put_raw(bytes, behind, (size_t)(from + length - behind));
}

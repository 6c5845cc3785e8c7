/* What is taken out of `s` leaves every other byte of the body as it is. */
#include "wire/wire_mention.h"

#include "wire/wire_put.h"

cop_err cop_wire_mention_read(const void *body, size_t length, cop_wire_glance *out)
{
	cop_err err = cop_wire_glance_read(body, length, out);
	return err == COP_OK && out->has_time && out->model != NULL ? COP_OK : COP_EFORMAT;
}

size_t cop_wire_mention_count(const cop_wire_glance *mention, cop_wire_mention_keep keep, void *context)
{
	cop_wire_settled rest = mention->settled;
	cop_wire_settlement is;
	size_t count = 0;
	while (cop_wire_settled_next(&rest, &is))
		count += !keep(context, &is);
	return count;
}

static void put_kept(cop_bytes *bytes, const cop_wire_glance *mention, cop_wire_mention_keep keep, void *context)
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
        cop_bytes *bytes, const cop_wire_glance *mention, cop_wire_mention_keep keep, void *context)
{
	size_t map = cop_wire_put_map_open(bytes);
	cop_wire_put_key_double(bytes, "t", mention->time);
	cop_wire_put_key_string(bytes, "m", mention->model, mention->model_length);
	cop_wire_position_put_key(bytes, &mention->from);
	if (cop_wire_mention_count(mention, keep, context) < mention->settled.count) {
		cop_wire_put_text(bytes, "s");
		put_kept(bytes, mention, keep, context);
	}
	cop_wire_put_map_close(bytes, map);
}

void cop_wire_mention_put_rest(cop_bytes *bytes, const void *body, size_t length, const cop_wire_glance *mention,
        cop_wire_mention_keep keep, void *context)
{
	const uint8_t *from = body, *behind = mention->settled.items + mention->settled.length;
	cop_wire_put_raw(bytes, from, (size_t)(mention->settled_at - from));
	put_kept(bytes, mention, keep, context);
	cop_wire_put_raw(bytes, behind, (size_t)(from + length - behind));
}

/* Everything is copied in and out, since a record is aligned to 4 bytes alone. A named loss that is not told is 0, so
 * equal histories give equal bytes. */
#include "online/pending_losses.h"

#include <math.h>
#include <string.h>

typedef struct losses {
	double sum[2];
	uint32_t count;
	uint16_t names; /* doubles behind it */
	uint16_t told;  /* bits: which of them are */
} losses;

_Static_assert(sizeof(losses) == COP_PENDING_LOSSES_BYTES, "it is saved as it lies in memory");

static bool records(const cop_pending_record *r) { return (r->flags & COP_PENDING_RECORDS) != 0; }

static losses get(const cop_pending_record *r)
{
	losses kept = { .count = 0 };
	if (records(r))
		memcpy(&kept, r + 1, sizeof kept);
	return kept;
}

static uint8_t *named_at(const cop_pending_record *r) { return (uint8_t *)(uintptr_t)(r + 1) + sizeof(losses); }

size_t cop_pending_losses_size(const cop_pending_record *r)
{
	return records(r) ? sizeof(losses) + cop_pending_losses_named(get(r).names) : 0;
}

void cop_pending_losses_fill(cop_pending_record *r, const cop_pending_entry *entry)
{
	const losses kept = { { entry->loss[0], entry->loss[1] }, entry->losses, entry->names, entry->told };
	if (!records(r))
		return;
	memcpy(r + 1, &kept, sizeof kept);
	if (entry->named != NULL)
		memcpy(named_at(r), entry->named, cop_pending_losses_named(entry->names));
	else
		memset(named_at(r), 0, cop_pending_losses_named(entry->names));
}

void cop_pending_losses_put(cop_pending_record *r, const cop_pending_entry *entry)
{
	losses kept = get(r);
	if (!records(r))
		return;
	memcpy(kept.sum, entry->loss, sizeof kept.sum);
	kept.count = entry->losses;
	memcpy(r + 1, &kept, sizeof kept);
}

void cop_pending_losses_view(const cop_pending_record *r, cop_pending_entry *out)
{
	const losses kept = get(r);
	memcpy(out->loss, kept.sum, sizeof out->loss);
	out->losses = kept.count;
	out->names = kept.names;
	out->told = kept.told;
}

void cop_pending_losses_get_named(const cop_pending_record *r, cop_loss_values *out)
{
	const losses kept = get(r);
	*out = (cop_loss_values){ .told = kept.told };
	memcpy(out->value, named_at(r), cop_pending_losses_named(kept.names));
}

void cop_pending_losses_put_named(cop_pending_record *r, const cop_loss_values *named)
{
	losses kept = get(r);
	double value[COP_NAMED_LOSSES_MOST];
	if (kept.names == 0)
		return;
	for (size_t i = 0; i < kept.names; i++)
		value[i] = (named->told >> i & 1u) != 0 ? named->value[i] : 0.0;
	kept.told = (uint16_t)(named->told & ((1u << kept.names) - 1u));
	memcpy(r + 1, &kept, sizeof kept);
	memcpy(named_at(r), value, cop_pending_losses_named(kept.names));
}

cop_err cop_pending_losses_load(cop_cursor *cursor, cop_pending_entry *entry)
{
	cop_cursor_f64s(cursor, entry->loss, 2);
	entry->losses = cop_cursor_u32(cursor);
	uint32_t named = cop_cursor_u32(cursor);
	entry->names = (uint16_t)(named & 0xffff);
	entry->told = (uint16_t)(named >> 16);
	if (cursor->err != COP_OK)
		return cursor->err;
	if (entry->names > COP_NAMED_LOSSES_MOST || entry->told >> entry->names != 0)
		return COP_EFORMAT;
	entry->named = cop_cursor_take(cursor, cop_pending_losses_named(entry->names));
	for (size_t i = 0; i < entry->names && entry->named != NULL; i++) {
		double value;
		memcpy(&value, entry->named + i * sizeof value, sizeof value);
		if (!isfinite(value))
			return COP_ENONFINITE;
	}
	return cursor->err;
}

/* Rows are found by bisection; a steady load only overwrites the numbers of one. */
#include "online/positions.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

typedef struct cop_positions_row {
	uint64_t partition, offset, minor;
	uint8_t length;
	char source[COP_WIRE_POSITION_SOURCE];
} row;

static int compare(const row *r, const cop_wire_position *at)
{
	size_t common = r->length < at->length ? r->length : at->length;
	int order = memcmp(r->source, at->source, common);
	if (order != 0)
		return order;
	if (r->length != at->length)
		return r->length < at->length ? -1 : 1;
	return r->partition == at->partition ? 0 : r->partition < at->partition ? -1 : 1;
}

/* The row of its source and partition, or where it belongs. */
static size_t find(const cop_positions *p, const cop_wire_position *at, bool *found)
{
	size_t low = 0, high = p->count;
	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(&p->rows[middle], at);
		if (order == 0) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void cop_positions_fini(cop_positions *p)
{
	cop_mem_free(p->rows);
	*p = (cop_positions){ .count = 0 };
}

cop_wire_position cop_positions_at(const cop_positions *p, size_t i)
{
	const row *r = &p->rows[i];
	return (cop_wire_position){ r->source, r->length, r->partition, r->offset, r->minor };
}

bool cop_positions_passed(const cop_positions *p, const cop_wire_position *at)
{
	bool found;
	size_t i = find(p, at, &found);
	if (!found)
		return false;
	const cop_wire_position known = cop_positions_at(p, i);
	return cop_wire_position_compare(at, &known) <= 0;
}

cop_err cop_positions_reserve(cop_positions *p, const cop_wire_position *at)
{
	bool found;
	(void)find(p, at, &found);
	if (found || p->count < p->capacity)
		return COP_OK;
	if (p->count == COP_POSITIONS_MOST)
		return COP_EFULL;
	size_t capacity = p->capacity == 0 ? 8 : 2 * p->capacity;
	row *rows = cop_mem_alloc(capacity, sizeof *rows);
	if (rows == NULL)
		return COP_ENOMEM;
	if (p->count > 0)
		memcpy(rows, p->rows, p->count * sizeof *rows);
	cop_mem_free(p->rows);
	p->rows = rows;
	p->capacity = capacity;
	return COP_OK;
}

void cop_positions_note(cop_positions *p, const cop_wire_position *at)
{
	bool found;
	size_t i = find(p, at, &found);
	row *r;
	if (!found) {
		COP_ASSERT(p->count < p->capacity && at->length <= COP_WIRE_POSITION_SOURCE);
		r = &p->rows[i];
		memmove(r + 1, r, (p->count - i) * sizeof *r);
		p->count++;
		*r = (row){ .partition = at->partition, .length = (uint8_t)at->length };
		memcpy(r->source, at->source, at->length);
	} else {
		const cop_wire_position known = cop_positions_at(p, i);
		if (cop_wire_position_compare(at, &known) <= 0)
			return;
		r = &p->rows[i];
	}
	r->offset = at->offset;
	r->minor = at->minor;
}

void cop_positions_save(const cop_positions *p, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, (uint32_t)p->count);
	for (size_t i = 0; i < p->count; i++) {
		const row *r = &p->rows[i];
		cop_bytes_put_u8(bytes, r->length);
		cop_bytes_put(bytes, r->source, r->length);
		cop_bytes_put_u64(bytes, r->partition);
		cop_bytes_put_u64(bytes, r->offset);
		cop_bytes_put_u64(bytes, r->minor);
	}
}

static cop_err load_row(cop_positions *p, cop_cursor *cursor)
{
	cop_wire_position at = { .length = cop_cursor_u8(cursor) };
	at.source = (const char *)cop_cursor_take(cursor, at.length);
	at.partition = cop_cursor_u64(cursor);
	at.offset = cop_cursor_u64(cursor);
	at.minor = cop_cursor_u64(cursor);
	if (cursor->err != COP_OK)
		return cursor->err;
	bool known = at.length < 1 || at.length > COP_WIRE_POSITION_SOURCE ||
	             (p->count > 0 && compare(&p->rows[p->count - 1], &at) >= 0); /* or out of order */
	cop_err err = known ? COP_EFORMAT : cop_positions_reserve(p, &at);
	if (err == COP_OK)
		cop_positions_note(p, &at);
	return err == COP_EFULL ? COP_EFORMAT : err;
}

cop_err cop_positions_load(cop_positions *p, cop_cursor *cursor)
{
	uint32_t count = cop_cursor_u32(cursor);
	cop_err err = cursor->err;
	cop_positions_fini(p);
	for (uint32_t i = 0; i < count && err == COP_OK; i++)
		err = load_row(p, cursor);
	return err;
}

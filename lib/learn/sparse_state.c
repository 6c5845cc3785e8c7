/* A row is as it began when the bytes of its values are: a weight may move while its sum, to rounding, does not. */
#include "learn/sparse_state.h"

#include <string.h>

static bool all_are(const float *values, size_t count, float started)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(&values[i], &started, sizeof started) != 0)
			return false;
	return true;
}

static bool is_written(const cop_sparse_state *s, const uint8_t *moved, size_t row)
{
	if (moved != NULL)
		return moved[row] != 0;
	return !all_are(s->values + row * s->width, s->width, s->values_started) ||
	       !all_are(s->sums + row * s->width, s->width, s->sums_started);
}

void cop_sparse_state_save(const cop_sparse_state *state, const uint8_t *moved, cop_bytes *bytes)
{
	uint64_t count = 0;
	for (size_t row = 0; row < state->rows; row++)
		count += is_written(state, moved, row);
	cop_bytes_put_u64(bytes, count);
	for (size_t row = 0; row < state->rows; row++) {
		if (!is_written(state, moved, row))
			continue;
		cop_bytes_put_u32(bytes, (uint32_t)row);
		cop_bytes_put_f32s(bytes, state->values + row * state->width, state->width);
		cop_bytes_put_f32s(bytes, state->sums + row * state->width, state->width);
	}
}

static void begin(float *values, size_t count, float started)
{
	for (size_t i = 0; i < count; i++)
		values[i] = started;
}

void cop_sparse_state_load(const cop_sparse_state *state, bool begun, uint8_t *moved, cop_cursor *cursor)
{
	uint64_t count = cop_cursor_u64(cursor);
	uint64_t next = 0; /* row that may come */
	const size_t rows = state->place == NULL ? state->rows : state->places;
	const size_t width = state->saved == 0 ? state->width : state->saved;
	if (cursor->err == COP_OK && count > rows)
		cursor->err = COP_EFORMAT;
	if (!begun) {
		begin(state->values, state->rows * state->width, state->values_started);
		begin(state->sums, state->rows * state->width, state->sums_started);
	}
	for (uint64_t i = 0; i < count && cursor->err == COP_OK; i++) {
		uint32_t row = cop_cursor_u32(cursor);
		if (cursor->err == COP_OK && (row < next || row >= rows))
			cursor->err = COP_EFORMAT;
		if (cursor->err != COP_OK)
			return;
		next = (uint64_t)row + 1;
		const size_t at = state->place == NULL ? row : state->place[row];
		cop_cursor_f32s(cursor, state->values + at * state->width, width);
		cop_cursor_f32s(cursor, state->sums + at * state->width, width);
		if (moved != NULL)
			moved[at] = 1;
	}
}

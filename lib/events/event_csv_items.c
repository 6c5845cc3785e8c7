/* Hashed candidates are rows of the space, in the namespace "item"; dense ones have columns of their own, which no
 * other row has, and do not go through the space. */
#include "events/event_csv_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define NAME_ROOM 24 /* "x" and a number */
#define ITEM      "item"
#define MAX_ITEMS 65536

/* Room for one more item of d values. */
static cop_err item_room(cop_csv_items *items, size_t d, bool dense)
{
	if (items->count < items->capacity)
		return COP_OK;
	size_t old = items->capacity;
	size_t capacity = old == 0 ? 64 : old * 2;
	cop_row *rows = cop_mem_resize(items->rows, old, capacity, sizeof *rows);
	items->rows = rows != NULL ? rows : items->rows;
	cop_feature_span *span = cop_mem_resize(items->span, old, capacity, sizeof *span);
	items->span = span != NULL ? span : items->span;
	float *values = items->dense;
	if (dense) {
		values = cop_mem_resize(items->dense, old * d, capacity * d, sizeof *values);
		items->dense = values != NULL ? values : items->dense;
	}
	if (rows == NULL || span == NULL || (dense && values == NULL))
		return COP_ENOMEM;
	items->capacity = capacity;
	return COP_OK;
}

static cop_err hash_item(
        cop_csv_items *items, cop_feature_space *space, const cop_csv *csv, const double *values, size_t d)
{
	size_t features = 0;
	cop_feature_space_begin_candidate(space);
	cop_feature_space_namespace(space, ITEM, sizeof ITEM - 1, 1);
	for (size_t i = 0; i < d; i++) {
		char place[NAME_ROOM];
		const char *name = cop_csv_column(csv, i);
		if (name == NULL || *name == '\0') {
			(void)snprintf(place, sizeof place, "x%zu", i);
			name = place;
		}
		cop_feature_space_put(space, name, strlen(name), values[i]);
	}
	cop_err err = cop_feature_space_end(space, &items->room, &items->span[items->count], &features);
	items->features += features;
	return err;
}

static cop_err dense_item(cop_csv_items *items, const double *values, size_t d)
{
	float *to = items->dense + items->count * d;
	for (size_t i = 0; i < d; i++) {
		to[i] = (float)values[i];
		if (!isfinite(to[i]))
			return COP_ENONFINITE;
		items->features += to[i] != 0.0F;
	}
	return COP_OK;
}

static cop_err add_item(
        cop_csv_items *items, cop_feature_space *space, const cop_csv *csv, const double *values, size_t d)
{
	bool dense = cop_feature_space_is_dense(space);
	items->d = d;
	if (items->count == MAX_ITEMS)
		return COP_EFULL;
	cop_err err = item_room(items, d, dense);
	if (err == COP_OK)
		err = dense ? dense_item(items, values, d) : hash_item(items, space, csv, values, d);
	if (err == COP_OK)
		items->count++;
	return err;
}

/* All rows of the stream. */
static cop_err read_rows(
        cop_csv_items *items, cop_feature_space *space, cop_stream *stream, cop_csv *csv, cop_diag *diag)
{
	for (;;) {
		const double *values;
		size_t d;
		cop_err err = cop_csv_next(csv, &values, &d, diag);
		if (err == COP_EEND)
			break;
		if (err != COP_OK)
			return err;
		err = add_item(items, space, csv, values, d);
		if (err != COP_OK) {
			cop_diag_at_line(diag, cop_stream_name(stream), cop_stream_line_number(stream), "%s",
			        err == COP_EFULL        ? "more than 65536 candidates; expected no more"
			        : err == COP_ENONFINITE ? "a value beyond 3.4e38; expected finite ones"
			                                : cop_err_text(err));
			return err == COP_EFULL ? COP_EFORMAT : err;
		}
	}
	if (items->count > 0)
		return COP_OK;
	cop_diag_of(diag, cop_stream_name(stream), "no candidates; expected a line for each action");
	return COP_EFORMAT;
}

cop_err cop_csv_items_read(cop_csv_items *items, cop_feature_space *space, const char *path, cop_diag *diag)
{
	cop_stream *stream;
	cop_csv *csv = NULL;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err == COP_ENOMEM ? err : COP_EINVAL;
	cop_feature_space_begin(space);
	err = cop_csv_new(stream, &csv);
	if (err == COP_OK)
		err = read_rows(items, space, stream, csv, diag);
	else
		cop_diag_of(diag, path, "out of memory");
	cop_feature_space_abandon(space);
	cop_csv_free(csv);
	cop_stream_free(stream);
	if (err != COP_OK)
		return err == COP_ENONFINITE ? COP_EFORMAT : err;
	for (size_t i = 0; i < items->count; i++)
		if (items->dense != NULL)
			items->rows[i] = (cop_row){ .d = items->d, .dense = items->dense + i * items->d };
		else
			cop_feature_space_row(space, &items->room, &items->span[i], &items->rows[i]);
	return COP_OK;
}

void cop_csv_items_fini(cop_csv_items *items)
{
	cop_feature_room_fini(&items->room);
	cop_mem_free(items->span);
	cop_mem_free(items->dense);
	cop_mem_free(items->rows);
}

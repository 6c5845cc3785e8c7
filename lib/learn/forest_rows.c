/* The rows that a forest learned last. In every tree they wait in queues, one for each leaf, the oldest first; the
 * oldest of all is therefore at the head of its queue when it gives way. Sparse rows keep their entries. */
#include <string.h>

#include "base/mem.h"
#include "learn/forest_parts.h"

#define MOST   2000              /* rows */
#define MEMORY ((size_t)8 << 20) /* of them, at most */
#define NOBODY UINT32_MAX

static size_t width_of(const cop_forest_settings *s) { return s->entries > 0 ? s->entries : s->inputs; }

static size_t bytes_of_row(const cop_forest_settings *s)
{
	return width_of(s) * (sizeof(float) + (s->entries > 0 ? sizeof(uint32_t) : 0));
}

static size_t room_of(const cop_forest_settings *s)
{
	size_t most = MEMORY / bytes_of_row(s);
	return most < MOST ? most : MOST;
}

double cop_forest_rows_footprint(const cop_forest_settings *settings, size_t trees, size_t leaves)
{
	double of_row = (double)bytes_of_row(settings) + (2.0 * (double)trees + 4.0) * sizeof(uint32_t);
	return (double)room_of(settings) * of_row + 2.0 * (double)leaves * sizeof(uint32_t);
}

bool cop_forest_rows_init(cop_forest_rows *rows, const cop_forest_settings *settings, size_t leaves)
{
	const bool sparse = settings->entries > 0;
	const size_t room = room_of(settings);
	*rows = (cop_forest_rows){ .room = room, .width = width_of(settings), .trees = settings->trees };
	rows->value = cop_mem_reserve(room * rows->width, sizeof *rows->value);
	rows->index = cop_mem_reserve(sparse ? room * rows->width : 0, sizeof *rows->index);
	rows->entries = cop_mem_reserve(room, sizeof *rows->entries);
	rows->arm = cop_mem_reserve(room, sizeof *rows->arm);
	rows->loss = cop_mem_reserve(room, sizeof *rows->loss);
	rows->found = cop_mem_reserve(room, sizeof *rows->found);
	rows->leaf = cop_mem_reserve(room * rows->trees, sizeof *rows->leaf);
	rows->after = cop_mem_reserve(room * rows->trees, sizeof *rows->after);
	return cop_forest_parts_rows_hold(rows, leaves) && rows->value != NULL && rows->index != NULL &&
	       rows->entries != NULL && rows->arm != NULL && rows->loss != NULL && rows->found != NULL &&
	       rows->leaf != NULL && rows->after != NULL;
}

bool cop_forest_parts_rows_hold(cop_forest_rows *rows, size_t leaves)
{
	cop_mem_free(rows->first);
	cop_mem_free(rows->last);
	rows->first = cop_mem_reserve(leaves, sizeof *rows->first);
	rows->last = cop_mem_reserve(leaves, sizeof *rows->last);
	return rows->first != NULL && rows->last != NULL;
}

void cop_forest_rows_fini(cop_forest_rows *rows)
{
	cop_mem_free(rows->value);
	cop_mem_free(rows->index);
	cop_mem_free(rows->entries);
	cop_mem_free(rows->arm);
	cop_mem_free(rows->loss);
	cop_mem_free(rows->found);
	cop_mem_free(rows->leaf);
	cop_mem_free(rows->after);
	cop_mem_free(rows->first);
	cop_mem_free(rows->last);
}

void cop_forest_rows_begin(cop_forest_rows *rows, size_t leaf) { rows->first[leaf] = NOBODY; }

/* Row i waits at the end of a leaf's queue. */
static void append(cop_forest_rows *rows, size_t m, size_t leaf, uint32_t i)
{
	rows->leaf[i * rows->trees + m] = (uint32_t)leaf;
	rows->after[i * rows->trees + m] = NOBODY;
	if (rows->first[leaf] == NOBODY)
		rows->first[leaf] = i;
	else
		rows->after[rows->last[leaf] * rows->trees + m] = i;
	rows->last[leaf] = i;
}

/* The slot of a new row: a free one, or the oldest row's. */
static uint32_t next_slot(cop_forest_rows *rows)
{
	if (rows->held < rows->room)
		return (uint32_t)rows->held++;
	const uint32_t i = rows->oldest;
	rows->oldest = (uint32_t)((i + 1) % rows->room);
	for (size_t m = 0; m < rows->trees; m++)
		rows->first[rows->leaf[i * rows->trees + m]] = rows->after[i * rows->trees + m];
	return i;
}

static void copy(cop_forest_rows *rows, uint32_t i, const cop_row *x)
{
	const size_t entries = cop_row_entries(x);
	const float *value = x->dense != NULL ? x->dense : x->value;
	rows->entries[i] = (uint32_t)entries;
	if (entries == 0)
		return; /* a sparse row of nothing may have no arrays */
	memcpy(rows->value + i * rows->width, value, entries * sizeof *value);
	if (x->dense == NULL)
		memcpy(rows->index + i * rows->width, x->index, entries * sizeof *x->index);
}

void cop_forest_rows_keep(cop_forest *f, const cop_row *x, size_t arm, float loss)
{
	cop_forest_rows *rows = &f->rows;
	if (rows->room == 0)
		return;
	const uint32_t i = next_slot(rows);
	copy(rows, i, x);
	rows->arm[i] = (uint32_t)arm;
	rows->loss[i] = loss;
	for (size_t m = 0; m < rows->trees; m++)
		append(rows, m, cop_forest_row_of(f, m), i);
}

size_t cop_forest_rows_find(cop_forest_rows *rows, size_t m, size_t leaf)
{
	size_t n = 0;
	for (uint32_t i = rows->first[leaf]; i != NOBODY; i = rows->after[i * rows->trees + m])
		rows->found[n++] = i;
	return n;
}

cop_row cop_forest_rows_at(const cop_forest *f, uint32_t i)
{
	const cop_forest_rows *rows = &f->rows;
	const float *value = rows->value + i * rows->width;
	if (f->set.entries == 0)
		return (cop_row){ .d = f->set.inputs, .dense = value };
	return (cop_row){
		.d = f->set.inputs, .nnz = rows->entries[i], .index = rows->index + i * rows->width, .value = value
	};
}

static float entry(const cop_row *x, uint32_t feature)
{
	size_t low = 0, high = x->nnz;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (x->index[middle] < feature)
			low = middle + 1;
		else
			high = middle;
	}
	return low < x->nnz && x->index[low] == feature ? x->value[low] : 0.0f;
}

float cop_forest_rows_value(const cop_forest *f, uint32_t i, uint32_t feature)
{
	const cop_row x = cop_forest_rows_at(f, i);
	return x.dense != NULL ? x.dense[feature] : entry(&x, feature);
}

void cop_forest_rows_values(const cop_forest *f, uint32_t i, const uint32_t *feature, float *value)
{
	const cop_row x = cop_forest_rows_at(f, i);
	for (size_t c = 0; c < COP_FOREST_CANDIDATES; c++)
		value[c] = x.dense != NULL ? x.dense[feature[c]] : entry(&x, feature[c]);
}

void cop_forest_rows_divide(cop_forest *f, size_t m, size_t left, size_t right, const cop_forest_node *node)
{
	cop_forest_rows *rows = &f->rows;
	uint32_t i = rows->first[left];
	rows->first[left] = rows->first[right] = NOBODY;
	while (i != NOBODY) {
		const uint32_t after = rows->after[i * rows->trees + m];
		const bool goes = cop_forest_rows_value(f, i, node->feature) >= node->threshold;
		append(rows, m, goes ? right : left, i);
		i = after;
	}
}

/* ---- saved: the oldest first, without the queues, which follow from the trees ---- */

void cop_forest_rows_save(const cop_forest *f, cop_bytes *bytes)
{
	const cop_forest_rows *rows = &f->rows;
	cop_bytes_put_u32(bytes, (uint32_t)rows->held);
	for (size_t n = 0; n < rows->held; n++) {
		const uint32_t i = (uint32_t)((rows->oldest + n) % rows->room);
		const cop_row x = cop_forest_rows_at(f, i);
		const size_t entries = cop_row_entries(&x);
		cop_bytes_put_u32(bytes, rows->arm[i]);
		cop_bytes_put_f32(bytes, rows->loss[i]);
		if (x.dense == NULL)
			cop_bytes_put_u32(bytes, (uint32_t)entries);
		for (size_t j = 0; x.dense == NULL && j < entries; j++)
			cop_bytes_put_u32(bytes, x.index[j]);
		cop_bytes_put_f32s(bytes, x.dense != NULL ? x.dense : x.value, entries);
	}
}

/* The queues change hands, and where there are more inputs the rows are copied, 0 for those that are new. */
void cop_forest_parts_rows_inherit(cop_forest *f, cop_forest *from)
{
	cop_forest_rows *rows = &f->rows, *others = &from->rows;
	cop_mem_exchange(rows, others, sizeof *rows);
	if (from->set.inputs == f->set.inputs)
		return;
	const size_t width = f->set.inputs, before = from->set.inputs;
	cop_mem_exchange(&rows->value, &others->value, sizeof rows->value);
	cop_mem_exchange(&rows->width, &others->width, sizeof rows->width);
	for (size_t i = 0; i < rows->held; i++) {
		const float *x = others->value + i * before;
		float *value = rows->value + i * width;
		memcpy(value, x, (before - 1) * sizeof *value);
		memset(value + before - 1, 0, (width - before) * sizeof *value);
		value[width - 1] = x[before - 1];
		rows->entries[i] = (uint32_t)width;
	}
}

/* A dense row of `inputs` values, the last its constant. */
static void load_dense(const cop_forest *f, uint32_t i, size_t inputs, cop_cursor *cursor)
{
	float *value = f->rows.value + i * f->rows.width;
	float constant = 0.0f;
	cop_cursor_f32s(cursor, value, inputs - 1);
	cop_cursor_f32s(cursor, &constant, 1);
	memset(value + inputs - 1, 0, (f->set.inputs - inputs) * sizeof *value);
	value[f->set.inputs - 1] = constant;
}

static bool load_entries(cop_forest *f, uint32_t i, size_t inputs, cop_cursor *cursor)
{
	cop_forest_rows *rows = &f->rows;
	const bool sparse = f->set.entries > 0;
	const uint32_t entries = sparse ? cop_cursor_u32(cursor) : (uint32_t)f->set.inputs;
	if (entries > rows->width)
		return false;
	rows->entries[i] = entries;
	if (!sparse) {
		load_dense(f, i, inputs, cursor);
		return true;
	}
	uint32_t *index = rows->index + i * rows->width;
	for (size_t j = 0; j < entries && cursor->err == COP_OK; j++) {
		index[j] = cop_cursor_u32(cursor);
		if (index[j] >= f->set.inputs || (j > 0 && index[j] <= index[j - 1]))
			return false;
	}
	cop_cursor_f32s(cursor, rows->value + i * rows->width, entries);
	return true;
}

/* Wider rows may have less room: then the oldest are left out. */
static void pass_over(uint32_t count, size_t inputs, cop_cursor *cursor)
{
	const size_t row = sizeof(uint32_t) + sizeof(float) + inputs * sizeof(float);
	for (uint32_t n = 0; n < count && cursor->err == COP_OK; n++)
		(void)cop_cursor_take(cursor, row);
}

void cop_forest_rows_load(cop_forest *f, size_t inputs, cop_cursor *cursor)
{
	cop_forest_rows *rows = &f->rows;
	uint32_t held = cop_cursor_u32(cursor);
	if (inputs < f->set.inputs && held > rows->room) {
		pass_over(held - (uint32_t)rows->room, inputs, cursor);
		held = (uint32_t)rows->room;
	}
	bool sound = held <= rows->room;
	rows->held = 0;
	rows->oldest = 0;
	for (uint32_t i = 0; i < held && sound && cursor->err == COP_OK; i++) {
		rows->arm[i] = cop_cursor_u32(cursor);
		cop_cursor_f32s(cursor, &rows->loss[i], 1);
		sound = rows->arm[i] < f->set.arms && rows->loss[i] >= 0.0f && rows->loss[i] <= 1.0f &&
		        load_entries(f, i, inputs, cursor);
		if (!sound || cursor->err != COP_OK)
			break;
		const cop_row x = cop_forest_rows_at(f, i);
		cop_forest_walk(f, &x);
		for (size_t m = 0; m < rows->trees; m++)
			append(rows, m, cop_forest_row_of(f, m), i);
		rows->held++;
	}
	if (cursor->err == COP_OK && !sound)
		cursor->err = COP_EFORMAT;
}

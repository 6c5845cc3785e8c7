/* The payload: flags and counts; the columns; the categories in order of appearance, each with its column; the names of
 * classes; the scale. Places, names and codes of features follow from these and are made again. */
#include "table/encoder_private.h"

#include <math.h>

#include "base/mem.h"

enum { FLAG_SPARSE = 1, FLAG_REGRESSION = 2, FLAG_SCALE_TARGET = 4, FLAG_NAMED = 8, FLAGS = 16 };

#define LEAST_COLUMN   18 /* bytes */
#define LEAST_CATEGORY 8
#define LEAST_CLASS    4
#define FEATURE        16

static void save_columns(const cop_encoder *p, cop_bytes *bytes)
{
	cop_bytes_put_u32(bytes, (uint32_t)p->columns);
	cop_bytes_put_u32(bytes, (uint32_t)p->target);
	for (size_t c = 0; c < p->columns; c++) {
		const cop_column *column = &p->column[c];
		cop_bytes_put_text(bytes, column->name == NULL ? "" : column->name);
		cop_bytes_put_u8(bytes, column->kind);
		cop_bytes_put_u8(bytes, column->indicator);
		cop_bytes_put_u32(bytes, column->fill_category);
		cop_bytes_put_f64(bytes, column->fill);
	}
	cop_bytes_put_u32(bytes, (uint32_t)p->categories.count);
	for (size_t i = 0; i < p->categories.count; i++) {
		cop_bytes_put_u32(bytes, p->categories.name[i].tag);
		cop_bytes_put_text(bytes, p->categories.name[i].text);
	}
}

void cop_encoder_save(const cop_encoder *p, cop_bytes *bytes)
{
	unsigned flags = (p->sparse ? FLAG_SPARSE : 0u) | (p->regression ? FLAG_REGRESSION : 0u) |
	                 (p->scale_target ? FLAG_SCALE_TARGET : 0u) | (p->named ? FLAG_NAMED : 0u);
	cop_bytes_put_u8(bytes, (uint8_t)flags);
	cop_bytes_put_u8(bytes, p->scaling == COP_SCALE_AUTO ? COP_SCALE_NONE : p->scaling); /* nothing is scaled yet */
	cop_bytes_put_u8(bytes, p->missing);
	cop_bytes_put_u32(bytes, p->index_base);
	cop_bytes_put_u32(bytes, (uint32_t)p->d);
	save_columns(p, bytes);
	cop_bytes_put_u32(bytes, (uint32_t)p->classes.count);
	for (size_t k = 0; k < p->classes.count; k++)
		cop_bytes_put_text(bytes, p->classes.name[k].text);
	cop_bytes_put_f64s(bytes, p->shift, p->d);
	cop_bytes_put_f64s(bytes, p->scale, p->d);
	cop_bytes_put_f64(bytes, p->target_shift);
	cop_bytes_put_f64(bytes, p->target_range);
}

/* A count of things that take `least` bytes each; COP_EFORMAT when they cannot all be there. */
static size_t load_count(cop_cursor *from, size_t least)
{
	size_t count = cop_cursor_u32(from);
	if (count <= cop_cursor_left(from) / least)
		return count;
	from->err = from->err == COP_OK ? COP_EFORMAT : from->err;
	return 0;
}

static void load_column(cop_encoder *p, size_t c, cop_cursor *from)
{
	char text[COP_ENCODER_MAX_TEXT + 1];
	cop_column *column = &p->column[c];
	cop_cursor_text(from, text, sizeof text);
	column->kind = cop_cursor_u8(from);
	unsigned indicator = cop_cursor_u8(from);
	column->indicator = indicator != 0;
	column->fill_category = cop_cursor_u32(from);
	cop_cursor_f64s(from, &column->fill, 1);
	if (from->err != COP_OK)
		return;
	if (column->kind >= COP_COLUMN_KINDS || (column->kind == COP_COLUMN_TARGET) != (c == p->target) ||
	        indicator > (column->kind == COP_COLUMN_NUMBER) || !isfinite((float)column->fill))
		from->err = COP_EFORMAT;
	else if (text[0] != '\0' && (column->name = cop_mem_strdup(text)) == NULL)
		from->err = COP_ENOMEM;
}

static void load_categories(cop_encoder *p, cop_cursor *from)
{
	char text[COP_ENCODER_MAX_TEXT + 1];
	size_t count = load_count(from, LEAST_CATEGORY);
	for (size_t i = 0; i < count && from->err == COP_OK; i++) {
		size_t column = cop_cursor_u32(from);
		uint32_t code;
		cop_cursor_text(from, text, sizeof text);
		if (from->err != COP_OK)
			return;
		if (column >= p->columns || p->column[column].kind != COP_COLUMN_CATEGORY) {
			from->err = COP_EFORMAT;
			return;
		}
		from->err = cop_encoder_category(p, column, text, strlen(text), &code);
		if (p->categories.count != i + 1 && from->err == COP_OK)
			from->err = COP_EFORMAT; /* there twice */
	}
}

static void load_columns(cop_encoder *p, cop_cursor *from)
{
	size_t columns = load_count(from, LEAST_COLUMN);
	size_t target = cop_cursor_u32(from);
	if (from->err == COP_OK && (p->sparse ? columns != 0 || target != 0 : target >= columns))
		from->err = COP_EFORMAT;
	if (from->err == COP_OK && !p->sparse)
		from->err = cop_encoder_make_columns(p, columns, target);
	for (size_t c = 0; c < columns && from->err == COP_OK; c++)
		load_column(p, c, from);
	load_categories(p, from);
	for (size_t c = 0; c < columns && from->err == COP_OK; c++)
		if (p->column[c].fill_category != COP_NAME_NONE &&
		        p->column[c].fill_category >= p->column[c].categories)
			from->err = COP_EFORMAT;
}

static void load_classes(cop_encoder *p, cop_cursor *from)
{
	char text[COP_ENCODER_MAX_TEXT + 1];
	size_t classes = load_count(from, LEAST_CLASS);
	if (from->err == COP_OK && (classes > COP_DATASET_MAX_CLASSES || (classes == 0) != p->regression))
		from->err = COP_EFORMAT;
	for (size_t k = 0; k < classes && from->err == COP_OK; k++) {
		cop_cursor_text(from, text, sizeof text);
		uint32_t number;
		if (from->err == COP_OK && cop_name_table_find(&p->classes, 0, text, strlen(text)) != COP_NAME_NONE)
			from->err = COP_EFORMAT;
		if (from->err == COP_OK)
			from->err = cop_name_table_add(
			        &p->classes, 0, (cop_name_prefix){ NULL, 0 }, text, strlen(text), &number);
	}
}

static void load_scale(cop_encoder *p, size_t d, cop_cursor *from)
{
	const char *what;
	if (from->err != COP_OK)
		return;
	p->d = d;
	from->err = d > cop_cursor_left(from) / FEATURE ? COP_EFORMAT : cop_encoder_finish(p, &what);
	if (from->err == COP_OK && p->d != d)
		from->err = COP_EFORMAT;
	if (from->err != COP_OK)
		return;
	cop_cursor_f64s(from, p->shift, d);
	cop_cursor_f64s(from, p->scale, d);
	cop_cursor_f64s(from, &p->target_shift, 1);
	cop_cursor_f64s(from, &p->target_range, 1);
	for (size_t j = 0; p->sparse && j < d && from->err == COP_OK; j++)
		if (p->shift[j] != 0)
			from->err = COP_EFORMAT;
	if (from->err == COP_OK && (!(p->target_range > 0) || cop_cursor_left(from) != 0))
		from->err = COP_EFORMAT;
}

static cop_err load(cop_encoder *p, cop_cursor *from)
{
	unsigned flags = cop_cursor_u8(from);
	p->sparse = (flags & FLAG_SPARSE) != 0;
	p->regression = (flags & FLAG_REGRESSION) != 0;
	p->scale_target = (flags & FLAG_SCALE_TARGET) != 0;
	p->named = (flags & FLAG_NAMED) != 0;
	p->scaling = cop_cursor_u8(from);
	p->missing = cop_cursor_u8(from);
	p->index_base = cop_cursor_u32(from);
	size_t d = cop_cursor_u32(from);
	if (from->err == COP_OK && (flags >= FLAGS || p->scaling >= COP_SCALE_AUTO || p->missing >= COP_MISSINGS ||
	                                   p->index_base > (p->sparse ? 1u : 0u)))
		from->err = COP_EFORMAT;
	load_columns(p, from);
	load_classes(p, from);
	load_scale(p, d, from);
	return from->err == COP_EFULL ? COP_EFORMAT : from->err;
}

cop_err cop_encoder_load(const void *payload, size_t length, cop_encoder **out)
{
	cop_cursor from;
	cop_err err = cop_encoder_empty(out);
	if (err != COP_OK)
		return err;
	cop_cursor_init(&from, payload, length);
	err = load(*out, &from);
	if (err == COP_OK)
		return COP_OK;
	cop_encoder_free(*out);
	*out = NULL;
	return err;
}

/* Features stand in the order of their columns; a category's are in the order of its codes, and a number's own comes
 * before the one that is 1 where it was missing. */
#include "table/encoder_private.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define NUMBER_ROOM 24 /* of "x" and a number */
/* Bytes of the names of all features together. */
#define NAMES_MAX ((size_t)64 << 20)

cop_err cop_encoder_empty(cop_encoder **out)
{
	*out = cop_mem_alloc(1, sizeof **out);
	if (*out == NULL)
		return COP_ENOMEM;
	(*out)->target_range = 1;
	return COP_OK;
}

void cop_encoder_free(cop_encoder *p)
{
	if (p == NULL)
		return;
	for (size_t c = 0; p->column != NULL && c < p->columns; c++)
		cop_mem_free(p->column[c].name);
	cop_mem_free(p->column);
	cop_name_table_fini(&p->categories);
	cop_name_table_fini(&p->classes);
	cop_mem_free(p->code);
	cop_mem_free(p->names);
	cop_mem_free(p->name_at);
	cop_mem_free(p->shift);
	cop_mem_free(p->scale);
	cop_mem_free(p);
}

cop_err cop_encoder_make_columns(cop_encoder *p, size_t columns, size_t target)
{
	COP_ASSERT(p->column == NULL && target < columns);
	p->column = cop_mem_alloc(columns, sizeof *p->column);
	if (p->column == NULL)
		return COP_ENOMEM;
	p->columns = columns;
	p->target = target;
	for (size_t c = 0; c < columns; c++)
		p->column[c].fill_category = COP_NAME_NONE;
	p->column[target].kind = COP_COLUMN_TARGET;
	return COP_OK;
}

/* Gives each column its features. */
static void place_features(cop_encoder *p)
{
	p->d = 0;
	for (size_t c = 0; c < p->columns; c++) {
		cop_column *column = &p->column[c];
		column->first = p->d;
		if (column->kind == COP_COLUMN_CATEGORY)
			p->d += column->categories;
		else if (column->kind == COP_COLUMN_NUMBER)
			p->d += column->indicator ? 2 : 1;
	}
}

/* What column c is called, its length returned. */
static size_t column_name(const cop_encoder *p, size_t c, char *room, const char **name)
{
	*name = p->column == NULL ? NULL : p->column[c].name;
	if (*name != NULL)
		return strlen(*name);
	*name = room;
	return (size_t)snprintf(room, NUMBER_ROOM, "x%zu", c);
}

typedef struct name_writer {
	char *to; /* NULL: only counts */
	size_t used;
	size_t *at;
	bool full;
} name_writer;

static void write_name(name_writer *w, size_t j, const char *name, size_t length, const char *category, size_t more)
{
	size_t behind = category == NULL ? 0 : 1 + more;
	if (w->to == NULL) {
		w->full |= length + behind + 1 > NAMES_MAX - w->used;
		w->used += w->full ? 0 : length + behind + 1;
		return;
	}
	char *to = w->to + w->used;
	w->at[j] = w->used;
	memcpy(to, name, length);
	if (category != NULL) {
		to[length] = '=';
		memcpy(to + length + 1, category, more);
	}
	to[length + behind] = '\0';
	w->used += length + behind + 1;
}

static void write_names(const cop_encoder *p, name_writer *w)
{
	char room[NUMBER_ROOM];
	const char *name;
	for (size_t j = 0; p->sparse && j < p->d && !w->full; j++) {
		size_t length = column_name(p, j + p->index_base, room, &name);
		write_name(w, j, name, length, NULL, 0);
	}
	for (size_t c = 0; c < p->columns && !w->full; c++) {
		const cop_column *column = &p->column[c];
		if (column->kind != COP_COLUMN_NUMBER)
			continue;
		size_t length = column_name(p, c, room, &name);
		write_name(w, column->first, name, length, NULL, 0);
		if (column->indicator)
			write_name(w, column->first + 1, name, length, "?", 1);
	}
	for (size_t i = 0; i < p->categories.count && !w->full; i++) {
		const cop_name *category = &p->categories.name[i];
		size_t length = column_name(p, category->tag, room, &name);
		write_name(
		        w, p->column[category->tag].first + p->code[i], name, length, category->text, category->length);
	}
}

static cop_err name_features(cop_encoder *p, const char **what)
{
	name_writer count = { 0 };
	write_names(p, &count);
	*what = "the names of all features together are longer than 64 MiB";
	if (count.full)
		return COP_EFULL;
	p->names = cop_mem_alloc(count.used, 1);
	p->name_at = cop_mem_alloc(p->d, sizeof *p->name_at);
	if (p->names == NULL || p->name_at == NULL)
		return COP_ENOMEM;
	name_writer write = { .to = p->names, .at = p->name_at };
	write_names(p, &write);
	return COP_OK;
}

static bool are_numbered(const cop_name_table *classes)
{
	for (size_t k = 0; k < classes->count; k++) {
		char room[NUMBER_ROOM];
		(void)snprintf(room, sizeof room, "%zu", k);
		if (strcmp(room, classes->name[k].text) != 0)
			return false;
	}
	return classes->count > 0;
}

cop_err cop_encoder_finish(cop_encoder *p, const char **what)
{
	if (!p->sparse)
		place_features(p);
	*what = "it has no features";
	if (p->d == 0)
		return COP_EFULL;
	*what = "there are more than 4194304 features";
	if (p->d > COP_ENCODER_MAX_FEATURES)
		return COP_EFULL;
	cop_err err = name_features(p, what);
	if (err != COP_OK)
		return err;
	p->shift = cop_mem_alloc(p->d, sizeof *p->shift);
	p->scale = cop_mem_alloc(p->d, sizeof *p->scale);
	if (p->shift == NULL || p->scale == NULL)
		return COP_ENOMEM;
	for (size_t j = 0; j < p->d; j++)
		p->scale[j] = 1;
	p->numbered = are_numbered(&p->classes);
	return COP_OK;
}

cop_err cop_encoder_number_classes(cop_encoder *p, size_t classes)
{
	cop_err err = COP_OK;
	for (size_t k = p->classes.count; k < classes && err == COP_OK; k++) {
		char room[NUMBER_ROOM];
		uint32_t number;
		int length = snprintf(room, sizeof room, "%zu", k);
		err = cop_name_table_add(&p->classes, 0, (cop_name_prefix){ NULL, 0 }, room, (size_t)length, &number);
	}
	return err;
}

cop_err cop_encoder_new(size_t d, size_t classes, cop_encoder **out)
{
	const char *what;
	*out = NULL;
	if (d == 0 || d > COP_ENCODER_MAX_FEATURES || classes > COP_DATASET_MAX_CLASSES)
		return COP_EINVAL;
	cop_err err = cop_encoder_empty(out);
	if (err != COP_OK)
		return err;
	(*out)->regression = classes == 0;
	err = cop_encoder_make_columns(*out, d + 1, d);
	if (err == COP_OK)
		err = cop_encoder_number_classes(*out, classes);
	if (err == COP_OK)
		err = cop_encoder_finish(*out, &what);
	if (err == COP_OK)
		return COP_OK;
	cop_encoder_free(*out);
	*out = NULL;
	return err;
}

uint32_t cop_encoder_find_category(const cop_encoder *p, size_t column, const char *text, size_t length)
{
	uint32_t number = cop_name_table_find(&p->categories, (uint32_t)column, text, length);
	return number == COP_NAME_NONE ? number : p->code[number];
}

cop_err cop_encoder_category(cop_encoder *p, size_t column, const char *text, size_t length, uint32_t *code)
{
	*code = cop_encoder_find_category(p, column, text, length);
	if (*code != COP_NAME_NONE)
		return COP_OK;
	if (p->column[column].categories == COP_ENCODER_MAX_CATEGORIES)
		return COP_EFULL;
	if (p->categories.count == p->code_room) {
		size_t room = p->code_room == 0 ? 64 : 2 * p->code_room;
		uint32_t *grown = cop_mem_resize(p->code, p->code_room, room, sizeof *grown);
		if (grown == NULL)
			return COP_ENOMEM;
		p->code = grown;
		p->code_room = room;
	}
	uint32_t number;
	cop_err err = cop_name_table_add(
	        &p->categories, (uint32_t)column, (cop_name_prefix){ NULL, 0 }, text, length, &number);
	if (err == COP_OK)
		p->code[number] = *code = p->column[column].categories++;
	return err;
}

void cop_encoder_forget_classes(cop_encoder *p)
{
	cop_name_table_fini(&p->classes);
	cop_name_table_init(&p->classes);
	p->numbered = false;
	p->regression = true;
	p->scale_target = false;
	p->target_shift = 0;
	p->target_range = 1;
}

size_t cop_encoder_features(const cop_encoder *p) { return p->d; }

size_t cop_encoder_classes(const cop_encoder *p) { return p->classes.count; }

const char *cop_encoder_feature(const cop_encoder *p, size_t j)
{
	COP_ASSERT(j < p->d);
	return p->names + p->name_at[j];
}

/* Columns without features share their first one with the column behind them, so the last that begins there has it. */
size_t cop_encoder_stem(const cop_encoder *p, size_t j)
{
	char room[NUMBER_ROOM];
	const char *name;
	COP_ASSERT(j < p->d);
	if (p->column == NULL)
		return 0;
	size_t low = 0, high = p->columns; /* it is in [low, high) */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (p->column[middle].first <= j)
			low = middle;
		else
			high = middle;
	}
	const cop_column *column = &p->column[low];
	if (column->kind == COP_COLUMN_NUMBER && j == column->first)
		return 0;
	return column_name(p, low, room, &name);
}

const char *cop_encoder_widest(const cop_encoder *p, size_t *place, size_t *categories)
{
	const cop_column *widest = NULL;
	*place = 0;
	*categories = 0;
	for (size_t c = 0; c < p->columns; c++)
		if (p->column[c].categories > *categories) {
			widest = &p->column[c];
			*place = c;
			*categories = widest->categories;
		}
	return widest == NULL ? NULL : widest->name == NULL ? "" : widest->name;
}

const char *cop_encoder_class(const cop_encoder *p, size_t k)
{
	COP_ASSERT(k < p->classes.count);
	return p->classes.name[k].text;
}

const char *cop_encoder_target(const cop_encoder *p)
{
	return p->column == NULL || p->column[p->target].name == NULL ? "target" : p->column[p->target].name;
}

void cop_encoder_scale(const cop_encoder *p, size_t j, double *shift, double *scale)
{
	COP_ASSERT(j < p->d);
	*shift = p->shift[j];
	*scale = p->scale[j];
}

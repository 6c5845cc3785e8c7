/* A text names a column when it is the header's name of it, else when it is a number from 1. A part of the context's
 * list that names none is a range: it is split at each hyphen in turn until both sides name columns. */
#include "events/event_csv_private.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define SHOWN 60

typedef struct search {
	const cop_csv *csv;
	const char *name; /* of the file */
	cop_diag *diag;
	uint8_t *used; /* one for each column: what it means */
} search;

enum { USED_CONTEXT = 1, USED_ACTION, USED_COST, USED_PROBABILITY };

static const char *const meanings[] = { "", "context", "action", "cost", "probability" };

static cop_err no_memory(const search *s)
{
	cop_diag_of(s->diag, s->name, "out of memory");
	return COP_ENOMEM;
}

static bool has_header(const search *s) { return cop_csv_column(s->csv, 0) != NULL; }

static size_t by_name(const search *s, const char *text, size_t length)
{
	for (size_t i = 0; has_header(s) && i < cop_csv_columns(s->csv); i++) {
		const char *name = cop_csv_column(s->csv, i);
		if (strlen(name) == length && memcmp(name, text, length) == 0)
			return i;
	}
	return COP_CSV_NO_COLUMN;
}

static size_t find(const search *s, const char *text, size_t length)
{
	size_t found = by_name(s, text, length);
	if (found != COP_CSV_NO_COLUMN || length == 0)
		return found;
	size_t place = 0;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || place > cop_csv_columns(s->csv))
			return COP_CSV_NO_COLUMN;
		place = place * 10 + (size_t)(text[i] - '0');
	}
	return place >= 1 && place <= cop_csv_columns(s->csv) ? place - 1 : COP_CSV_NO_COLUMN;
}

/* A text that names one column must not name another behind it. */
static cop_err one_of_name(const search *s, const char *text, size_t length, size_t column, int meaning)
{
	for (size_t i = column + 1; by_name(s, text, length) == column && i < cop_csv_columns(s->csv); i++) {
		const char *name = cop_csv_column(s->csv, i);
		if (strlen(name) == length && memcmp(name, text, length) == 0) {
			cop_diag_of(s->diag, s->name,
			        "columns %zu and %zu are both named \"%.*s\"; expected the place of the %s, or one "
			        "column of that name",
			        column + 1, i + 1, length < SHOWN ? (int)length : SHOWN, text, meanings[meaning]);
			return COP_EFORMAT;
		}
	}
	return COP_OK;
}

static cop_err not_there(const search *s, const char *text, size_t length, int meaning)
{
	size_t columns = cop_csv_columns(s->csv);
	if (has_header(s))
		cop_diag_of(s->diag, s->name,
		        "no column \"%.*s\" for the %s; expected a name of its first line (\"%s\" ... \"%s\") or a "
		        "place "
		        "from 1 to %zu",
		        length < SHOWN ? (int)length : SHOWN, text, meanings[meaning], cop_csv_column(s->csv, 0),
		        cop_csv_column(s->csv, columns - 1), columns);
	else
		cop_diag_of(s->diag, s->name,
		        "no column \"%.*s\" for the %s; expected a place from 1 to %zu, as the first line holds no "
		        "names",
		        length < SHOWN ? (int)length : SHOWN, text, meanings[meaning], columns);
	return COP_EINVAL;
}

static cop_err use(search *s, size_t column, int meaning)
{
	int before = s->used[column];
	if (before != 0) {
		cop_diag_of(s->diag, s->name, "column %zu is %s and %s; expected one of them", column + 1,
		        meanings[before], before == meaning ? "again that" : meanings[meaning]);
		return COP_EINVAL;
	}
	s->used[column] = (uint8_t)meaning;
	return COP_OK;
}

/* The column that the user named, or the first of the usual names, or `place` from the end without a header. */
static cop_err find_one(search *s, const char *text, const char *const *usual, size_t place, int meaning, size_t *out)
{
	size_t columns = cop_csv_columns(s->csv);
	*out = COP_CSV_NO_COLUMN;
	if (text != NULL) {
		*out = find(s, text, strlen(text));
		if (*out == COP_CSV_NO_COLUMN)
			return not_there(s, text, strlen(text), meaning);
	} else if (has_header(s)) {
		for (; *usual != NULL && *out == COP_CSV_NO_COLUMN; usual++) {
			text = *usual;
			*out = by_name(s, text, strlen(text));
		}
	} else if (columns >= place) {
		*out = columns - place;
	}
	if (*out == COP_CSV_NO_COLUMN)
		return COP_OK;
	cop_err err = text == NULL ? COP_OK : one_of_name(s, text, strlen(text), *out, meaning);
	return err == COP_OK ? use(s, *out, meaning) : err;
}

static cop_err missing(const search *s, const char *usual, int meaning)
{
	if (has_header(s))
		cop_diag_of(s->diag, s->name,
		        "the first line was taken for names, and none is %s; expected it, or the place of the column "
		        "that is the %s",
		        usual, meanings[meaning]);
	else
		cop_diag_of(s->diag, s->name, "%zu columns; expected context, action, probability and cost",
		        cop_csv_columns(s->csv));
	return COP_EFORMAT;
}

/* One part of the context's list: first and last column. */
static cop_err find_part(const search *s, const char *text, size_t length, size_t *first, size_t *last)
{
	*first = *last = find(s, text, length);
	if (*first != COP_CSV_NO_COLUMN)
		return COP_OK;
	for (size_t i = 1; i + 1 < length; i++) {
		if (text[i] != '-')
			continue;
		*first = find(s, text, i);
		*last = find(s, text + i + 1, length - i - 1);
		if (*first != COP_CSV_NO_COLUMN && *last != COP_CSV_NO_COLUMN && *first <= *last)
			return COP_OK;
	}
	return not_there(s, text, length, USED_CONTEXT);
}

static cop_err list_context(search *s, const char *text, cop_csv_roles *roles)
{
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");
		size_t first, last;
		cop_err err = find_part(s, at, length, &first, &last);
		if (err == COP_OK && first == last)
			err = one_of_name(s, at, length, first, USED_CONTEXT);
		for (size_t i = first; err == COP_OK && i <= last; i++) {
			err = use(s, i, USED_CONTEXT);
			if (err == COP_OK)
				roles->context[roles->context_count++] = i;
		}
		if (err != COP_OK)
			return err;
		at += length;
		if (*at == '\0')
			return COP_OK;
	}
}

/* Whether a column's name says that it tells of the action and what came of it. */
static bool tells(const char *name)
{
	static const char *const told[] = { "cost", "reward", "probability", "propensity", NULL };
	size_t i = 0;
	while (told[i] != NULL && strcmp(told[i], name) != 0)
		i++;
	return told[i] != NULL;
}

/* What is unused is the context, but a second outcome would be learned from as if it had been known before. */
static cop_err refuse_second(const search *s, size_t column)
{
	if (!has_header(s) || !tells(cop_csv_column(s->csv, column)))
		return COP_OK;
	cop_diag_of(s->diag, s->name,
	        "column %zu, \"%s\", would be part of the context; expected the columns of the context, with it or "
	        "without",
	        column + 1, cop_csv_column(s->csv, column));
	return COP_EFORMAT;
}

static cop_err find_context(search *s, const cop_event_columns *columns, cop_csv_roles *roles)
{
	roles->context = cop_mem_alloc(cop_csv_columns(s->csv), sizeof *roles->context);
	if (roles->context == NULL)
		return no_memory(s);
	if (columns->context != NULL)
		return list_context(s, columns->context, roles);
	cop_err err = COP_OK;
	for (size_t i = 0; i < cop_csv_columns(s->csv) && err == COP_OK; i++) {
		if (s->used[i] != 0)
			continue;
		err = refuse_second(s, i);
		roles->context[roles->context_count++] = i;
	}
	return err;
}

static cop_err find_all(search *s, const cop_event_columns *columns, bool need_probability, cop_csv_roles *roles)
{
	static const char *const actions[] = { "action", NULL };
	static const char *const costs[] = { "cost", "reward", NULL };
	static const char *const probabilities[] = { "probability", "propensity", NULL };
	cop_err err = find_one(s, columns->action, actions, 3, USED_ACTION, &roles->action);
	if (err == COP_OK)
		err = find_one(s, columns->cost, costs, 1, USED_COST, &roles->cost);
	if (err == COP_OK)
		err = find_one(s, columns->probability, probabilities, 2, USED_PROBABILITY, &roles->probability);
	if (err != COP_OK)
		return err;
	if (roles->action == COP_CSV_NO_COLUMN)
		return missing(s, "\"action\"", USED_ACTION);
	if (roles->cost == COP_CSV_NO_COLUMN)
		return missing(s, "\"cost\" or \"reward\"", USED_COST);
	if (roles->probability == COP_CSV_NO_COLUMN && need_probability)
		return missing(s, "\"probability\" or \"propensity\"", USED_PROBABILITY);
	const char *name = cop_csv_column(s->csv, roles->cost);
	roles->reward = columns->reward || (columns->cost == NULL && name != NULL && strcmp(name, "reward") == 0);
	return find_context(s, columns, roles);
}

cop_err cop_csv_roles_find(const cop_csv *csv, const char *name, const cop_event_columns *columns,
        bool need_probability, cop_csv_roles *out, cop_diag *diag)
{
	search s = { csv, name, diag, cop_mem_alloc(cop_csv_columns(csv), 1) };
	memset(out, 0, sizeof *out);
	cop_err err = s.used == NULL ? no_memory(&s) : find_all(&s, columns, need_probability, out);
	cop_mem_free(s.used);
	if (err != COP_OK)
		cop_csv_roles_fini(out);
	return err;
}

void cop_csv_roles_fini(cop_csv_roles *roles)
{
	cop_mem_free(roles->context);
	memset(roles, 0, sizeof *roles);
}

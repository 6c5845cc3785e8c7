/* The first line that is not blank fixes the number of columns, header or not. */
#include "base/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

#define SHOWN     40 /* characters of a wrong field in a message */
#define WHOLE_MAX 8  /* digits behind the first of a number that is read at once */

struct cop_csv {
	cop_stream *stream;
	size_t columns;     /* 0: nothing read yet */
	double *values;     /* columns */
	char *names;        /* the header's names, each terminated; NULL: no header */
	size_t *name_at;    /* columns, into names */
	bool text;          /* is allowed */
	bool told, header;  /* told: the caller settled whether there is a header */
	const char **field; /* columns: where they begin, when text is allowed */
	const char *row, *row_end;
	size_t row_length;
	char *plain; /* plain_room: texts whose doubled quotes are one, each as far behind plain as it is behind row */
	size_t plain_room;
	char separator;
};

typedef struct span {
	const char *at;
	size_t length;
} span;

/* A tab that separates is no blank. */
static bool is_blank(char c, char separator) { return c == ' ' || (c == '\t' && separator != '\t'); }

static span trim(const char *at, const char *end, char separator)
{
	while (at < end && is_blank(*at, separator))
		at++;
	while (at < end && is_blank(end[-1], separator))
		end--;
	return (span){ at, (size_t)(end - at) };
}

/* Behind the quote that ends the text whose quote stands at `at`; `at` when none does. Two quotes are one inside. */
static const char *pass_quoted(const char *at, const char *end)
{
	for (const char *to = at + 1; to < end; to++)
		if (*to == '"') {
			if (to + 1 == end || to[1] != '"')
				return to + 1;
			to++;
		}
	return at;
}

/* The field at *at, which moves behind the separator that ends it, or to NULL after the last. */
static span next_field(const char **at, const char *end, char separator)
{
	const char *start = *at;
	while (start < end && is_blank(*start, separator))
		start++;
	const char *stop = start < end && *start == '"' ? pass_quoted(start, end) : start;
	while (stop < end && *stop != separator)
		stop++;
	*at = stop < end ? stop + 1 : NULL;
	return trim(start, stop, separator);
}

static size_t count_fields(span line, char separator)
{
	size_t count = 0;
	for (const char *at = line.at; at != NULL; count++)
		(void)next_field(&at, line.at + line.length, separator);
	return count;
}

/* A decimal comma is read where fields do not end at commas. */
static cop_err parse_number(char separator, span field, double *value)
{
	char room[COP_NUMBER_ROOM];
	const char *comma = separator == ',' || field.length == 0 ? NULL : memchr(field.at, ',', field.length);
	if (comma == NULL || field.length >= sizeof room || memchr(field.at, '.', field.length) != NULL)
		return cop_number_parse(field.at, field.length, value);
	memcpy(room, field.at, field.length);
	room[comma - field.at] = '.';
	return cop_number_parse(room, field.length, value);
}

/* Do fields of the line end at semicolons, and does every comma of it stand in a number, or in quotes? */
static bool has_decimal_commas(span line)
{
	for (const char *at = line.at; at != NULL;) {
		double value;
		span field = next_field(&at, line.at + line.length, ';');
		const bool comma =
		        field.length > 0 && field.at[0] != '"' && memchr(field.at, ',', field.length) != NULL;
		if (comma && parse_number(';', field, &value) != COP_OK)
			return false;
	}
	return count_fields(line, ';') > 1;
}

/* Of the first line: what makes most fields of it; of several, the first of these. */
static char find_separator(span line)
{
	static const char separators[] = { ',', ';', '\t' };
	char best = separators[0];
	if (has_decimal_commas(line))
		return ';';
	for (size_t i = 1; i < sizeof separators; i++)
		if (count_fields(line, separators[i]) > count_fields(line, best))
			best = separators[i];
	return best;
}

static span unquote(span field)
{
	if (field.length >= 2 && field.at[0] == '"' && field.at[field.length - 1] == '"')
		return (span){ field.at + 1, field.length - 2 };
	return field;
}

static bool has_doubled_quote(span field) { return memmem(field.at, field.length, "\"\"", 2) != NULL; }

/* Writes an unquoted text with one quote where it has two; returns its length. */
static size_t write_plain(span text, char *to)
{
	size_t length = 0;
	for (size_t i = 0; i < text.length; i++) {
		to[length++] = text.at[i];
		if (text.at[i] == '"' && i + 1 < text.length && text.at[i + 1] == '"')
			i++;
	}
	return length;
}

static cop_err out_of_memory(const cop_csv *csv, cop_diag *diag)
{
	cop_diag_at_line(diag, cop_stream_name(csv->stream), cop_stream_line_number(csv->stream), "out of memory");
	return COP_ENOMEM;
}

static cop_err wrong_field(const cop_csv *csv, size_t column, span field, cop_err err, cop_diag *diag)
{
	char shown[SHOWN + 1];
	size_t length = field.length < SHOWN ? field.length : SHOWN;
	for (size_t i = 0; i < length; i++)
		shown[i] = (char)(isprint((unsigned char)field.at[i]) ? field.at[i] : '?');
	shown[length] = '\0';
	cop_diag_at_line(diag, cop_stream_name(csv->stream), cop_stream_line_number(csv->stream),
	        "field %zu: %s%s%s%s; expected a finite number", column + 1, length == 0 ? "it is empty" : "\"", shown,
	        length == 0 ? "" : "\"",
	        length == 0          ? ""
	        : err == COP_EFORMAT ? " is not a number"
	                             : " is not finite");
	return err;
}

/* Does a text of the line begin with a quote that none ends? */
static bool has_open_quote(span line, char separator)
{
	const char *end = line.at + line.length;
	for (const char *at = line.at; at != NULL;) {
		span field = next_field(&at, end, separator);
		if (field.length > 0 && field.at[0] == '"' && pass_quoted(field.at, end) == field.at)
			return true;
	}
	return false;
}

static cop_err wrong_count(const cop_csv *csv, span line, size_t count, cop_diag *diag)
{
	if (has_open_quote(line, csv->separator)) {
		cop_diag_at_line(diag, cop_stream_name(csv->stream), cop_stream_line_number(csv->stream),
		        "a text in quotes does not end in this line; expected texts of one line");
		return COP_EFORMAT;
	}
	cop_diag_at_line(diag, cop_stream_name(csv->stream), cop_stream_line_number(csv->stream),
	        "%zu fields; expected %zu as in the first line, whose fields end at %s", count, csv->columns,
	        csv->separator == ','   ? "commas"
	        : csv->separator == ';' ? "semicolons"
	                                : "tabs");
	return COP_EFORMAT;
}

/* The next line that is not blank, trimmed. */
static cop_err next_line(cop_csv *csv, span *line, cop_diag *diag)
{
	do {
		char *at;
		size_t length;
		cop_err err = cop_stream_line(csv->stream, &at, &length);
		if (err != COP_OK) {
			if (err != COP_EEND && diag != NULL)
				*diag = *cop_stream_diag(csv->stream);
			return err;
		}
		const char *end = at + length;
		if (csv->columns == 0 && length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
			at += 3;
		*line = trim(at, end, ',');
		if (csv->columns == 0 && line->length > 0)
			csv->separator = find_separator((span){ at, (size_t)(end - at) });
		if (csv->separator == '\t' && line->length > 0)
			*line = trim(at, end, '\t');
	} while (line->length == 0);
	return COP_OK;
}

static bool is_header(const cop_csv *csv, span line)
{
	const char *end = line.at + line.length;
	for (const char *at = line.at; at != NULL;) {
		double value;
		span field = next_field(&at, end, csv->separator);
		if (field.length > 0 && parse_number(csv->separator, field, &value) == COP_EFORMAT)
			return true;
	}
	return false;
}

static cop_err keep_names(cop_csv *csv, span line)
{
	csv->names = cop_mem_alloc(line.length + 1, 1);
	csv->name_at = cop_mem_alloc(csv->columns, sizeof *csv->name_at);
	if (csv->names == NULL || csv->name_at == NULL)
		return COP_ENOMEM;
	char *to = csv->names;
	const char *at = line.at;
	for (size_t i = 0; i < csv->columns; i++) {
		span field = next_field(&at, line.at + line.length, csv->separator);
		span name = unquote(field);
		csv->name_at[i] = (size_t)(to - csv->names);
		if (name.at != field.at)
			name.length = write_plain(name, to);
		else
			memcpy(to, name.at, name.length);
		to[name.length] = '\0';
		to += name.length + 1;
	}
	return COP_OK;
}

/* Learns the columns from the first line; *header: it was one. */
static cop_err begin(cop_csv *csv, span line, bool *header)
{
	size_t columns = count_fields(line, csv->separator);
	csv->values = cop_mem_alloc(columns, sizeof *csv->values);
	csv->field = cop_mem_alloc(csv->text ? columns : 0, sizeof *csv->field);
	if (csv->values == NULL || csv->field == NULL) {
		cop_mem_free(csv->values);
		cop_mem_free(csv->field);
		csv->values = NULL;
		csv->field = NULL;
		return COP_ENOMEM;
	}
	csv->columns = columns;
	*header = csv->told ? csv->header : is_header(csv, line);
	return *header ? keep_names(csv, line) : COP_OK;
}

/* Room for the texts of the row. */
static cop_err make_plain(cop_csv *csv, cop_diag *diag)
{
	if (csv->row_length <= csv->plain_room)
		return COP_OK;
	cop_mem_free(csv->plain);
	csv->plain = cop_mem_alloc(csv->row_length, 2);
	csv->plain_room = csv->plain == NULL ? 0 : csv->row_length * 2;
	return csv->plain == NULL ? out_of_memory(csv, diag) : COP_OK;
}

/* A field of blanks, text, or a number that needs care; *at moves on as next_field does. */
static cop_err parse_field(cop_csv *csv, size_t i, const char **at, const char *end, cop_diag *diag)
{
	span field = unquote(next_field(at, end, csv->separator));
	cop_err err = parse_number(csv->separator, field, &csv->values[i]);
	if (err == COP_OK)
		return COP_OK;
	csv->values[i] = (double)NAN;
	if (!csv->text)
		return wrong_field(csv, i, field, err, diag);
	return has_doubled_quote(field) ? make_plain(csv, diag) : COP_OK;
}

/* Behind a whole number of few digits that a separator follows, which most are in many files; NULL: something else. */
static inline const char *whole_number(const char *at, char separator, double *value)
{
	unsigned number = (unsigned)(unsigned char)*at - '0';
	if (number > 9)
		return NULL;
	for (unsigned i = 0; i < WHOLE_MAX; i++) {
		unsigned digit = (unsigned)(unsigned char)*++at - '0';
		if (digit > 9)
			break;
		number = number * 10 + digit;
	}
	*value = number;
	return *at == separator ? at : NULL;
}

static cop_err parse_row(cop_csv *csv, span line, cop_diag *diag)
{
	const char *at = line.at;
	const char *end = line.at + line.length;
	const size_t columns = csv->columns;
	const char **field = csv->text ? csv->field : NULL;
	const char separator = csv->separator;
	double *values = csv->values;
	csv->row = at;
	csv->row_end = end;
	csv->row_length = line.length;
	for (size_t i = 0; i < columns; i++) {
		if (at == NULL)
			return wrong_count(csv, line, i, diag);
		if (field != NULL)
			field[i] = at;
		const char *stop = whole_number(at, separator, &values[i]);
		if (stop != NULL) {
			at = stop + 1;
			continue;
		}
		stop = cop_number_scan(at, end, &values[i]);
		if (stop != NULL && !isfinite(values[i]))
			stop = NULL;
		if (stop != NULL && stop < end && *stop == separator) {
			at = stop + 1;
		} else if (stop != NULL && stop == end) {
			at = NULL;
		} else {
			cop_err err = parse_field(csv, i, &at, end, diag);
			if (err != COP_OK)
				return err;
		}
	}
	return at == NULL ? COP_OK : wrong_count(csv, line, count_fields(line, separator), diag);
}

cop_err cop_csv_new(cop_stream *stream, cop_csv **out)
{
	*out = cop_mem_alloc(1, sizeof **out);
	if (*out == NULL)
		return COP_ENOMEM;
	(*out)->stream = stream;
	return COP_OK;
}

void cop_csv_free(cop_csv *csv)
{
	if (csv == NULL)
		return;
	cop_mem_free(csv->values);
	cop_mem_free(csv->names);
	cop_mem_free(csv->name_at);
	cop_mem_free(csv->field);
	cop_mem_free(csv->plain);
	cop_mem_free(csv);
}

cop_err cop_csv_next(cop_csv *csv, const double **values, size_t *count, cop_diag *diag)
{
	span line;
	*values = NULL;
	*count = 0;
	cop_err err = next_line(csv, &line, diag);
	if (err == COP_OK && csv->columns == 0) {
		bool header;
		if (begin(csv, line, &header) != COP_OK)
			return out_of_memory(csv, diag);
		if (header)
			err = next_line(csv, &line, diag);
	}
	if (err == COP_OK)
		err = parse_row(csv, line, diag);
	if (err != COP_OK)
		return err;
	*values = csv->values;
	*count = csv->columns;
	return COP_OK;
}

size_t cop_csv_row_length(const cop_csv *csv) { return csv->row_length; }

void cop_csv_allow_text(cop_csv *csv) { csv->text = true; }

void cop_csv_set_header(cop_csv *csv, bool header)
{
	csv->told = true;
	csv->header = header;
}

static span field_of(const cop_csv *csv, size_t i)
{
	const char *at = csv->field[i];
	return next_field(&at, csv->row_end, csv->separator);
}

const char *cop_csv_field(const cop_csv *csv, size_t i, size_t *length)
{
	span field = field_of(csv, i);
	span text = unquote(field);
	*length = text.length;
	if (text.at == field.at || !has_doubled_quote(text))
		return text.at;
	char *plain = csv->plain + (text.at - csv->row);
	*length = write_plain(text, plain);
	return plain;
}

cop_err cop_csv_wrong_field(const cop_csv *csv, size_t i, cop_diag *diag)
{
	double value;
	span field = unquote(field_of(csv, i));
	cop_err err = parse_number(csv->separator, field, &value);
	return wrong_field(csv, i, field, err == COP_ENONFINITE ? err : COP_EFORMAT, diag);
}

cop_err cop_csv_number(const cop_csv *csv, const char *text, size_t length, double *value)
{
	return parse_number(csv->separator, (span){ text, length }, value);
}

size_t cop_csv_columns(const cop_csv *csv) { return csv->columns; }

const char *cop_csv_column(const cop_csv *csv, size_t i)
{
	return csv->names == NULL || i >= csv->columns ? NULL : csv->names + csv->name_at[i];
}

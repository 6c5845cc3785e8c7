/* Files are read by base/csv, which allows text; the first row of its kind is the header, by name and order. */
#include "bakeoff_rows.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/stream.h"

#define SHOWN_ROOM 64                 /* of a wrong field in a message */
#define MOST_COUNT 9007199254740992.0 /* 2^53 */

cop_err cop_bakeoff_rows_add(cop_bakeoff_rows *rows, const cop_bakeoff_row *row)
{
	if (rows->count == rows->room) {
		size_t room = rows->room == 0 ? 64 : 2 * rows->room;
		cop_bakeoff_row *more = cop_mem_resize(rows->row, rows->count, room, sizeof *more);
		if (more == NULL)
			return COP_ENOMEM;
		rows->row = more;
		rows->room = room;
	}
	rows->row[rows->count++] = *row;
	return COP_OK;
}

cop_err cop_bakeoff_points_add(cop_bakeoff_points *points, const cop_bakeoff_point *point)
{
	if (points->count == points->room) {
		size_t room = points->room == 0 ? 256 : 2 * points->room;
		cop_bakeoff_point *more = cop_mem_resize(points->point, points->count, room, sizeof *more);
		if (more == NULL)
			return COP_ENOMEM;
		points->point = more;
		points->room = room;
	}
	points->point[points->count++] = *point;
	return COP_OK;
}

void cop_bakeoff_rows_fini(cop_bakeoff_rows *rows)
{
	cop_mem_free(rows->row);
	*rows = (cop_bakeoff_rows){ .row = NULL };
}

void cop_bakeoff_points_fini(cop_bakeoff_points *points)
{
	cop_mem_free(points->point);
	*points = (cop_bakeoff_points){ .point = NULL };
}

const cop_bakeoff_row *cop_bakeoff_rows_find(
        const cop_bakeoff_rows *rows, const char *dataset, const char *setting, uint64_t seed, uint64_t events)
{
	for (size_t i = rows->count; i > 0; i--) {
		const cop_bakeoff_row *row = &rows->row[i - 1];
		if (row->seed == seed && row->events == events && strcmp(row->setting, setting) == 0 &&
		        strcmp(row->dataset, dataset) == 0)
			return row;
	}
	return NULL;
}

/* ---- reading ---- */

/* Fields of the line under way; *diag gets the first that is wrong. */
typedef struct reader {
	cop_stream *stream;
	cop_csv *csv;
	const double *value;
	size_t next;
	cop_diag *diag;
	cop_err err;
} reader;

static void refuse(reader *r, const char *expected)
{
	if (r->err != COP_OK)
		return;
	char shown[SHOWN_ROOM] = "";
	size_t length;
	const char *text = cop_csv_field(r->csv, r->next, &length);
	for (size_t i = 0; i < length && i + 1 < sizeof shown; i++)
		shown[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
	r->err = COP_EFORMAT;
	cop_diag_at_line(r->diag, cop_stream_name(r->stream), cop_stream_line_number(r->stream),
	        "%s is '%s', expected %s", cop_csv_column(r->csv, r->next), shown, expected);
}

static void read_name(reader *r, char *out)
{
	size_t length;
	const char *text = cop_csv_field(r->csv, r->next, &length);
	const char *wrong = cop_bakeoff_settings_name_wrong(text, length);
	if (wrong != NULL)
		refuse(r, "a name of at most 95 bytes, without commas, quotes and control characters");
	else
		(void)snprintf(out, COP_BAKEOFF_NAME_ROOM, "%.*s", (int)length, text);
	r->next++;
}

static void read_count(reader *r, uint64_t low, uint64_t *out)
{
	double value = r->value[r->next];
	if (!(value >= (double)low && value <= MOST_COUNT && value == floor(value)))
		refuse(r, low == 0 ? "a whole number from 0" : "a whole number from 1");
	else
		*out = (uint64_t)value;
	r->next++;
}

static void read_loss(reader *r, double *out)
{
	*out = r->value[r->next];
	if (!(*out >= 0.0 && *out <= 1.0))
		refuse(r, "a number from 0 to 1");
	r->next++;
}

static cop_err wrong_header(const reader *r, const char *header)
{
	cop_diag_at_line(r->diag, cop_stream_name(r->stream), 1, "another header than expected, which is %s", header);
	return COP_EFORMAT;
}

static cop_err check_header(const reader *r, const char *header)
{
	const char *at = header;
	for (size_t i = 0; i < cop_csv_columns(r->csv); i++) {
		const char *name = cop_csv_column(r->csv, i);
		size_t length = strcspn(at, ",");
		if (name == NULL || strlen(name) != length || strncmp(name, at, length) != 0)
			return wrong_header(r, header);
		at += length;
		at += *at == ',' ? 1 : 0;
	}
	return *at == '\0' ? COP_OK : wrong_header(r, header);
}

static cop_err next_line(reader *r)
{
	size_t count;
	cop_err err = cop_csv_next(r->csv, &r->value, &count, r->diag);
	r->next = 0;
	r->err = COP_OK;
	return err;
}

static cop_err open_reader(const char *path, reader *r, cop_diag *diag)
{
	*r = (reader){ .diag = diag };
	cop_err err = cop_stream_open_read(path, &r->stream, diag);
	if (err != COP_OK)
		return err;
	err = cop_csv_new(r->stream, &r->csv);
	if (err != COP_OK)
		cop_diag_of(diag, path, "%s", cop_err_text(err));
	else
		cop_csv_allow_text(r->csv);
	return err;
}

static cop_err read_row(void *out, reader *r)
{
	cop_bakeoff_row row = { .seed = 0 };
	read_name(r, row.dataset);
	read_count(r, 0, &row.seed);
	read_count(r, 1, &row.events);
	read_count(r, 0, &row.features);
	read_count(r, 0, &row.classes);
	read_name(r, row.setting);
	read_loss(r, &row.loss);
	row.seconds = r->value[r->next];
	if (!(row.seconds >= 0.0))
		refuse(r, "a number from 0");
	return r->err != COP_OK ? r->err : cop_bakeoff_rows_add(out, &row);
}

static cop_err read_point(void *out, reader *r)
{
	cop_bakeoff_point point = { .seed = 0 };
	read_name(r, point.dataset);
	read_count(r, 0, &point.seed);
	read_count(r, 1, &point.events);
	read_name(r, point.setting);
	read_count(r, 1, &point.at);
	read_loss(r, &point.loss);
	return r->err != COP_OK ? r->err : cop_bakeoff_points_add(out, &point);
}

static cop_err read_all(
        const char *path, const char *header, cop_err (*take)(void *out, reader *r), void *out, cop_diag *diag)
{
	reader r;
	cop_err err = open_reader(path, &r, diag);
	if (err == COP_OK) {
		err = next_line(&r);
		/* Without a row the header has not been looked at, unless it is all there is. */
		if (err == COP_OK || (err == COP_EEND && cop_csv_columns(r.csv) > 0)) {
			cop_err wrong = check_header(&r, header);
			err = wrong != COP_OK ? wrong : err;
		}
	}
	while (err == COP_OK) {
		err = take(out, &r);
		if (err == COP_ENOMEM)
			cop_diag_of(diag, path, "%s", cop_err_text(err));
		if (err == COP_OK)
			err = next_line(&r);
	}
	cop_csv_free(r.csv);
	cop_stream_free(r.stream);
	return err == COP_EEND ? COP_OK : err;
}

cop_err cop_bakeoff_rows_read(const char *path, cop_bakeoff_rows *rows, cop_diag *diag)
{
	return read_all(path, COP_BAKEOFF_HEADER, read_row, rows, diag);
}

cop_err cop_bakeoff_points_read(const char *path, cop_bakeoff_points *points, cop_diag *diag)
{
	return read_all(path, COP_BAKEOFF_CURVES_HEADER, read_point, points, diag);
}

/* ---- lines ---- */

size_t cop_bakeoff_row_line(const cop_bakeoff_row *row, char *out)
{
	char loss[COP_NUMBER_ROOM];
	(void)cop_number_format(row->loss, loss);
	return (size_t)snprintf(out, COP_BAKEOFF_LINE_ROOM,
	        "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s,%.6f\n", row->dataset, row->seed, row->events,
	        row->features, row->classes, row->setting, loss, row->seconds);
}

size_t cop_bakeoff_point_line(const cop_bakeoff_point *point, char *out)
{
	char loss[COP_NUMBER_ROOM];
	(void)cop_number_format(point->loss, loss);
	return (size_t)snprintf(out, COP_BAKEOFF_LINE_ROOM, "%s,%" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ",%s\n",
	        point->dataset, point->seed, point->events, point->setting, point->at, loss);
}

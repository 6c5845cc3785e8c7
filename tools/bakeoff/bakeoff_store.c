/* Files that change as a whole (the settings, and all of them when rows are removed) are written beside and renamed. */
#include "bakeoff_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/mem.h"
#include "base/stream.h"
#include "tools/common/whole_file.h"

#define SETTINGS_HEADER "setting,fingerprint,options"
#define FILE_MODE       0644

static cop_err refused(const char *path, cop_diag *diag)
{
	cop_diag_of(diag, path, "%s", strerror(errno));
	return COP_EIO;
}

static cop_err name_files(cop_bakeoff_store *store, const char *path, cop_diag *diag)
{
	size_t length = strlen(path);
	*store = (cop_bakeoff_store){ .csv = -1, .curves = -1 };
	if (length < 5 || length > COP_BAKEOFF_PATH_ROOM - 32 || strcmp(path + length - 4, ".csv") != 0) {
		cop_diag_of(diag, path, "expected a name that ends with .csv");
		return COP_EINVAL;
	}
	int stem = (int)length - 4;
	(void)snprintf(store->path, sizeof store->path, "%s", path);
	(void)snprintf(store->curves_path, sizeof store->curves_path, "%.*s.curves.csv", stem, path);
	(void)snprintf(store->settings_path, sizeof store->settings_path, "%.*s.settings.csv", stem, path);
	return COP_OK;
}

/* ---- whole lines ---- */

static cop_err put(int fd, const char *path, const char *text, size_t length, cop_diag *diag)
{
	return cop_file_write_all(fd, text, length) == COP_OK ? COP_OK : refused(path, diag);
}

/* Where the last newline's line ends; the file's size is `size`. */
static cop_err whole_length(int fd, const char *path, off_t size, off_t *whole, cop_diag *diag)
{
	char block[4096];
	for (off_t end = size; end > 0;) {
		off_t start = end > (off_t)sizeof block ? end - (off_t)sizeof block : 0;
		ssize_t got = pread(fd, block, (size_t)(end - start), start);
		if (got != end - start)
			return refused(path, diag);
		for (ssize_t i = got; i > 0; i--)
			if (block[i - 1] == '\n') {
				*whole = start + i;
				return COP_OK;
			}
		end = start;
	}
	*whole = 0;
	return COP_OK;
}

/* Opens for appending; a new or empty file gets its header, half a line at the end goes. A file whose only line is not
 * ended is left to the reader to judge, so that nothing foreign is emptied. */
static cop_err open_lines(const char *path, const char *header, int *fd, cop_diag *diag)
{
	struct stat status;
	off_t whole;
	*fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, FILE_MODE);
	if (*fd < 0 || fstat(*fd, &status) != 0)
		return refused(path, diag);
	if (!S_ISREG(status.st_mode)) {
		cop_diag_of(diag, path, "it is no file");
		return COP_EINVAL;
	}
	if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
		cop_diag_of(diag, path, "another bakeoff is writing it");
		return COP_EEXIST;
	}
	cop_err err = whole_length(*fd, path, status.st_size, &whole, diag);
	if (err != COP_OK)
		return err;
	if (status.st_size == 0) {
		char line[COP_BAKEOFF_LINE_ROOM];
		return put(*fd, path, line, (size_t)snprintf(line, sizeof line, "%s\n", header), diag);
	}
	if (whole > 0 && whole < status.st_size && ftruncate(*fd, whole) != 0)
		return refused(path, diag);
	return COP_OK;
}

/* ---- what the settings were ---- */

typedef struct record {
	cop_bakeoff_setting *setting; /* name, fingerprint and options */
	size_t count, room;
} record;

static cop_err record_add(record *r, const cop_bakeoff_setting *setting)
{
	if (r->count == r->room) {
		size_t room = r->room == 0 ? 16 : 2 * r->room;
		cop_bakeoff_setting *more = cop_mem_resize(r->setting, r->count, room, sizeof *more);
		if (more == NULL)
			return COP_ENOMEM;
		r->setting = more;
		r->room = room;
	}
	r->setting[r->count++] = *setting;
	return COP_OK;
}

/* A line: name,fingerprint,options; options hold no comma. */
static bool parse_setting(const char *line, cop_bakeoff_setting *out)
{
	size_t name = strcspn(line, ",");
	unsigned mark;
	int used = 0;
	*out = (cop_bakeoff_setting){ .fingerprint = 0 };
	if (cop_bakeoff_settings_name_wrong(line, name) != NULL || sscanf(line + name, ",%8x,%n", &mark, &used) != 1 ||
	        used == 0)
		return false;
	out->fingerprint = mark;
	(void)snprintf(out->name, sizeof out->name, "%.*s", (int)name, line);
	(void)snprintf(out->options, sizeof out->options, "%s", line + name + used);
	return true;
}

static cop_err read_record(const char *path, record *r, cop_diag *diag)
{
	cop_stream *stream;
	cop_bakeoff_setting setting;
	char *line;
	size_t length;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	if (err != COP_OK)
		return err == COP_ENOTFOUND ? COP_OK : err;
	err = cop_stream_line(stream, &line, &length);
	bool good = err != COP_OK || strcmp(line, SETTINGS_HEADER) == 0;
	while (good && err == COP_OK) {
		err = cop_stream_line(stream, &line, &length);
		if (err == COP_OK) {
			good = parse_setting(line, &setting);
			err = record_add(r, &setting);
		}
	}
	if (!good) {
		cop_diag_at_line(diag, path, cop_stream_line_number(stream),
		        "expected lines of %s, as a bakeoff writes them", SETTINGS_HEADER);
		err = COP_EFORMAT;
	} else if (err == COP_ENOMEM) {
		cop_diag_of(diag, path, "%s", cop_err_text(err));
	} else if (err != COP_OK && err != COP_EEND) {
		*diag = *cop_stream_diag(stream);
	}
	cop_stream_free(stream);
	return err == COP_EEND ? COP_OK : err;
}

/* ---- files that change as a whole ---- */

static cop_err rewrite_begin(cop_whole_file *w, const char *path, const char *header, cop_diag *diag)
{
	cop_err err = cop_whole_file_begin(w, path, diag);
	if (err == COP_OK)
		(void)fprintf(w->out, "%s\n", header);
	return err;
}

static cop_err write_record(const cop_bakeoff_store *store, const record *r, cop_diag *diag)
{
	cop_whole_file w;
	cop_err err = rewrite_begin(&w, store->settings_path, SETTINGS_HEADER, diag);
	if (err != COP_OK)
		return err;
	for (size_t i = 0; i < r->count; i++)
		(void)fprintf(w.out, "%s,%08" PRIx32 ",%s\n", r->setting[i].name, r->setting[i].fingerprint,
		        r->setting[i].options);
	return cop_whole_file_end(&w, store->settings_path, diag);
}

static bool has_rows(const cop_bakeoff_store *store, const char *setting)
{
	for (size_t i = 0; i < store->rows.count; i++)
		if (strcmp(store->rows.row[i].setting, setting) == 0)
			return true;
	return false;
}

static void drop_setting(cop_bakeoff_store *store, const char *setting)
{
	size_t rows = 0;
	size_t points = 0;
	for (size_t i = 0; i < store->rows.count; i++)
		if (strcmp(store->rows.row[i].setting, setting) != 0)
			store->rows.row[rows++] = store->rows.row[i];
	for (size_t i = 0; i < store->points.count; i++)
		if (strcmp(store->points.point[i].setting, setting) != 0)
			store->points.point[points++] = store->points.point[i];
	store->rows.count = rows;
	store->points.count = points;
}

/* The files from what is in memory. The locks go with the old files and are taken anew. */
static cop_err write_all(cop_bakeoff_store *store, cop_diag *diag)
{
	char line[COP_BAKEOFF_LINE_ROOM];
	cop_whole_file w;
	cop_err err = rewrite_begin(&w, store->curves_path, COP_BAKEOFF_CURVES_HEADER, diag);
	for (size_t i = 0; err == COP_OK && i < store->points.count; i++) {
		(void)cop_bakeoff_point_line(&store->points.point[i], line);
		(void)fputs(line, w.out);
	}
	if (err == COP_OK)
		err = cop_whole_file_end(&w, store->curves_path, diag);
	if (err == COP_OK)
		err = rewrite_begin(&w, store->path, COP_BAKEOFF_HEADER, diag);
	for (size_t i = 0; err == COP_OK && i < store->rows.count; i++) {
		(void)cop_bakeoff_row_line(&store->rows.row[i], line);
		(void)fputs(line, w.out);
	}
	if (err == COP_OK)
		err = cop_whole_file_end(&w, store->path, diag);
	if (err != COP_OK)
		return err;
	(void)close(store->csv);
	(void)close(store->curves);
	err = open_lines(store->path, COP_BAKEOFF_HEADER, &store->csv, diag);
	cop_err other = open_lines(store->curves_path, COP_BAKEOFF_CURVES_HEADER, &store->curves, diag);
	return err != COP_OK ? err : other;
}

/* Compares one setting with what it was. */
static cop_err check_setting(
        cop_bakeoff_store *store, const cop_bakeoff_setting *s, bool replace, record *r, bool *dropped, cop_diag *diag)
{
	cop_bakeoff_setting *was = NULL;
	for (size_t i = 0; i < r->count && was == NULL; i++)
		if (strcmp(r->setting[i].name, s->name) == 0)
			was = &r->setting[i];
	if (was == NULL && !has_rows(store, s->name))
		return record_add(r, s);
	if (was != NULL && was->fingerprint == s->fingerprint && strcmp(was->options, s->options) == 0)
		return COP_OK;
	if (has_rows(store, s->name) && !replace) {
		const char *what = was == NULL                             ? "was not written down"
		                   : strcmp(was->options, s->options) != 0 ? was->options
		                                                           : "decided otherwise with the same options "
		                                                             "(another build, or another processor)";
		cop_diag_of(diag, store->path,
		        "its rows of setting '%s' come of another one: it is now %s, and then %s; give it another "
		        "name, "
		        "use another file, or --replace them",
		        s->name, s->options, what);
		return COP_EINVAL;
	}
	*dropped = *dropped || has_rows(store, s->name);
	drop_setting(store, s->name);
	if (was == NULL)
		return record_add(r, s);
	*was = *s;
	return COP_OK;
}

static cop_err check_settings(
        cop_bakeoff_store *store, const cop_bakeoff_settings *settings, bool replace, cop_diag *diag)
{
	record r = { .setting = NULL };
	bool dropped = false;
	cop_err err = read_record(store->settings_path, &r, diag);
	for (size_t i = 0; i < settings->count && err == COP_OK; i++) {
		err = check_setting(store, &settings->setting[i], replace, &r, &dropped, diag);
		if (err == COP_ENOMEM)
			cop_diag_of(diag, store->settings_path, "%s", cop_err_text(err));
	}
	if (err == COP_OK && dropped)
		err = write_all(store, diag);
	if (err == COP_OK)
		err = write_record(store, &r, diag);
	cop_mem_free(r.setting);
	return err;
}

/* ---- the whole ---- */

cop_err cop_bakeoff_store_open(
        const char *path, const cop_bakeoff_settings *settings, bool replace, cop_bakeoff_store *store, cop_diag *diag)
{
	cop_err err = name_files(store, path, diag);
	if (err == COP_OK)
		err = open_lines(store->path, COP_BAKEOFF_HEADER, &store->csv, diag);
	if (err == COP_OK)
		err = cop_bakeoff_rows_read(store->path, &store->rows, diag);
	if (err == COP_OK)
		err = open_lines(store->curves_path, COP_BAKEOFF_CURVES_HEADER, &store->curves, diag);
	if (err == COP_OK)
		err = cop_bakeoff_points_read(store->curves_path, &store->points, diag);
	if (err == COP_OK)
		err = check_settings(store, settings, replace, diag);
	return err;
}

cop_err cop_bakeoff_store_read(const char *path, cop_bakeoff_store *store, cop_diag *diag)
{
	cop_err err = name_files(store, path, diag);
	if (err == COP_OK)
		err = cop_bakeoff_rows_read(store->path, &store->rows, diag);
	if (err == COP_OK && access(store->curves_path, F_OK) == 0)
		err = cop_bakeoff_points_read(store->curves_path, &store->points, diag);
	return err;
}

static cop_err put_points(cop_bakeoff_store *store, const cop_bakeoff_point *points, size_t count, cop_diag *diag)
{
	char *text = cop_mem_alloc(count, COP_BAKEOFF_LINE_ROOM);
	size_t length = 0;
	if (text == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < count; i++)
		length += cop_bakeoff_point_line(&points[i], text + length);
	cop_err err = put(store->curves, store->curves_path, text, length, diag);
	cop_mem_free(text);
	return err;
}

cop_err cop_bakeoff_store_add(cop_bakeoff_store *store, const cop_bakeoff_row *row, const cop_bakeoff_point *points,
        size_t count, cop_diag *diag)
{
	char line[COP_BAKEOFF_LINE_ROOM];
	cop_err err = put_points(store, points, count, diag);
	size_t length = cop_bakeoff_row_line(row, line);
	if (err == COP_OK)
		err = put(store->csv, store->path, line, length, diag);
	for (size_t i = 0; i < count && err == COP_OK; i++)
		err = cop_bakeoff_points_add(&store->points, &points[i]);
	if (err == COP_OK)
		err = cop_bakeoff_rows_add(&store->rows, row);
	if (err == COP_ENOMEM)
		cop_diag_of(diag, store->path, "%s", cop_err_text(err));
	return err;
}

void cop_bakeoff_store_close(cop_bakeoff_store *store)
{
	if (store->csv >= 0)
		(void)close(store->csv);
	if (store->curves >= 0)
		(void)close(store->curves);
	store->csv = store->curves = -1;
	cop_bakeoff_rows_fini(&store->rows);
	cop_bakeoff_points_fini(&store->points);
}

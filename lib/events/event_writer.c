/* Events gather in `text`, which goes to the stream when it is long enough; an event that cannot be said is cut off
 * again. Names are rendered once for each column. */
#include "events/event_writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "events/event_writer_private.h"

#define ENOUGH ((size_t)256 << 10) /* bytes that are worth a write */

static const cop_event_writer_format *const formats[] = {
	&cop_event_writer_vw,
	&cop_event_writer_dsjson,
	&cop_event_writer_csv,
};

const cop_event_writer_format *cop_event_writer_find(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

/* ---- life ---- */

void cop_event_writer_abandon(cop_event_writer *writer)
{
	if (writer == NULL)
		return;
	cop_stream_free(writer->stream);
	cop_bytes_fini(&writer->text);
	cop_bytes_fini(&writer->names.text);
	cop_mem_free(writer->names.column);
	cop_mem_free(writer->names.order);
	cop_mem_free(writer->names.group);
	cop_mem_free(writer->floats);
	cop_mem_free(writer->doubles);
	cop_mem_free(writer);
}

cop_err cop_event_writer_new(const cop_event_writer_format *format, cop_stream **stream,
        const cop_event_writer_settings *settings, cop_event_writer **out, cop_diag *diag)
{
	*out = NULL;
	cop_stream *taken = *stream;
	*stream = NULL;
	cop_event_writer *writer = cop_mem_alloc(1, sizeof *writer);
	if (writer != NULL) {
		writer->format = format;
		writer->stream = taken;
		writer->settings = *settings;
		cop_bytes_init(&writer->text);
		cop_bytes_init(&writer->names.text);
		writer->floats = cop_mem_alloc(COP_WRITER_FLOATS, sizeof *writer->floats);
		writer->doubles = cop_mem_alloc(COP_WRITER_DOUBLES, sizeof *writer->doubles);
		if (writer->floats != NULL && writer->doubles != NULL) {
			*out = writer;
			return COP_OK;
		}
	}
	cop_diag_of(diag, cop_stream_name(taken), "out of memory");
	if (writer == NULL)
		cop_stream_free(taken);
	cop_event_writer_abandon(writer);
	return COP_ENOMEM;
}

/* ---- events ---- */

cop_err cop_writer_refuse(cop_event_writer *writer, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)vsnprintf(writer->what, sizeof writer->what, format, args);
	va_end(args);
	return COP_EINVAL;
}

char *cop_writer_room(cop_event_writer *writer, size_t most)
{
	cop_bytes_reserve(&writer->text, most);
	return writer->text.err == COP_OK ? (char *)writer->text.data + writer->text.length : NULL;
}

static cop_err flush(cop_event_writer *writer, cop_diag *diag)
{
	cop_err err = cop_stream_write(writer->stream, writer->text.data, writer->text.length);
	if (err != COP_OK && diag != NULL)
		*diag = *cop_stream_diag(writer->stream);
	writer->bytes += writer->text.length;
	writer->text.length = 0;
	return err;
}

cop_err cop_event_writer_put(cop_event_writer *writer, const cop_logged_event *event, cop_diag *diag)
{
	size_t before = writer->text.length;
	bool header = writer->header;
	cop_err err = writer->format->put(writer, event);
	if (err != COP_OK) {
		writer->text.length = before;
		writer->text.err = COP_OK;
		writer->header = header;
		cop_diag_of(diag, cop_stream_name(writer->stream), "event of line %" PRIu64 ": %s", event->line,
		        err == COP_EINVAL ? writer->what : cop_err_text(err));
		return err;
	}
	writer->events++;
	return writer->text.length >= ENOUGH ? flush(writer, diag) : COP_OK;
}

uint64_t cop_event_writer_events(const cop_event_writer *writer) { return writer->events; }
uint64_t cop_event_writer_bytes(const cop_event_writer *writer) { return writer->bytes + writer->text.length; }

cop_err cop_event_writer_close(cop_event_writer *writer, cop_diag *diag)
{
	cop_err err = flush(writer, diag);
	cop_stream *stream = writer->stream;
	writer->stream = NULL;
	cop_event_writer_abandon(writer);
	cop_err closed = cop_stream_close(stream, err == COP_OK ? diag : NULL);
	return err != COP_OK ? err : closed;
}

/* ---- numbers and ids ---- */

char *cop_writer_whole(char *to, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;
	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return cop_writer_chars(to, digits + at, sizeof digits - at);
}

char *cop_writer_new_float(cop_event_writer *writer, char *to, float value, cop_writer_float *place)
{
	(void)writer;
	size_t length = cop_number_format_float(value, to);
	if (length <= sizeof place->text) {
		memcpy(&place->bits, &value, sizeof value);
		memcpy(place->text, to, length);
		place->length = (uint8_t)length;
	}
	return to + length;
}

char *cop_writer_double_text(cop_event_writer *writer, char *to, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	cop_writer_double *place = &writer->doubles[(bits * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
	if (place->length == 0 || place->bits != bits) {
		place->bits = bits;
		place->length = cop_number_format(value, place->text);
	}
	return cop_writer_chars(to, place->text, place->length);
}

size_t cop_writer_id(const cop_event_id *id, char out[COP_WRITER_ID_ROOM])
{
	static const char hex[] = "0123456789abcdef";
	uint64_t word;
	int64_t negative;
	switch (id->kind) {
	case COP_EVENT_ID_STRING:
		memcpy(out, id->bytes, id->length);
		return id->length;
	case COP_EVENT_ID_BINARY:
		for (size_t i = 0; i < id->length; i++) {
			out[2 * i] = hex[id->bytes[i] >> 4];
			out[2 * i + 1] = hex[id->bytes[i] & 15];
		}
		return 2 * (size_t)id->length;
	case COP_EVENT_ID_UNSIGNED:
		memcpy(&word, id->bytes, sizeof word);
		return (size_t)(cop_writer_whole(out, word) - out);
	case COP_EVENT_ID_NEGATIVE:
		memcpy(&negative, id->bytes, sizeof negative);
		*out = '-';
		return (size_t)(cop_writer_whole(out + 1, -(uint64_t)negative) - out);
	default:
		return 0;
	}
}

/* ---- names ---- */

static cop_err column_room(cop_writer_names *names)
{
	if (names->count < names->room)
		return COP_OK;
	size_t room = names->room == 0 ? 64 : names->room * 2;
	cop_writer_column *column = cop_mem_resize(names->column, names->count, room, sizeof *column);
	names->column = column != NULL ? column : names->column;
	uint32_t *order = cop_mem_resize(names->order, names->count, room, sizeof *order);
	names->order = order != NULL ? order : names->order;
	if (column == NULL || order == NULL)
		return COP_ENOMEM;
	names->room = room;
	return COP_OK;
}

/* The namespace's number; it is rendered when it is met first. */
static cop_err find_group(cop_event_writer *writer, const char *space, size_t length, uint32_t *out)
{
	cop_writer_names *names = &writer->names;
	for (size_t i = names->groups; i-- > 0;)
		if (names->group[i].raw_length == length &&
		        (length == 0 || memcmp(names->text.data + names->group[i].raw, space, length) == 0)) {
			*out = (uint32_t)i;
			return COP_OK;
		}
	if (names->groups == names->group_room) {
		size_t room = names->groups * 2 + 8;
		cop_writer_group *group = cop_mem_resize(names->group, names->groups, room, sizeof *group);
		if (group == NULL)
			return COP_ENOMEM;
		names->group = group;
		names->group_room = room;
	}
	cop_writer_group *group = &names->group[names->groups];
	group->raw = names->text.length;
	group->raw_length = length;
	group->columns = 0;
	cop_bytes_put(&names->text, space, length);
	group->at = names->text.length;
	cop_err err = COP_OK;
	if (writer->format->put_space != NULL)
		err = writer->format->put_space(writer, space, length, &names->text);
	group->length = names->text.length - group->at;
	if (err == COP_OK)
		err = names->text.err;
	if (err == COP_OK)
		*out = (uint32_t)names->groups++;
	else
		names->text.length = group->raw;
	return err;
}

/* "namespace^name", or the name alone. */
static cop_err add_column(cop_event_writer *writer, const char *text)
{
	cop_writer_names *names = &writer->names;
	bool split = writer->settings.space != NULL && writer->format->put_space != NULL;
	const char *hat = split ? strchr(text, '^') : NULL;
	size_t space = hat != NULL ? (size_t)(hat - text) : 0;
	const char *name = hat != NULL ? hat + 1 : text;
	cop_err err = column_room(names);
	cop_writer_column *column = err == COP_OK ? &names->column[names->count] : NULL;
	if (err == COP_OK)
		err = find_group(writer, text, space, &column->group);
	if (err != COP_OK)
		return err;
	column->at = names->text.length;
	err = writer->format->put_name(writer, name, strlen(name), &names->text);
	if (err == COP_OK)
		err = names->text.err;
	if (err != COP_OK) {
		names->text.length = column->at;
		return err;
	}
	column->length = names->text.length - column->at;
	size_t length = column->length + names->group[column->group].length;
	names->longest = length > names->longest ? length : names->longest;
	names->group[column->group].columns++;
	names->count++;
	return COP_OK;
}

/* Columns by namespace, in each as they are. */
static void sort_columns(cop_writer_names *names)
{
	size_t start = 0;
	for (size_t i = 0; i < names->groups; i++) {
		names->group[i].next = start;
		start += names->group[i].columns;
	}
	for (size_t i = 0; i < names->count; i++)
		names->order[names->group[names->column[i].group].next++] = (uint32_t)i;
}

cop_err cop_writer_names_ready(cop_event_writer *writer, size_t count)
{
	cop_writer_names *names = &writer->names;
	const cop_event_writer_settings *settings = &writer->settings;
	if (count <= names->count)
		return COP_OK;
	uint32_t unused;
	cop_err err = names->groups == 0 ? find_group(writer, "", 0, &unused) : COP_OK;
	while (names->count < count && err == COP_OK) {
		char made[32];
		const char *text = made;
		if (settings->space != NULL && names->count < cop_feature_space_dimension(settings->space))
			text = cop_feature_space_column(settings->space, names->count);
		else if (names->count < settings->name_count)
			text = settings->names[names->count];
		else
			(void)snprintf(made, sizeof made, "x%zu", names->count);
		err = add_column(writer, text);
	}
	sort_columns(names);
	return err;
}

size_t cop_writer_row_room(const cop_event_writer *writer, const cop_row *row)
{
	size_t each = COP_NUMBER_ROOM + 8 + (row->dense != NULL ? writer->names.longest : COP_WRITER_PLACE_ROOM);
	return cop_row_entries(row) * each + 8;
}

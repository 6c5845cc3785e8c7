/* One row for each format; a new one is one file and one row. */
#include "events/event_reader.h"

#include <string.h>

#include "base/mem.h"

static const cop_event_format *const formats[] = {
	&cop_event_format_vw,
	&cop_event_format_dsjson,
	&cop_event_format_csv,
};

const cop_event_format *cop_event_reader_format(const char *name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

cop_err cop_event_reader_open(const cop_event_format *format, const char *path,
        const cop_event_reader_settings *settings, cop_event_reader **out, cop_diag *diag)
{
	*out = NULL;
	cop_stream *stream;
	cop_err err = cop_stream_open_read(path, &stream, diag);
	return err == COP_OK ? format->create(&stream, settings, out, diag) : err;
}

void cop_event_reader_free(cop_event_reader *reader)
{
	if (reader != NULL)
		reader->class->destroy(reader);
}

cop_err cop_event_reader_next(cop_event_reader *reader, cop_logged_event *event, cop_diag *diag)
{
	cop_diag unread;
	memset(event, 0, sizeof *event);
	cop_err err = reader->class->next(reader, event, diag != NULL ? diag : &unread);
	if (err != COP_OK)
		memset(event, 0, sizeof *event);
	return err;
}

void *cop_event_reader_make(size_t size, const cop_event_reader_class *class, cop_stream **stream, cop_diag *diag)
{
	cop_event_reader *reader = cop_mem_alloc(1, size);
	if (reader != NULL) {
		reader->class = class;
		return reader;
	}
	cop_diag_of(diag, cop_stream_name(*stream), "%s", cop_err_text(COP_ENOMEM));
	cop_stream_free(*stream);
	*stream = NULL;
	return NULL;
}

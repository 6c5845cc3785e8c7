/* A header of names and action, probability, cost; then numbers. */
#include "events/event_writer_private.h"

static const char *const labels[] = { "action", "probability", "cost" };

/* Names that the reader would take for columns of the label. */
static bool is_taken(const char *name, size_t length)
{
	static const char *const taken[] = { "action", "probability", "cost", "propensity", "reward" };
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		if (strlen(taken[i]) == length && memcmp(taken[i], name, length) == 0)
			return true;
	return false;
}

static bool needs_quotes(const char *name, size_t length)
{
	return length == 0 || memchr(name, ',', length) != NULL || name[0] == ' ' || name[0] == '\t' ||
	       name[length - 1] == ' ' || name[length - 1] == '\t';
}

/* The name in quotes when it needs them, and a comma. */
static cop_err put_name(cop_event_writer *writer, const char *name, size_t length, cop_bytes *text)
{
	bool rename = writer->settings.rename;
	if (is_taken(name, length) && !rename)
		return cop_writer_refuse(writer, "a feature has the name %.*s, which is a column of the label in csv",
		        (int)length, name);
	bool quotes = needs_quotes(name, length);
	cop_bytes_reserve(text, length + 8);
	if (text->err != COP_OK)
		return COP_OK; /* the caller sees it */
	char *to = (char *)text->data + text->length;
	if (quotes)
		*to++ = '"';
	if (is_taken(name, length))
		to = COP_WRITER_LITERAL(to, "x_");
	for (size_t i = 0; i < length; i++) {
		bool special = name[i] == '"' || (unsigned char)name[i] < ' ';
		if (special && !rename)
			return cop_writer_refuse(writer,
			        "the feature \"%.*s\" holds a quote or a line's end, which csv cannot have in a name",
			        length < 100 ? (int)length : 100, name);
		*to++ = special ? '_' : name[i];
	}
	if (quotes)
		*to++ = '"';
	*to++ = ',';
	text->length = (size_t)(to - (char *)text->data);
	return COP_OK;
}

static cop_err put_header(cop_event_writer *writer, size_t d)
{
	const cop_writer_names *names = &writer->names;
	const char *text = (const char *)names->text.data;
	size_t most = 64;
	for (size_t i = 0; i < d; i++)
		most += names->column[i].length;
	char *to = cop_writer_room(writer, most);
	if (to == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < d; i++)
		to = cop_writer_chars(to, text + names->column[i].at, names->column[i].length);
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		to = cop_writer_chars(to, labels[i], strlen(labels[i]));
		*to++ = ',';
	}
	to[-1] = '\n';
	cop_writer_ends(writer, to);
	writer->header = true;
	writer->columns = d;
	return COP_OK;
}

static cop_err check(cop_event_writer *writer, const cop_logged_event *event)
{
	if (event->candidates > 0)
		return cop_writer_refuse(writer, "csv cannot hold candidates with features of their own");
	if (event->mask != NULL)
		return cop_writer_refuse(writer, "csv has no place for which actions are eligible");
	if (event->weight != 1.0)
		return cop_writer_refuse(writer, "csv has no place for a weight (%g)", event->weight);
	if (!event->labelled || !event->learn)
		return cop_writer_refuse(
		        writer, "csv has no place for an event that is not to be learned, or has no label");
	if (event->x.dense == NULL)
		return cop_writer_refuse(writer, "csv needs a column for every feature, and these are sparse (hashed)");
	for (size_t i = 0; i < event->x.d; i++)
		if (isnan(event->x.dense[i]))
			return cop_writer_refuse(
			        writer, "csv has no place for features that are unknown, as feature %zu", i);
	if (writer->header && event->x.d != writer->columns)
		return cop_writer_refuse(
		        writer, "%zu features, but the csv began with %zu columns", event->x.d, writer->columns);
	return COP_OK;
}

static cop_err put(cop_event_writer *writer, const cop_logged_event *event)
{
	const cop_row *x = &event->x;
	cop_err err = check(writer, event);
	if (err == COP_OK && !writer->header) {
		err = cop_writer_names_ready(writer, x->d);
		if (err == COP_OK)
			err = put_header(writer, x->d);
	}
	if (err != COP_OK)
		return err;
	char *to = cop_writer_room(writer, x->d * (COP_NUMBER_ROOM + 1) + 128);
	if (to == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < x->d; i++) {
		to = cop_writer_float_text(writer, to, x->dense[i]);
		*to++ = ',';
	}
	to = cop_writer_whole(to, event->action);
	*to++ = ',';
	to = cop_writer_double_text(writer, to, event->p);
	*to++ = ',';
	to = cop_writer_double_text(writer, to, event->cost);
	*to++ = '\n';
	cop_writer_ends(writer, to);
	return COP_OK;
}

const cop_event_writer_format cop_event_writer_csv = { "csv", put_name, NULL, put };

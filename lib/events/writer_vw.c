/* "action:cost:probability 'tag|namespace name:value ...", a value of 1 left out; where not all actions were eligible,
 * those that were stand beside it, as numbers alone. With candidates: "shared 'tag|...", a line for each with the label
 * at the played one, and a blank line. */
#include "events/event_writer_private.h"

/* What parses as something else inside of a name, a namespace or a tag. */
static bool is_special(char c) { return c == ' ' || c == ':' || c == '|' || (unsigned char)c < ' '; }

static cop_err check_text(cop_event_writer *writer, const char *kind, const char *text, size_t length)
{
	for (size_t i = 0; i < length && !writer->settings.rename; i++)
		if (is_special(text[i]))
			return cop_writer_refuse(writer,
			        "%s \"%.*s\" holds a character that has a meaning in Vowpal Wabbit text", kind,
			        length < 100 ? (int)length : 100, text);
	return COP_OK;
}

static char *put_text(char *to, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		*to++ = is_special(text[i]) ? '_' : text[i];
	return to;
}

static cop_err put_checked(
        cop_event_writer *writer, const char *kind, char before, const char *text, size_t length, cop_bytes *bytes)
{
	cop_err err = check_text(writer, kind, text, length);
	cop_bytes_reserve(bytes, length + 1);
	if (err != COP_OK || bytes->err != COP_OK)
		return err;
	char *to = (char *)bytes->data + bytes->length;
	*to++ = before;
	bytes->length = (size_t)(put_text(to, text, length) - (char *)bytes->data);
	return COP_OK;
}

static cop_err put_name(cop_event_writer *writer, const char *name, size_t length, cop_bytes *text)
{
	return put_checked(writer, "the feature", ' ', name, length, text);
}

static cop_err put_space(cop_event_writer *writer, const char *name, size_t length, cop_bytes *text)
{
	return put_checked(writer, "the namespace", '|', name, length, text);
}

static char *put_value(cop_event_writer *writer, char *to, float value)
{
	if (value == 1.0f)
		return to;
	*to++ = ':';
	return cop_writer_float_text(writer, to, value);
}

static char *put_dense(cop_event_writer *writer, char *to, const cop_row *row)
{
	const cop_writer_names *names = &writer->names;
	const char *text = (const char *)names->text.data;
	uint32_t group = UINT32_MAX;
	for (size_t i = 0; i < row->d; i++) {
		const cop_writer_column *column = &names->column[i];
		if (cop_writer_leaves_out(writer, row->dense[i]))
			continue;
		if (column->group != group) {
			if (group != UINT32_MAX)
				*to++ = ' ';
			group = column->group;
			to = cop_writer_chars(to, text + names->group[group].at, names->group[group].length);
		}
		to = cop_writer_chars(to, text + column->at, column->length);
		to = put_value(writer, to, row->dense[i]);
	}
	if (group == UINT32_MAX)
		*to++ = '|';
	return to;
}

static char *put_sparse(cop_event_writer *writer, char *to, const cop_row *row)
{
	*to++ = '|';
	for (size_t i = 0; i < row->nnz; i++) {
		*to++ = ' ';
		to = cop_writer_whole(to, row->index[i]);
		to = put_value(writer, to, row->value[i]);
	}
	return to;
}

/* The row and the end of its line, behind what `before` put. */
static cop_err put_row(cop_event_writer *writer, const cop_row *row)
{
	cop_err err = row->dense != NULL ? cop_writer_names_ready(writer, row->d) : COP_OK;
	if (err != COP_OK)
		return err;
	char *to = cop_writer_room(writer, cop_writer_row_room(writer, row) + 2);
	if (to == NULL)
		return COP_ENOMEM;
	to = row->dense != NULL ? put_dense(writer, to, row) : put_sparse(writer, to, row);
	*to++ = '\n';
	cop_writer_ends(writer, to);
	return COP_OK;
}

static char *put_label(cop_event_writer *writer, char *to, const cop_logged_event *event, uint64_t action)
{
	to = cop_writer_whole(to, action);
	*to++ = ':';
	to = cop_writer_double_text(writer, to, event->cost);
	*to++ = ':';
	to = cop_writer_double_text(writer, to, event->p);
	*to++ = ' ';
	return to;
}

/* The eligible actions, the played one with its label. A single one with a label would read as if all were. */
static cop_err put_mask(cop_event_writer *writer, const cop_logged_event *event)
{
	size_t eligible = 0;
	for (size_t i = 0; i < event->arms; i++)
		eligible += event->mask[i] != 0;
	if (eligible == 0 || (eligible == 1 && event->labelled))
		return cop_writer_refuse(writer,
		        "Vowpal Wabbit text has no place for a mask by which %zu action was eligible", eligible);
	char *to = cop_writer_room(writer, eligible * (COP_WRITER_PLACE_ROOM + 8) + 128);
	if (to == NULL)
		return COP_ENOMEM;
	for (size_t i = 0; i < event->arms; i++) {
		if (event->mask[i] == 0)
			continue;
		if (event->labelled && event->action == i) {
			to = put_label(writer, to, event, i + 1);
			continue;
		}
		to = cop_writer_whole(to, i + 1);
		*to++ = ' ';
	}
	cop_writer_ends(writer, to);
	return COP_OK;
}

/* What stands before the first bar. */
static cop_err put_start(cop_event_writer *writer, const cop_logged_event *event, bool shared)
{
	char id[COP_WRITER_ID_ROOM];
	size_t length = cop_writer_id(&event->id, id);
	cop_err err = check_text(writer, "the id", id, length);
	if (err == COP_OK && event->mask != NULL)
		err = put_mask(writer, event);
	char *to = cop_writer_room(writer, sizeof id + 128);
	if (err != COP_OK || to == NULL)
		return err != COP_OK ? err : COP_ENOMEM;
	if (shared)
		to = COP_WRITER_LITERAL(to, "shared ");
	else if (event->labelled && event->mask == NULL)
		to = put_label(writer, to, event, (uint64_t)event->action + 1);
	if (length > 0) {
		*to++ = '\'';
		to = put_text(to, id, length);
	}
	cop_writer_ends(writer, to);
	return COP_OK;
}

static cop_err put_candidates(cop_event_writer *writer, const cop_logged_event *event)
{
	cop_err err = COP_OK;
	for (size_t i = 0; i < event->candidates && err == COP_OK; i++) {
		char *to = cop_writer_room(writer, 128);
		if (to == NULL)
			return COP_ENOMEM;
		if (event->labelled && event->action == i)
			cop_writer_ends(writer, put_label(writer, to, event, 0));
		err = put_row(writer, &event->candidate[i]);
	}
	char *to = cop_writer_room(writer, 1);
	if (to == NULL)
		return COP_ENOMEM;
	*to = '\n';
	cop_writer_ends(writer, to + 1);
	return err;
}

static cop_err put(cop_event_writer *writer, const cop_logged_event *event)
{
	if (event->mask != NULL && event->candidates > 0)
		return cop_writer_refuse(writer, "Vowpal Wabbit text has no place for which candidates are eligible");
	if (event->weight != 1.0)
		return cop_writer_refuse(writer,
		        "Vowpal Wabbit text of contextual bandits has no place for a weight (%g)", event->weight);
	if (event->labelled && !event->learn)
		return cop_writer_refuse(
		        writer, "Vowpal Wabbit text has no place for an event that is not to be learned");
	cop_err err = put_start(writer, event, event->candidates > 0);
	if (err == COP_OK)
		err = put_row(writer, &event->x);
	return err == COP_OK && event->candidates > 0 ? put_candidates(writer, event) : err;
}

const cop_event_writer_format cop_event_writer_vw = { "vw", put_name, put_space, put };

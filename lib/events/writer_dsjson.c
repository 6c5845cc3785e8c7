/* {"_label_cost":...,"_label_probability":...,"_label_Action":...,"_labelIndex":...,"EventId":...,"a":[...],"c":{...}}
 * as decision services write it: "a" holds the played action first and then the others, where they are known. In "c"
 * features of the default namespace are members, the others members of an object for each namespace, candidates the
 * objects in "_multi". */
#include "base/json.h"
#include "events/event_writer_private.h"

#define ESCAPED 6 /* bytes of \u001f */

static size_t utf8_length(const char *at, size_t left)
{
	return cop_json_utf8_length((const uint8_t *)(const void *)at, left);
}

static bool is_utf8(const char *text, size_t length)
{
	size_t at = 0, step = 1;
	for (; at < length && step > 0; at += step)
		step = utf8_length(text + at, length - at);
	return step > 0;
}

/* The text without quotes, escaped; '_' for each byte of what is no UTF-8. */
static char *put_escaped(char *to, const char *text, size_t length)
{
	static const char hex[] = "0123456789abcdef";
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		size_t wide = c < 0x80 ? 1 : utf8_length(text + i, length - i);
		if (c == '"' || c == '\\') {
			*to++ = '\\';
			*to++ = (char)c;
		} else if (wide == 0) {
			*to++ = '_';
		} else if (c < ' ') {
			to = COP_WRITER_LITERAL(to, "\\u00");
			*to++ = hex[c >> 4];
			*to++ = hex[c & 15];
		} else {
			to = cop_writer_chars(to, text + i, wide);
			i += wide - 1;
		}
	}
	return to;
}

/* "text": with `after` behind the colon. */
static cop_err put_key(cop_event_writer *writer, const char *text, size_t length, const char *after, cop_bytes *bytes)
{
	bool special = length > 0 && text[0] == '_';
	if (special && !writer->settings.rename)
		return cop_writer_refuse(writer,
		        "the name \"%.*s\" begins with an underscore, which dsjson keeps for itself",
		        length < 100 ? (int)length : 100, text);
	if (!writer->settings.rename && !is_utf8(text, length))
		return cop_writer_refuse(writer, "the name \"%.*s\" is not UTF-8, which dsjson is written in",
		        length < 100 ? (int)length : 100, text);
	cop_bytes_reserve(bytes, length * ESCAPED + 8);
	if (bytes->err != COP_OK)
		return COP_OK; /* the caller sees it */
	char *to = (char *)bytes->data + bytes->length;
	*to++ = '"';
	if (special)
		*to++ = 'x';
	to = put_escaped(to, text, length);
	*to++ = '"';
	*to++ = ':';
	to = cop_writer_chars(to, after, strlen(after));
	bytes->length = (size_t)(to - (char *)bytes->data);
	return COP_OK;
}

static cop_err put_name(cop_event_writer *writer, const char *name, size_t length, cop_bytes *text)
{
	return put_key(writer, name, length, "", text);
}

static cop_err put_space(cop_event_writer *writer, const char *name, size_t length, cop_bytes *text)
{
	return length > 0 ? put_key(writer, name, length, "{", text) : COP_OK;
}

/* Members of an object that was opened; each with a comma behind it. */
static char *put_dense(cop_event_writer *writer, char *to, const cop_row *row)
{
	const cop_writer_names *names = &writer->names;
	const char *text = (const char *)names->text.data;
	uint32_t group = 0;
	for (size_t i = 0; i < names->count; i++) {
		size_t place = names->order[i];
		const cop_writer_column *column = &names->column[place];
		if (place >= row->d || cop_writer_leaves_out(writer, row->dense[place]))
			continue;
		if (column->group != group) {
			if (group != 0) {
				to[-1] = '}';
				*to++ = ',';
			}
			group = column->group;
			to = cop_writer_chars(to, text + names->group[group].at, names->group[group].length);
		}
		to = cop_writer_chars(to, text + column->at, column->length);
		to = cop_writer_float_text(writer, to, row->dense[place]);
		*to++ = ',';
	}
	if (group != 0) {
		to[-1] = '}';
		*to++ = ',';
	}
	return to;
}

static char *put_sparse(cop_event_writer *writer, char *to, const cop_row *row)
{
	for (size_t i = 0; i < row->nnz; i++) {
		*to++ = '"';
		to = cop_writer_whole(to, row->index[i]);
		*to++ = '"';
		*to++ = ':';
		to = cop_writer_float_text(writer, to, row->value[i]);
		*to++ = ',';
	}
	return to;
}

/* "{" and the row's members, each with a comma behind it. */
static cop_err put_row(cop_event_writer *writer, const cop_row *row)
{
	cop_err err = row->dense != NULL ? cop_writer_names_ready(writer, row->d) : COP_OK;
	if (err != COP_OK)
		return err;
	char *to = cop_writer_room(writer, cop_writer_row_room(writer, row) + 1);
	if (to == NULL)
		return COP_ENOMEM;
	*to++ = '{';
	to = row->dense != NULL ? put_dense(writer, to, row) : put_sparse(writer, to, row);
	cop_writer_ends(writer, to);
	return COP_OK;
}

/* The bracket that ends an object or list, in place of the comma behind its last member. */
static cop_err put_end(cop_event_writer *writer, char bracket)
{
	char *to = cop_writer_room(writer, 1);
	if (to == NULL)
		return COP_ENOMEM;
	if (to[-1] == ',')
		to[-1] = bracket;
	else
		*to++ = bracket;
	cop_writer_ends(writer, to);
	return COP_OK;
}

static cop_err put_label(cop_event_writer *writer, const cop_logged_event *event)
{
	char id[COP_WRITER_ID_ROOM];
	size_t length = cop_writer_id(&event->id, id);
	char *to = cop_writer_room(writer, 512 + sizeof id * ESCAPED);
	if (to == NULL)
		return COP_ENOMEM;
	*to++ = '{';
	if (event->labelled) {
		to = cop_writer_double_text(writer, COP_WRITER_LITERAL(to, "\"_label_cost\":"), event->cost);
		to = cop_writer_double_text(writer, COP_WRITER_LITERAL(to, ",\"_label_probability\":"), event->p);
		to = cop_writer_whole(COP_WRITER_LITERAL(to, ",\"_label_Action\":"), (uint64_t)event->action + 1);
		to = cop_writer_whole(COP_WRITER_LITERAL(to, ",\"_labelIndex\":"), event->action);
		*to++ = ',';
		if (!event->learn)
			to = COP_WRITER_LITERAL(to, "\"_skipLearn\":true,");
	}
	if (length > 0) {
		to = put_escaped(COP_WRITER_LITERAL(to, "\"EventId\":\""), id, length);
		to = COP_WRITER_LITERAL(to, "\",");
	}
	if (event->weight > 1.0) {
		to = cop_writer_double_text(writer, COP_WRITER_LITERAL(to, "\"pdrop\":"), 1.0 - 1.0 / event->weight);
		*to++ = ',';
	}
	cop_writer_ends(writer, to);
	return COP_OK;
}

/* "a", the played action first, and the name of what follows. */
static cop_err put_actions(cop_event_writer *writer, const cop_logged_event *event)
{
	char *to = cop_writer_room(writer, 64 + event->candidates * COP_WRITER_PLACE_ROOM);
	if (to == NULL)
		return COP_ENOMEM;
	if (event->labelled || event->candidates > 0)
		to = COP_WRITER_LITERAL(to, "\"a\":[");
	if (event->labelled) {
		to = cop_writer_whole(to, (uint64_t)event->action + 1);
		*to++ = ',';
	}
	for (size_t i = 0; i < event->candidates; i++) {
		if (event->labelled && event->action == i)
			continue;
		to = cop_writer_whole(to, i + 1);
		*to++ = ',';
	}
	if (event->labelled || event->candidates > 0) {
		to[-1] = ']';
		*to++ = ',';
	}
	cop_writer_ends(writer, COP_WRITER_LITERAL(to, "\"c\":"));
	return COP_OK;
}

static cop_err put_candidates(cop_event_writer *writer, const cop_logged_event *event)
{
	char *to = cop_writer_room(writer, 16);
	if (to == NULL)
		return COP_ENOMEM;
	cop_writer_ends(writer, COP_WRITER_LITERAL(to, "\"_multi\":["));
	cop_err err = COP_OK;
	for (size_t i = 0; i < event->candidates && err == COP_OK; i++) {
		err = put_row(writer, &event->candidate[i]);
		if (err == COP_OK)
			err = put_end(writer, '}');
		to = cop_writer_room(writer, 1);
		if (err != COP_OK || to == NULL)
			return err != COP_OK ? err : COP_ENOMEM;
		*to = ',';
		cop_writer_ends(writer, to + 1);
	}
	return put_end(writer, ']');
}

static cop_err put(cop_event_writer *writer, const cop_logged_event *event)
{
	if (event->mask != NULL)
		return cop_writer_refuse(writer, "dsjson has no place for which actions are eligible");
	if (event->weight < 1.0)
		return cop_writer_refuse(writer, "dsjson has no place for a weight below 1 (%g)", event->weight);
	cop_err err = put_label(writer, event);
	if (err == COP_OK)
		err = put_actions(writer, event);
	if (err == COP_OK)
		err = put_row(writer, &event->x);
	if (err == COP_OK && event->candidates > 0)
		err = put_candidates(writer, event);
	if (err == COP_OK)
		err = put_end(writer, '}');
	char *to = cop_writer_room(writer, 2);
	if (err != COP_OK || to == NULL)
		return err != COP_OK ? err : COP_ENOMEM;
	cop_writer_ends(writer, COP_WRITER_LITERAL(to, "}\n"));
	return COP_OK;
}

const cop_event_writer_format cop_event_writer_dsjson = { "dsjson", put_name, put_space, put };

/* Ids that are texts, whole numbers and bytes differ, so each has a name of its own. */
#include "daemon/api/api_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *find(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* In [1, 2^64). */
static bool read_whole(const char *text, uint64_t *out)
{
	char *end;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out > 0;
}

static bool read_number(const char *text, cop_event_id *id)
{
	char *end;
	uint64_t word;
	if (*text >= '0' && *text <= '9') {
		errno = 0;
		word = strtoull(text, &end, 10);
		cop_event_id_from_unsigned(id, word);
		return *end == '\0' && errno == 0;
	}
	errno = 0;
	long long number = strtoll(text, &end, 10);
	cop_event_id_from_signed(id, number);
	return text[0] == '-' && text[1] >= '0' && text[1] <= '9' && *end == '\0' && errno == 0;
}

static int digit_of(char c)
{
	const char *digits = "0123456789abcdef", *at = c == '\0' ? NULL : strchr(digits, c);
	return at == NULL ? -1 : (int)(at - digits);
}

static bool read_binary(const char *text, cop_event_id *id)
{
	uint8_t bytes[COP_EVENT_ID_MAX];
	size_t length = strlen(text);
	if (length % 2 != 0 || length > 2 * sizeof bytes)
		return false;
	for (size_t i = 0; i < length; i += 2) {
		int high = digit_of(text[i]), low = digit_of(text[i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i / 2] = (uint8_t)(16 * high + low);
	}
	return cop_event_id_from_bytes(id, COP_EVENT_ID_BINARY, bytes, length / 2);
}

static void read_decision(cop_api_request *r, struct MHD_Connection *connection)
{
	const char *id = find(connection, "id"), *number = find(connection, "number");
	const char *binary = find(connection, "binary"), *record = find(connection, "record");
	cop_event_id *out = &r->past.id;
	bool fine = (id != NULL) + (number != NULL) + (binary != NULL) <= 1;
	fine = fine && (id != NULL || number != NULL || binary != NULL || record != NULL);
	if (fine && id != NULL)
		fine = cop_event_id_from_bytes(out, COP_EVENT_ID_STRING, id, strlen(id));
	if (fine && number != NULL)
		fine = read_number(number, out);
	if (fine && binary != NULL)
		fine = read_binary(binary, out);
	if (fine && record != NULL)
		fine = read_whole(record, &r->past.record);
	if (!fine)
		cop_api_request_refuse(r, 400, "bad_request",
		        "expected one decision: ?id=TEXT, ?number=NUMBER where ids are whole numbers, ?binary=DIGITS "
		        "where they are bytes, or ?record=NUMBER of the journal");
}

static void read_decisions(cop_api_request *r, struct MHD_Connection *connection)
{
	const char *prefix = find(connection, "prefix"), *before = find(connection, "before");
	const char *limit = find(connection, "limit"), *waiting = find(connection, "waiting");
	uint64_t most = COP_WIRE_PAST_USUAL;
	bool fine = prefix != NULL && strlen(prefix) <= COP_WIRE_PAST_PREFIX;
	fine = fine && (before == NULL || read_whole(before, &r->past.before));
	fine = fine && (limit == NULL || (read_whole(limit, &most) && most <= COP_WIRE_PAST_LIMIT));
	fine = fine && (waiting == NULL || strcmp(waiting, "true") == 0 || strcmp(waiting, "false") == 0);
	if (!fine) {
		cop_api_request_refuse(r, 400, "bad_request",
		        "expected ?prefix=TEXT of at most %d bytes, and of before=RECORD, limit=1 to %d and "
		        "waiting=true those that are wanted",
		        COP_WIRE_PAST_PREFIX, COP_WIRE_PAST_LIMIT);
		return;
	}
	memcpy(r->past.prefix, prefix, strlen(prefix));
	r->past.limit = (size_t)most;
	r->past.waiting = waiting != NULL && strcmp(waiting, "true") == 0;
}

void cop_api_query_read(cop_api_request *request, struct MHD_Connection *connection)
{
	if (request->route->shown == COP_API_DECISION)
		read_decision(request, connection);
	else if (request->route->shown == COP_API_DECISIONS)
		read_decisions(request, connection);
}

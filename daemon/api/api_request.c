/* A request becomes a verb's body by conversion alone: what keys mean is decided in lib/wire, for both ways in. The
 * body's seq is the listener's own number, by which the reply finds its request; a seq of the client's is left out. */
#include "daemon/api/api_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "daemon/api/api_personalizer.h"
#include "wire/wire_cursor.h"
#include "wire/wire_from_json.h"
#include "wire/wire_json.h"
#include "wire/wire_keys.h"
#include "wire/wire_put.h"
#include "wire/wire_reply.h"

#define KEPT 65536 /* bytes of a buffer that is used again */

void cop_api_request_init(cop_api_request *request)
{
	*request = (cop_api_request){ 0 };
	cop_bytes_init(&request->names);
	cop_bytes_init(&request->body);
	cop_bytes_init(&request->answer);
}

void cop_api_request_fini(cop_api_request *request)
{
	cop_bytes_fini(&request->names);
	cop_bytes_fini(&request->body);
	cop_bytes_fini(&request->answer);
}

static void clear(cop_bytes *bytes)
{
	if (bytes->err != COP_OK || bytes->capacity > KEPT) {
		cop_bytes_fini(bytes);
		cop_bytes_init(bytes);
	}
	cop_bytes_clear(bytes);
}

void cop_api_request_reset(cop_api_request *request)
{
	clear(&request->names);
	clear(&request->body);
	clear(&request->answer);
	request->route = NULL;
	request->event[0] = '\0';
	request->past = (cop_wire_past){ .record = 0 };
	request->page = NULL;
	request->cookie[0] = '\0';
	request->crowded = request->again = request->unframed = request->personal = request->stranger = false;
	request->model[0] = '\0';
	request->status = 0;
	request->allow = NULL;
	request->client[0] = '\0';
	request->owner = (cop_api_owner){ 0 };
}

unsigned cop_api_request_status(cop_wire_code code)
{
	static const unsigned statuses[COP_WIRE_CODE_COUNT] = {
		[COP_WIRE_OK] = 200,
		[COP_WIRE_BAD_REQUEST] = 400,
		[COP_WIRE_BAD_FEATURES] = 422,
		[COP_WIRE_BAD_LOSS] = 422,
		[COP_WIRE_UNKNOWN_MODEL] = 404,
		[COP_WIRE_UNKNOWN_VERB] = 404,
		[COP_WIRE_TOO_LARGE] = 413,
		[COP_WIRE_BUSY] = 503,
		[COP_WIRE_NOT_DURABLE] = 503,
		[COP_WIRE_FORBIDDEN] = 403,
		[COP_WIRE_INTERNAL] = 500,
		[COP_WIRE_APPRENTICE] = 422,
		[COP_WIRE_UNKNOWN_DECISION] = 404,
		[COP_WIRE_BEHIND] = 409,
		[COP_WIRE_OTHER_PART] = 409,
	};
	return statuses[code];
}

static const char *title_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *title;
	} titles[] = {
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 409, "Conflict" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 422, "Unprocessable Content" },
		{ 429, "Too Many Requests" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
	};
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Internal Server Error";
}

/* For an answer that must not fail. */
static void put_plain_problem(cop_api_request *request)
{
	static const char text[] = "{\"type\":\"about:blank\",\"title\":\"Internal Server Error\",\"status\":500,"
	                           "\"code\":\"internal\",\"detail\":\"no memory\"}";
	request->status = 500;
	cop_bytes_fini(&request->answer);
	cop_bytes_init(&request->answer);
	cop_bytes_put(&request->answer, text, sizeof text - 1);
}

/* Where clients of the personalizer look for it. */
static void put_error(cop_json_writer *json, const char *code, const char *detail)
{
	cop_json_put_object(json, "error");
	cop_json_put_text(json, "code", code);
	cop_json_put_text(json, "message", detail);
	cop_json_end_object(json);
}

static void put_problem(cop_api_request *request, unsigned status, const char *code, const char *detail)
{
	const char *text;
	size_t length;
	cop_json_writer *json;
	request->status = status;
	clear(&request->answer);
	if (cop_json_writer_new(COP_JSON_COMPACT, &json) != COP_OK) {
		put_plain_problem(request);
		return;
	}
	cop_json_begin_object(json);
	cop_json_put_text(json, "type", "about:blank");
	cop_json_put_text(json, "title", title_of(status));
	cop_json_put_unsigned(json, "status", status);
	cop_json_put_text(json, "code", code);
	cop_json_put_text(json, "detail", detail);
	if (request->personal)
		put_error(json, code, detail);
	cop_json_end_object(json);
	if (cop_json_writer_finish(json, &text, &length) == COP_OK)
		cop_bytes_put(&request->answer, text, length);
	else
		put_plain_problem(request);
	cop_json_writer_free(json);
}

void cop_api_request_refuse(cop_api_request *request, unsigned status, const char *code, const char *format, ...)
{
	char detail[320];
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(detail, sizeof detail, format, arguments);
	va_end(arguments);
	put_problem(request, status, code, detail);
}

static bool asks_of_past(const cop_api_request *request)
{
	return request->route->shown == COP_API_DECISION || request->route->shown == COP_API_DECISIONS;
}

bool cop_api_request_put(cop_api_request *request, uint64_t number, cop_bytes *out)
{
	cop_wire_fault fault = { .code = COP_WIRE_INTERNAL, .message = "no memory" };
	uint32_t pairs = 0;
	cop_err err = COP_OK;
	if (cop_api_route_is_personalizer(request->route)) {
		err = cop_api_personalizer_put(request, out, &pairs, &fault);
	} else if (request->route->post) {
		cop_bytes_put_u8(&request->body, 0); /* the text's end */
		err = request->body.err;
		if (err == COP_OK)
			err = cop_wire_from_json(
			        out, (const char *)request->body.data, request->body.length - 1, "seq", &pairs, &fault);
	} else {
		cop_wire_put_map(out, UINT16_MAX + 1); /* five bytes, which the pairs fill */
		pairs += asks_of_past(request) ? cop_wire_past_put_pairs(&request->past, out) : 0;
	}
	if (err == COP_OK) {
		cop_wire_from_json_add(out, 0, "seq", number, &pairs);
		err = out->err;
	}
	if (err != COP_OK)
		put_problem(request, cop_api_request_status(fault.code), cop_wire_code_text(fault.code), fault.message);
	return err == COP_OK;
}

/* The value of a status's `models`: whole, or its first item. NULL: it is not there. */
static const uint8_t *find_models(const void *body, size_t length, bool first, size_t *found)
{
	static const char *const names[] = { "models" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	size_t count;
	cop_wire_cursor_init(&cursor, body, length);
	if (cop_wire_keys_open(&keys, &cursor, names, 1, NULL) != COP_OK || cop_wire_keys_next(&keys, &which) != COP_OK)
		return NULL;
	if (first && (cop_wire_cursor_array(&cursor, &count) != COP_OK || count == 0))
		return NULL;
	const uint8_t *at = cursor.at;
	if (cop_wire_cursor_skip(&cursor, COP_WIRE_DEPTH) != COP_OK)
		return NULL;
	*found = (size_t)(cursor.at - at);
	return at;
}

static cop_err show_models(cop_api_request *request, const void *body, size_t length)
{
	bool one = request->route->shown == COP_API_MODEL;
	size_t found;
	const uint8_t *at = find_models(body, length, one, &found);
	if (at == NULL)
		return COP_EFORMAT;
	if (one)
		return cop_wire_json(&request->answer, at, found, 0);
	cop_bytes_put(&request->answer, "{\"models\":", 10);
	cop_err err = cop_wire_json(&request->answer, at, found, 0);
	cop_bytes_put(&request->answer, "}", 1);
	return err == COP_OK ? request->answer.err : err;
}

static cop_err show_view(cop_api_request *request, const void *body, size_t length)
{
	static const char *const names[] = { "html" };
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	const char *html;
	size_t size;
	cop_wire_cursor_init(&cursor, body, length);
	cop_err err = cop_wire_keys_open(&keys, &cursor, names, 1, NULL);
	if (err == COP_OK)
		err = cop_wire_keys_next(&keys, &which);
	request->again = err == COP_EEND; /* there is none yet */
	if (request->again)
		request->status = 0;
	if (err != COP_OK)
		return request->again ? COP_OK : err;
	err = cop_wire_cursor_string(&cursor, &html, &size);
	if (err != COP_OK)
		return err;
	request->page = &cop_api_page_view;
	cop_bytes_put(&request->answer, html, size);
	return request->answer.err;
}

/* Whether the reply only says that the answer is looked for. */
static bool is_looking(const void *body, size_t length)
{
	static const char *const names[] = { "state" };
	static const char looking[] = "looking";
	cop_wire_cursor cursor;
	cop_wire_keys keys;
	unsigned which;
	const char *text;
	size_t size;
	cop_wire_cursor_init(&cursor, body, length);
	return cop_wire_keys_open(&keys, &cursor, names, 1, NULL) == COP_OK &&
	       cop_wire_keys_next(&keys, &which) == COP_OK && cop_wire_cursor_string(&cursor, &text, &size) == COP_OK &&
	       size == sizeof looking - 1 && memcmp(text, looking, size) == 0;
}

static cop_err show_past(cop_api_request *request, const void *body, size_t length)
{
	static const char found[] = "{\"found\":true";
	const size_t join = sizeof found - 1;
	request->again = is_looking(body, length);
	if (request->again) {
		request->status = 0;
		return COP_OK;
	}
	if (request->route->shown == COP_API_DECISIONS)
		return cop_wire_json_without(&request->answer, body, length, "seq");
	cop_bytes_put(&request->answer, found, join);
	cop_err err = cop_wire_json_without(&request->answer, body, length, "seq");
	if (err == COP_OK)
		request->answer.data[join] = ','; /* the object's first byte */
	return err;
}

void cop_api_request_take(cop_api_request *request, bool ok, const void *body, size_t length)
{
	cop_wire_fault error = { .code = COP_WIRE_INTERNAL, .message = "" };
	cop_event_id id;
	cop_wire_seq seq;
	clear(&request->answer);
	if (!ok) {
		(void)!cop_wire_reply_error_decode(body, length, &error, &id, &seq, NULL);
		request->crowded = asks_of_past(request) && error.code == COP_WIRE_BUSY;
		put_problem(request, request->crowded ? 429 : cop_api_request_status(error.code),
		        cop_wire_code_text(error.code), error.message);
		return;
	}
	if (cop_api_route_is_personalizer(request->route)) {
		cop_api_personalizer_take(request, body, length);
		return;
	}
	request->status = 200;
	cop_err err;
	if (request->route->shown == COP_API_ALL)
		err = cop_wire_json_without(&request->answer, body, length, "seq");
	else if (request->route->shown == COP_API_VIEW)
		err = show_view(request, body, length);
	else if (asks_of_past(request))
		err = show_past(request, body, length);
	else
		err = show_models(request, body, length);
	if (err != COP_OK)
		put_problem(request, 500, cop_wire_code_text(COP_WIRE_INTERNAL), cop_err_text(err));
}

void cop_api_request_answer(cop_api_request *request)
{
	static const char text[] = "{\"version\":\"" COP_VERSION "\",\"protocol\":1}";
	request->status = 200;
	clear(&request->answer);
	if (request->route->shown == COP_API_PAGE) {
		request->page = cop_api_page_find(request->route->path);
		cop_bytes_put(&request->answer, request->page->data, *request->page->length);
	} else {
		cop_bytes_put(&request->answer, text, sizeof text - 1);
	}
	if (request->answer.err != COP_OK)
		put_plain_problem(request);
}

bool cop_api_request_number(const void *body, size_t length, uint64_t *number)
{
	cop_event_id id;
	cop_wire_seq seq;
	cop_wire_cursor cursor;
	cop_wire_envelope(body, length, &id, &seq);
	cop_wire_cursor_init(&cursor, seq.bytes, seq.length);
	return seq.length > 0 && cop_wire_cursor_unsigned(&cursor, number) == COP_OK;
}

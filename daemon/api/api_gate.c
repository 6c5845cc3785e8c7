/* A token is looked for before anything of the body is read, and before it is told whether a path exists. */
#include "daemon/api/api_gate.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "daemon/api/api_query.h"
#include "daemon/common/clock.h"
#include "wire/wire_items.h"

cop_err cop_api_gate_init(cop_api_gate *gate, cop_config *config)
{
	const char *personalizer = config->api_personalizer;
	*gate = (cop_api_gate){ .access = config->api_access };
	config->api_access = NULL;
	(void)pthread_mutex_init(&gate->lock, NULL);
	if (personalizer != NULL)
		(void)snprintf(
		        gate->personalizer, sizeof gate->personalizer, "%.*s", COP_CONFIG_NAME_MAX, personalizer);
	return cop_api_session_init(&gate->session, config->api_pair != NULL);
}

void cop_api_gate_fini(cop_api_gate *gate)
{
	cop_access_free(gate->access);
	(void)pthread_mutex_destroy(&gate->lock);
}

void cop_api_gate_exchange(cop_api_gate *gate, cop_access **access)
{
	(void)pthread_mutex_lock(&gate->lock);
	cop_access *past = gate->access;
	gate->access = *access;
	(void)pthread_mutex_unlock(&gate->lock);
	*access = NULL;
	cop_access_free(past);
}

static bool is_text(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	for (size_t left = strlen(text), length; left > 0; left -= length, at += length)
		if ((length = cop_json_utf8_length(at, left)) == 0)
			return false;
	return true;
}

typedef struct framing {
	unsigned lengths, codings;
	bool chunked;
} framing;

static enum MHD_Result see_framing(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	framing *f = context;
	(void)kind;
	f->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
	if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		f->codings++;
		f->chunked = value != NULL && strcasecmp(value, "chunked") == 0;
	}
	return MHD_YES;
}

/* Where a body ends must not be a question of opinion: a proxy before the listener may have another one. */
static void check_framing(cop_api_request *r, struct MHD_Connection *connection)
{
	framing f = { 0 };
	(void)MHD_get_connection_values(connection, MHD_HEADER_KIND, see_framing, &f);
	r->unframed = f.lengths + f.codings > 1 || (f.codings == 1 && !f.chunked);
	if (r->unframed && r->status == 0)
		cop_api_request_refuse(r, 400, "bad_request",
		        "expected one of the headers Content-Length and Transfer-Encoding: chunked");
}

/* In UTF-8, as JSON is where nothing else is said. */
static bool is_json(const char *type)
{
	static const char json[] = "application/json", charset[] = "charset=", text[] = "utf-8";
	const size_t length = sizeof json - 1;
	if (type == NULL || strncasecmp(type, json, length) != 0 ||
	        (type[length] != '\0' && strchr("; \t", type[length]) == NULL))
		return false;
	const char *given = strcasestr(type + length, charset);
	if (given == NULL)
		return true;
	given += sizeof charset - 1;
	given += *given == '"';
	return strncasecmp(given, text, sizeof text - 1) == 0 && strchr("\"; \t", given[sizeof text - 1]) != NULL;
}

/* What its first line and headers refuse, whoever sent it. */
static void check_headers(cop_api_request *r, struct MHD_Connection *connection, const char *target, const char *method)
{
	static const char personal[] = COP_API_ROUTE_PERSONAL;
	const char *allowed, *path = cop_api_route_path(target);
	char name[COP_CONFIG_NAME_MAX + 1];
	bool whole;
	r->personal = strncmp(path, personal, sizeof personal - 1) == 0;
	r->route = cop_api_route_find(path, name, &whole);
	if (r->route == NULL) {
		cop_api_request_refuse(r, 404, "unknown_path", "no such path; expected %s",
		        r->personal ? COP_API_ROUTE_PERSONAL
		                "v1.0/rank, v1.0/events/ID/reward or v1.0/events/ID/activate"
		                    : "/v1/models, /v1/models/NAME, /v1/models/NAME/VERB, /v1/status or /v1/version");
		return;
	}
	if (!whole || !is_text(name)) {
		cop_api_request_refuse(r, 400, "bad_request", "%s in the path: expected 1 to %d bytes of UTF-8",
		        r->personal ? "id" : "name", COP_CONFIG_NAME_MAX);
		return;
	}
	memcpy(cop_api_route_is_personalizer(r->route) ? r->event : r->model, name, sizeof name);
	if (!cop_api_route_takes(r->route, method, &allowed)) {
		cop_api_request_refuse(r, 405, "bad_method", "expected the method %s", allowed);
		r->allow = allowed;
		return;
	}
	cop_api_query_read(r, connection);
	if (!r->route->post || r->route->shown == COP_API_ACTIVATED)
		return;
	const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
	const char *coding = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_ENCODING);
	if (!is_json(type))
		cop_api_request_refuse(
		        r, 415, "bad_type", "expected the header Content-Type: application/json, in UTF-8");
	else if (coding != NULL && strcasecmp(coding, "identity") != 0)
		cop_api_request_refuse(r, 415, "bad_type", "expected a body without Content-Encoding");
}

/* Of the usual header, or of the personalizer's, without the spaces around it; NULL: there is none. */
static const char *token_of(struct MHD_Connection *connection, size_t *length)
{
	static const char scheme[] = "Bearer ";
	const size_t skip = sizeof scheme - 1;
	const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	if (text != NULL)
		text = strncasecmp(text, scheme, skip) == 0 ? text + skip : NULL;
	else
		text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Ocp-Apim-Subscription-Key");
	if (text == NULL)
		return NULL;
	text += strspn(text, " \t");
	*length = strlen(text);
	while (*length > 0 && strchr(" \t", text[*length - 1]) != NULL)
		(*length)--;
	return text;
}

/* A token of one model names the personalizer's. */
static void take_model(cop_api_request *r, const cop_access_entry *entry)
{
	if (cop_api_route_is_personalizer(r->route) && entry->models != NULL && strchr(entry->models, ',') == NULL)
		(void)snprintf(r->model, sizeof r->model, "%.*s", COP_CONFIG_NAME_MAX, entry->models);
}

static void take_owner(cop_api_request *r, const cop_access_entry *entry)
{
	memcpy(r->client, entry->name, sizeof r->client);
	r->owner = (cop_api_owner){ entry->owner, entry->limits.pending };
}

/* Whose token it has; a cookie stands for its token where nothing is changed. NULL: nobody's. */
static const cop_access_entry *find_entry(
        const cop_api_gate *gate, const cop_api_request *r, struct MHD_Connection *connection)
{
	size_t length;
	const char *token = token_of(connection, &length);
	if (token != NULL)
		return cop_access_find(gate->access, token, length);
	if (r->route == NULL || r->route->post)
		return NULL;
	const char *cookie = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, COP_API_SESSION_COOKIE);
	return cop_api_session_find(&gate->session, gate->access, cookie, cop_clock_real());
}

static void check_token(const cop_api_gate *gate, cop_api_request *r, struct MHD_Connection *connection)
{
	const cop_access_entry *entry = find_entry(gate, r, connection);
	r->stranger = entry == NULL;
	if (entry == NULL && cop_api_route_is_open(r->route))
		return;
	if (entry == NULL) {
		cop_api_request_refuse(r, 401, "no_token",
		        "expected the header Authorization: Bearer TOKEN, with a token of the file");
		return;
	}
	take_model(r, entry);
	take_owner(r, entry);
	if (r->route != NULL && r->route->right != 0 && !cop_access_allows(entry, r->route->right, r->model))
		cop_api_request_refuse(r, 403, "forbidden", "%s lacks the right %s %s%s", entry->name,
		        cop_access_right_text(r->route->right),
		        r->model[0] == '\0' ? "for all models" : "for the model ", r->model);
	const char *what = r->status != 0 || entry->quota == NULL
	                           ? NULL
	                           : cop_quota_take(entry->quota, &entry->limits, cop_clock_monotonic_us(), 0);
	if (what != NULL)
		cop_api_request_refuse(r, 429, "busy", COP_QUOTA_REFUSAL, entry->name, what);
}

/* One of what is no batch. */
static size_t count_items(const cop_bytes *body)
{
	cop_wire_items items;
	cop_wire_seq seq;
	bool batch = cop_wire_items_batch(&items, body->data, body->length, &seq, NULL) == COP_OK;
	return batch ? items.count : 1;
}

void cop_api_gate_charge(cop_api_gate *gate, const cop_api_request *request, const cop_bytes *body, size_t bytes)
{
	if (request->client[0] == '\0')
		return;
	(void)pthread_mutex_lock(&gate->lock);
	const cop_access_entry *entry = gate->access == NULL ? NULL : cop_access_named(gate->access, request->client);
	const size_t items = entry == NULL || entry->quota == NULL ? 0 : count_items(body);
	if (items > 0)
		cop_quota_charge(entry->quota, items - 1, bytes);
	(void)pthread_mutex_unlock(&gate->lock);
}

/* Its paths are of one model, and some of them are not there. */
static void check_personalizer(cop_api_request *r)
{
	if (r->route->shown == COP_API_SLOTS)
		cop_api_request_refuse(
		        r, 501, "not_implemented", "several slots are not ranked; expected /personalizer/v1.0/rank");
	else if (r->model[0] == '\0')
		cop_api_request_refuse(r, 404, "unknown_model",
		        "no model for the personalizer's paths; expected the option personalizer, or a token of one "
		        "model");
}

void cop_api_gate_check(
        cop_api_gate *gate, cop_api_request *r, struct MHD_Connection *connection, const char *path, const char *method)
{
	check_headers(r, connection, path, method);
	check_framing(r, connection);
	if (cop_api_route_is_personalizer(r->route))
		memcpy(r->model, gate->personalizer, sizeof r->model);
	(void)pthread_mutex_lock(&gate->lock);
	if (gate->access != NULL)
		check_token(gate, r, connection);
	(void)pthread_mutex_unlock(&gate->lock);
	if (r->status == 0 && cop_api_route_is_personalizer(r->route))
		check_personalizer(r);
}

/* ---- sessions ---- */

static void put_rights(const cop_access_entry *entry, cop_json_writer *json)
{
	cop_json_put_array(json, "rights");
	for (unsigned right = COP_ACCESS_DECIDE; right <= COP_ACCESS_ADMIN; right <<= 1)
		if ((entry->rights & right) != 0)
			cop_json_text(json, cop_access_right_text(right));
	cop_json_end_array(json);
}

/* Of an entry that is for some models alone. */
static void put_models(const cop_access_entry *entry, cop_json_writer *json)
{
	cop_json_put_array(json, "models");
	for (const char *name = entry->models; name != NULL;) {
		size_t length = strcspn(name, ",");
		cop_json_text_length(json, name, length);
		name = name[length] == ',' ? name + length + 1 : NULL;
	}
	cop_json_end_array(json);
}

static cop_err put_session(const cop_api_gate *gate, const cop_access_entry *entry, cop_bytes *out)
{
	cop_json_writer *json;
	const char *text;
	size_t length;
	cop_err err = cop_json_writer_new(COP_JSON_COMPACT, &json);
	if (err != COP_OK)
		return err;
	cop_json_begin_object(json);
	cop_json_put_boolean(json, "tokens", gate->access != NULL);
	if (entry != NULL) {
		cop_json_put_text(json, "name", entry->name);
		put_rights(entry, json);
		if (entry->models != NULL)
			put_models(entry, json);
	}
	cop_json_end_object(json);
	err = cop_json_writer_finish(json, &text, &length);
	if (err == COP_OK)
		cop_bytes_put(out, text, length);
	cop_json_writer_free(json);
	return err == COP_OK ? out->err : err;
}

/* The entry whose token the body has. */
static const cop_access_entry *read_login(const cop_api_gate *gate, cop_api_request *r)
{
	cop_json *body;
	const char *token;
	size_t length;
	const cop_access_entry *entry = NULL;
	if (cop_json_parse((const char *)r->body.data, r->body.length, &body, NULL) != COP_OK ||
	        cop_json_get_text(cop_json_member(body, "token"), &token, &length) != COP_OK)
		cop_api_request_refuse(r, 400, "bad_request", "expected an object with a text token");
	else if (gate->access == NULL)
		cop_api_request_refuse(r, 400, "bad_request", "no tokens are configured; expected no login");
	else if ((entry = cop_access_find(gate->access, token, length)) == NULL)
		cop_api_request_refuse(r, 401, "no_token", "expected a token of the file");
	cop_json_free(body);
	return entry;
}

void cop_api_gate_answer(cop_api_gate *gate, cop_api_request *r)
{
	const cop_access_entry *entry = NULL;
	(void)pthread_mutex_lock(&gate->lock);
	if (r->route->shown == COP_API_LOGIN) {
		entry = read_login(gate, r);
		if (entry != NULL) {
			cop_api_session_begin(&gate->session, entry, cop_clock_real(), r->cookie);
			r->stranger = false;
			take_owner(r, entry);
		}
	} else if (r->route->shown == COP_API_LOGOUT) {
		cop_api_session_end(&gate->session, r->cookie);
	} else {
		entry = gate->access == NULL ? NULL : cop_access_named(gate->access, r->client);
		if (put_session(gate, entry, &r->answer) != COP_OK)
			cop_api_request_refuse(r, 500, "internal", "no memory");
	}
	(void)pthread_mutex_unlock(&gate->lock);
	if (r->status == 0)
		r->status = r->route->shown == COP_API_SESSION ? 200 : 204;
}

/* A token is looked for before anything of the body is read, and before it is told whether a path exists. */
#include "daemon/api/api_gate.h"

#include <stdio.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "wire/wire_items.h"

void cop_api_gate_init(cop_api_gate *gate, cop_config *config)
{
	const char *personalizer = config->api_personalizer;
	*gate = (cop_api_gate){ .access = config->api_access };
	config->api_access = NULL;
	(void)pthread_mutex_init(&gate->lock, NULL);
	if (personalizer != NULL)
		(void)snprintf(
		        gate->personalizer, sizeof gate->personalizer, "%.*s", COP_CONFIG_NAME_MAX, personalizer);
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

/* What its first line and headers refuse, whoever sent it. */
static void check_headers(cop_api_request *r, struct MHD_Connection *connection, const char *path, const char *method)
{
	static const char json[] = "application/json";
	const char *allowed;
	char name[COP_CONFIG_NAME_MAX + 1];
	r->route = cop_api_route_find(path, name);
	if (r->route == NULL) {
		cop_api_request_refuse(r, 404, "unknown_path",
		        "no such path; expected /v1/models, /v1/models/NAME, /v1/models/NAME/VERB or /v1/version");
		return;
	}
	memcpy(cop_api_route_is_personalizer(r->route) ? r->event : r->model, name, sizeof name);
	if (!cop_api_route_takes(r->route, method, &allowed)) {
		cop_api_request_refuse(r, 405, "bad_method", "expected the method %s", allowed);
		r->allow = allowed;
		return;
	}
	if (!r->route->post || r->route->shown == COP_API_ACTIVATED)
		return;
	const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
	const char *coding = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_ENCODING);
	size_t length = sizeof json - 1;
	if (type == NULL || strncasecmp(type, json, length) != 0 ||
	        (type[length] != '\0' && strchr("; \t", type[length]) == NULL))
		cop_api_request_refuse(r, 415, "bad_type", "expected the header Content-Type: application/json");
	else if (coding != NULL && strcasecmp(coding, "identity") != 0)
		cop_api_request_refuse(r, 415, "bad_type", "expected a body without Content-Encoding");
}

/* Of the usual header, or of the personalizer's; NULL: there is none. */
static const char *token_of(struct MHD_Connection *connection)
{
	static const char scheme[] = "Bearer ";
	const size_t skip = sizeof scheme - 1;
	const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	if (text != NULL)
		return strncasecmp(text, scheme, skip) == 0 ? text + skip : NULL;
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Ocp-Apim-Subscription-Key");
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

static void check_token(const cop_access *access, cop_api_request *r, const char *token)
{
	const cop_access_entry *entry = token == NULL ? NULL : cop_access_find(access, token, strlen(token));
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
	if (cop_api_route_is_personalizer(r->route))
		memcpy(r->model, gate->personalizer, sizeof r->model);
	(void)pthread_mutex_lock(&gate->lock);
	if (gate->access != NULL)
		check_token(gate->access, r, token_of(connection));
	(void)pthread_mutex_unlock(&gate->lock);
	if (r->status == 0 && cop_api_route_is_personalizer(r->route))
		check_personalizer(r);
}

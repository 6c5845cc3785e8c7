/* A publisher numbers its messages under its name; a subscriber takes a message of several actions apart. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "clients/c/client_publisher.h"
#include "clients/c/client_subscriber.h"
#include "clients/c/coppice_client_private.h"
#include "events/event_id.h"
#include "wire/wire_items.h"
#include "wire/wire_put.h"

#define TIMEOUT 10.0
#define SOURCE  64 /* bytes of a publisher's name */

struct coppice_publisher {
	void *context;
	char *endpoint;
	cop_client_publisher stream;
	char source[SOURCE + 1];
	uint64_t next; /* number of the next message */
};

struct coppice_subscriber {
	void *context;
	cop_client_subscriber stream;
	cop_wire_items items; /* of the message in hand, still to come */
	uint8_t id[COP_EVENT_ID_MAX];
};

static coppice_client_err check(const coppice_client_options *o, coppice_message *message)
{
	if (o->endpoint != NULL && (o->key == NULL) == (o->server_key == NULL) && o->timeout >= 0.0)
		return COPPICE_CLIENT_OK;
	return cop_client_fail(COPPICE_CLIENT_EINVAL, message,
	        "expected an endpoint, both keys or neither, and a timeout that is not negative");
}

static coppice_client_err no_memory(coppice_message *message)
{
	return cop_client_fail(COPPICE_CLIENT_ENOMEM, message, "%s", cop_err_text(COP_ENOMEM));
}

/* ---- publishers ---- */

COP_CLIENT_EXPORT coppice_client_err coppice_publisher_new(const coppice_client_options *options, coppice_stream stream,
        const char *source, coppice_publisher **out, coppice_message *message)
{
	*out = NULL;
	cop_diag diag = { 0 };
	coppice_client_err result = check(options, message);
	if (result == COPPICE_CLIENT_OK && (strlen(source) == 0 || strlen(source) > SOURCE))
		result = cop_client_fail(
		        COPPICE_CLIENT_EINVAL, message, "source: of %zu bytes, expected 1 to 64", strlen(source));
	if (result != COPPICE_CLIENT_OK)
		return result;
	coppice_publisher *p = cop_mem_alloc(1, sizeof *p);
	if (p == NULL || (p->endpoint = cop_mem_strdup(options->endpoint)) == NULL) {
		cop_mem_free(p);
		return no_memory(message);
	}
	const cop_client_keys keys = { options->key, options->server_key };
	(void)snprintf(p->source, sizeof p->source, "%s", source);
	p->stream = (cop_client_publisher){
		.endpoint = p->endpoint,
		.prefix = stream == COPPICE_CONTEXTS ? "ctx." : "fb.",
		.timeout = options->timeout > 0.0 ? options->timeout : TIMEOUT,
	};
	p->context = zmq_ctx_new();
	cop_err err = cop_client_publisher_open(&p->stream, p->context, &keys, &diag);
	if (err == COP_OK)
		err = cop_client_publisher_await(&p->stream, &diag);
	if (err != COP_OK)
		coppice_publisher_free(p);
	else
		*out = p;
	result = cop_client_failed(err, &diag, message);
	return result == COPPICE_CLIENT_EFORMAT ? COPPICE_CLIENT_EIO : result; /* of a file of keys */
}

COP_CLIENT_EXPORT void coppice_publisher_free(coppice_publisher *publisher)
{
	if (publisher == NULL)
		return;
	cop_client_publisher_close(&publisher->stream);
	if (publisher->context != NULL)
		(void)zmq_ctx_term(publisher->context);
	cop_mem_free(publisher->endpoint);
	cop_mem_free(publisher);
}

/* The map's last pairs; takes bytes. */
static coppice_client_err publish(coppice_publisher *p, const char *model, cop_bytes *bytes, size_t map,
        coppice_client_err before, coppice_message *message)
{
	cop_diag diag = { 0 };
	coppice_client_err result = before == COPPICE_CLIENT_OK ? cop_client_check_model(model, message) : before;
	cop_wire_put_text(bytes, "src");
	cop_wire_put_string(bytes, p->source, strlen(p->source));
	cop_wire_put_key_unsigned(bytes, "n", p->next);
	cop_wire_put_map_close(bytes, map);
	if (result == COPPICE_CLIENT_OK && bytes->err != COP_OK)
		result = no_memory(message);
	if (result == COPPICE_CLIENT_OK)
		result = cop_client_failed(
		        cop_client_publisher_send(&p->stream, model, bytes->data, bytes->length, &diag), &diag,
		        message);
	p->next += result == COPPICE_CLIENT_OK;
	cop_bytes_fini(bytes);
	return result;
}

COP_CLIENT_EXPORT coppice_client_err coppice_publisher_context(coppice_publisher *publisher, const char *model,
        coppice_id id, const coppice_client_context *context, coppice_message *message)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t map = cop_wire_put_map_open(&bytes);
	coppice_client_err err = cop_client_put_id(&bytes, &id, message);
	if (err == COPPICE_CLIENT_OK)
		err = cop_client_put_context(&bytes, context, message);
	return publish(publisher, model, &bytes, map, err, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_publisher_feedback(
        coppice_publisher *publisher, const char *model, coppice_id id, double loss, coppice_message *message)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t map = cop_wire_put_map_open(&bytes);
	coppice_client_err err = cop_client_put_id(&bytes, &id, message);
	cop_client_put_losses(&bytes, &loss, 1);
	return publish(publisher, model, &bytes, map, err, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_publisher_feedback_named(coppice_publisher *publisher, const char *model,
        coppice_id id, const coppice_loss *losses, size_t count, coppice_message *message)
{
	cop_bytes bytes;
	cop_bytes_init(&bytes);
	size_t map = cop_wire_put_map_open(&bytes);
	coppice_client_err err = cop_client_put_id(&bytes, &id, message);
	if (err == COPPICE_CLIENT_OK)
		err = cop_client_put_named(&bytes, losses, count, message);
	return publish(publisher, model, &bytes, map, err, message);
}

/* ---- subscribers ---- */

COP_CLIENT_EXPORT coppice_client_err coppice_subscriber_new(
        const coppice_client_options *options, const char *model, coppice_subscriber **out, coppice_message *message)
{
	*out = NULL;
	cop_diag diag = { 0 };
	coppice_client_err result = check(options, message);
	if (result == COPPICE_CLIENT_OK)
		result = cop_client_check_model(model, message);
	if (result != COPPICE_CLIENT_OK)
		return result;
	coppice_subscriber *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL)
		return no_memory(message);
	const cop_client_keys keys = { options->key, options->server_key };
	s->context = zmq_ctx_new();
	cop_err err = cop_client_subscriber_open(&s->stream, s->context, options->endpoint, &keys, model, &diag);
	if (err != COP_OK)
		coppice_subscriber_free(s);
	else
		*out = s;
	result = cop_client_failed(err, &diag, message);
	return result == COPPICE_CLIENT_EFORMAT ? COPPICE_CLIENT_EIO : result;
}

COP_CLIENT_EXPORT void coppice_subscriber_free(coppice_subscriber *subscriber)
{
	if (subscriber == NULL)
		return;
	cop_client_subscriber_close(&subscriber->stream);
	if (subscriber->context != NULL)
		(void)zmq_ctx_term(subscriber->context);
	cop_mem_free(subscriber);
}

COP_CLIENT_EXPORT coppice_client_err coppice_subscriber_next(
        coppice_subscriber *subscriber, double seconds, coppice_id *id, coppice_action *out, coppice_message *message)
{
	const void *item;
	const uint8_t *body;
	size_t length;
	cop_diag diag = { 0 };
	double deadline = cop_client_socket_now() + seconds;
	while (!cop_wire_items_next(&subscriber->items, &item, &length)) {
		cop_err err = cop_client_subscriber_next(
		        &subscriber->stream, deadline - cop_client_socket_now(), &body, &length, &diag);
		if (err == COP_EEND)
			return cop_client_fail(COPPICE_CLIENT_ETIMEOUT, message, "no action within %g s", seconds);
		if (err != COP_OK)
			return cop_client_failed(err, &diag, message);
		if (cop_wire_items_stream(&subscriber->items, body, length, NULL) != COP_OK)
			subscriber->items.left = 0;
	}
	return cop_client_get_action(item, length, id, subscriber->id, out, message);
}

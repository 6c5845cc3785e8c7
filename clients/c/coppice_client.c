/* A call is one map for the engine (clients/c/client_engine.h), begun and waited for; those that return at once are
 * both. decide and rank are one function here: a context with candidates is ranked. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "clients/c/client_engine.h"
#include "clients/c/coppice_client_private.h"
#include "wire/wire_json.h"
#include "wire/wire_put.h"

#define TIMEOUT  10.0
#define RETRY    0.5
#define BATCH    64u
#define MESSAGES 4u

struct coppice_client {
	cop_client_engine *engine;
};

static coppice_client_err read_options(
        const coppice_client_options *o, cop_client_engine_settings *out, coppice_message *message)
{
	if (o->endpoint == NULL || (o->key == NULL) != (o->server_key == NULL))
		return cop_client_fail(COPPICE_CLIENT_EINVAL, message,
		        o->endpoint == NULL ? "endpoint: none, expected tcp://HOST:PORT or ipc://PATH"
		                            : "key and server_key: expected both, or neither");
	if (!(o->timeout >= 0.0 && o->timeout <= 1e9) || !(o->retry <= 1e9) || o->batch > 65536)
		return cop_client_fail(COPPICE_CLIENT_EINVAL, message,
		        "expected timeout and retry in seconds, up to 1e9, and a batch of at most 65536");
	*out = (cop_client_engine_settings){
		.endpoint = o->endpoint,
		.keys = { o->key, o->server_key },
		.timeout = o->timeout > 0.0 ? o->timeout : TIMEOUT,
		.retry = o->retry > 0.0   ? o->retry
		         : o->retry < 0.0 ? -1.0
		                          : RETRY,
		.batch = o->batch > 0 ? o->batch : BATCH,
		.messages = o->messages > 0 ? o->messages : MESSAGES,
	};
	return COPPICE_CLIENT_OK;
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_new(
        const coppice_client_options *options, coppice_client **out, coppice_message *message)
{
	cop_diag diag = { 0 };
	cop_client_engine_settings settings;
	*out = NULL;
	coppice_client_err err = read_options(options, &settings, message);
	if (err != COPPICE_CLIENT_OK)
		return err;
	coppice_client *client = cop_mem_alloc(1, sizeof *client);
	if (client == NULL)
		return cop_client_fail(COPPICE_CLIENT_ENOMEM, message, "%s", cop_err_text(COP_ENOMEM));
	err = cop_client_failed(cop_client_engine_open(&settings, &client->engine, &diag), &diag, message);
	if (err != COPPICE_CLIENT_OK)
		cop_mem_free(client);
	else
		*out = client;
	return err == COPPICE_CLIENT_EFORMAT ? COPPICE_CLIENT_EIO : err; /* of a file of keys */
}

COP_CLIENT_EXPORT void coppice_client_free(coppice_client *client)
{
	if (client != NULL)
		cop_client_engine_close(client->engine);
	cop_mem_free(client);
}

/* ---- a call ---- */

typedef struct verb {
	const char *name;
	bool batched;
} verb;

static const verb decide_verb = { "decide_batch", true }, rank_verb = { "rank_batch", true },
                  feedback_verb = { "feedback_batch", true }, activate_verb = { "activate", false },
                  explain_verb = { "explain", false }, status_verb = { "status", false };

/* Begins with what put has put; takes body. */
static coppice_client_err begin(coppice_client *client, const verb *v, const char *model, cop_bytes *body,
        coppice_call **out, coppice_message *message)
{
	cop_client_call *call = NULL;
	cop_client_asked asked = { .verb = v->name, .model = model, .batched = v->batched, .body = body };
	cop_err err = cop_client_engine_begin(client->engine, &asked, &call);
	*out = (coppice_call *)call;
	return err == COP_OK ? COPPICE_CLIENT_OK
	                     : cop_client_fail(COPPICE_CLIENT_ENOMEM, message, "%s", cop_err_text(err));
}

/* Its answer's body, which the caller finishes. */
static coppice_client_err end(coppice_client *client, coppice_call *call, cop_bytes *body, coppice_message *message)
{
	cop_client_answer answer;
	cop_err err = cop_client_engine_wait(client->engine, (cop_client_call *)call, &answer);
	cop_bytes_init(body);
	if (err == COP_EEND)
		return cop_client_fail(
		        COPPICE_CLIENT_ETIMEOUT, message, "no answer in time, expected a running coppiced");
	if (err != COP_OK)
		return cop_client_fail(err == COP_ENOMEM ? COPPICE_CLIENT_ENOMEM : COPPICE_CLIENT_EFORMAT, message,
		        "the answer cannot be read: %s", cop_err_text(err));
	coppice_client_err result = COPPICE_CLIENT_OK;
	if (answer.ok)
		*body = answer.body;
	else
		result = cop_client_fail_refused(&answer.body, message);
	if (!answer.ok)
		cop_bytes_fini(&answer.body);
	return result;
}

/* ---- decisions ---- */

COP_CLIENT_EXPORT coppice_client_err coppice_client_begin_decide(coppice_client *client, const char *model,
        coppice_id id, const coppice_client_context *context, coppice_call **out, coppice_message *message)
{
	cop_bytes body;
	*out = NULL;
	cop_bytes_init(&body);
	size_t map = cop_wire_put_map_open(&body);
	coppice_client_err err = cop_client_check_model(model, message);
	if (err == COPPICE_CLIENT_OK)
		err = cop_client_put_id(&body, &id, message);
	if (err == COPPICE_CLIENT_OK)
		err = cop_client_put_context(&body, context, message);
	cop_wire_put_map_close(&body, map);
	if (err == COPPICE_CLIENT_OK)
		err = begin(client, context->candidate != NULL ? &rank_verb : &decide_verb, model, &body, out, message);
	cop_bytes_fini(&body);
	return err;
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_end_decide(
        coppice_client *client, coppice_call *call, coppice_action *out, coppice_message *message)
{
	cop_bytes body;
	coppice_client_err err = end(client, call, &body, message);
	if (err == COPPICE_CLIENT_OK)
		err = cop_client_get_action(body.data, body.length, NULL, NULL, out, message);
	cop_bytes_fini(&body);
	return err;
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_decide(coppice_client *client, const char *model, coppice_id id,
        const coppice_client_context *context, coppice_action *out, coppice_message *message)
{
	coppice_call *call;
	coppice_client_err err = coppice_client_begin_decide(client, model, id, context, &call, message);
	return err == COPPICE_CLIENT_OK ? coppice_client_end_decide(client, call, out, message) : err;
}

/* ---- rewards ---- */

/* What is asked of an id, with losses if there are some. */
typedef struct asked {
	const verb *verb;
	const char *model;
	const coppice_id *id; /* NULL: none */
	const double *loss;
	size_t losses;
	const coppice_loss *named; /* feedback, in place of loss */
} asked;

static coppice_client_err begin_asked(
        coppice_client *client, const asked *a, coppice_call **out, coppice_message *message)
{
	cop_bytes body;
	*out = NULL;
	cop_bytes_init(&body);
	size_t map = cop_wire_put_map_open(&body);
	coppice_client_err err = cop_client_check_model(a->model, message);
	if (err == COPPICE_CLIENT_OK && a->id != NULL)
		err = cop_client_put_id(&body, a->id, message);
	if (a->loss != NULL)
		cop_client_put_losses(&body, a->loss, a->losses);
	else if (a->verb == &feedback_verb && err == COPPICE_CLIENT_OK)
		err = cop_client_put_named(&body, a->named, a->losses, message);
	cop_wire_put_map_close(&body, map);
	if (err == COPPICE_CLIENT_OK)
		err = begin(client, a->verb, a->model, &body, out, message);
	cop_bytes_fini(&body);
	return err;
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_begin_feedback(coppice_client *client, const char *model,
        coppice_id id, double loss, coppice_call **out, coppice_message *message)
{
	const asked a = { &feedback_verb, model, &id, &loss, 1, NULL };
	return begin_asked(client, &a, out, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_begin_feedback_named(coppice_client *client, const char *model,
        coppice_id id, const coppice_loss *losses, size_t count, coppice_call **out, coppice_message *message)
{
	const asked a = { &feedback_verb, model, &id, NULL, count, losses };
	return begin_asked(client, &a, out, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_end_feedback(
        coppice_client *client, coppice_call *call, coppice_result *result, coppice_message *message)
{
	cop_bytes body;
	coppice_client_err err = end(client, call, &body, message);
	if (err == COPPICE_CLIENT_OK)
		err = cop_client_get_result(&body, result, message);
	cop_bytes_fini(&body);
	return err;
}

static coppice_client_err ask_result(
        coppice_client *client, const asked *a, coppice_result *result, coppice_message *message)
{
	coppice_call *call;
	coppice_client_err err = begin_asked(client, a, &call, message);
	return err == COPPICE_CLIENT_OK ? coppice_client_end_feedback(client, call, result, message) : err;
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_feedback(coppice_client *client, const char *model, coppice_id id,
        double loss, coppice_result *result, coppice_message *message)
{
	const asked a = { &feedback_verb, model, &id, &loss, 1, NULL };
	return ask_result(client, &a, result, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_feedback_two(coppice_client *client, const char *model,
        coppice_id id, const double loss[2], coppice_result *result, coppice_message *message)
{
	const asked a = { &feedback_verb, model, &id, loss, 2, NULL };
	return ask_result(client, &a, result, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_feedback_named(coppice_client *client, const char *model,
        coppice_id id, const coppice_loss *losses, size_t count, coppice_result *result, coppice_message *message)
{
	const asked a = { &feedback_verb, model, &id, NULL, count, losses };
	return ask_result(client, &a, result, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_activate(
        coppice_client *client, const char *model, coppice_id id, coppice_result *result, coppice_message *message)
{
	const asked a = { &activate_verb, model, &id, NULL, 0, NULL };
	return ask_result(client, &a, result, message);
}

/* ---- texts ---- */

static coppice_client_err ask_text(coppice_client *client, const asked *a, char **json, coppice_message *message)
{
	coppice_call *call;
	cop_bytes body, text;
	*json = NULL;
	coppice_client_err err = begin_asked(client, a, &call, message);
	if (err != COPPICE_CLIENT_OK)
		return err;
	err = end(client, call, &body, message);
	cop_bytes_init(&text);
	if (err == COPPICE_CLIENT_OK && cop_wire_json(&text, body.data, body.length, 0) != COP_OK)
		err = cop_client_fail(COPPICE_CLIENT_EFORMAT, message, "the answer is no MessagePack");
	if (err == COPPICE_CLIENT_OK && (*json = strndup((const char *)text.data, text.length)) == NULL)
		err = cop_client_fail(COPPICE_CLIENT_ENOMEM, message, "%s", cop_err_text(COP_ENOMEM));
	cop_bytes_fini(&text);
	cop_bytes_fini(&body);
	return err;
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_status(
        coppice_client *client, const char *model, char **json, coppice_message *message)
{
	const asked a = { .verb = &status_verb, .model = model };
	return ask_text(client, &a, json, message);
}

COP_CLIENT_EXPORT coppice_client_err coppice_client_explain(
        coppice_client *client, const char *model, coppice_id id, char **json, coppice_message *message)
{
	const asked a = { .verb = &explain_verb, .model = model, .id = &id };
	return ask_text(client, &a, json, message);
}

COP_CLIENT_EXPORT void coppice_client_free_text(char *text) { free(text); }

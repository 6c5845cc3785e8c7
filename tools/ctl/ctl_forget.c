/* The order is asked about under its number until it is done. What goes wrong meanwhile is told once: the daemon begins
 * the order anew by itself. */
#include "ctl_forget.h"

#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "clients/c/client.h"
#include "ctl_text.h"
#include "wire/wire_context.h"
#include "wire/wire_json.h"
#include "wire/wire_put.h"

#define LOOK_MS 100

typedef struct asking {
	const cop_ctl_forget_request *request;
	cop_client *client;
	cop_bytes text; /* of the last reply, as JSON */
	cop_json *reply;
} asking;

/* What the daemon says to a body of one pair. */
static cop_err ask(asking *a, const char *model, const cop_bytes *body, cop_diag *diag)
{
	cop_client_reply reply;
	const cop_ctl_forget_request *r = a->request;
	cop_json_free(a->reply);
	a->reply = NULL;
	cop_bytes_clear(&a->text);
	cop_err err = body->err;
	if (err == COP_OK)
		err = cop_client_request(a->client, "forget", model, body->data, body->length, &reply, diag);
	if (err != COP_OK)
		return err;
	err = cop_wire_json(&a->text, reply.body, reply.length, 0);
	if (err != COP_OK)
		cop_diag_of(diag, r->endpoint, "the answer is no MessagePack: %s", cop_err_text(err));
	return err == COP_OK ? cop_json_parse((const char *)a->text.data, a->text.length, &a->reply, diag) : err;
}

static cop_err give(asking *a, cop_diag *diag)
{
	cop_bytes body;
	cop_bytes_init(&body);
	cop_wire_put_map(&body, 1);
	cop_wire_put_text(&body, a->request->by_id ? "id" : "unit");
	cop_wire_id_put(&body, &a->request->whom);
	cop_err err = ask(a, a->request->model, &body, diag);
	cop_bytes_fini(&body);
	return err;
}

/* The model may have been removed since: then of none, for which whoever asks may lack the right. */
static cop_err look(asking *a, int64_t order, cop_diag *diag)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	cop_diag other = { 0 };
	cop_bytes body;
	(void)nanosleep(&pause, NULL);
	cop_bytes_init(&body);
	cop_wire_put_map(&body, 1);
	cop_wire_put_key_unsigned(&body, "order", (uint64_t)order);
	cop_err err = ask(a, a->request->model, &body, diag);
	if (err == COP_EINVAL && a->request->model[0] != '\0' && ask(a, "", &body, &other) == COP_OK) {
		*diag = (cop_diag){ 0 };
		err = COP_OK;
	}
	cop_bytes_fini(&body);
	return err;
}

static cop_err wait_for(asking *a, cop_diag *diag)
{
	int64_t order = 0;
	const char *reason;
	bool done = false, told = false;
	cop_err err = cop_json_get_integer(cop_json_member(a->reply, "order"), &order);
	while (err == COP_OK && !done) {
		err = look(a, order, diag);
		if (err == COP_OK)
			err = cop_json_get_boolean(cop_json_member(a->reply, "done"), &done);
		if (err == COP_OK && !told &&
		        cop_json_get_text(cop_json_member(a->reply, "reason"), &reason, NULL) == COP_OK) {
			(void)fprintf(stderr, "coppice ctl: order %lld goes on later, for now: %s\n", (long long)order,
			        reason);
			told = true;
		}
	}
	if (err == COP_EINVAL && diag->message[0] == '\0')
		cop_diag_of(diag, a->request->endpoint, "the answer has no order; expected a daemon of this version");
	return err;
}

/* A report without anything of theirs: a name that was sent otherwise finds nothing, too. */
static cop_err check_found(const asking *a, cop_diag *diag)
{
	static const char *const counts[] = { "waiting", "contexts", "parked" };
	int64_t some = (int64_t)cop_json_size(cop_json_member(a->reply, "models"));
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		int64_t count;
		if (cop_json_get_integer(cop_json_member(a->reply, counts[i]), &count) == COP_OK)
			some += count;
	}
	if (some > 0)
		return COP_OK;
	const bool by_id = a->request->by_id;
	cop_diag_message(diag,
	        "nothing of this %s was found; expected %s as it was sent: a string (--string), an integer, or bytes "
	        "(--binary HEX)",
	        by_id ? "id" : "unit", by_id ? "an id" : "a unit");
	return COP_ENOTFOUND;
}

cop_err cop_ctl_forget(const cop_ctl_forget_request *request, cop_diag *diag)
{
	asking a = { .request = request };
	cop_bytes_init(&a.text);
	cop_err err = cop_client_open_keyed(request->endpoint, &request->keys, request->timeout, &a.client, diag);
	if (err == COP_OK)
		err = give(&a, diag);
	if (err == COP_OK && request->wait)
		err = wait_for(&a, diag);
	if (err == COP_OK && request->json)
		(void)printf("%.*s\n", (int)a.text.length, (const char *)a.text.data);
	else if (err == COP_OK)
		cop_ctl_text_forgotten(a.reply, stdout);
	if (err == COP_OK && request->wait)
		err = check_found(&a, diag);
	cop_json_free(a.reply);
	cop_client_close(a.client);
	cop_bytes_fini(&a.text);
	return err;
}

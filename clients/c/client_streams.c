/* Opening waits until the daemon has subscribed to contexts and to feedback, so that no message is dropped. */
#include "client_streams.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "clients/c/client_publisher.h"
#include "clients/c/client_subscriber.h"

struct cop_streams {
	void *context;
	cop_client_subscriber actions;
	cop_client_publisher contexts, feedback;
	char model[COP_CLIENT_TOPIC];
};

static cop_err open_all(cop_streams *s, const cop_streams_settings *set, cop_diag *diag)
{
	s->context = zmq_ctx_new();
	cop_err err = cop_client_subscriber_open(&s->actions, s->context, set->actions, NULL, set->model, diag);
	if (err == COP_OK)
		err = cop_client_publisher_open(&s->contexts, s->context, NULL, diag);
	if (err == COP_OK)
		err = cop_client_publisher_open(&s->feedback, s->context, NULL, diag);
	if (err == COP_OK)
		err = cop_client_publisher_await(&s->contexts, diag);
	return err != COP_OK ? err : cop_client_publisher_await(&s->feedback, diag);
}

cop_err cop_client_streams_open(const cop_streams_settings *settings, cop_streams **out, cop_diag *diag)
{
	*out = NULL;
	cop_streams *s = cop_mem_alloc(1, sizeof *s);
	if (s == NULL) {
		cop_diag_message(diag, "%s", cop_err_text(COP_ENOMEM));
		return COP_ENOMEM;
	}
	(void)snprintf(s->model, sizeof s->model, "%s", settings->model);
	s->contexts = (cop_client_publisher){
		.endpoint = settings->contexts, .prefix = "ctx.", .timeout = settings->timeout
	};
	s->feedback =
	        (cop_client_publisher){ .endpoint = settings->feedback, .prefix = "fb.", .timeout = settings->timeout };
	cop_err err = open_all(s, settings, diag);
	if (err != COP_OK) {
		cop_client_streams_close(s);
		return err;
	}
	*out = s;
	return COP_OK;
}

void cop_client_streams_close(cop_streams *streams)
{
	if (streams == NULL)
		return;
	cop_client_subscriber_close(&streams->actions);
	cop_client_publisher_close(&streams->contexts);
	cop_client_publisher_close(&streams->feedback);
	if (streams->context != NULL)
		(void)zmq_ctx_term(streams->context);
	cop_mem_free(streams);
}

cop_err cop_client_streams_context(cop_streams *streams, const void *body, size_t length, cop_diag *diag)
{
	return cop_client_publisher_send(&streams->contexts, streams->model, body, length, diag);
}

cop_err cop_client_streams_feedback(cop_streams *streams, const void *body, size_t length, cop_diag *diag)
{
	return cop_client_publisher_send(&streams->feedback, streams->model, body, length, diag);
}

cop_err cop_client_streams_action(
        cop_streams *streams, double seconds, const uint8_t **body, size_t *length, cop_diag *diag)
{
	return cop_client_subscriber_next(&streams->actions, seconds, body, length, diag);
}

/* A DEALER socket sends requests without waiting for replies. Each call first tries the socket and polls only when
 * the socket has nothing or is full; a reply that was received is kept until the next receive. */
#include "client.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "client_socket.h"
#include "wire/wire_keys.h"
#include "wire/wire_reply.h"

struct cop_client {
	void *context;
	void *socket;
	char *endpoint;
	bool keyed; /* the endpoint is encrypted */
	double timeout;
	cop_client_message message; /* the reply in hand */
};

cop_err cop_client_open(const char *endpoint, double timeout, cop_client **out, cop_diag *diag)
{
	return cop_client_open_keyed(endpoint, NULL, timeout, out, diag);
}

cop_err cop_client_open_keyed(
        const char *endpoint, const cop_client_keys *keys, double timeout, cop_client **out, cop_diag *diag)
{
	*out = NULL;
	cop_client *client = cop_mem_alloc(1, sizeof *client);
	if (client != NULL)
		client->endpoint = cop_mem_strdup(endpoint);
	if (client == NULL || client->endpoint == NULL) {
		cop_diag_of(diag, endpoint, "%s", cop_err_text(COP_ENOMEM));
		cop_client_close(client);
		return COP_ENOMEM;
	}
	client->keyed = keys != NULL && keys->own != NULL;
	client->timeout = timeout;
	client->context = zmq_ctx_new();
	cop_err err = cop_client_socket(client->context, ZMQ_DEALER, endpoint, keys, &client->socket, diag);
	if (err != COP_OK) {
		cop_client_close(client);
		return err;
	}
	*out = client;
	return COP_OK;
}

void cop_client_close(cop_client *client)
{
	if (client == NULL)
		return;
	cop_client_socket_release(&client->message);
	if (client->socket != NULL) {
		int linger = 0; /* every request that matters has had its reply */
		(void)zmq_setsockopt(client->socket, ZMQ_LINGER, &linger, sizeof linger);
		(void)zmq_close(client->socket);
	}
	if (client->context != NULL)
		(void)zmq_ctx_term(client->context);
	cop_mem_free(client->endpoint);
	cop_mem_free(client);
}

/* Why a socket's file cannot be opened, which ZeroMQ keeps to itself while it tries again; NULL: it can, or there is
 * none. */
static const char *closed_file(const char *endpoint)
{
	static const char scheme[] = "ipc://";
	const char *path = endpoint + sizeof scheme - 1;
	bool file = strncmp(endpoint, scheme, sizeof scheme - 1) == 0 && *path != '@';
	return file && access(path, R_OK | W_OK) != 0 ? strerror(errno) : NULL;
}

/* How the daemon has to be, for a handshake that fails looks as if there was nobody. */
static const char *reach_of(const cop_client *client)
{
	if (client->keyed)
		return " of this public key, whose file of clients has this client's key";
	return strncmp(client->endpoint, "tcp://", 6) == 0 ? " that takes clients without keys" : "";
}

static cop_err complain(const cop_client *client, cop_err err, const char *what, cop_diag *diag)
{
	const char *closed = closed_file(client->endpoint);
	if (err == COP_EEND && closed != NULL)
		cop_diag_of(diag, client->endpoint,
		        "%s within %g s: %s, expected a running coppiced's file that this user may open", what,
		        client->timeout, closed);
	else if (err == COP_EEND)
		cop_diag_of(diag, client->endpoint, "%s within %g s, expected a running coppiced%s", what,
		        client->timeout, reach_of(client));
	else
		cop_diag_of(diag, client->endpoint, "%s: %s", what, zmq_strerror(zmq_errno()));
	return err;
}

cop_err cop_client_send(
        cop_client *client, const char *verb, const char *model, const void *body, size_t length, cop_diag *diag)
{
	cop_err err = COP_OK;
	/* Asking whether it can send costs a system call: try first. */
	while (zmq_send(client->socket, verb, strlen(verb), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
		err = cop_client_socket_wait(client->socket, true, client->timeout);
		if (err != COP_OK)
			return complain(client, err, "no daemon answers", diag);
	}
	if (zmq_send(client->socket, model, strlen(model), ZMQ_SNDMORE) < 0 ||
	        zmq_send(client->socket, body, length, 0) < 0)
		return complain(client, COP_EIO, "sending", diag);
	return COP_OK;
}

/* What the client's message holds, as a reply. */
static cop_err read_reply(cop_client *client, cop_err err, cop_client_reply *out, cop_diag *diag)
{
	cop_client_message *message = &client->message;
	if (err != COP_OK)
		return complain(client, err, "receiving", diag);
	bool ok = message->count == 2 && cop_client_socket_frame_is(&message->frame[0], "ok");
	if (!ok && !(message->count == 2 && cop_client_socket_frame_is(&message->frame[0], "error"))) {
		cop_diag_of(diag, client->endpoint, "what came is no reply, expected a coppiced's request socket");
		return COP_EFORMAT;
	}
	*out = (cop_client_reply){
		.ok = ok, .body = zmq_msg_data(&message->frame[1]), .length = zmq_msg_size(&message->frame[1])
	};
	return COP_OK;
}

cop_err cop_client_receive(cop_client *client, cop_client_reply *out, cop_diag *diag)
{
	cop_client_message *message = &client->message;
	cop_client_socket_release(message);
	cop_err err = cop_client_socket_take(client->socket, message);
	while (err == COP_EEND) {
		err = cop_client_socket_wait(client->socket, false, client->timeout);
		if (err != COP_OK)
			return complain(client, err, "no answer", diag);
		err = cop_client_socket_take(client->socket, message);
	}
	return read_reply(client, err, out, diag);
}

cop_err cop_client_receive_within(cop_client *client, double seconds, cop_client_reply *out, cop_diag *diag)
{
	cop_client_message *message = &client->message;
	cop_client_socket_release(message);
	cop_err err = cop_client_socket_take(client->socket, message);
	if (err == COP_EEND && seconds > 0.0) {
		err = cop_client_socket_doze(client->socket, seconds);
		if (err == COP_OK)
			err = cop_client_socket_take(client->socket, message);
	}
	return err == COP_EEND ? COP_EEND : read_reply(client, err, out, diag);
}

cop_err cop_client_request(cop_client *client, const char *verb, const char *model, const void *body, size_t length,
        cop_client_reply *out, cop_diag *diag)
{
	cop_err err = cop_client_send(client, verb, model, body, length, diag);
	if (err == COP_OK)
		err = cop_client_receive(client, out, diag);
	return err != COP_OK || out->ok ? err : cop_client_refused(client, out, diag);
}

cop_err cop_client_refused(const cop_client *client, const cop_client_reply *reply, cop_diag *diag)
{
	cop_wire_fault fault;
	cop_event_id id;
	cop_wire_seq seq;
	if (cop_wire_reply_error_decode(reply->body, reply->length, &fault, &id, &seq, NULL) == COP_OK)
		cop_diag_of(diag, client->endpoint, "%s: %s", cop_wire_code_text(fault.code), fault.message);
	else
		cop_diag_of(diag, client->endpoint, "an error whose text cannot be read");
	return COP_EINVAL;
}

bool cop_client_reply_seq(const cop_client_reply *reply, uint64_t *out)
{
	cop_event_id id;
	cop_wire_seq seq;
	cop_wire_cursor cursor;
	cop_wire_envelope(reply->body, reply->length, &id, &seq);
	cop_wire_cursor_init(&cursor, seq.bytes, seq.length);
	return seq.length > 0 && cop_wire_cursor_unsigned(&cursor, out) == COP_OK;
}

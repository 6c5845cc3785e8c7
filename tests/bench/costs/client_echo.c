/* As little as can be written: one blocking receive after the other, and each answer leaves at once. */
#include "client_echo.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <zmq.h>

#include "wire_bare.h"

#define FRAMES 4 /* peer, verb, model, body */

static void answer(void *socket, cop_wire_bare *bare, zmq_msg_t *frame)
{
	const char *body;
	size_t length;
	if (cop_wire_bare_answer(bare, zmq_msg_data(&frame[3]), zmq_msg_size(&frame[3]), &body, &length) != COP_OK)
		return;
	if (zmq_msg_send(&frame[0], socket, ZMQ_SNDMORE) >= 0 && zmq_send(socket, "ok", 2, ZMQ_SNDMORE) >= 0)
		(void)zmq_send(socket, body, length, 0);
}

static bool serve_one(void *socket, cop_wire_bare *bare)
{
	zmq_msg_t frame[FRAMES];
	size_t count = 0;
	bool more = true;
	bool whole = true;
	while (more && whole) {
		zmq_msg_t spare;
		zmq_msg_t *next = count < FRAMES ? &frame[count] : &spare;
		(void)zmq_msg_init(next);
		whole = zmq_msg_recv(next, socket, 0) >= 0;
		more = whole && zmq_msg_more(next) != 0;
		if (next == &spare)
			(void)zmq_msg_close(next);
		count++;
	}
	int why = errno;
	if (whole && count == FRAMES)
		answer(socket, bare, frame);
	for (size_t i = 0; i < count && i < FRAMES; i++)
		(void)zmq_msg_close(&frame[i]);
	return whole || why == EINTR;
}

cop_err cop_client_echo(const char *endpoint, cop_diag *diag)
{
	void *context = zmq_ctx_new();
	void *socket = context == NULL ? NULL : zmq_socket(context, ZMQ_ROUTER);
	cop_wire_bare *bare = NULL;
	cop_err err = socket == NULL ? COP_ENOMEM : cop_wire_bare_new(&bare);
	if (err == COP_OK && zmq_bind(socket, endpoint) != 0)
		err = COP_EINVAL;
	while (err == COP_OK)
		if (!serve_one(socket, bare))
			err = COP_EIO;
	cop_diag_of(diag, endpoint, "%s", zmq_strerror(errno));
	cop_wire_bare_free(bare);
	if (socket != NULL)
		(void)zmq_close(socket);
	if (context != NULL)
		(void)zmq_ctx_term(context);
	return err;
}

/* A DEALER: frames go out as a request without an empty delimiter, behind one that tells whose it is, and replies come
 * back as two frames. */
#include "daemon/api/api_link.h"

#include <errno.h>
#include <string.h>

#define MOST_UNDER_WAY 65536

cop_err cop_api_link_open(cop_api_link *link, void *context, const char *endpoint, cop_diag *diag)
{
	int most = MOST_UNDER_WAY, linger = 0;
	size_t size = sizeof link->fd;
	*link = (cop_api_link){ .socket = zmq_socket(context, ZMQ_DEALER), .fd = -1 };
	if (link->socket != NULL && zmq_setsockopt(link->socket, ZMQ_SNDHWM, &most, sizeof most) == 0 &&
	        zmq_setsockopt(link->socket, ZMQ_RCVHWM, &most, sizeof most) == 0 &&
	        zmq_setsockopt(link->socket, ZMQ_LINGER, &linger, sizeof linger) == 0 &&
	        zmq_connect(link->socket, endpoint) == 0 && zmq_getsockopt(link->socket, ZMQ_FD, &link->fd, &size) == 0)
		return COP_OK;
	cop_diag_message(diag, "api: %s: %s", endpoint, zmq_strerror(errno));
	return COP_EIO;
}

void cop_api_link_close(cop_api_link *link)
{
	if (link->socket != NULL)
		(void)zmq_close(link->socket);
	*link = (cop_api_link){ .fd = -1 };
}

/* Only the first frame can find no room: a message is taken whole. */
cop_err cop_api_link_send(
        cop_api_link *link, const cop_api_owner *owner, const char *verb, const char *model, const cop_bytes *body)
{
	if (zmq_send(link->socket, owner, sizeof *owner, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
		return COP_EFULL;
	bool sent = zmq_send(link->socket, verb, strlen(verb), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
	sent = sent && zmq_send(link->socket, model, strlen(model), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
	sent = sent && zmq_send(link->socket, body->data, body->length, ZMQ_DONTWAIT) >= 0;
	return sent ? COP_OK : COP_EFULL;
}

bool cop_api_link_receive(cop_api_link *link, bool *ok, zmq_msg_t *body)
{
	char status[2];
	int length = zmq_recv(link->socket, status, sizeof status, ZMQ_DONTWAIT);
	if (length < 0)
		return false;
	*ok = length == 2 && memcmp(status, "ok", 2) == 0;
	(void)zmq_msg_init(body);
	if (zmq_msg_recv(body, link->socket, ZMQ_DONTWAIT) >= 0)
		return true;
	(void)zmq_msg_close(body);
	return false;
}

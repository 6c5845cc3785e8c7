/* An instance that leads in a lower epoch ends by it, one that follows a lower one, or seeks, joins where it says. What
 * they answer is of no use. */
#include "daemon/replica/replica_herald.h"

#define EVERY_SECONDS 1.0

void cop_replica_herald_init(cop_replica_herald *h, cop_sockets *sockets, const cop_config_list *of)
{
	*h = (cop_replica_herald){ .sockets = sockets, .of = of };
	cop_bytes_init(&h->head);
}

void cop_replica_herald_end(cop_replica_herald *h)
{
	for (size_t i = 0; i < COP_CONFIG_FOLLOWERS; i++)
		if (h->socket[i] != NULL)
			(void)zmq_close(h->socket[i]);
	cop_bytes_fini(&h->head);
	cop_replica_herald_init(h, h->sockets, h->of);
}

static void tell(cop_replica_herald *h, size_t i)
{
	cop_sockets_message answer;
	cop_diag why;
	if (h->socket[i] == NULL &&
	        cop_sockets_connect_link(h->sockets, ZMQ_DEALER, h->of->items[i], &h->socket[i], &why) != COP_OK) {
		if (h->socket[i] != NULL)
			(void)zmq_close(h->socket[i]);
		h->socket[i] = NULL;
		return;
	}
	while (cop_sockets_receive(h->socket[i], &answer))
		cop_sockets_release(&answer);
	(void)zmq_send(h->socket[i], h->head.data, h->head.length, ZMQ_DONTWAIT);
}

void cop_replica_herald_turn(cop_replica_herald *h, uint64_t epoch, const char *links, const char *requests, double now)
{
	const cop_replica_message m = {
		.kind = COP_REPLICA_LEADS,
		.epoch = epoch,
		.leader = cop_replica_message_text(links),
		.requests = cop_replica_message_text(requests),
	};
	if (now < h->next)
		return;
	h->next = now + EVERY_SECONDS;
	cop_bytes_clear(&h->head);
	cop_replica_message_put(&h->head, &m);
	for (size_t i = 0; i < h->of->count && i < COP_CONFIG_FOLLOWERS && h->head.err == COP_OK; i++)
		tell(h, i);
}

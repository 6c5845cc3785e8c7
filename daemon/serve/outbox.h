/* daemon/serve/outbox.h: answers that wait until what they tell is in the journal.
 *
 * Answers to one requester leave in the order they came, as all do but those that say nothing about the journal: these
 * pass others' answers that wait. One whose records could not be committed leaves all the same, but says so:
 * a decision with `durable: false`, anything else as error not_durable. The loop's thread. */
#ifndef COP_DAEMON_SERVE_OUTBOX_H
#define COP_DAEMON_SERVE_OUTBOX_H

#include "daemon/serve/sockets.h"

typedef enum cop_outbox_kind {
	COP_OUTBOX_PLAIN,    /* says nothing about the journal */
	COP_OUTBOX_DECISION, /* one action, or a batch or array of them */
	COP_OUTBOX_FEEDBACK, /* a result, or a batch of them */
} cop_outbox_kind;

typedef struct cop_outbox_item {
	void *socket;                      /* kept: that the request came by */
	zmq_msg_t to;                      /* identity of the requester; an action on a stream: none */
	const char *topic;                 /* borrowed: put copies it; of an action on a stream, else NULL */
	char own[COP_CONFIG_NAME_MAX + 8]; /* where that copy is: the model may go before */
	double decided;                    /* of such an action: event time of its decisions */
	bool delimiter;
	bool unordered; /* its requester takes answers in any order */
	bool ok;
	cop_outbox_kind kind;
	uint64_t sequence; /* leaves when this is committed; 0: at once */
	uint64_t turn;     /* in which it was put: put sets it */
	zmq_msg_t body;
} cop_outbox_item;

/* Told of each action on a stream that no subscriber was given; the item is borrowed. */
typedef void cop_outbox_listener(void *context, cop_outbox_item *item);

typedef struct cop_outbox {
	cop_outbox_item *ring;
	size_t capacity; /* power of two, or 0 */
	size_t first, count;
	size_t seen;     /* of them have been looked at: whether they pass others that wait */
	size_t bytes;    /* that the answers take */
	uint64_t turn;   /* of the loop */
	uint64_t waited; /* turns that answers of decisions and feedback stayed in it, added up */
	cop_bytes work;
	cop_outbox_listener *unheard;
	void *context;
} cop_outbox;

/* The listener may be called while answers are sent; it puts none. */
void cop_outbox_init(cop_outbox *outbox, cop_outbox_listener *unheard, void *context);
/* Drops what is left. */
void cop_outbox_fini(cop_outbox *outbox);
/* Takes a copy of body; `to` (NULL with a topic) is taken over and left empty. COP_ENOMEM: nothing was taken. */
COP_CHECK cop_err cop_outbox_put(cop_outbox *outbox, cop_outbox_item item, zmq_msg_t *to, const cop_bytes *body);
/* Another turn of the loop begins. */
void cop_outbox_turn(cop_outbox *outbox);
/* Sends what is first in line as far as records up to `committed` allow, and what may pass it; `broken`: the rest too,
 * told as not durable. */
void cop_outbox_send(cop_outbox *outbox, cop_sockets *sockets, uint64_t committed, bool broken);
size_t cop_outbox_count(const cop_outbox *outbox);
size_t cop_outbox_bytes(const cop_outbox *outbox);

#endif

/* daemon/serve/inlet.h: what ZeroMQ reads from its connections is counted in bytes on its way in, and cut off beyond
 * its limit.
 *
 * ZeroMQ bounds queues in messages, gathers a message of several frames whole before anybody sees one, and walks all
 * topics of all subscribers whenever one of them leaves. While an inlet is open, the program's own recv(), which
 * libzmq finds before libc's, follows frames as they come (daemon/serve/zmtp.h):
 *
 *   - a frame or message that is too long, or no ZMTP at all, ends its connection before ZeroMQ has room for it;
 *   - when unfinished messages together take their share of the budget, the connection with the largest one ends;
 *   - when finished messages that the loop has not taken do, ZeroMQ's thread reads nothing until it has: senders wait;
 *   - of subscriptions only those that can match an action reach ZeroMQ; others are left out and counted;
 *   - on endpoints of CURVE a connection that is not encrypted ends at its greeting. Subscriptions cannot be read
 *     there, and are judged by daemon/serve/sockets.c. Nor can it be seen which frame ends a message: what has come
 *     since the last message that the loop took is counted, and when a loop without work leaves too much of it, the
 *     connection with the most of it ends.
 *
 * The budget has four equal shares: unfinished messages, finished ones, answers, actions; the last two are counted in
 * daemon/serve/sockets.c. One inlet is open in a process at a time. Functions may be called on any thread. */
#ifndef COP_DAEMON_SERVE_INLET_H
#define COP_DAEMON_SERVE_INLET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "daemon/config/config.h"

typedef enum cop_inlet_kind {
	COP_INLET_REQUESTS,
	COP_INLET_ADMIN,
	COP_INLET_CONTEXTS,
	COP_INLET_FEEDBACK,
	COP_INLET_PULL,
	COP_INLET_QUEUES,                     /* those above are queues that the loop takes from */
	COP_INLET_ACTIONS = COP_INLET_QUEUES, /* subscribers */
	COP_INLET_OUTGOING,                   /* to publishers: contexts or feedback, as topics tell */
	COP_INLET_FOREIGN,                    /* not ZeroMQ's */
} cop_inlet_kind;

/* Why a connection was closed. */
typedef enum cop_inlet_reason {
	COP_INLET_NOT_ZMTP,
	COP_INLET_FRAME,         /* longer than message_limit and 64 KiB */
	COP_INLET_MESSAGE,       /* frames of one message longer than that and 64 KiB */
	COP_INLET_MEMORY,        /* the largest unfinished message while there was no room for all */
	COP_INLET_SUBSCRIPTIONS, /* more of them than anybody needs */
	COP_INLET_CLEAR,         /* not encrypted, on an endpoint of CURVE */
	COP_INLET_KEY,           /* the key of a subscriber may no longer read what it could when it came */
	COP_INLET_SLOW,          /* did not read while what it was sent took too much room */
	COP_INLET_MODELS,        /* a model was added that it had subscribed to before, or may not hear */
	COP_INLET_REASONS
} cop_inlet_reason;

const char *cop_inlet_reason_text(cop_inlet_reason reason);

typedef struct cop_inlet cop_inlet;

typedef struct cop_inlet_state {
	uint64_t connections;               /* at present */
	uint64_t unfinished, queued;        /* bytes of messages not whole yet, and of those not taken yet */
	uint64_t closed[COP_INLET_REASONS]; /* connections, since the start */
	uint64_t ignored;                   /* subscriptions left out */
} cop_inlet_state;

/* For the limits and models of config (borrowed). Caller closes, after ZeroMQ's context has ended. COP_ENOMEM;
 * COP_EEXIST: one is open. */
COP_CHECK cop_err cop_inlet_open(const cop_config *config, cop_inlet **out);
void cop_inlet_close(cop_inlet *inlet);

/* Connections to this endpoint, as ZMQ_LAST_ENDPOINT has it, are of this kind, and of CURVE or in the clear.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_inlet_add(cop_inlet *inlet, cop_inlet_kind kind, bool curve, const char *endpoint);
/* Connections that ZeroMQ opens to this endpoint, which is a server of CURVE, are of this kind (contexts or feedback).
 * COP_ENOMEM. */
COP_CHECK cop_err cop_inlet_add_peer(cop_inlet *inlet, cop_inlet_kind kind, const char *endpoint);

/* The subscriber whose connection has this descriptor has shown the key of this name. */
void cop_inlet_name(cop_inlet *inlet, int fd, const char *name);
/* Ends the connections of those subscribers whose name is lost. */
typedef bool cop_inlet_lost(const void *context, const char *name);
void cop_inlet_end_lost(cop_inlet *inlet, cop_inlet_lost *lost, const void *context);
/* The models are those of the configuration now. If some were added, subscribers whose subscriptions were ignored, and
 * who are lost (NULL: nobody is), are cut off, so that they connect and subscribe again. */
void cop_inlet_set_models(
        cop_inlet *inlet, const cop_config *config, bool added, cop_inlet_lost *lost, const void *context);
/* The subscriber whose connection has this descriptor wants what no model of now sends. */
void cop_inlet_deaf(cop_inlet *inlet, int fd);

/* What recv() does on ZeroMQ's threads. */
ssize_t cop_inlet_receive(cop_inlet *inlet, int fd, void *buffer, size_t length, int flags);

/* The loop took a message: its frames' bytes and COP_ZMTP_FRAME_COST for each. */
void cop_inlet_taken(cop_inlet *inlet, cop_inlet_kind queue, uint64_t cost);
/* It came by this descriptor; to be called where cop_inlet_seals. */
bool cop_inlet_seals(const cop_inlet *inlet);
void cop_inlet_taken_from(cop_inlet *inlet, int fd);
/* So much is queued that messages are to be dropped or refused until it is less. */
bool cop_inlet_full(const cop_inlet *inlet, cop_inlet_kind queue);
/* The loop found all queues empty: what was counted and got lost with a connection is forgotten within two tenths of a
 * second, however much comes meanwhile, and encrypted connections that hold back most end until what they do is an
 * eighth of the budget at most. */
void cop_inlet_idle(cop_inlet *inlet);
/* Ends the connection of that kind that takes no more bytes and has most unread, if any; at most one in 20 ms. */
void cop_inlet_close_slowest(cop_inlet *inlet, cop_inlet_kind kind);

void cop_inlet_look(cop_inlet *inlet, cop_inlet_state *state);

#endif

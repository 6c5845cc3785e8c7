/* daemon/serve/sockets.h: the daemon's ZeroMQ sockets, made from the configuration, and receiving and sending on them.
 *
 * Options that must precede bind and connect (limits, high-water marks, heartbeats) are set here. Nothing blocks: every
 * receive and send is tried once. The loop's thread. */
#ifndef COP_DAEMON_SERVE_SOCKETS_H
#define COP_DAEMON_SERVE_SOCKETS_H

#include <stdbool.h>

#include <zmq.h>

#include "base/err.h"
#include "daemon/serve/inlet.h"
#include "daemon/serve/ipc_file.h"
#include "daemon/serve/outflow.h"
#include "daemon/serve/subscriptions.h"
#include "daemon/serve/zap.h"

#define COP_SOCKETS_FRAMES 6 /* frames of a message that are looked at; a message with more is refused */

#define COP_SOCKETS_MOST 7              /* sockets */
#define COP_SOCKETS_API  "inproc://api" /* requests of the listeners for HTTP, which are threads of this process */

typedef struct cop_sockets {
	const cop_config *config; /* kept: whose file of clients counts */
	cop_log *log;             /* kept */
	cop_zap *zap;             /* NULL: no CURVE */
	void *context;
	void *actions_context;    /* a thread of its own, so that subscribers who come and go hold up no request */
	void *requests;           /* ROUTER; NULL when the configuration has none, as all of them */
	void *admin;              /* ROUTER: the only one that takes verbs of administration */
	void *api;                /* ROUTER, where COP_SOCKETS_API is bound */
	void *contexts;           /* SUB */
	void *feedback;           /* SUB */
	void *pull;               /* PULL */
	void *actions;            /* XPUB */
	uint64_t actions_dropped; /* how often a subscriber's queue was found full; ZeroMQ then passes it over,
	                             uncounted, until it has read half of it */
	uint64_t replies_dropped; /* their requester has gone, or does not read */
	cop_inlet *inlet;         /* bounds what comes in, in bytes */
	cop_outflow *outflow;     /* the same of what goes out */
	cop_ipc_file *files;      /* of ipc endpoints that were bound */
	size_t file_count;
	uint64_t subscribers;     /* subscriptions to actions at present */
	cop_subscriptions heard;  /* of these, those that are a prefix of a model's topic */
	int fd[COP_SOCKETS_MOST]; /* of those there are: readable when something about one has changed since it was last
	                             received from or sent to; see cop_sockets_receive */
	size_t fds;
	cop_subscriptions refused; /* subscriptions whose keys may not read them */
	uint64_t subscriptions_refused;
	cop_log_limiter complaints;
	bool sent;   /* something since the loop last cleared it */
	bool silent; /* at the close, what is still on its way out is let go */
} cop_sockets;

/* A received message, all its frames. */
typedef struct cop_sockets_message {
	zmq_msg_t frame[COP_SOCKETS_FRAMES];
	size_t count;  /* frames held */
	bool too_many; /* it had more than COP_SOCKETS_FRAMES; the rest was dropped */
	uint64_t cost; /* of all its frames, as daemon/serve/inlet.h counts */
} cop_sockets_message;

/* With a section curve every endpoint of TCP is a server of CURVE. config and log are kept. COP_EIO with a message that
 * names the endpoint, COP_ENOMEM. Caller closes, also after an error. */
COP_CHECK cop_err cop_sockets_open(cop_sockets *sockets, const cop_config *config, cop_log *log, cop_diag *diag);
/* Exchanges the file of clients: config's is *access from here on, which gets the one before. Clients that lost what
 * they subscribed to are cut off; all others stay. Without CURVE nothing happens. */
void cop_sockets_set_clients(cop_sockets *sockets, cop_config *config, cop_access **access);
/* The kept configuration has other models. Subscribers that had subscribed to one that was added, and those whose key
 * may not read all models, are cut off, and subscribe again. */
void cop_sockets_models_changed(cop_sockets *sockets, bool added);
/* A socket between instances (daemon/replica), bound to all of the list, or connected to one item of it; the caller
 * closes it, before the sockets. Errors as open. */
COP_CHECK cop_err cop_sockets_open_link(
        cop_sockets *sockets, int type, const cop_config_list *bind, void **out, cop_diag *diag);
COP_CHECK cop_err cop_sockets_connect_link(
        cop_sockets *sockets, int type, const char *item, void **out, cop_diag *diag);
/* Waits up to a second for what is still on its way out. */
void cop_sockets_close(cop_sockets *sockets);

/* The next whole message; false when none is there, and from then on, until something is sent on the socket, a new one
 * makes its fd readable. Caller releases it. */
bool cop_sockets_receive(void *socket, cop_sockets_message *message);
void cop_sockets_release(cop_sockets_message *message);
/* The descriptor that it came by, where the inlet asks for it; else -1. */
int cop_sockets_source(const cop_sockets *sockets, cop_sockets_message *message);

/* Answers the request that came by `socket` (requests, admin or api) from `to`, with an empty delimiter if it had one:
 * status, then body; both messages are left empty. What cannot be delivered is counted. */
void cop_sockets_reply(
        cop_sockets *sockets, void *socket, zmq_msg_t *to, bool delimiter, const char *status, zmq_msg_t *body);
/* Publishes; a subscriber that is too slow misses it, which is counted, the others do not. False: there is a socket for
 * actions, and no subscriber's queue took the body, which is left as it was; else it is left empty. */
bool cop_sockets_publish(cop_sockets *sockets, const char *topic, zmq_msg_t *body);
/* Whether a present subscription is a prefix of the topic, which is a model's; without a socket for actions never. */
bool cop_sockets_heard(const cop_sockets *sockets, const char *topic);
/* Takes in subscriptions that came on the actions socket. */
void cop_sockets_subscriptions(cop_sockets *sockets);

#endif

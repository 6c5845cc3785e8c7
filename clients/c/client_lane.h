/* clients/c/client_lane.h: calls of one verb and model: a queue, and what is under way, each a message with a number.
 *
 * Whoever holds the engine's lock. */
#ifndef COP_CLIENTS_C_CLIENT_LANE_H
#define COP_CLIENTS_C_CLIENT_LANE_H

#include <pthread.h>

#include "clients/c/client_engine.h"

#define COP_CLIENT_LANE_NAME 65

struct cop_client_call {
	cop_client_call *older, *younger; /* of all that have no answer */
	cop_client_call *next;            /* of its lane's queue */
	double deadline;
	cop_bytes body;
	bool queued, done;
	cop_err err;
	bool ok;
	cop_bytes answer;
	pthread_cond_t ready;
};

/* Calls that leave as one message. */
typedef struct cop_client_batch {
	struct cop_client_batch *next; /* of its lane */
	uint64_t seq;
	cop_bytes body;
	cop_client_call **calls; /* NULL: its time is over */
	size_t count, left;      /* left: not NULL */
	bool sent;
	unsigned losses;     /* of the connection, while it was under way and large */
	double again, pause; /* when it is sent (again), and how long after that once more */
} cop_client_batch;

typedef struct cop_client_lane {
	struct cop_client_lane *next;
	char verb[COP_CLIENT_LANE_NAME], model[COP_CLIENT_LANE_NAME];
	bool batched;
	size_t batch;                  /* calls of a message at most: less, once one was too long */
	cop_client_call *first, *last; /* of the queue */
	cop_client_batch *messages;
	size_t under_way;
	double pause, not_before; /* after an answer busy */
} cop_client_lane;

/* That of the verb and model, made where there is none; batch: calls of a message at most. NULL: out of memory. */
cop_client_lane *cop_client_lane_find(cop_client_lane **lanes, const cop_client_asked *asked, size_t batch);
void cop_client_lanes_free(cop_client_lane *lanes);

/* Into the queue, at its end or its front. */
void cop_client_lane_put(cop_client_lane *lane, cop_client_call *call, bool front);
/* A message of the first calls of the queue, to be sent now, under this number. False: memory is short, and they wait.
 */
bool cop_client_lane_make(cop_client_lane *lane, uint64_t seq, double now, double pause);
/* The message is freed; its calls are not. */
void cop_client_lane_drop(cop_client_lane *lane, cop_client_batch *gone);
/* The call leaves its queue, or its message, which goes with its last one. */
void cop_client_lane_leave(cop_client_lane *lanes, const cop_client_call *call);

#endif

/* clients/c/client_engine.h: calls of any thread, sent and answered by a thread of the engine's own.
 *
 * Calls of one verb and model that wait together leave as one message. A message without an answer is sent again, the
 * same in every byte, so the daemon finds ids that it knows; answers busy and not_durable are waited out. Of several
 * endpoints, those of a group of replicas, it goes on to the next one where one answers not_leader, or not at all. Any
 * thread may begin and wait, each call by one thread. */
#ifndef COP_CLIENTS_C_CLIENT_ENGINE_H
#define COP_CLIENTS_C_CLIENT_ENGINE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "clients/c/client_keys.h"

typedef struct cop_client_engine cop_client_engine;

typedef struct cop_client_engine_settings {
	const char *endpoint; /* or up to 16, divided by commas */
	cop_client_keys keys; /* borrowed */
	double timeout;       /* seconds until a call without an answer ends */
	double retry; /* seconds until it is sent again, twice as many each time, up to 16 times as many; < 0: never */
	size_t batch; /* calls of a message at most */
	size_t messages; /* of one verb and model under way at most; further calls wait */
} cop_client_engine_settings;

/* Caller closes; on error *out is NULL. COP_EINVAL: the endpoint. COP_EIO, COP_EFORMAT: a key. COP_ENOMEM. */
COP_CHECK cop_err cop_client_engine_open(
        const cop_client_engine_settings *settings, cop_client_engine **out, cop_diag *diag);
/* Every call has been waited for. */
void cop_client_engine_close(cop_client_engine *engine);

typedef struct cop_client_call cop_client_call;

/* What is asked. */
typedef struct cop_client_asked {
	const char *verb, *model; /* borrowed; of a batch verb the batch's */
	bool batched;             /* the body is an item of a batch */
	cop_bytes *body;          /* one map; taken */
} cop_client_asked;

/* Begins a call; the caller waits for it, once. COP_ENOMEM: it was not begun. */
COP_CHECK cop_err cop_client_engine_begin(cop_client_engine *engine, cop_client_asked *asked, cop_client_call **out);

typedef struct cop_client_answer {
	bool ok;        /* else an error's body */
	cop_bytes body; /* caller finishes */
} cop_client_answer;

/* Until it has its answer; frees the call. COP_EEND: none came in time. COP_EFORMAT: what came is no answer.
 * COP_ENOMEM. */
COP_CHECK cop_err cop_client_engine_wait(cop_client_engine *engine, cop_client_call *call, cop_client_answer *out);

/* Counted since it was opened. */
typedef struct cop_client_engine_counts {
	uint64_t messages; /* sent, those sent again too */
	uint64_t calls;    /* in them */
	uint64_t again;    /* messages sent again */
} cop_client_engine_counts;

void cop_client_engine_look(cop_client_engine *engine, cop_client_engine_counts *out);

#endif

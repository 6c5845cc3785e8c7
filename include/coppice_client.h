/* coppice_client.h: a client of the daemon coppiced: decisions and rewards over its request socket, and its streams.
 *
 *     coppice_client *client;
 *     coppice_client_options options = { .endpoint = "tcp://127.0.0.1:5590" };
 *     coppice_client_new(&options, &client, NULL);
 *     const float x[3] = { 0.25f, 1.0f, 3.5f };
 *     coppice_client_context context = { .x = coppice_row_dense(x, 3) };
 *     coppice_action action;
 *     coppice_client_decide(client, "front-page", coppice_id_text("u1-17"), &context, &action, NULL);
 *     ... play action.action ...
 *     coppice_client_feedback(client, "front-page", coppice_id_text("u1-17"), 0.0, NULL, NULL);
 *     coppice_client_free(client);
 *
 * What the client does by itself. Calls of several threads, or begun by one, that wait together leave as one message. A
 * call whose answer does not come is sent again under its id: the daemon returns the first decision (repeated), or
 * COPPICE_DUPLICATE for feedback that it has, which is success too. Answers busy and not_durable are waited out. After
 * a kill of the daemon, or a broken line, the socket connects again, and calls wait for that until their time is over.
 * Under the reward rule `sum` a loss that is sent twice counts twice: for such models set `retry` below 0.
 *
 * Results. Every function that may fail returns a coppice_client_err; then its other results are undefined, and
 * *message (NULL: not wanted) has the reason, "CODE: ..." for an error of the daemon's.
 *
 * Names, ids, rows, results and messages are those of coppice.h, of which this header needs the types alone. Ownership
 * and compatibility are as stated there, for the soname libcoppice-client.so.1.
 *
 * Threads. A client may be used by any number of threads at once; it has one of its own. A publisher or subscriber by
 * one thread at a time. */
#ifndef COPPICE_CLIENT_H
#define COPPICE_CLIENT_H

#include <coppice.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum coppice_client_err {
	COPPICE_CLIENT_OK = 0,
	COPPICE_CLIENT_EINVAL = 1,   /* an argument is outside what is allowed; nothing was sent */
	COPPICE_CLIENT_ENOMEM = 2,   /* memory could not be had */
	COPPICE_CLIENT_EIO = 3,      /* a file of keys cannot be read, or ZeroMQ failed */
	COPPICE_CLIENT_ETIMEOUT = 4, /* no answer came in time; the daemon may have taken the message all the same */
	COPPICE_CLIENT_EREFUSED = 5, /* the daemon answered with an error */
	COPPICE_CLIENT_EFORMAT = 6   /* what came is no answer of a daemon */
} coppice_client_err;

/* ---- a client ---- */

typedef struct coppice_client coppice_client;

/* 0 and NULL are the defaults, but endpoint, which is needed. */
typedef struct coppice_client_options {
	const char *
	        endpoint; /* "tcp://HOST:PORT" or "ipc://PATH"; or up to 16 of a group of replicas, divided by commas: a
	                           client goes on to the next one where one does not lead, or does not answer */
	const char *key;  /* file of the client's secret key, as `coppice keygen` writes it; NULL: no CURVE */
	const char *server_key; /* file of the daemon's public key; with key */
	double timeout;         /* seconds until a call without an answer ends; 0: 10 */
	double retry;      /* seconds until it is sent again, twice as many each time, up to 16 times as many; 0: 0.5;
	                           below 0: it is not */
	unsigned batch;    /* calls of one message at most, up to 65536; 0: 64 */
	unsigned messages; /* under way at once of one verb and model; 0: 4 */
} coppice_client_options;

/* Connects in the background: there need be no daemon yet. Caller frees. COPPICE_CLIENT_EINVAL: the endpoint, or an
 * option. COPPICE_CLIENT_EIO: a key's file. COPPICE_CLIENT_ENOMEM. */
coppice_client_err coppice_client_new(
        const coppice_client_options *options, coppice_client **out, coppice_message *message);
/* Every call that was begun has been waited for. */
void coppice_client_free(coppice_client *client);

/* ---- decisions ---- */

typedef struct coppice_client_context {
	coppice_row x;
	const coppice_row *candidate; /* a model that ranks: what to choose from; else NULL */
	size_t candidates;
	const unsigned char *mask; /* one flag for each of `masked` arms or candidates, not 0: eligible; NULL: all */
	size_t masked;
	int defer;              /* 1: not shown yet, its reward window begins with coppice_client_activate */
	const coppice_id *unit; /* whom it is for, by which the control group is split; NULL: each decision by its id */
	const char *const *names;    /* of the candidates, one each, 1 to 64 bytes; NULL: they have none */
	const char *const *eligible; /* instead of mask: the names of the eligible arms or candidates; NULL: all are */
	size_t eligible_count;
	const unsigned
	        *caller; /* the arm or candidate's place that the caller chose, for an apprentice, or would have */
	double caller_p; /* chosen, for baseline = caller; and its probability, 0: 1. caller NULL: not told */
} coppice_client_context;

/* A context of features alone, to add to. */
static inline coppice_client_context coppice_client_context_of(coppice_row x)
{
	coppice_client_context context;
	memset(&context, 0, sizeof context);
	context.x = x;
	return context;
}

#define COPPICE_ARM_ROOM 257 /* bytes of a name, with its end */

typedef struct coppice_action {
	uint32_t action; /* arm, or the candidate's place, from 0; 0 of values */
	int greedy;      /* 1: the action of lowest predicted loss; 0 of values */
	int repeated;    /* 1: the id was waiting, and this is the decision that it had */
	int durable;     /* 0: the daemon's disk is full or fails, and a kill would lose the decision */
	double p;        /* the action's propensity, in (0, 1]; of values the density at value, or 1 */
	double value;    /* values: the centre */
	double probe[2]; /* values: play probe[0]; feedback = two: play both, and report the loss of each */
	uint64_t rev;    /* steps that the model had learned when it decided */
	int held;        /* 1: the baseline decided, for the control group */
	int kept;        /* 1: the baseline decided, since the policy's allowance (conservative) is used up */
	const char
	        *limit; /* static; the option that raised p, or lowered it to the arm's largest share; NULL: none did */
	char arm[COPPICE_ARM_ROOM]; /* name of the arm or candidate, "": it has none */
} coppice_action;

/* An action for the context, which waits for its loss under the id. Models that rank take candidates, others none. */
coppice_client_err coppice_client_decide(coppice_client *client, const char *model, coppice_id id,
        const coppice_client_context *context, coppice_action *out, coppice_message *message);
/* The loss of a decision. *result may be NULL. */
coppice_client_err coppice_client_feedback(coppice_client *client, const char *model, coppice_id id, double loss,
        coppice_result *result, coppice_message *message);
/* Of a value model with feedback = two: the losses of both probes. */
coppice_client_err coppice_client_feedback_two(coppice_client *client, const char *model, coppice_id id,
        const double loss[2], coppice_result *result, coppice_message *message);
/* One of a decision's losses, where the model's have names. */
typedef struct coppice_loss {
	const char *name;
	double value;
} coppice_loss;

/* Of a model whose losses have names: those of a decision, each name once. */
coppice_client_err coppice_client_feedback_named(coppice_client *client, const char *model, coppice_id id,
        const coppice_loss *losses, size_t count, coppice_result *result, coppice_message *message);
/* A deferred decision was shown. */
coppice_client_err coppice_client_activate(
        coppice_client *client, const char *model, coppice_id id, coppice_result *result, coppice_message *message);

/* State and counters as JSON, of the model or with "" of all; and why a waiting decision was made. Caller frees the
 * text with coppice_client_free_text. */
coppice_client_err coppice_client_status(
        coppice_client *client, const char *model, char **json, coppice_message *message);
coppice_client_err coppice_client_explain(
        coppice_client *client, const char *model, coppice_id id, char **json, coppice_message *message);
void coppice_client_free_text(char *text);

/* ---- many calls of one thread ---- */

/* A call under way; it is waited for once, which frees it. */
typedef struct coppice_call coppice_call;

coppice_client_err coppice_client_begin_decide(coppice_client *client, const char *model, coppice_id id,
        const coppice_client_context *context, coppice_call **out, coppice_message *message);
coppice_client_err coppice_client_begin_feedback(coppice_client *client, const char *model, coppice_id id, double loss,
        coppice_call **out, coppice_message *message);
coppice_client_err coppice_client_begin_feedback_named(coppice_client *client, const char *model, coppice_id id,
        const coppice_loss *losses, size_t count, coppice_call **out, coppice_message *message);
coppice_client_err coppice_client_end_decide(
        coppice_client *client, coppice_call *call, coppice_action *out, coppice_message *message);
coppice_client_err coppice_client_end_feedback(
        coppice_client *client, coppice_call *call, coppice_result *result, coppice_message *message);

/* ---- streams ---- */

/* Publishes contexts or feedback on the daemon's streams: fast, without answers. */
typedef struct coppice_publisher coppice_publisher;

typedef enum coppice_stream { COPPICE_CONTEXTS = 0, COPPICE_FEEDBACK = 1 } coppice_stream;

/* Connects to the daemon's contexts_bind or feedback_bind, and waits until the daemon has subscribed, so that the first
 * message arrives. source: a name that no other process uses on the stream; with it and a counter in each message the
 * daemon counts what is lost. options: endpoint, keys and timeout count. Caller frees. COPPICE_CLIENT_ETIMEOUT: there
 * is no daemon. Other errors as of coppice_client_new. */
coppice_client_err coppice_publisher_new(const coppice_client_options *options, coppice_stream stream,
        const char *source, coppice_publisher **out, coppice_message *message);
/* Waits up to 2 seconds for what is still on its way. */
void coppice_publisher_free(coppice_publisher *publisher);
/* Waits where the queue is full, up to timeout. */
coppice_client_err coppice_publisher_context(coppice_publisher *publisher, const char *model, coppice_id id,
        const coppice_client_context *context, coppice_message *message);
coppice_client_err coppice_publisher_feedback(
        coppice_publisher *publisher, const char *model, coppice_id id, double loss, coppice_message *message);
coppice_client_err coppice_publisher_feedback_named(coppice_publisher *publisher, const char *model, coppice_id id,
        const coppice_loss *losses, size_t count, coppice_message *message);

/* Receives the actions that were decided for contexts of a stream. */
typedef struct coppice_subscriber coppice_subscriber;

/* Connects to the daemon's actions_bind. Caller frees. Errors as of coppice_client_new. */
coppice_client_err coppice_subscriber_new(
        const coppice_client_options *options, const char *model, coppice_subscriber **out, coppice_message *message);
void coppice_subscriber_free(coppice_subscriber *subscriber);
/* The next action, with its id, whose bytes stay until the next call. COPPICE_CLIENT_ETIMEOUT: none within `seconds`.
 */
coppice_client_err coppice_subscriber_next(
        coppice_subscriber *subscriber, double seconds, coppice_id *id, coppice_action *out, coppice_message *message);

#ifdef __cplusplus
}
#endif
#endif

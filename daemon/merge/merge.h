/* daemon/merge/merge.h: models that learn from the keys of all instances of a partition: each asks the others, time and
 * again, for the sums of what they learned by themselves (docs/reference/merging.md).
 *
 * A summary is complete, so one that is lost or comes twice does no harm: the newest of each life takes the place of
 * the one before (learn/sums.h). What is taken is applied between two events and recorded with its bytes. What is told
 * is committed in the journal first, so that nobody learns from what a power cut took back. An instance also tells what
 * it knows of lives that it has not heard of from themselves for a while: they may be over. Without models to merge
 * every call returns at once. The loop's thread. */
#ifndef COP_DAEMON_MERGE_MERGE_H
#define COP_DAEMON_MERGE_MERGE_H

#include "daemon/durable/durability.h"
#include "daemon/merge/merge_message.h"
#include "daemon/serve/sockets.h"
#include "learn/sums.h"

#define COP_MERGE_ASKERS   256
#define COP_MERGE_IDENTITY 64 /* bytes of a connection's */

typedef struct cop_merge_counts {
	uint64_t asked, unanswered;           /* of others */
	uint64_t answered;                    /* to others */
	uint64_t verdicts[COP_SUMS_VERDICTS]; /* summaries of models that are merged here, of this shape */
	uint64_t unfit;                       /* for another model, learner, shape or number of instances, or damaged */
	uint64_t refused;                     /* asks that were refused here, or there */
	uint64_t put_off;                     /* summaries that could not be recorded, or whose model is frozen */
	uint64_t bytes;                       /* of summaries taken */
} cop_merge_counts;

/* One of the list `peers`. */
typedef struct cop_merge_peer {
	void *socket;      /* DEALER */
	bool waits;        /* for the end of an answer, */
	double asked;      /* since, monotonic seconds */
	bool silent;       /* the log has it that there was none */
	char refused[160]; /* and why it refused to, last */
} cop_merge_peer;

typedef struct cop_merge_asker {
	uint8_t identity[COP_MERGE_IDENTITY];
	size_t length;
	uint64_t *known; /* pairs of life and number, owned */
	size_t pairs;
} cop_merge_asker;

/* A summary that is told. */
typedef struct cop_merge_parcel {
	uint64_t life, number;
	bool own;
	cop_bytes head, sums;
} cop_merge_parcel;

/* A life of a merged model that was heard of. */
typedef struct cop_merge_heard {
	uint64_t life;
	double mark; /* monotonic seconds: when it was heard from itself */
} cop_merge_heard;

typedef struct cop_merge {
	bool enabled;
	cop_durability *durable; /* kept */
	cop_sockets *sockets;    /* kept */
	void *socket;            /* ROUTER, where others ask; NULL: nowhere */
	cop_merge_peer *peer;    /* of the configuration's list */
	double next_ask, next_look;
	cop_merge_asker asker[COP_MERGE_ASKERS];
	size_t askers;
	cop_merge_parcel *parcel; /* what is told when the journal has it */
	size_t parcels;
	uint64_t until; /* the record that it waits for; 0: nothing waits */
	double *newest; /* of each part: time of the newest summary that was heard of; 0: none */
	cop_merge_heard heard[COP_SUMS_PEERS];
	size_t lives;
	bool behind; /* the log has it that others know more of this instance than it does */
	cop_bytes head;
	cop_log_limiter limiter;
	cop_merge_counts counts;
} cop_merge;

/* durable and sockets are open, and kept. COP_EIO, COP_ENOMEM, with *diag. Caller closes, also after an error, before
 * both. */
COP_CHECK cop_err cop_merge_open(cop_merge *merge, cop_durability *durable, cop_sockets *sockets, cop_diag *diag);
void cop_merge_close(cop_merge *merge);
/* Once a turn, before what was put is written: takes what came. True: there was something. now: monotonic seconds. */
bool cop_merge_receive(cop_merge *merge, double now);
/* Once a turn, behind that: asks, and answers. */
void cop_merge_send(cop_merge *merge, double now);
/* Event time since the newest summary of that part; negative: none was heard of. */
double cop_merge_age(const cop_merge *merge, uint32_t part);

#endif

/* tools/replay/replay_feed.h: a log's events from the thread that parses them to those that learn from them.
 *
 * The feeding thread fills blocks of a small ring, in order. Every consumer sees every block, in order, and may leave
 * results in it; once all are done with a block, the feeding thread hands it to `account`, in order too. So what
 * accounts are made of does not depend on how many threads there are. Events are checked here against what they must
 * be for the models. One thread feeds, each consumer is one thread.
 *
 * Locks: one, of the ring; held for counting only. */
#ifndef COP_TOOLS_REPLAY_REPLAY_FEED_H
#define COP_TOOLS_REPLAY_REPLAY_FEED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "events/event_block.h"
#include "tools/common/reader_options.h"

/* What one setting's policy would do with an event, before it was learned. */
typedef struct cop_replay_seen {
	double target, target_max; /* its probability of the logged action, and of the likeliest one */
	double q, m;               /* predicted cost of the logged action, and of the policy; with a model */
	double best_p, best_cost;  /* of the best action: its probability, and with a model its predicted cost */
	uint32_t best;
	bool has_model;
	bool refused; /* the update would have diverged */
} cop_replay_seen;

typedef struct cop_replay_slot {
	cop_event_block block;
	uint64_t first;         /* number of its first event, from 0 over all passes */
	uint64_t first_in_pass; /* the same in this pass */
	uint64_t pass;          /* from 0 */
	cop_replay_seen *seen;  /* event i of setting s: [s * block.count + i] */
	size_t seen_room;
	unsigned working; /* consumers that are not done with it; the ring's */
} cop_replay_slot;

/* Why an event was passed over. */
typedef enum cop_replay_skip {
	COP_REPLAY_SKIP_FORMAT,     /* the reader could not make sense of it */
	COP_REPLAY_SKIP_NUMBER,     /* a number in it is not finite, or too large */
	COP_REPLAY_SKIP_ACTION,     /* beyond the arms */
	COP_REPLAY_SKIP_COST,       /* outside the loss range */
	COP_REPLAY_SKIP_CANDIDATES, /* too many, or none where there should be some */
	COP_REPLAY_SKIP_FEATURES,   /* more than a row has room for */
	COP_REPLAY_SKIPS
} cop_replay_skip;
/* "format" ... */
extern const char *const cop_replay_skip_names[COP_REPLAY_SKIPS];

/* What every event must be. */
typedef struct cop_replay_limits {
	size_t arms;                           /* numbered arms, or bins of values; 0 with candidates */
	bool values;                           /* arms are bins of them */
	size_t candidates;                     /* most of an event; 0 with numbered arms */
	double low, high;                      /* of costs */
	size_t entries;                        /* of a sparse row */
	size_t dimension, candidate_dimension; /* of rows */
	size_t known;                          /* features from here on a journal's context may lack */
	bool dense;                            /* they are */
	/* What was found in the log's beginning alone: another thing in the rest is then no fault of the log. By what
	 * it would be passed over for; columns: of a dense space. */
	bool open[COP_REPLAY_SKIPS], columns_open;
	bool features_open; /* of a journal: more features, and contexts that lack some */
} cop_replay_limits;

struct cop_replay_options;

typedef struct cop_replay_feed_settings {
	const struct cop_replay_options *options; /* which log, how it is read; kept */
	cop_feature_space *space;                 /* kept */
	cop_replay_limits limits;
	uint64_t events; /* 0: all */
	uint64_t passes;
	uint64_t skip; /* so many good events at the beginning of the first pass are passed over, uncounted */
	unsigned consumers;
	size_t settings;                   /* room of `seen` */
	const volatile sig_atomic_t *stop; /* not 0: end with the event under way */
	void (*account)(void *state, const cop_replay_slot *slot);
	void *state;
} cop_replay_feed_settings;

typedef struct cop_replay_fed {
	uint64_t events;          /* over all passes */
	uint64_t passes, in_pass; /* begun, and events of the last of them */
	uint64_t skipped[COP_REPLAY_SKIPS];
	uint64_t skipped_all;
	bool misfit;  /* something came that the log's beginning did not have: *diag says what */
	bool stopped; /* by `stop` */
} cop_replay_fed;

typedef struct cop_replay_feed cop_replay_feed;

/* settings are copied. COP_ENOMEM. Caller frees. */
COP_CHECK cop_err cop_replay_feed_new(const cop_replay_feed_settings *settings, cop_replay_feed **out);
void cop_replay_feed_free(cop_replay_feed *feed);
/* Feeds all of the log, then waits for the consumers and accounts for the rest. COP_OK also when stopped, or when it
 * was a misfit. Errors of the reader and the log; consumers have been sent home then. */
COP_CHECK cop_err cop_replay_feed_run(cop_replay_feed *feed, cop_replay_fed *out, cop_diag *diag);

/* ---- for consumer c ---- */

/* The next block; waits for it. NULL: there is none. */
cop_replay_slot *cop_replay_feed_next(cop_replay_feed *feed, unsigned c);
/* Done with the block that next gave. */
void cop_replay_feed_done(cop_replay_feed *feed, unsigned c);
/* Nothing more is to be fed: a consumer has failed. */
void cop_replay_feed_give_up(cop_replay_feed *feed);

#endif

/* tools/replay/estimates.h: what is added up about one setting while a log is replayed.
 *
 * Estimates come from the first pass (later ones have seen the events before); held-out events of the last pass have
 * estimates of their own. The average loss is Vowpal Wabbit's: the mean over labelled events of cost times the policy's
 * probability of the logged action over the log's. One thread per tally; plain struct. */
#ifndef COP_TOOLS_REPLAY_ESTIMATES_H
#define COP_TOOLS_REPLAY_ESTIMATES_H

#include "evaluate/offpolicy.h"
#include "events/logged_event.h"
#include "replay_feed.h"

typedef struct cop_estimates {
	cop_offpolicy seen; /* of events that were learned after they were looked at */
	cop_offpolicy held; /* of held-out ones */
	uint64_t examples;  /* over all passes */
	uint64_t held_examples;
	double weight;          /* of all examples */
	double labelled_weight; /* of those with a label */
	double loss_sum;        /* weight * cost * target / p of those */
	uint64_t features;      /* as Vowpal Wabbit counts them */
	uint64_t refused;       /* updates that would have diverged */
} cop_estimates;

/* Costs lie in [low, high]; weights above clip are heavy. Errors of cop_offpolicy_init. */
COP_CHECK cop_err cop_estimates_init(cop_estimates *tally, double low, double high, double clip);

typedef struct cop_replay_place {
	bool first_pass, last_pass;
	bool held;
} cop_replay_place;
/* One event and what was seen of it. Errors of cop_offpolicy_add. */
COP_CHECK cop_err cop_estimates_add(
        cop_estimates *tally, const cop_logged_event *event, const cop_replay_seen *seen, cop_replay_place place);

/* NaN before the first label. */
double cop_estimates_average(const cop_estimates *tally);

void cop_estimates_save(const cop_estimates *tally, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENONFINITE, COP_EVERSION. */
COP_CHECK cop_err cop_estimates_load(cop_estimates *tally, cop_cursor *cursor);

#endif

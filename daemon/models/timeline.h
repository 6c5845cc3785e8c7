/* daemon/models/timeline.h: what a model did over time since the process began to serve it, in equal intervals.
 *
 * There are at most COP_TIMELINE_MOST of them, whatever the time: at first an interval takes a second, and when all are
 * full, each two neighbours become one. The times are monotonic seconds. The loop's thread. */
#ifndef COP_DAEMON_MODELS_TIMELINE_H
#define COP_DAEMON_MODELS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "daemon/models/loss_series.h"

#define COP_TIMELINE_MOST COP_LOSS_SERIES_MOST

/* Sums over an interval, or since some beginning. */
typedef struct cop_timeline_sums {
	uint64_t decisions;
	uint64_t losses;        /* that were learned */
	double loss;            /* their sum, in units of loss_range */
	uint64_t weighed;       /* decisions that a baseline did not make */
	double weights;         /* sum of 1 / p over these, p: the propensity of what was played */
	double weights_squared; /* sum of 1 / p^2 */
} cop_timeline_sums;

typedef struct cop_timeline {
	double began, taken; /* of the first interval; to where intervals are complete */
	double interval;     /* seconds of one */
	size_t count;        /* complete intervals */
	size_t arms;
	cop_timeline_sums *item; /* COP_TIMELINE_MOST */
	uint32_t *arm;           /* COP_TIMELINE_MOST x arms: decisions of each arm */
	cop_timeline_sums past;  /* at `taken` */
	uint64_t *arm_past;      /* arms */
	cop_loss_series named;   /* named by its user, before begin */
} cop_timeline;

/* arms: 0, none are counted. COP_ENOMEM. Finish with fini, also after an error; all zero is finished too. */
COP_CHECK cop_err cop_timeline_init(cop_timeline *timeline, size_t arms);
void cop_timeline_fini(cop_timeline *timeline);

/* Goes on where another one is, of a model that had at most as many arms. */
void cop_timeline_follow(cop_timeline *timeline, const cop_timeline *from);
/* What is counted from now on goes on from `now` where it was `was`; `named` has a function of its own. */
void cop_timeline_shift(cop_timeline *timeline, const cop_timeline_sums *was, const cop_timeline_sums *now);
/* The first interval begins now, with these sums; losses: by the order of the names, NULL where there are none. */
void cop_timeline_begin(cop_timeline *timeline, double now, const cop_timeline_sums *sums,
        const uint64_t *arm_decisions, const cop_loss_sum *losses);
/* The sums at this time; what came since the last call belongs to the first interval that ended since then. */
void cop_timeline_take(cop_timeline *timeline, double now, const cop_timeline_sums *sums, const uint64_t *arm_decisions,
        const cop_loss_sum *losses);

/* How many decisions of equal probabilities the weighed ones of such sums are worth, as a share of them: (sum w)^2 / (n
 * sum w^2) with w = 1 / p (Kish's effective sample size). NaN without decisions. */
double cop_timeline_effective_share(const cop_timeline_sums *sums);

#endif

/* evaluate/change.h: has the mean of a stream of losses in [0, 1] changed? Detectors, found by name.
 *
 *   adwin         adaptive window (Bifet and Gavalda 2007): the newest losses, as many as look alike. An exponential
 *                 histogram (Datar et al. 2002) holds it: up to M buckets of 1, 2, 4, ... losses, with sum and squares.
 *                 It is cut between two buckets when the means of the n0 older and the n1 newer losses differ by more
 *                 than e = sqrt(2 v L / m) + 2 L / (3 m), 1/m = 1/n0 + 1/n1, v the variance of the window of n and
 *                 L = log(2 log(n) / delta) (their section 4). Unlike there, the whole older part goes, at the cut
 *                 where the difference is the most times e; then the rest is looked at, until there is no cut.
 *   page-hinkley  cumulated deviation from the mean since the start, both ways: U = max(0, U + x - mean - tolerance),
 *                 D = max(0, D + mean - x - tolerance) (Page 1954, Hinkley 1971); an alarm when one exceeds
 *                 `threshold`, after which it starts anew. U and D stay 0 for the first burn_in losses.
 *
 * One alarm a change: once found, a further finding the same way is no alarm as long as fewer than `quiet` losses went
 * by since the last finding, silent ones counted. What is left of a long drift may raise another alarm after that.
 * Memory is fixed when a detector is made; add allocates nothing. Distinct detectors on distinct threads. */
#ifndef COP_EVALUATE_CHANGE_H
#define COP_EVALUATE_CHANGE_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_CHANGE_MAX_BUCKETS 64
#define COP_CHANGE_MAX_ROWS    40

typedef enum cop_change_alarm { COP_CHANGE_NONE = 0, COP_CHANGE_RISE, COP_CHANGE_FALL } cop_change_alarm;

typedef struct cop_change_settings {
	char detector[16];
	uint64_t quiet;
	/* adwin */
	double delta;     /* (0, 1): of false cuts at each look */
	uint32_t buckets; /* M of each size, [2, COP_CHANGE_MAX_BUCKETS]; more: finer cuts */
	uint32_t rows;    /* sizes, [1, COP_CHANGE_MAX_ROWS]; at most buckets * (2^rows - 1) losses are held */
	uint32_t every;   /* looks at the window once in so many losses, >= 1 */
	/* page-hinkley */
	double tolerance; /* [0, 1] */
	double threshold; /* > 0 */
	uint64_t burn_in;
} cop_change_settings;

typedef struct cop_change cop_change;

/* detector "adwin", delta 0.002, 5 buckets, 20 rows, every 32; tolerance 0.05, threshold 25, burn_in 100; quiet 1000.
 */
void cop_change_defaults(cop_change_settings *settings);

/* Caller frees with cop_change_free; on error *out is NULL. COP_ENOTFOUND: no such detector. COP_ENONFINITE,
 * COP_EINVAL: a setting is outside its range (of either detector). COP_ENOMEM. */
COP_CHECK cop_err cop_change_new(const cop_change_settings *settings, cop_change **out);
void cop_change_free(cop_change *change);
const cop_change_settings *cop_change_settings_of(const cop_change *change);

/* The next loss; kept within [0, 1], NaN is passed over. At most buckets * rows steps where it looks. */
cop_change_alarm cop_change_add(cop_change *change, double loss);
/* Losses in the present window (page-hinkley: since the start), and their mean (0 without any). */
uint64_t cop_change_width(const cop_change *change);
double cop_change_mean(const cop_change *change);

void cop_change_save(const cop_change *change, cop_bytes *out);
/* As saved, with its settings. Errors of cop_change_new; COP_EFORMAT, COP_ENONFINITE; COP_EVERSION: written by a newer
 * version. */
COP_CHECK cop_err cop_change_load(cop_cursor *in, cop_change **out);
/* The same into one of equal settings, allocating nothing. COP_ESHAPE: other settings; its state is undefined after
 * errors. */
COP_CHECK cop_err cop_change_load_into(cop_change *change, cop_cursor *in);

#endif

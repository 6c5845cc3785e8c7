/* evaluate/interval.h: confidence intervals for means, from counts or streaming statistics.
 *
 *   Clopper-Pearson      exact for a share (Clopper and Pearson 1934)
 *   empirical Bernstein  finite-sample for a bounded mean (Maurer and Pontil 2009, theorem 4)
 *   lower sequence       holds at all times at once, for the mean of X >= 0 without an upper bound: predictable
 *                        plug-in empirical Bernstein (Waudby-Smith and Ramdas 2023, section 3, with the inequality of
 *                        Fan, Grama and Liu 2015, which needs only X - prediction >= -1)
 *   asymptotic sequence  half-width that holds at all times for large n, from a variance (Waudby-Smith et al. 2024)
 *
 * The lower sequence, with psi(l) = -log(1 - l) - l and risk r:
 *   mean >= (sum(l X) - log(1/r) - sum(psi(l) (X - prediction)^2)) / sum(l)
 *
 * `risk` is the probability, in (0, 1), that the interval as a whole misses: 0.05 for 95 %. Pure functions, and one
 * plain struct that is all zero when empty; distinct objects on distinct threads. */
#ifndef COP_EVALUATE_INTERVAL_H
#define COP_EVALUATE_INTERVAL_H

#include <stdint.h>

#include "base/bytes.h"
#include "evaluate/moments.h"

/* For a share of which `hits` of `trials` were seen; both may be fractions of events (effective counts, as Korn and
 * Graubard 1998 use them), 0 <= hits <= trials. [0, 1] when trials is 0. */
void cop_interval_clopper_pearson(double hits, double trials, double risk, double *low, double *high);

/* Half-width for the mean of n values that lie in an interval of width `range`, with the unbiased sample variance;
 * infinite for n < 2. */
double cop_interval_bernstein(double n, double variance, double range, double risk);

/* Half-width for a mean whose n values have this variance, good at every time from about n = `tuned` on, where it is
 * narrowest; n, tuned > 0. */
double cop_interval_asymptotic_sequence(double n, double variance, double tuned, double risk);

/* How heavy an event that was not seen may be, for bounds from weights (the w of `seen`) with a known mean: at least
 * the size-biased mean of those seen; what their mean falls short of `expected` by more than 1.5 standard errors; and
 * `common`, a weight that the log often allows, so far as t standard errors let it be missing; never above `bound`. */
double cop_interval_unseen_weight(const cop_moments *seen, double expected, double common, double bound, double t);

typedef struct cop_interval_sequence {
	uint64_t n;
	cop_sum weight;            /* of events */
	cop_sum bet, bet_x;        /* sum(l), sum(l X) */
	cop_sum price;             /* sum(psi(l) (X - prediction)^2) */
	cop_sum x;                 /* sum of X, for the prediction */
	double square;             /* sum of squared gaps to the prediction, for the bet */
	double l, psi, for_weight; /* the bet in force: it is renewed now and then, and when the weight changes */
} cop_interval_sequence;

/* One X >= 0, of which the mean is at most about 1, with its event weight (> 0). `scale` is about how large X often
 * is, as far as known before; a wrong one only makes the bound looser. risk, what this one side may miss, stays the
 * same all along. */
void cop_interval_sequence_add(cop_interval_sequence *sequence, double weight, double x, double scale, double risk);
/* Bound from below, at least 0; it may be looked at after every event. */
double cop_interval_sequence_low(const cop_interval_sequence *sequence, double risk);
void cop_interval_sequence_save(const cop_interval_sequence *sequence, cop_bytes *out);
/* Errors stay in the cursor's err. */
void cop_interval_sequence_load(cop_interval_sequence *sequence, cop_cursor *in);

#endif

/* learn/shrinkage.h: how much of an effect is believed that a least-squares model says to see, by how sure of it the
 * model is.
 *
 * The model says z, away from an origin; by its matrix P, z is off by v u with u^2 = x'Px, v the variance of one loss
 * around what is predicted. Were effects drawn from N(0, r v), the best guess of this one would be
 *     z r / (r + u^2),   off by sqrt(v u^2 r / (r + u^2))
 * (empirical Bayes: Efron and Morris, 1973). r is not known: COP_SHRINKAGE_SIZES of them, from where nearly all is
 * believed to 0, where nothing is, share the belief by the likelihood of the losses that came, each normal around the
 * best guess with variance v. The factor of z is the mean of theirs. v is the running mean of squared errors of that
 * mean's guess over some 2,000 events (0.25 before the first, at least 1e-4). The log likelihood of none falls more
 * than 8 below the greatest, so that what changes is followed. A plain value; one thread. */
#ifndef COP_LEARN_SHRINKAGE_H
#define COP_LEARN_SHRINKAGE_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

#define COP_SHRINKAGE_SIZES 9

typedef struct cop_shrinkage {
	double evidence[COP_SHRINKAGE_SIZES]; /* log likelihoods less the greatest: in [-8, 0], the greatest 0 */
	double share[COP_SHRINKAGE_SIZES];    /* of belief, by them; sum 1 */
	double variance, events;              /* v, and events behind it, at most 2,000 */
} cop_shrinkage;

/* All sizes alike. */
void cop_shrinkage_begin(cop_shrinkage *s);

/* In (0, 1): what z counts. square: u^2, at least 0. */
double cop_shrinkage_factor(const cop_shrinkage *s, double square);
/* How far off what is believed of z may be where it would matter, in units of sqrt(v): the root of the mean of
 * u^2 r / (r + u^2) r / (r + 1/4), so that effects which are small at most, beside what varies, are no reason to try.
 */
double cop_shrinkage_reach(const cop_shrinkage *s, double square);

/* y came, away from the origin, where z was said with u^2 = square. Finite, or nothing changes. */
void cop_shrinkage_learn(cop_shrinkage *s, double z, double square, double y);

void cop_shrinkage_save(const cop_shrinkage *s, cop_bytes *bytes);
/* COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_shrinkage_load(cop_shrinkage *s, cop_cursor *cursor);

#endif

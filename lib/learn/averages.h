/* learn/averages.h: what every arm's loss is on average, whatever the context: how tests of a few arms without a
 * context would be run.
 *
 * Arm k was played n_k times with mean loss m_k. Arms are taken to be drawn around a common mean c with variance t (in
 * units of v, the variance of one loss around its arm's average), so that means of few losses are drawn towards c:
 *     average_k = (n_k m_k + c / t) / (n_k + 1 / t)
 * t is what the means spread beyond chance (DerSimonian and Laird, 1986), with one event in favour of t = 0.1:
 *     Q = sum of n_k (m_k - m)^2 / v,   t = (max(Q - (K - 1), 0) + 1) / (N - sum n_k^2 / N + 1 / 0.1)
 * over the K arms that were played, N = sum n_k, m the mean of all losses. c weighs means by 1 / (t + 1 / n_k), and 1/2
 * by 0.01. v is the running mean of the averages' squared errors (over 5,000 losses; 1/4 as the first, at least 1e-4).
 * The standard deviation of an average is sqrt(v / (n_k + 1 / t)). Before the first loss averages are 1/2. n stops at
 * 1e5, from where on a mean follows what changes. One thread per object; nothing is allocated after new. */
#ifndef COP_LEARN_AVERAGES_H
#define COP_LEARN_AVERAGES_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

typedef struct cop_averages cop_averages;

double cop_averages_footprint(size_t arms);
/* arms >= 1. COP_ENOMEM: *out is NULL. */
COP_CHECK cop_err cop_averages_new(size_t arms, cop_averages **out);
void cop_averages_free(cop_averages *averages);

/* Every arm's average; room for the arms. */
void cop_averages_predict(const cop_averages *averages, float *loss);
/* 1 / sqrt(n_k + 1 / t): the averages' standard deviations in units of a loss's. */
void cop_averages_deviations(const cop_averages *averages, float *out);
/* n_k of arm k. */
double cop_averages_plays(const cop_averages *averages, size_t arm);
/* loss in [0, 1]. */
void cop_averages_learn(cop_averages *averages, size_t arm, double loss);

void cop_averages_save(const cop_averages *averages, cop_bytes *bytes);
/* Into one of as many arms. COP_ESHAPE, COP_EFORMAT, COP_ENONFINITE; then its state is undefined. */
COP_CHECK cop_err cop_averages_load(cop_averages *averages, cop_cursor *cursor);
/* As learn/learner.h's; from has at most as many arms. */
void cop_averages_inherit(cop_averages *averages, const cop_averages *from);

#endif

/* evaluate/cluster_mean.h: the mean of values in [0, 1] of units that come again and again, with an interval.
 *
 * Each unit falls into one of COP_CLUSTERS clusters by a hash, and stays there. A unit's values may hang together as
 * they like; units are independent of one another, so clusters are. With n_c values of sum s_c in cluster c,
 *     m = sum s_c / sum n_c,    v = sum (s_c - m n_c)^2 / (sum n_c)^2 (1 + 5 / k)
 * where k is the least of the effective numbers (sum w_c)^2 / sum w_c^2 of clusters by w = n, s and n - s. From k = 10
 * on
 *     |m - mean| <= sqrt(v (v + 0.01) / 0.01 (log((v + 0.01) / v) + 2 log(1 / (2 risk))))
 * the boundary of a normal mixture, which may be looked at any time (good for large numbers, as its v is estimated).
 * Before, the mean is at most the share q of units with any loss at all, and that is bounded from the share q^ seen (by
 * values) of u effective clusters: u kl(q^, q) <= log((1 + u) / risk); below, the same of 1 less the values.
 *
 * Simulated launches without any effect (units of losses 0.1 or 0.9, rare and skewed ones, few and many, some coming
 * far more often) excluded it in at most 0.4 % of them. Constant memory. Plain struct; distinct objects on distinct
 * threads. */
#ifndef COP_EVALUATE_CLUSTER_MEAN_H
#define COP_EVALUATE_CLUSTER_MEAN_H

#include <stdint.h>

#include "base/bytes.h"

#define COP_CLUSTERS 128

typedef struct cop_cluster_mean {
	uint32_t count[COP_CLUSTERS];
	double sum[COP_CLUSTERS];
} cop_cluster_mean;

/* Zeroed is an empty one. cluster < COP_CLUSTERS; value in [0, 1]. */
void cop_cluster_mean_add(cop_cluster_mean *mean, unsigned cluster, double value);
uint64_t cop_cluster_mean_count(const cop_cluster_mean *mean);
/* risk: of each side, below 1/2. Of nothing: 0 and 1. */
void cop_cluster_mean_bounds(const cop_cluster_mean *mean, double risk, double *low, double *high);

/* Of values of any size, with n of sum s in each cluster: half the width of that boundary about their mean, where
 * `clusters` is k, at least 10; below, the width is infinite. Some n > 0. */
double cop_cluster_mean_radius(
        const double n[COP_CLUSTERS], const double s[COP_CLUSTERS], double clusters, double risk);
/* Effective number of clusters, by w >= 0; 0 where all are. */
double cop_cluster_mean_effective(const double w[COP_CLUSTERS]);

void cop_cluster_mean_save(const cop_cluster_mean *mean, cop_bytes *out);
/* Errors stay in the cursor's err; COP_EFORMAT: no values give such sums. */
void cop_cluster_mean_load(cop_cluster_mean *mean, cop_cursor *in);

#endif

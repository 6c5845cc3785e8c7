/* tests/unit/evaluate/cluster_oracle.h: figures over clusters by the formulas of evaluate/cluster_mean.h, by plain sums
 * in long double. */
#ifndef COP_TESTS_EVALUATE_CLUSTER_ORACLE_H
#define COP_TESTS_EVALUATE_CLUSTER_ORACLE_H

#include <math.h>

#include "evaluate/cluster_mean.h"

/* How many equal clusters weigh as much as these. */
static inline long double oracle_effective(const long double *w)
{
	long double sum = 0, squares = 0;
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		sum += w[c];
		squares += w[c] * w[c];
	}
	return squares > 0 ? sum * sum / squares : 0;
}

/* Half the width around sum / all, of clusters with `count` losses and these sums, which weigh as much as `clusters`
 * equal ones. */
static inline long double oracle_half(
        const long double *count, const long double *sums, long double clusters, long double risk)
{
	long double all = 0, sum = 0, v = 0;
	for (size_t c = 0; c < COP_CLUSTERS; c++) {
		all += count[c];
		sum += sums[c];
	}
	for (size_t c = 0; c < COP_CLUSTERS; c++)
		v += powl(sums[c] - sum / all * count[c], 2) / (all * all);
	v *= 1 + 5 / clusters;
	return sqrtl(v * (v + 0.01L) / 0.01L * (logl((v + 0.01L) / v) + 2 * logl(1 / (2 * risk))));
}

#endif

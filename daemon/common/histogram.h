/* daemon/common/histogram.h: how long something took, counted in fixed buckets.
 *
 * Upper bounds 1, 2, 5, 10, ... microseconds to 10 seconds, each inclusive, and one bucket for what took longer. Times
 * are nanoseconds; their sum holds for five hundred years. All zero is an empty histogram. One thread. */
#ifndef COP_DAEMON_COMMON_HISTOGRAM_H
#define COP_DAEMON_COMMON_HISTOGRAM_H

#include <stdint.h>

#include "base/bytes.h"
#include "daemon/common/metric.h"

#define COP_HISTOGRAM_BOUNDS 22

typedef struct cop_histogram {
	uint64_t bucket[COP_HISTOGRAM_BOUNDS + 1]; /* observations in each, not cumulative; the last has no bound */
	uint64_t sum;                              /* nanoseconds */
} cop_histogram;

/* The upper bound of bucket i < COP_HISTOGRAM_BOUNDS, in nanoseconds. */
uint64_t cop_histogram_bound(unsigned i);
/* A few nanoseconds; no allocation. */
void cop_histogram_observe(cop_histogram *histogram, uint64_t nanoseconds);
uint64_t cop_histogram_count(const cop_histogram *histogram);
/* Seconds below which a share of the observations is, as far as buckets tell: linear within one; of what took longer
 * than the last bound, that bound. NaN: there are none. */
double cop_histogram_quantile(const cop_histogram *histogram, double share);
/* Appends the family (in seconds): cumulative buckets, sum and count. */
void cop_histogram_put(const cop_histogram *histogram, const cop_metric *metric, cop_bytes *out);

#endif

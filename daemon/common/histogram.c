/* Neighbouring bounds are at least a factor of 2 apart, so from 2^k to below 2^(k+1) there is at most one of them: a
 * table gives the first bucket that a time of k + 1 bits can be in, and one comparison whether it is the next. */
#include "daemon/common/histogram.h"

#include <math.h>
#include <stdio.h>

#include "base/assert.h"
#include "daemon/common/exposition.h"

#define DECADE(unit)  1 * (unit), 2 * (unit), 5 * (unit)
#define LARGEST_SHIFT 33 /* floor(log2) of the last bound */

static const uint64_t bounds[COP_HISTOGRAM_BOUNDS] = { DECADE(1000u), DECADE(10000u), DECADE(100000u), DECADE(1000000u),
	DECADE(10000000u), DECADE(100000000u), DECADE(1000000000ull), 10000000000ull };

/* Bounds below 2^k. */
static const uint8_t first[LARGEST_SHIFT + 1] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 20, 21 };

uint64_t cop_histogram_bound(unsigned i)
{
	COP_ASSERT(i < COP_HISTOGRAM_BOUNDS);
	return bounds[i];
}

static unsigned bucket_of(uint64_t nanoseconds)
{
	if (nanoseconds > bounds[COP_HISTOGRAM_BOUNDS - 1])
		return COP_HISTOGRAM_BOUNDS;
	unsigned shift = 63u - (unsigned)__builtin_clzll(nanoseconds | 1u);
	unsigned at = first[shift];
	return at + (nanoseconds > bounds[at]);
}

void cop_histogram_observe(cop_histogram *histogram, uint64_t nanoseconds)
{
	histogram->bucket[bucket_of(nanoseconds)]++;
	histogram->sum += nanoseconds;
}

uint64_t cop_histogram_count(const cop_histogram *histogram)
{
	uint64_t count = 0;
	for (unsigned i = 0; i <= COP_HISTOGRAM_BOUNDS; i++)
		count += histogram->bucket[i];
	return count;
}

double cop_histogram_quantile(const cop_histogram *histogram, double share)
{
	double below = share * (double)cop_histogram_count(histogram);
	unsigned i = 0;
	if (!(below > 0.0))
		return (double)NAN;
	while (i < COP_HISTOGRAM_BOUNDS && below > (double)histogram->bucket[i])
		below -= (double)histogram->bucket[i++];
	if (i == COP_HISTOGRAM_BOUNDS)
		return 1e-9 * (double)bounds[i - 1];
	double low = i == 0 ? 0.0 : (double)bounds[i - 1];
	return 1e-9 * (low + ((double)bounds[i] - low) * below / (double)histogram->bucket[i]);
}

void cop_histogram_put(const cop_histogram *histogram, const cop_metric *metric, cop_bytes *out)
{
	char label[32];
	uint64_t count = 0;
	cop_exposition_family(out, metric);
	for (unsigned i = 0; i < COP_HISTOGRAM_BOUNDS; i++) {
		count += histogram->bucket[i];
		(void)snprintf(label, sizeof label, "le=\"%g\"", 1e-9 * (double)bounds[i]);
		cop_exposition_part_whole(out, metric, "_bucket", label, count);
	}
	count += histogram->bucket[COP_HISTOGRAM_BOUNDS];
	cop_exposition_part_whole(out, metric, "_bucket", "le=\"+Inf\"", count);
	cop_exposition_part_number(out, metric, "_sum", "", 1e-9 * (double)histogram->sum);
	cop_exposition_part_whole(out, metric, "_count", "", count);
}

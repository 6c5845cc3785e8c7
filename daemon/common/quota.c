/* A bucket is kept as what is missing from it: time takes from that, and a message is refused while a second's worth or
 * more is missing. */
#include "daemon/common/quota.h"

#include <math.h>

static void fill(double *missing, double rate, double seconds)
{
	*missing = rate > 0.0 ? fmax(0.0, *missing - rate * seconds) : 0.0;
}

const char *cop_quota_take(cop_quota *quota, const cop_quota_limits *limits, uint64_t now_us, size_t bytes)
{
	double seconds = now_us > quota->at ? 1e-6 * (double)(now_us - quota->at) : 0.0;
	quota->at = now_us;
	fill(&quota->events, limits->rate, seconds);
	fill(&quota->bytes, (double)limits->bytes, seconds);
	/* The least that passes is one event, whatever the rate. */
	if (limits->rate > 0 && quota->events > (double)limits->rate - 1.0)
		return "events";
	if (limits->bytes > 0 && quota->bytes >= (double)limits->bytes)
		return "bytes";
	cop_quota_charge(quota, 1, bytes);
	return NULL;
}

void cop_quota_charge(cop_quota *quota, size_t events, size_t bytes)
{
	quota->events += (double)events;
	quota->bytes += (double)bytes;
}

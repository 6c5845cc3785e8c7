/* daemon/common/clock.h: the daemon's clocks; lib gets time as an argument. Any thread. */
#ifndef COP_DAEMON_COMMON_CLOCK_H
#define COP_DAEMON_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline double cop_clock_read(clockid_t clock)
{
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since 1970; may jump. */
static inline double cop_clock_real(void) { return cop_clock_read(CLOCK_REALTIME); }
/* Seconds since some start; never jumps. */
static inline double cop_clock_monotonic(void) { return cop_clock_read(CLOCK_MONOTONIC); }
/* The same in microseconds. */
static inline uint64_t cop_clock_monotonic_us(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}
/* And in nanoseconds. */
static inline uint64_t cop_clock_monotonic_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif

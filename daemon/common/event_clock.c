/* epoch + boot time is event time. While `ahead` is not 0, it runs on from the newest record; when the clock is
 * believed again, epoch moves forward to it, never back. */
#include "daemon/common/event_clock.h"

#include <math.h>

#include "daemon/common/clock.h"

void cop_event_clock_start(cop_event_clock *clock, double newest, double tolerance)
{
	double real = cop_clock_real();
	bool believed = tolerance <= 0.0 || newest <= 0.0 || real - newest <= tolerance;
	clock->epoch = (believed ? fmax(real, newest) : newest) - cop_clock_read(CLOCK_BOOTTIME);
	clock->ahead = believed ? 0.0 : real - newest;
}

double cop_event_clock_now(const cop_event_clock *clock) { return clock->epoch + cop_clock_read(CLOCK_BOOTTIME); }

bool cop_event_clock_look(cop_event_clock *clock, double time, double tolerance)
{
	if (clock->ahead <= 0.0)
		return false;
	double real = cop_clock_real();
	double ahead = real - time;
	if (tolerance > 0.0 && ahead > tolerance) {
		clock->ahead = ahead;
		return false;
	}
	clock->epoch = fmax(clock->epoch, real - cop_clock_read(CLOCK_BOOTTIME));
	clock->ahead = 0.0;
	return true;
}

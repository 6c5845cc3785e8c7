/* The timer is armed once at a time, by the handler, when its sleep ends: work and sleep alternate, and a late wake-up
 * shortens no period of work. The handler calls only functions that are safe in a handler and restores errno. If a
 * timer cannot be had, the process computes without pauses. */
#include "daemon/refit/duty_cycle.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <time.h>

#define WORK_NS  60000
#define SLEEP_NS 60000

static timer_t timer;

/* Once: the time for work begins when the sleep has ended, however late that was. */
static void set_timer(void)
{
	const struct itimerspec once = { .it_value = { .tv_nsec = WORK_NS } };
	(void)timer_settime(timer, 0, &once, NULL);
}

static void breathe(int number)
{
	const struct timespec moment = { .tv_nsec = SLEEP_NS };
	int before = errno;
	(void)number;
	(void)pselect(0, NULL, NULL, NULL, &moment, NULL); /* may be called in a handler, nanosleep may not */
	set_timer();
	errno = before;
}

void cop_duty_cycle_start(void)
{
	struct sigaction action = { .sa_handler = breathe, .sa_flags = (int)SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* else 50 us are added to each moment */
	if (sigaction(SIGALRM, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		set_timer();
}

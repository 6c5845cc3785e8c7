#include "daemon/breather.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <time.h>

#define EVERY_NS 120000
#define SLEEP_NS 60000

static void breathe(int number)
{
	const struct timespec moment = { .tv_nsec = SLEEP_NS };
	int before = errno;
	(void)number;
	(void)pselect(0, NULL, NULL, NULL, &moment, NULL); /* may be called in a handler, nanosleep may not */
	errno = before;
}

void cop_breather_start(void)
{
	struct sigaction action = { .sa_handler = breathe, .sa_flags = (int)SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	const struct itimerspec every = { { 0, EVERY_NS }, { 0, EVERY_NS } };
	timer_t timer;
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* else 50 us are added to each moment */
	if (sigaction(SIGALRM, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		(void)timer_settime(timer, 0, &every, NULL);
}

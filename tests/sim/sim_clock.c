/* A machine's clock goes at a rate of its own; the clock of the day is wrong by some seconds besides. */
#include "tests/sim/sim.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#define MOST_FDS  64
#define EPOCH     1800000000u
#define DRIFT     500   /* of a million, at most */
#define MOST_BUSY 20000 /* looks at the clock without a wait */

static struct machine_clock {
	double rate;
	uint64_t boot; /* ns that its clocks show at the start */
	double wrong;  /* seconds of the clock of the day */
} clocks[SIM_NODES];

static unsigned busy[SIM_NODES]; /* looks at the clock since it waited last */

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_poll(struct pollfd *items, nfds_t count, int timeout);
int __real_poll(struct pollfd *items, nfds_t count, int timeout);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_usleep(useconds_t duration);
pid_t __wrap_getpid(void);
uint64_t sim_clock_moment(int node, const struct timespec *monotonic);

void sim_clock_init(int node)
{
	double drift = ((double)sim_draw(2 * DRIFT + 1) - DRIFT) * 1e-6;
	clocks[node] = (struct machine_clock){ .rate = node == SIM_CLIENTS ? 1.0 : 1.0 + drift,
		.boot = SIM_SECOND * (100 + sim_draw(100000)),
		.wrong = (double)sim_draw(4000) * 1e-3 - 2.0 };
}

static uint64_t local(int node) { return clocks[node].boot + (uint64_t)((double)sim_now() * clocks[node].rate); }

/* When the machine's clock will show that. */
uint64_t sim_clock_moment(int node, const struct timespec *monotonic)
{
	uint64_t at = (uint64_t)monotonic->tv_sec * SIM_SECOND + (uint64_t)monotonic->tv_nsec, is = local(node);
	return at <= is ? sim_now() : sim_now() + 1 + (uint64_t)((double)(at - is) / clocks[node].rate);
}

/* Whoever looks at the clock again and again does not keep the others from running; a loop that never waits is a
 * defect. */
static void look_again(int node)
{
	static unsigned looks;
	if (++looks % 16 == 0)
		sim_sleep(sim_draw(2000));
	if (++busy[node] == MOST_BUSY) {
		(void)printf("stuck busy %d\n", node);
		sim_trace("stuck: a loop that never waits");
		sim_end(1);
	}
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	int node = sim_node();
	if (node >= 0)
		look_again(node);
	uint64_t ns = node < 0 ? sim_now() : local(node);
	if (clock == CLOCK_REALTIME && node >= 0)
		ns = SIM_SECOND * (uint64_t)EPOCH + (uint64_t)(1e9 * (clocks[node].wrong + 2.0)) + sim_now();
	*out = (struct timespec){ (time_t)(ns / SIM_SECOND), (long)(ns % SIM_SECOND) };
	return 0;
}

static int look(struct pollfd *items, nfds_t count)
{
	struct pollfd real[MOST_FDS];
	int ready = 0;
	for (nfds_t i = 0; i < count; i++) {
		bool message = sim_net_ready(items[i].fd);
		items[i].revents = message ? POLLIN : 0;
		ready += message;
		real[i] = items[i];
		if (items[i].fd >= 1 << 20)
			real[i].fd = -1;
	}
	if (__real_poll(real, count, 0) > 0)
		for (nfds_t i = 0; i < count; i++)
			if (real[i].revents != 0) {
				items[i].revents = real[i].revents;
				ready++;
			}
	return ready;
}

int __wrap_poll(struct pollfd *items, nfds_t count, int timeout)
{
	uint64_t end = timeout < 0 ? SIM_NEVER : sim_now() + (uint64_t)timeout * SIM_MS;
	sim_sleep(sim_draw(2000));
	for (;;) {
		int ready = look(items, count);
		if (ready > 0 || sim_now() >= end)
			return ready;
		busy[sim_node()] = 0;
		(void)sim_wait(sim_wake_key(sim_node()), end);
	}
}

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
	(void)left;
	sim_sleep((uint64_t)duration->tv_sec * SIM_SECOND + (uint64_t)duration->tv_nsec);
	return 0;
}

int __wrap_usleep(useconds_t duration)
{
	sim_sleep(1000u * (uint64_t)duration);
	return 0;
}

pid_t __wrap_getpid(void) { return 1000 + sim_node(); }

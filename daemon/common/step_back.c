/* The bound of memory is one of address space, on top of what libraries and what a sanitizer reserves have already. */
#include "daemon/common/step_back.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cop_step_back_follow(int parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return parent == 0 || getppid() == parent;
}

/* In bytes; 0 when it cannot be told. */
static uint64_t address_space(void)
{
	uint64_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file == NULL)
		return 0;
	(void)!fscanf(file, "%" SCNu64, &pages);
	(void)fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void lower(void)
{
	const struct sched_param none = { 0 };
	enum { IDLE_CLASS = 3, CLASS_SHIFT = 13, WHO_PROCESS = 1 };
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, WHO_PROCESS, 0, IDLE_CLASS << CLASS_SHIFT);
}

void cop_step_back(const cop_step_back_settings *settings)
{
	if (settings->nice > 0)
		(void)setpriority(PRIO_PROCESS, 0, (int)settings->nice);
	if (settings->idle)
		lower();
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		(void)close(fd);
	}
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	uint64_t most = address_space() + settings->memory;
	if (settings->memory > 0 && most > settings->memory)
		(void)setrlimit(RLIMIT_AS, &(struct rlimit){ most, most });
}

void cop_step_back_thread(int nice) { (void)setpriority(PRIO_PROCESS, (id_t)gettid(), nice); }

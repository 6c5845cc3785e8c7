/* LD_PRELOADed into programs that measure: their clocks, but for that of the day, go on with each look that a thread
 * takes at them by 60 to 568 microseconds, and by what it sleeps, which takes no time, so that what they print is
 * always the same. The sizes of caches are those of a folder.
 *
 * COPPICE_CACHES names the folder that stands for /sys/devices/system/cpu/cpu0/cache. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CACHES "/sys/devices/system/cpu/cpu0/cache"

/* The function behind ours; ISO C has no way from void * to a function. */
#define REAL(name)                                                                                                     \
	static __typeof__(name) *real;                                                                                 \
	if (real == NULL) {                                                                                            \
		void *symbol = dlsym(RTLD_NEXT, #name);                                                                \
		memcpy(&real, &symbol, sizeof real);                                                                   \
	}

static _Thread_local uint64_t now; /* microseconds */

int clock_gettime(clockid_t clock, struct timespec *out)
{
	static _Thread_local uint64_t looks;
	REAL(clock_gettime)
	if (clock == CLOCK_REALTIME)
		return real(clock, out);
	now += 60 + ++looks * 37 % 509;
	out->tv_sec = (time_t)(now / 1000000);
	out->tv_nsec = (long)(now % 1000000 * 1000);
	return 0;
}

int nanosleep(const struct timespec *wait, struct timespec *left)
{
	(void)left;
	now += (uint64_t)wait->tv_sec * 1000000 + (uint64_t)wait->tv_nsec / 1000;
	return 0;
}

FILE *fopen(const char *path, const char *mode)
{
	REAL(fopen)
	char other[512];
	const char *folder = getenv("COPPICE_CACHES");
	if (folder == NULL || strncmp(path, CACHES, strlen(CACHES)) != 0)
		return real(path, mode);
	(void)snprintf(other, sizeof other, "%s%s", folder, path + strlen(CACHES));
	return real(other, mode);
}

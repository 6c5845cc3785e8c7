/* LD_PRELOADed into programs that are to give back what they took: at the end they say on standard error how many
 * blocks of cop_mem_alloc were not freed, and how many files are still open. Any thread. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS ((size_t)1 << 20) /* far more than blocks at any one time; without tombstones */

/* The function behind ours; ISO C has no way from void * to a function. */
#define REAL(name)                                                                                                     \
	static __typeof__(name) *real;                                                                                 \
	if (real == NULL) {                                                                                            \
		void *symbol = dlsym(RTLD_NEXT, #name);                                                                \
		memcpy(&real, &symbol, sizeof real);                                                                   \
	}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t block[SLOTS]; /* open addressing by hash; 0: free */
static size_t blocks;

static size_t home_of(uintptr_t at) { return (size_t)((at >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 44) % SLOTS; }

static size_t find(uintptr_t at)
{
	size_t i = home_of(at);
	while (block[i] != 0 && block[i] != at)
		i = (i + 1) % SLOTS;
	return i;
}

/* Those behind it move up, so that each is still found from its home. */
static void take_out(size_t i)
{
	block[i] = 0;
	blocks--;
	for (size_t j = (i + 1) % SLOTS; block[j] != 0; j = (j + 1) % SLOTS) {
		uintptr_t moved = block[j];
		block[j] = 0;
		block[find(moved)] = moved;
	}
}

void *aligned_alloc(size_t alignment, size_t length)
{
	REAL(aligned_alloc)
	void *out = real(alignment, length);
	(void)pthread_mutex_lock(&lock);
	if (out != NULL && blocks < SLOTS / 2) {
		block[find((uintptr_t)out)] = (uintptr_t)out;
		blocks++;
	}
	(void)pthread_mutex_unlock(&lock);
	return out;
}

void free(void *at)
{
	REAL(free)
	if (at != NULL && (uintptr_t)at % 64 == 0) {
		(void)pthread_mutex_lock(&lock);
		size_t i = find((uintptr_t)at);
		if (block[i] != 0)
			take_out(i);
		(void)pthread_mutex_unlock(&lock);
	}
	real(at);
}

__attribute__((destructor)) static void tell(void)
{
	size_t files = 0;
	DIR *folder = opendir("/proc/self/fd");
	for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
		files += entry->d_name[0] != '.' && atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(folder);
	if (folder != NULL)
		(void)closedir(folder);
	if (blocks > 0)
		(void)fprintf(stderr, "%zu blocks were not freed\n", blocks);
	if (files > 0)
		(void)fprintf(stderr, "%zu files were left open\n", files);
}

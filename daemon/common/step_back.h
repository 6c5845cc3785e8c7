/* daemon/common/step_back.h: a process that works beside the daemon makes way for it, and ends with it; a thread makes
 * way for its loop.
 *
 * What is of the whole process is called before there are threads. */
#ifndef COP_DAEMON_COMMON_STEP_BACK_H
#define COP_DAEMON_COMMON_STEP_BACK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cop_step_back_settings {
	uint32_t nice;   /* 0: as it is */
	bool idle;       /* at the lowest priority of processor and disk */
	uint64_t memory; /* bytes beyond what it has now; 0: no bound */
} cop_step_back_settings;

/* Ends when the parent does. False: it is not the process `parent` (0: any), which has ended then. */
bool cop_step_back_follow(int parent);
/* Priority, memory, no core file, and the first to go when memory is short. What fails here leaves it a worse
 * neighbour, no worse worker. */
void cop_step_back(const cop_step_back_settings *settings);
/* Of the calling thread alone, from here to its end. */
void cop_step_back_thread(int nice);

#endif

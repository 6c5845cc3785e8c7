/* daemon/common/job.h: one piece of work on a thread of its own, beside the loop: start, look, finish.
 *
 * What the work reads and writes is the thread's from start until the job is done, then the starter's again. All calls
 * by one thread. */
#ifndef COP_DAEMON_COMMON_JOB_H
#define COP_DAEMON_COMMON_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"

typedef void cop_job_work(void *context);

/* Zeroed is none. */
typedef struct cop_job {
	bool started; /* and not finished yet */
	atomic_bool done;
	pthread_t thread;
	cop_job_work *work;
	void *context;
} cop_job;

/* No job is started. context is kept until it is finished. COP_EIO: there is no thread. */
COP_CHECK cop_err cop_job_start(cop_job *job, cop_job_work *work, void *context);
/* Whether it is started and has work left, so that finish would wait. */
bool cop_job_is_busy(const cop_job *job);
/* Waits for its end, if it was started. */
void cop_job_finish(cop_job *job);

#endif

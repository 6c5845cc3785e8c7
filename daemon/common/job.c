/* `started` is the starter's alone, so a thread is joined exactly once; `done` is the only word that both sides touch
 * while the thread works. */
#include "daemon/common/job.h"

#include "base/thread.h"

static void *run(void *argument)
{
	cop_job *job = argument;
	job->work(job->context);
	atomic_store(&job->done, true);
	return NULL;
}

cop_err cop_job_start(cop_job *job, cop_job_work *work, void *context)
{
	job->work = work;
	job->context = context;
	atomic_store(&job->done, false);
	job->started = cop_thread_start(&job->thread, run, job) == COP_OK;
	return job->started ? COP_OK : COP_EIO;
}

bool cop_job_is_busy(const cop_job *job) { return job->started && !atomic_load(&job->done); }

void cop_job_finish(cop_job *job)
{
	if (job->started)
		(void)pthread_join(job->thread, NULL);
	job->started = false;
}

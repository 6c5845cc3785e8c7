/* The thread owns what it loads until `ready` is set, the loop owns it from then until release, and the thread frees
 * whatever the loop has left. Freeing many trees is thus never done between two events. The semaphore counts one
 * release; `held` makes sure that the loop posts once. */
#include "daemon/durable/challenger_load.h"

#include <stdio.h>

#include "daemon/durable/challenger.h"

static void run(void *context)
{
	cop_challenger_load *load = context;
	load->err =
	        cop_challenger_read(load->state_dir, load->model, load->number, &load->trees, &load->crc, &load->why);
	if (load->err == COP_OK) {
		load->err = cop_learner_spare_init(&load->spare, &load->settings, load->state_bytes);
		if (load->err != COP_OK)
			cop_diag_message(&load->why, "%s", cop_err_text(load->err));
	}
	atomic_store(&load->ready, true);
	while (sem_wait(&load->released) != 0) /* a signal */
		;
	cop_trees_free(load->trees);
	cop_learner_spare_fini(&load->spare);
}

cop_err cop_challenger_load_begin(cop_challenger_load *load, const char *state_dir, const char *model, uint64_t number,
        const cop_learner_settings *settings, size_t state_bytes)
{
	cop_challenger_load_end(load);
	*load = (cop_challenger_load){ .number = number, .settings = *settings, .state_bytes = state_bytes };
	(void)snprintf(load->state_dir, sizeof load->state_dir, "%s", state_dir);
	(void)snprintf(load->model, sizeof load->model, "%s", model);
	if (sem_init(&load->released, 0, 0) != 0)
		return COP_EIO;
	cop_err err = cop_job_start(&load->job, run, load);
	load->held = err == COP_OK;
	if (err != COP_OK)
		(void)sem_destroy(&load->released);
	return err;
}

bool cop_challenger_load_is_ready(const cop_challenger_load *load) { return load->held && atomic_load(&load->ready); }

void cop_challenger_load_release(cop_challenger_load *load)
{
	if (load->held)
		(void)sem_post(&load->released);
	load->held = false;
}

void cop_challenger_load_end(cop_challenger_load *load)
{
	cop_challenger_load_release(load);
	if (!load->job.started)
		return;
	cop_job_finish(&load->job);
	(void)sem_destroy(&load->released);
}

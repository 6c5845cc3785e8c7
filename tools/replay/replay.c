/* coppice replay: bandit logs replayed into a model, and the value of its policy. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "linalg/blas.h"
#include "replay_files.h"
#include "replay_live.h"
#include "replay_options.h"
#include "replay_report.h"
#include "replay_run.h"
#include "tools/common/command.h"

#define NAME COP_REPLAY_NAME

static volatile sig_atomic_t interrupted;
static int nothing = -1; /* /dev/null, while standard input is read */

/* A read that waits for standard input meets its end. */
static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
	if (nothing >= 0)
		(void)dup2(nothing, STDIN_FILENO);
}

/* The first one ends the run, the second one the program. */
static void catch_interrupt(bool reads_input)
{
	struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	if (reads_input)
		nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)sigaction(SIGINT, &action, NULL);
}

static int finish(const cop_replay_run *run, cop_diag *diag)
{
	size_t order[COP_REPLAY_MOST_SETTINGS];
	if (run->options->json) {
		if (cop_replay_print_json(run) != COP_OK)
			return cop_command_failed(NAME, diag);
	} else {
		cop_replay_print_text(run);
	}
	cop_replay_rank(run, order);
	if (run->options->save != NULL && cop_replay_run_save(run, order[0], diag) != COP_OK)
		return cop_command_failed(NAME, diag);
	if (fflush(stdout) != 0)
		return COP_EXIT_FAILED;
	if (!run->fed.stopped)
		return 0;
	cop_command_complain(NAME, "interrupted after %llu events", (unsigned long long)run->fed.events);
	return COP_EXIT_FAILED;
}

int cop_command_replay(int argc, char **argv)
{
	cop_replay_options options;
	int status = cop_replay_options_read(argc, argv, &options);
	if (status >= 0)
		return status;
	cop_diag diag = { 0 };
	if (cop_replay_check_files(&options, &diag) != COP_OK)
		return cop_command_failed(NAME, &diag);
	cop_blas_threads(1);
	catch_interrupt(strcmp(options.path, "-") == 0);
	if (options.live != NULL)
		return cop_replay_live(&options, &interrupted, &diag) == COP_OK ? 0 : cop_command_failed(NAME, &diag);
	cop_replay_run run = { .options = &options, .stop = &interrupted };
	status = cop_replay_run_all(&run, &diag) == COP_OK ? finish(&run, &diag) : cop_command_failed(NAME, &diag);
	cop_replay_run_fini(&run);
	return status;
}

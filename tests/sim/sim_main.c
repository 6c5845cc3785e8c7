/* sim_coppiced FOLDER FIRST END [PLANT [trace]]: runs the seeds of [FIRST, END), each in a process of its own, since
 * one that dies leaves its memory behind. A run's files are in FOLDER/SEED; whoever reads the lines removes them. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/sim.h"

static void run(const char *folder)
{
	char own[300];
	(void)snprintf(own, sizeof own, "%s/%llu", folder, (unsigned long long)sim_run.seed);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	sim_run.folder = own;
	if (mkdir(own, 0750) != 0) {
		perror(own);
		exit(2);
	}
	if (!sim_run.trace && freopen("/dev/null", "w", stderr) == NULL)
		exit(2);
	(void)setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	sim_start(SIM_CLIENTS, sim_world, NULL);
	sim_loop();
}

int main(int argc, char **argv)
{
	char *end;
	if (getenv("OPENBLAS_NUM_THREADS") == NULL) { /* its threads would not come along into the runs */
		(void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
		(void)execvp("/proc/self/exe", argv); /* execv is the daemon's */
		return 2;
	}
	if (argc < 4) {
		(void)fputs("usage: sim_coppiced FOLDER FIRST END [PLANT [trace]]\n", stderr);
		return 2;
	}
	uint64_t first = strtoull(argv[2], &end, 10), last = strtoull(argv[3], &end, 10);
	sim_run.plant = argc > 4 ? (sim_plant)strtoul(argv[4], &end, 10) : SIM_PLANT_NONE;
	sim_run.trace = argc > 5;
	for (sim_run.seed = first; sim_run.seed < last; sim_run.seed++) {
		int status;
		(void)printf("seed %llu\n", (unsigned long long)sim_run.seed);
		(void)fflush(stdout);
		pid_t child = fork();
		if (child == 0)
			run(argv[1]);
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 2;
		(void)printf("end %d\n", status);
		(void)fflush(stdout);
	}
	return 0;
}

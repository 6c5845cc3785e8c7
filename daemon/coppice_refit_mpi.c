/* coppice-refit-mpi: what coppice-refit does, by all processes of mpirun: the first reads the journal, judges and
 * writes, and the others fit trees' nodes with it (train/lend.h), so that they need no state folder. A process that
 * fails ends all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/refit/worker.h"
#include "mpi/mpi_ranks.h"

static const char usage_text[] = "usage: mpirun -n N coppice-refit-mpi --version | --help | --NAME=VALUE ...\n\n"
                                 "coppice-refit by several processes. coppiced starts it when a refit is due and\n"
                                 "refit_launcher is set; it is not for use by hand.\n";

static bool answer(int argc, char **argv, const cop_ranks *ranks)
{
	const char *text = argc != 2                           ? NULL
	                   : strcmp(argv[1], "--version") == 0 ? "coppice-refit-mpi " COP_VERSION "\n"
	                   : strcmp(argv[1], "--help") == 0    ? usage_text
	                                                       : NULL;
	if (text != NULL && ranks->rank == 0)
		(void)fputs(text, stdout);
	return text != NULL;
}

int main(int argc, char **argv)
{
	cop_ranks ranks;
	if (!cop_mpi_ranks_join(&ranks, &argc, &argv)) {
		(void)fputs(
		        "coppice-refit-mpi: MPI does not start; expected mpirun -n N coppice-refit-mpi ...\n", stderr);
		return EXIT_FAILURE;
	}
	ranks.led = true;
	int status = answer(argc, argv, &ranks) ? EXIT_SUCCESS : cop_worker_main(argc, argv, &ranks);
	if (status != EXIT_SUCCESS)
		cop_mpi_ranks_end_all(status);
	cop_mpi_ranks_leave();
	return status;
}

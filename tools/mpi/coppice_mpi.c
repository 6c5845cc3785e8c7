/* coppice-mpi: `coppice train` by the processes that mpirun starts, which divide trees and nodes among them
 * (base/ranks.h).
 *
 * Every process reads the same files and keeps all rows; figures and files are written by the first. One thread of a
 * process speaks MPI. A process that fails ends all of them. */
#include <stdio.h>

#include "mpi/mpi_ranks.h"
#include "tools/common/command.h"
#include "version.h"

int main(int argc, char **argv)
{
	static const cop_command commands[] = { { "train", "as coppice train, by all processes of mpirun",
		cop_command_train } };
	static const cop_program program = { "coppice-mpi", COP_VERSION, commands, sizeof commands / sizeof *commands };
	cop_ranks ranks;
	if (!cop_mpi_ranks_join(&ranks, &argc, &argv)) {
		(void)fprintf(stderr, "coppice-mpi: MPI does not start; expected mpirun -n N coppice-mpi train ...\n");
		return COP_EXIT_FAILED;
	}
	if (ranks.count > 1)
		cop_command_set_ranks(&ranks);
	if (!cop_command_leads() && freopen("/dev/null", "w", stdout) == NULL)
		cop_mpi_ranks_end_all(COP_EXIT_FAILED);
	int status = cop_command_main(&program, argc, argv);
	if (fflush(stdout) != 0 && status == 0)
		status = COP_EXIT_FAILED;
	/* Usage is every process's alike; of a failure the others may not know. */
	if (status != 0 && status != COP_EXIT_USAGE)
		cop_mpi_ranks_end_all(status);
	cop_mpi_ranks_leave();
	return status;
}

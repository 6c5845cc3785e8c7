/* coppice-mpi: `coppice train` by the processes that mpirun starts, which divide trees and nodes among them (base/ranks.h).
 *
 * Every process reads the same files and keeps all rows; figures and files are written by the first. One thread of a process
 * speaks MPI. A process that fails ends all of them. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tools/common/command.h"
#include "version.h"

#define PIECE ((uint64_t)1 << 30) /* bytes in one message: MPI counts in int */

/* What each rank has goes to all, in its turn. */
static cop_err spread(cop_bytes *all, const uint64_t *length, int ranks, const cop_bytes *mine, int rank)
{
	for (int r = 0; r < ranks; r++) {
		cop_bytes_reserve(all, (size_t)length[r]);
		if (all->err != COP_OK)
			return all->err;
		uint8_t *to = all->data + all->length;
		if (r == rank && mine->length > 0)
			memcpy(to, mine->data, mine->length);
		for (uint64_t at = 0; at < length[r]; at += PIECE) {
			uint64_t left = length[r] - at;
			int count = (int)(left < PIECE ? left : PIECE);
			if (MPI_Bcast(to + at, count, MPI_BYTE, r, MPI_COMM_WORLD) != MPI_SUCCESS)
				return COP_EIO;
		}
		all->length += (size_t)length[r];
	}
	return COP_OK;
}

static cop_err gather(void *context, const cop_bytes *mine, cop_bytes *all)
{
	const cop_ranks *ranks = context;
	uint64_t own = mine->length, *length = cop_mem_alloc(ranks->count, sizeof *length);
	if (length == NULL)
		return COP_ENOMEM;
	cop_err err = COP_EIO;
	if (MPI_Allgather(&own, 1, MPI_UINT64_T, length, 1, MPI_UINT64_T, MPI_COMM_WORLD) == MPI_SUCCESS)
		err = spread(all, length, (int)ranks->count, mine, (int)ranks->rank);
	cop_mem_free(length);
	return err;
}

static bool join(cop_ranks *ranks, int *argc, char ***argv)
{
	int given, rank, count;
	if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS || given < MPI_THREAD_FUNNELED ||
	        MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
	        MPI_Comm_size(MPI_COMM_WORLD, &count) != MPI_SUCCESS)
		return false;
	*ranks = (cop_ranks){ .rank = (unsigned)rank, .count = (unsigned)count, .context = ranks, .gather = gather };
	return true;
}

int main(int argc, char **argv)
{
	static const cop_command commands[] = { { "train", "as coppice train, by all processes of mpirun",
		cop_command_train } };
	static const cop_program program = { "coppice-mpi", COP_VERSION, commands, sizeof commands / sizeof *commands };
	cop_ranks ranks;
	if (!join(&ranks, &argc, &argv)) {
		(void)fprintf(stderr, "coppice-mpi: MPI does not start; expected mpirun -n N coppice-mpi train ...\n");
		return COP_EXIT_FAILED;
	}
	if (ranks.count > 1)
		cop_command_set_ranks(&ranks);
	if (!cop_command_leads() && freopen("/dev/null", "w", stdout) == NULL)
		MPI_Abort(MPI_COMM_WORLD, COP_EXIT_FAILED);
	int status = cop_command_main(&program, argc, argv);
	if (fflush(stdout) != 0 && status == 0)
		status = COP_EXIT_FAILED;
	/* Usage is every process's alike; of a failure the others may not know. */
	if (status != 0 && status != COP_EXIT_USAGE)
		MPI_Abort(MPI_COMM_WORLD, status);
	MPI_Finalize();
	return status;
}

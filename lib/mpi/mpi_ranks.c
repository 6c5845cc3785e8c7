/* MPI itself waits by turning on a processor. Here a rank that has waited for a while sleeps between looks, since what
 * it waits for may be minutes of another's work. */
#include "mpi/mpi_ranks.h"

#include <mpi.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define PIECE  ((uint64_t)1 << 30) /* bytes in one message: MPI counts in int */
#define LOOKS  20000               /* before the first sleep */
#define NAP_NS 100000

static bool await(MPI_Request *request)
{
	int done = 0;
	for (unsigned looks = 0; done == 0; looks++) {
		if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return false;
		if (done == 0 && looks >= LOOKS)
			(void)nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
	return true;
}

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
			MPI_Request request;
			if (MPI_Ibcast(to + at, count, MPI_BYTE, r, MPI_COMM_WORLD, &request) != MPI_SUCCESS ||
			        !await(&request))
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
	MPI_Request request;
	if (MPI_Iallgather(&own, 1, MPI_UINT64_T, length, 1, MPI_UINT64_T, MPI_COMM_WORLD, &request) == MPI_SUCCESS &&
	        await(&request))
		err = spread(all, length, (int)ranks->count, mine, (int)ranks->rank);
	cop_mem_free(length);
	return err;
}

bool cop_mpi_ranks_join(cop_ranks *ranks, int *argc, char ***argv)
{
	int given, rank, count;
	if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS || given < MPI_THREAD_FUNNELED ||
	        MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
	        MPI_Comm_size(MPI_COMM_WORLD, &count) != MPI_SUCCESS)
		return false;
	*ranks = (cop_ranks){ .rank = (unsigned)rank, .count = (unsigned)count, .context = ranks, .gather = gather };
	return true;
}

void cop_mpi_ranks_leave(void) { (void)MPI_Finalize(); }

void cop_mpi_ranks_end_all(int status) { (void)MPI_Abort(MPI_COMM_WORLD, status); }

/* mpi/mpi_ranks.h: the processes that mpirun started as ranks (base/ranks.h); alone links OpenMPI.
 *
 * One object in a process, used by the thread that joined. */
#ifndef COP_MPI_MPI_RANKS_H
#define COP_MPI_MPI_RANKS_H

#include "base/ranks.h"

/* Once, before all else; what MPI knows is taken out of the arguments. ranks is kept. False: MPI does not start. */
bool cop_mpi_ranks_join(cop_ranks *ranks, int *argc, char ***argv);
/* The process ends well; all ranks call it. */
void cop_mpi_ranks_leave(void);
/* Ends all ranks, this one too. */
void cop_mpi_ranks_end_all(int status);

#endif

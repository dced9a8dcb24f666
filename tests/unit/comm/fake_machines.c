/*
 * Preloaded into the ranks of an MPI job: treats each two consecutive ranks as a machine (MPI_Comm_split_type), or if
 * XF_TEST_MACHINES is set, the ranks with even numbers and those with odd numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <mpi.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                                               MPI_Comm *machine) {
    int rank = 0;
    (void)type, (void)info;
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Comm_split(comm, getenv("XF_TEST_MACHINES") != NULL ? rank % 2 : rank / 2, key, machine);
}

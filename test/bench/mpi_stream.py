# SPDX-License-Identifier: Apache-2.0
"""Runs one of two MPI ranks. Rank 0 sends messages in groups of 16, and rank 1 confirms each group. Rank 0 prints
the bytes per second. usage: mpi_stream.py SIZE SECONDS"""
import sys
import time

from mpi4py import MPI

DEPTH = 16


def stream(world, buffers, rounds):
    """Returns the duration in seconds."""
    done = bytearray(1)
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(rounds):
        if world.rank == 0:
            MPI.Request.Waitall([world.Isend([buffer, MPI.BYTE], 1) for buffer in buffers])
            world.Recv([done, MPI.BYTE], 1)
        else:
            MPI.Request.Waitall([world.Irecv([buffer, MPI.BYTE], 0) for buffer in buffers])
            world.Send([done, MPI.BYTE], 0)
    return time.perf_counter() - begin


def main():
    size, seconds = int(sys.argv[1]), float(sys.argv[2])
    world = MPI.COMM_WORLD
    buffers = [bytearray(size) for _ in range(DEPTH)]
    rounds = 10
    while True:
        took = world.bcast(stream(world, buffers, rounds), 0)
        if took > seconds / 2:
            break
        rounds = int(rounds * min(20, 1.2 * seconds / max(took, 1e-4)))
    if world.rank == 0:
        print(rounds * DEPTH * size / took)


if __name__ == "__main__":
    main()

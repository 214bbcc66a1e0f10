# SPDX-License-Identifier: Apache-2.0
"""The program that each rank runs: communicates over MPI and then checks its memory. Every byte encodes the sender,
the receiver and the round. This is not a test; test_mpi.py runs it.
usage: mpi_payload.py ROUNDS PART..."""
import array
import sys

import mpi4py

mpi4py.rc.thread_level = "funneled"  # one-sided communication over point-to-point messages refuses a higher level
from mpi4py import MPI  # noqa: E402

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
# Includes sizes below and above 16 KiB, where libfabric's rxm switches from copying to RDMA, and a size of several
# segments.
LENGTHS = (0, 1, 64, 4096, 16385, 1 << 20)


def payload(length, source, target, round_number):
    pattern = bytes((source * 64 + target * 16 + round_number * 7 + n) & 0xFF for n in range(251))
    return bytearray((pattern * (length // 251 + 1))[:length])


def require(condition, what):
    if not condition:
        print(f"rank {RANK}: {what}", file=sys.stderr, flush=True)
        WORLD.Abort(1)


def ping_pong(rounds):
    """Exchanges messages with every other rank in turn, so that every pair of hosts communicates in both
    directions."""
    for other in range(SIZE):
        if other == RANK:
            continue
        for length in LENGTHS:
            for n in range(rounds):
                mine, got = payload(length, RANK, other, n), bytearray(length)
                WORLD.Sendrecv(mine, dest=other, sendtag=n, recvbuf=got, source=other, recvtag=n)
                require(got == payload(length, other, RANK, n), f"{length} octets from {other}")


def allreduce(rounds):
    for n in range(rounds):
        for count in (1, 1000, 100_000):
            mine = array.array("q", range(RANK * 1000 + n, RANK * 1000 + n + count))
            total = array.array("q", bytes(8 * count))
            WORLD.Allreduce(mine, total, op=MPI.SUM)
            first = sum(rank * 1000 + n for rank in range(SIZE))
            require(total == array.array("q", range(first, first + SIZE * count, SIZE)),
                    f"the sum of {count} numbers")


def alltoall(rounds):
    for n in range(rounds):
        for length in LENGTHS[1:]:
            mine = b"".join(payload(length, RANK, target, n) for target in range(SIZE))
            got = bytearray(length * SIZE)
            WORLD.Alltoall([mine, MPI.BYTE], [got, MPI.BYTE])
            wanted = b"".join(payload(length, source, RANK, n) for source in range(SIZE))
            require(got == wanted, f"{length} octets from each")


def windows(rounds):
    """Puts data into the next rank's window, gets it back, and adds to a counter that all ranks share."""
    length, following, before = 70_000, (RANK + 1) % SIZE, (RANK - 1) % SIZE
    window = MPI.Win.Allocate(length + 8, 1, comm=WORLD)
    memory = memoryview(window.tomemory())
    memory[:] = bytes(len(memory))
    for n in range(rounds):
        window.Fence()
        put = payload(length, RANK, following, n)  # must stay alive until the fence
        window.Put(put, following, 0)
        window.Fence()
        require(memory[:length] == payload(length, before, RANK, n), "what was put")
        got = bytearray(length)
        window.Get(got, following, 0)
        window.Fence()
        require(got == payload(length, RANK, following, n), "what was got")
        added = array.array("q", [RANK + 1])
        window.Accumulate([added, MPI.INT64_T], 0, (length, 1, MPI.INT64_T), op=MPI.SUM)
        window.Fence()
        if RANK == 0:
            count = int.from_bytes(memory[length:], sys.byteorder)
            require(count == (n + 1) * SIZE * (SIZE + 1) // 2, f"the counter is {count}")
    window.Fence()
    window.Free()


PARTS = {part.__name__: part for part in (ping_pong, allreduce, alltoall, windows)}


def main():
    rounds = int(sys.argv[1])
    for name in sys.argv[2:]:
        PARTS[name](rounds)
        WORLD.Barrier()
        if RANK == 0:
            print(f"{name}: {SIZE} ranks, {rounds} rounds, all payload right", flush=True)


main()

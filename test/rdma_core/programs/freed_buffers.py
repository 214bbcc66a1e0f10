# SPDX-License-Identifier: Apache-2.0
"""Two ranks of an MPI program that free their buffers after each message, as MPI allows. This is not a test;
test_careful.py runs it."""
import ctypes

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK = WORLD.Get_rank()
# Large enough for rendezvous, but small enough that malloc() does not map the buffer by itself. The buffer therefore
# stays mapped after free().
LENGTH = 100_000

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
for n in range(1, 11):
    addresses = [libc.malloc(LENGTH) for _ in range(2)]
    mine, got = ((ctypes.c_char * LENGTH).from_address(address) for address in addresses)
    ctypes.memset(mine, n + 100 * RANK, LENGTH)
    WORLD.Sendrecv([mine, MPI.BYTE], dest=1 - RANK, recvbuf=[got, MPI.BYTE], source=1 - RANK)
    assert got.raw == bytes([n + 100 * (1 - RANK)]) * LENGTH
    for address in addresses:
        libc.free(address)
WORLD.Barrier()
print(f"rank {RANK}: done", flush=True)

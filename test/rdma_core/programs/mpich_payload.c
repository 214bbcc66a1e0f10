/* SPDX-License-Identifier: Apache-2.0 */
/* Does what mpi_payload.py does, for MPICH, because Debian has no mpi4py for it: messages, sums, and
 * windows of all ranks. Compares each byte. This is not a test; test_mpi.py builds and runs it.
 * usage: mpich_payload ROUNDS */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLongest = 1 << 20, kNumbers = 100000 };
static const int kLengths[] = {0, 1, 64, 4096, 16385, kLongest};
enum { kLengthCount = sizeof kLengths / sizeof *kLengths };

static int rank, size;

static void require(int condition, const char* what, int length) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s, %d\n", rank, what, length);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(uint8_t* to, int length, int source, int target, int round) {
  const int first = source * 64 + target * 16 + round * 7;
  for (int i = 0; i < length; ++i) to[i] = (uint8_t)(first + i % 251);
}

static int is_filled(const uint8_t* at, int length, int source, int target, int round) {
  const int first = source * 64 + target * 16 + round * 7;
  for (int i = 0; i < length; ++i) {
    if (at[i] != (uint8_t)(first + i % 251)) return 0;
  }
  return 1;
}

static void* memory(size_t octets) {
  void* out = calloc(octets, 1);
  require(out != NULL, "no memory", (int)octets);
  return out;
}

/* Exchanges messages with every other rank in turn, so that hosts communicate in both directions. */
static void ping_pong(int rounds) {
  uint8_t* mine = memory(kLongest);
  uint8_t* got = memory(kLongest);
  for (int other = 0; other < size; ++other) {
    for (int k = 0; other != rank && k < kLengthCount; ++k) {
      for (int n = 0; n < rounds; ++n) {
        fill(mine, kLengths[k], rank, other, n);
        MPI_Sendrecv(mine, kLengths[k], MPI_BYTE, other, n, got, kLengths[k], MPI_BYTE, other, n,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(is_filled(got, kLengths[k], other, rank, n), "wrong octets came", kLengths[k]);
      }
    }
  }
  free(got);
  free(mine);
}

static void allreduce(int rounds) {
  int64_t* mine = memory(kNumbers * sizeof *mine);
  int64_t* total = memory(kNumbers * sizeof *total);
  for (int n = 0; n < rounds; ++n) {
    for (int64_t i = 0; i < kNumbers; ++i) mine[i] = rank * 1000 + n + i;
    MPI_Allreduce(mine, total, kNumbers, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int64_t i = 0; i < kNumbers; ++i) {
      require(total[i] == 1000 * (size * (size - 1) / 2) + size * (n + i), "a wrong sum", (int)i);
    }
  }
  free(total);
  free(mine);
}

static void alltoall(int rounds) {
  uint8_t* mine = memory((size_t)size * kLongest);
  uint8_t* got = memory((size_t)size * kLongest);
  for (int n = 0; n < rounds; ++n) {
    for (int k = 1; k < kLengthCount; ++k) {
      const int length = kLengths[k];
      for (int to = 0; to < size; ++to) fill(mine + (size_t)to * length, length, rank, to, n);
      MPI_Alltoall(mine, length, MPI_BYTE, got, length, MPI_BYTE, MPI_COMM_WORLD);
      for (int from = 0; from < size; ++from) {
        require(is_filled(got + (size_t)from * length, length, from, rank, n), "wrong octets", length);
      }
    }
  }
  free(got);
  free(mine);
}

/* Puts data into the next rank's window, gets it back, and adds to a counter that all ranks share. */
static void windows(int rounds) {
  /* MPICH 4.0 accepts only aligned sizes for windows in shared memory. */
  enum { kWindow = 70000, kCounterAt = 18 * 4096 - sizeof(int64_t) };
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  uint8_t* octets = memory(kWindow);
  uint8_t* window_octets;
  MPI_Win window;
  MPI_Win_allocate(kCounterAt + sizeof(int64_t), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_octets, &window);
  memset(window_octets, 0, kCounterAt + sizeof(int64_t));
  for (int n = 0; n < rounds; ++n) {
    MPI_Win_fence(0, window);
    fill(octets, kWindow, rank, next, n);
    MPI_Put(octets, kWindow, MPI_BYTE, next, 0, kWindow, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    require(is_filled(window_octets, kWindow, before, rank, n), "wrong octets were put", kWindow);
    memset(octets, 0, kWindow);
    MPI_Get(octets, kWindow, MPI_BYTE, next, 0, kWindow, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    require(is_filled(octets, kWindow, rank, next, n), "wrong octets were got", kWindow);
    const int64_t one = rank + 1;
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, kCounterAt, 1, MPI_INT64_T, MPI_SUM, window);
    MPI_Win_fence(0, window);
    int64_t counter;
    memcpy(&counter, window_octets + kCounterAt, sizeof counter);
    require(rank != 0 || counter == (int64_t)(n + 1) * size * (size + 1) / 2, "the counter", n);
  }
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  free(octets);
}

static void part(const char* name, void (*run)(int), int rounds) {
  run(rounds);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d ranks, %d rounds, all payload right\n", name, size, rounds);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  part("ping_pong", ping_pong, rounds);
  part("allreduce", allreduce, rounds);
  part("alltoall", alltoall, rounds);
  part("windows", windows, rounds);
  return MPI_Finalize();
}

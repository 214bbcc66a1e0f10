// SPDX-License-Identifier: Apache-2.0
// Careless programs that free or move registered memory, in each way that the C library and C++
// have, and correct ones that careful mode must not report.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <thread>

#include "ends.hpp"
#include "programs.hpp"

using namespace careless;

namespace {

constexpr std::size_t kSmall = 4096;
constexpr std::size_t kLarge = 1 << 20;  // malloc() maps such a block by itself.
constexpr std::size_t kPage = 4096;

CARELESS_INLINE ibv_mr* lend(void* memory, std::size_t size) {
  ibv_mr* const out = ibv_reg_mr(domain(), memory, size, kRights);
  check(out != nullptr, "ibv_reg_mr");
  return out;
}

char* allocate(std::size_t size) {
  auto* const out = static_cast<char*>(std::malloc(size));
  check(out != nullptr, "malloc");
  return out;
}

ibv_sge sge_of(const ibv_mr* mr) {
  return {.addr = reinterpret_cast<std::uint64_t>(mr->addr), .length = 64, .lkey = mr->lkey};
}

/// A connected pair, and a block that is registered.
struct Lent : Pair {
  CARELESS_INLINE explicit Lent(std::size_t size = kSmall)
      : block(allocate(size)), mr(lend(block, size)) {}
  char* const block;
  ibv_mr* const mr;
};

}  // namespace

CARELESS(freed, "freed-while-registered") {
  const Lent p;
  std::free(p.block);
}

CARELESS(freed_before_deregistration, "freed-while-registered") {
  const Lent p;
  std::free(p.block);
  ibv_dereg_mr(p.mr);
}

CARELESS(freed_before_disconnecting, "freed-while-registered") {
  const Lent p;
  std::free(p.block);
  for (ibv_qp* const qp : {p.a.qp, p.b.qp}) {
    ibv_qp_attr attr{};
    ibv_modify_qp(qp, &attr, IBV_QP_STATE);  // RESET
    ibv_destroy_qp(qp);
  }
  ibv_dereg_mr(p.mr);
}

CARELESS(freed_in_part, "freed-while-registered") {
  const Pair p;
  char* const block = allocate(kSmall);
  ibv_mr* const mr = lend(block + 1000, 100);
  std::free(block);
  ibv_dereg_mr(mr);
}

CARELESS(freed_while_sent, "freed-while-registered") {
  const Lent p;
  post(p.a, IBV_WR_RDMA_WRITE, sge_of(p.mr), p.b);
  std::free(p.block);
  poll(p.a.cq);
  ibv_dereg_mr(p.mr);
}

CARELESS(large_freed_and_sent, "freed-while-registered") {
  const Lent p(kLarge);
  std::free(p.block);
  post(p.a, IBV_WR_RDMA_WRITE, sge_of(p.mr), p.b);
  poll(p.a.cq);
}

CARELESS(two_regions_freed, "freed-while-registered") {
  const Pair p;
  char* const block = allocate(kSmall);
  const std::array lent{lend(block, 1000), lend(block + 500, 1000)};
  std::free(block);
  for (ibv_mr* const mr : lent) ibv_dereg_mr(mr);
}

CARELESS(moved_by_realloc, "freed-while-registered") {
  const Lent p;
  void* const larger = std::realloc(p.block, kLarge);
  ibv_dereg_mr(p.mr);
  std::free(larger);
}

CARELESS(moved_by_reallocarray, "freed-while-registered") {
  const Lent p;
  void* const larger = reallocarray(p.block, kLarge / kSmall, kSmall);
  ibv_dereg_mr(p.mr);
  std::free(larger);
}

CARELESS(emptied_by_realloc, "freed-while-registered") {
  const Lent p;
  void* const nothing = std::realloc(p.block, 0);
  ibv_dereg_mr(p.mr);
  std::free(nothing);
}

CARELESS(cut_short_by_realloc, "freed-while-registered") {
  const Pair p;
  char* const block = allocate(2 * kSmall);
  ibv_mr* const mr = lend(block, kSmall + 1);
  void* const shorter = std::realloc(block, kSmall);
  ibv_dereg_mr(mr);
  std::free(shorter);
}

CARELESS(deleted, "freed-while-registered") {
  const Pair p;
  char* const block = new char[kSmall];
  ibv_mr* const mr = lend(block, kSmall);
  delete[] block;
  ibv_dereg_mr(mr);
}

CARELESS(deleted_with_alignment, "freed-while-registered") {
  const Pair p;
  struct alignas(kPage) Page {
    std::array<char, kPage> octets;
  };
  auto* const page = new Page;
  ibv_mr* const mr = lend(page, sizeof *page);
  delete page;
  ibv_dereg_mr(mr);
}

CARELESS(freed_after_registering_again, "freed-while-registered") {
  const Lent p;
  char* const other = allocate(kSmall);
  check(ibv_rereg_mr(p.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other, kSmall, 0) == 0,
        "ibv_rereg_mr");
  std::free(other);
  ibv_dereg_mr(p.mr);
  std::free(p.block);
}

CARELESS(proper_memory, kCorrect) {
  const Pair p;
  char* block = allocate(2 * kSmall);
  ibv_mr* mr = lend(block, kSmall);
  block = static_cast<char*>(std::realloc(block, kSmall));
  check(block == mr->addr, "realloc() moves what it cuts short");
  volatile std::size_t too_much = SIZE_MAX / 4;
  check(std::realloc(block, too_much) == nullptr, "realloc() has so much");
  check(reallocarray(mr->addr, too_much, 5) == nullptr, "reallocarray() has so much");
  void* const same = mr->addr;
  ibv_dereg_mr(mr);
  std::free(same);

  auto other = std::make_unique<char[]>(kSmall);
  mr = lend(other.get(), kSmall);
  auto* const next = allocate(kSmall);
  check(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, next, kSmall, 0) == 0,
        "ibv_rereg_mr");
  other.reset();
  ibv_dereg_mr(mr);
  // The C library may reuse the address for other blocks, which are not registered.
  std::free(next);
  for (int i = 0; i < 100; ++i) std::free(allocate(kSmall));
}

// Registered pages may include neighbouring blocks, and the program may free those blocks.
CARELESS(proper_neighbours, kCorrect) {
  const Pair p;
  std::vector<char*> blocks(64);
  for (char*& block : blocks) block = allocate(100);
  ibv_mr* const one = lend(blocks[20], 100);
  const auto address = reinterpret_cast<std::uintptr_t>(blocks[40]);
  ibv_mr* const pages = lend(blocks[40] - address % kPage, 2 * kPage);
  for (char*& block : blocks) {
    if (block != blocks[20] && block != blocks[40]) std::free(block);
  }
  ibv_dereg_mr(one);
  ibv_dereg_mr(pages);
  std::free(blocks[20]);
  std::free(blocks[40]);
}

// After both queue pairs have been destroyed, no peer can access the memory, so the program may
// free the memory.
CARELESS(proper_disconnected, kCorrect) {
  const Lent p;
  ibv_destroy_qp(p.a.qp);
  ibv_destroy_qp(p.b.qp);
  std::free(p.block);
}

CARELESS(proper_other_domain, kCorrect) {
  const Pair p;
  char* const block = allocate(kSmall);
  ibv_mr* const mr = ibv_reg_mr(ibv_alloc_pd(device()), block, kSmall, kRights);
  std::free(block);
  ibv_dereg_mr(mr);
}

// The child's copy of the memory is not registered, so the child may free it. The child then
// registers memory of its own.
CARELESS(proper_child, kCorrect) {
  const Lent p;
  const pid_t child = fork();
  if (child == 0) {
    std::free(p.block);
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    ibv_context* const context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    char* const own = allocate(kSmall);
    ibv_mr* const lent = ibv_reg_mr(ibv_alloc_pd(context), own, kSmall, kRights);
    const bool is_done = lent != nullptr && ibv_dereg_mr(lent) == 0;
    std::free(own);
    std::exit(is_done ? 0 : 1);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "the child has failed");
  ibv_dereg_mr(p.mr);
  std::free(p.block);
}

CARELESS(proper_threads, kCorrect) {
  const Pair p;
  constexpr int kRounds = 1000;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < kRounds; ++round) {
        char* const block = allocate(kSmall);
        ibv_mr* const mr = lend(block, kSmall);
        std::free(allocate(kSmall));
        ibv_dereg_mr(mr);
        std::free(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Memory may still be registered when the program exits, because the kernel then frees all memory
// of the process.
CARELESS(proper_end, kCorrect) {
  const Pair p;
  static std::unique_ptr<char[]> left;
  left = std::make_unique<char[]>(kSmall);
  lend(left.get(), kSmall);
}

CARELESS(too_many_regions, kUnlisted) {
  char* const block = allocate(kSmall);
  std::vector<ibv_mr*> lent;
  for (int i = 0; i < 4100; ++i) lent.push_back(lend(block, 64));
  for (ibv_mr* const mr : lent) ibv_dereg_mr(mr);
  std::free(block);
}

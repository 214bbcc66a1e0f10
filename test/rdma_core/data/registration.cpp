// SPDX-License-Identifier: Apache-2.0
// Tests the memory regions of each call that registers memory, and keys that a peer's Send
// invalidates.
#include <sys/mman.h>
#include <unistd.h>

#include "support.hpp"

namespace {

using namespace data;

// In rdma-core's header these names are also macros, which call ibv_reg_mr_iova2() if the access
// rights are not a constant. The tests must call the functions.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

// [IBV-128, IBV-139, IBV-144]
TEST_CASE("a peer addresses a region with the address that the program specified") {
  Pair pair;
  constexpr std::uint64_t kIova = 0x1000;
  constexpr unsigned kRights = End::kAllRights | IBV_ACCESS_RELAXED_ORDERING;
  std::byte* const at = pair.b.buffer.data() + 4096;
  for (const bool is_second : {false, true}) {
    ibv_mr* const mr = must(is_second ? ibv_reg_mr_iova2(pair.b.pd, at, 64, kIova, kRights)
                                      : ibv_reg_mr_iova(pair.b.pd, at, 64, kIova, End::kAllRights));
    CHECK_EQ(mr->addr, at);
    pair.a.write(0, "iova");
    pair.b.write(4104, "....");
    REQUIRE_EQ(pair.a.post_to(IBV_WR_RDMA_WRITE, kIova + 8, mr->rkey, 0, 4), 0);
    success(pair.a.cq);
    pair.settle();
    CHECK_EQ(pair.b.text(4104, 4), "iova");
    CHECK_EQ(ibv_dereg_mr(mr), 0);
  }
}

// [IBV-163, IBV-164, IBV-169]
TEST_CASE("a region keeps its specified address when only its rights change") {
  Pair pair;
  constexpr std::uint64_t kIova = 0x1000;
  const int some = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  ibv_mr* const mr = must(ibv_reg_mr_iova(pair.b.pd, pair.b.buffer.data(), 64, kIova, some));
  const auto key = mr->rkey;
  REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, End::kAllRights), 0);
  CHECK_EQ(mr->rkey, key);
  CHECK_EQ(mr->lkey, key);
  pair.a.write(0, "iova");
  REQUIRE_EQ(pair.a.post_to(IBV_WR_RDMA_WRITE, kIova, mr->rkey, 0, 4), 0);
  success(pair.a.cq);
  pair.settle();
  CHECK_EQ(pair.b.text(0, 4), "iova");
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

// [IBV-134, IBV-163]
TEST_CASE("a revoked access right is gone when the call returns, and the key does not change") {
  Pair pair;
  ibv_mr* const mr = must(ibv_reg_mr(pair.b.pd, pair.b.buffer.data(), 64, End::kAllRights));
  const auto key = mr->rkey;
  const int some = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, some), 0);
  CHECK_EQ(mr->rkey, key);
  REQUIRE_EQ(pair.a.post_to(IBV_WR_RDMA_READ, pair.b.remote(0), key, 0, 4), 0);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

// [IBV-162, IBV-169]
TEST_CASE("a region that moves to another protection domain keeps its key") {
  Pair pair;
  ibv_pd* const other = must(ibv_alloc_pd(pair.b.context));
  ibv_mr* const mr = must(ibv_reg_mr(other, pair.b.buffer.data(), 64, End::kAllRights));
  const auto key = mr->rkey;
  REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pair.b.pd, nullptr, 0, 0), 0);
  CHECK_EQ(mr->rkey, key);
  CHECK_EQ(mr->pd, pair.b.pd);
  CHECK_EQ(ibv_dealloc_pd(other), 0);
  REQUIRE_EQ(pair.a.post_to(IBV_WR_RDMA_READ, pair.b.remote(0), key, 0, 4), 0);
  success(pair.a.cq);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

// [IBV-152, IBV-202]
TEST_CASE("every operation reaches the last octets of a region that ends at 2^64") {
  constexpr std::size_t kLength = 4096;
  constexpr std::uint64_t kIova = 0 - std::uint64_t{kLength};
  Pair pair;
  ibv_mr* const mr =
      must(ibv_reg_mr_iova(pair.b.pd, pair.b.buffer.data(), kLength, kIova, End::kAllRights));
  ibv_mw* const mw = must(ibv_alloc_mw(pair.b.pd, IBV_MW_TYPE_2));
  const auto window = pair.b.bind(mw, {.mr = mr,
                                       .addr = kIova + kLength - 16,
                                       .length = 16,
                                       .mw_access_flags = End::kAllRights & ~IBV_ACCESS_MW_BIND});
  const ibv_sge all{.addr = kIova, .length = kLength, .lkey = mr->lkey};
  for (const auto rkey : {mr->rkey, window}) {
    for (const auto opcode :
         {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND}) {
      CAPTURE(opcode);
      const bool is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
      const std::size_t length = is_atomic ? 8 : rkey == window ? 16 : kLength;
      const std::uint64_t to = kIova + kLength - length;
      ibv_send_wr wr{.opcode = opcode};
      if (is_atomic) {
        wr.wr.atomic = {.remote_addr = to, .compare_add = 1, .rkey = rkey};
      } else {
        wr.wr.rdma = {.remote_addr = to, .rkey = rkey};
      }
      if (opcode == IBV_WR_SEND) REQUIRE_EQ(pair.b.receive(all), 0);
      REQUIRE_EQ(pair.a.post(wr, 0, length), 0);
      success(pair.a.cq);
      if (opcode == IBV_WR_SEND) success(pair.b.cq);
    }
  }
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

// [RCM-259]
// [IBV-149, IBV-150]
TEST_CASE("memory that the program does not have, or may not write, causes EFAULT") {
  const End end;
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE_NE(page, MAP_FAILED);
  const auto error_of = [&](std::size_t length, int rights) {
    errno = 0;
    ibv_mr* const mr = ibv_reg_mr(end.pd, page, length, rights);
    const int error = errno;
    if (mr != nullptr) CHECK_EQ(ibv_dereg_mr(mr), 0);
    return error;
  };
  CHECK_EQ(error_of(size, IBV_ACCESS_REMOTE_READ), 0);
  CHECK_EQ(error_of(size, IBV_ACCESS_LOCAL_WRITE), EFAULT);
  CHECK_EQ(error_of(0, 0), EINVAL);
  CHECK_EQ(error_of(SIZE_MAX, 0), EINVAL);
  REQUIRE_EQ(munmap(page, size), 0);
  CHECK_EQ(error_of(size, 0), EFAULT);
}

// [IBV-137]
TEST_CASE("the offset of a zero-based region counts from 0, whatever address was specified") {
  Pair pair;
  ibv_mr* const mr = must(ibv_reg_mr_iova2(pair.b.pd, pair.b.buffer.data(), 64, 0x77,
                                           End::kAllRights | IBV_ACCESS_ZERO_BASED));
  pair.b.write(8, "zero");
  REQUIRE_EQ(pair.a.post_to(IBV_WR_RDMA_READ, 8, mr->rkey, 100, 4), 0);
  success(pair.a.cq);
  CHECK_EQ(pair.a.text(100, 4), "zero");
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

// [IBV-138, IBV-140, IBV-142]
TEST_CASE("unknown or contradictory access rights are refused, but unknown optional ones are not") {
  const End end;
  void* const at = const_cast<std::byte*>(end.buffer.data());
  const auto refused = [](const ibv_mr* mr) { return mr == nullptr && errno == EINVAL; };
  CHECK(refused(ibv_reg_mr(end.pd, at, 8, IBV_ACCESS_REMOTE_WRITE)));
  CHECK(refused(ibv_reg_mr_iova(end.pd, at, 8, 0, IBV_ACCESS_REMOTE_WRITE)));
  // Of the three calls, only this one accepts optional rights.
  const auto error_of = [&](int rights) {
    errno = 0;
    ibv_mr* const mr = ibv_reg_mr_iova2(end.pd, at, 8, 0, rights);
    if (mr == nullptr) return errno;
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    return 0;
  };
  CHECK_EQ(error_of(0), 0);
  CHECK_EQ(error_of(End::kAllRights | IBV_ACCESS_RELAXED_ORDERING), 0);
  CHECK_EQ(error_of(End::kAllRights | (1 << 27)), 0);
  CHECK_EQ(error_of(End::kAllRights | (1 << 15)), EINVAL);
  CHECK_EQ(error_of(End::kAllRights | (1 << 30)), EINVAL);
  CHECK_EQ(error_of(IBV_ACCESS_REMOTE_WRITE), EINVAL);
  CHECK_EQ(error_of(IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
  CHECK_EQ(error_of(End::kAllRights | IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
}

// [IBV-186, IBV-261, IBV-555]
TEST_CASE("the completion of a Send with Invalidate contains the key that it invalidated") {
  Pair pair({.extended = true, .extended_cq = true});
  ibv_mw* const mw = must(ibv_alloc_mw(pair.b.pd, IBV_MW_TYPE_2));
  const auto rkey = pair.b.bind(mw, pair.b.first(8, IBV_ACCESS_REMOTE_WRITE));
  REQUIRE_EQ(pair.b.post_recv(5), 0);
  ibv_qp_ex* const a = must(ibv_qp_to_qp_ex(pair.a.qp));
  ibv_wr_start(a);
  a->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_inv(a, rkey);
  REQUIRE_EQ(ibv_wr_complete(a), 0);
  success(pair.a.cq);
  REQUIRE(ibv_req_notify_cq(pair.b.cq, 0) == 0);
  start_poll(pair.b.cq_ex);
  CHECK_EQ(pair.b.cq_ex->status, IBV_WC_SUCCESS);
  CHECK_EQ(ibv_wc_read_wc_flags(pair.b.cq_ex), IBV_WC_WITH_INV);
  CHECK_EQ(ibv_wc_read_invalidated_rkey(pair.b.cq_ex), rkey);
  ibv_end_poll(pair.b.cq_ex);
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

}  // namespace

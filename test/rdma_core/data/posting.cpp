// SPDX-License-Identifier: Apache-2.0
// Tests how this library posts and sends requests: lists longer than its batches, lists of buffers,
// a region that ends at 2^64, and a buffer that changes.
#include <array>
#include <atomic>
#include <thread>

#include "support.hpp"

using namespace data;

// [IBV-206, IBV-502]
TEST_CASE("requests before a refused bind are posted") {
  Pair pair;
  pair.a.write(0, "before");
  ibv_mw* const mw = must(ibv_alloc_mw(pair.a.pd, IBV_MW_TYPE_2));
  ibv_send_wr bind{.opcode = IBV_WR_BIND_MW};
  bind.bind_mw = {.mw = mw,
                  .rkey = mw->rkey,
                  .bind_info = {.mr = pair.a.mr, .mw_access_flags = IBV_ACCESS_HUGETLB}};
  ibv_sge sge = pair.a.sge(0, 6);
  ibv_send_wr wr{.next = &bind, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
  wr.wr.rdma = {.remote_addr = pair.b.remote(0), .rkey = pair.b.mr->rkey};
  ibv_send_wr* bad = nullptr;
  CHECK_EQ(ibv_post_send(pair.a.qp, &wr, &bad), EINVAL);
  CHECK_EQ(bad, &bind);
  // The Write must have been posted. Otherwise this Read would complete first.
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 8, 8, 0), 0);
  REQUIRE_EQ(success(pair.a.cq).wr_id, 0);
  REQUIRE_EQ(success(pair.a.cq).wr_id, 8);
  CHECK_EQ(pair.b.text(0, 6), "before");
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

// [IBV-384, IBV-501, IBV-295]
TEST_CASE("a list longer than a batch is posted completely") {
  const Options options{.cap = {.max_send_wr = 100, .max_recv_wr = 1, .max_send_sge = 16}};
  Pair pair(options);
  std::array<ibv_sge, 16> sges{};
  for (std::size_t i = 0; i < sges.size(); ++i) sges[i] = pair.a.sge(i, 1);
  pair.a.write(0, "0123456789abcdef");
  std::array<ibv_send_wr, 100> wrs{};
  for (std::size_t i = 0; i < wrs.size(); ++i) {
    wrs[i] = {.wr_id = i,
              .next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr,
              .sg_list = sges.data(),
              .num_sge = 16,
              .opcode = IBV_WR_RDMA_WRITE};
    wrs[i].wr.rdma = {.remote_addr = pair.b.remote(16 * i), .rkey = pair.b.mr->rkey};
  }
  ibv_send_wr* bad = nullptr;
  REQUIRE_EQ(ibv_post_send(pair.a.qp, wrs.data(), &bad), 0);
  for (std::size_t i = 0; i < wrs.size(); ++i) CHECK_EQ(success(pair.a.cq).wr_id, i);
  pair.settle();
  for (std::size_t i = 0; i < wrs.size(); ++i)
    CHECK_EQ(pair.b.text(16 * i, 16), "0123456789abcdef");
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

// test/sim/changed_sources.cpp tests this for every split of a request. This test adds a full
// socket: b reads nothing while the first Send of each round waits for its receive.
TEST_CASE("a buffer that changes while it is sent breaks no connection" *
          doctest::skip(kThreadSanitizer)) {
  constexpr std::size_t kLargest = 1 << 20;
  constexpr std::uint64_t kRequests = 6;
  const Options options{.memory = kLargest};
  Pair pair(options, options, kForEver);
  const std::jthread changer([words = &pair.a.word(0)](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (std::size_t i = 0; i < kLargest / 8; ++i) std::atomic_ref(words[i]).fetch_add(1);
    }
  });
  for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND}) {
    for (const std::size_t size : {std::size_t{600}, std::size_t{1} << 16, kLargest}) {
      CAPTURE(size);
      REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 8), 0);
      for (std::uint64_t i = 0; i < kRequests; ++i) {
        REQUIRE_EQ(pair.a.post_rdma(opcode, pair.b, 0, size, 0), 0);
      }
      for (std::uint64_t i = 0; i <= kRequests; ++i) {
        if (i == 0 || opcode == IBV_WR_SEND) REQUIRE_EQ(pair.b.post_recv(i, 0, size), 0);
      }
      for (std::uint64_t i = 0; i <= kRequests; ++i) success(pair.a.cq);
      for (std::uint64_t i = 0; i <= kRequests; ++i) {
        if (i == 0 || opcode == IBV_WR_SEND) success(pair.b.cq);
      }
    }
  }
  pair.settle();
}

// SPDX-License-Identifier: Apache-2.0
// Tests threads that poll one extended completion queue, and which fields it can report.
#include <atomic>
#include <thread>

#include "support.hpp"

using namespace data;

namespace {

const Options kExtended{.extended_cq = true};

/// Posts a Write with this wr_id.
void write(Pair& pair, std::uint64_t id) {
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_WRITE, pair.b, id, 8, 64), 0);
}

}  // namespace

TEST_CASE("a thread that never ends a poll does not keep other threads from polling") {
  Pair pair(kExtended);
  write(pair, 1);
  write(pair, 2);
  start_poll(pair.a.cq_ex);
  start_poll(pair.a.cq_ex);  // A second ibv_start_poll() of the same thread ends the first poll.
  CHECK_EQ(pair.a.cq_ex->wr_id, 2);
  write(pair, 3);
  std::uint64_t got = 0;
  std::thread([&] {
    start_poll(pair.a.cq_ex);
    got = pair.a.cq_ex->wr_id;
    ibv_end_poll(pair.a.cq_ex);
  }).join();
  CHECK_EQ(got, 3);
}

// [IBV-270]
TEST_CASE("threads that poll the same queue read complete completions") {
  Pair pair(kExtended);
  constexpr std::uint64_t kCount = 400;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> sum{0};
  const auto poll = [&] {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (seen.load() < kCount && std::chrono::steady_clock::now() < end) {
      ibv_poll_cq_attr attr{};
      if (ibv_start_poll(pair.a.cq_ex, &attr) != 0) continue;
      sum += pair.a.cq_ex->wr_id;
      CHECK_EQ(ibv_wc_read_opcode(pair.a.cq_ex), IBV_WC_RDMA_WRITE);
      ibv_end_poll(pair.a.cq_ex);
      ++seen;
    }
  };
  std::thread one(poll);
  std::thread two(poll);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    wait_until([&] { return i < seen.load() + 16; }, "no thread polls");
    write(pair, i);
  }
  one.join();
  two.join();
  CHECK_EQ(seen.load(), kCount);
  CHECK_EQ(sum.load(), kCount * (kCount - 1) / 2);
}

// [IBV-246, IBV-247, IBV-248, IBV-251, IBV-253, IBV-244]
TEST_CASE("unsupported fields and flags are refused") {
  ibv_context* context = open_device();
  for (const std::uint64_t flag :
       {IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
        IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO}) {
    ibv_cq_init_attr_ex attr{.cqe = 64, .wc_flags = flag};
    errno = 0;
    CHECK_EQ(error_of(ibv_create_cq_ex(context, &attr)), EOPNOTSUPP);
  }
  ibv_cq_init_attr_ex attr{.cqe = 64,
                           .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
                           .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN};
  CHECK_EQ(ibv_create_cq_ex(context, &attr), nullptr);
  attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  ibv_cq_ex* cq = must(ibv_create_cq_ex(context, &attr));
  ibv_poll_cq_attr unknown{.comp_mask = 1};
  CHECK_EQ(ibv_start_poll(cq, &unknown), EINVAL);
  CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  CHECK_EQ(ibv_close_device(context), 0);
}

// [IBV-261]
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

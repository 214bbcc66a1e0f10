// SPDX-License-Identifier: Apache-2.0
// Tests ibv_create_cq_ex(), and completions that are read with the ibv_wc_read_*() calls.
#include <atomic>
#include <thread>

#include "support.hpp"

using namespace data;

namespace {

int start(ibv_cq_ex* cq) {
  ibv_poll_cq_attr attr{};
  return ibv_start_poll(cq, &attr);
}

const Options kExtended{.extended_cq = true};

/// Posts a Write with this wr_id.
void write(Pair& pair, std::uint64_t id) {
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_WRITE, pair.b, id, 8, 64), 0);
}

}  // namespace

// [IBV-252, IBV-256, IBV-257, IBV-258, IBV-259, IBV-260, IBV-262, IBV-264]
TEST_CASE("each field of a completion is read with a call") {
  Pair pair(kExtended);
  CHECK_EQ(start(pair.a.cq_ex), ENOENT);
  REQUIRE_EQ(pair.b.post_recv(8), 0);
  ibv_send_wr wr{.wr_id = 9, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = 42};
  wr.wr.rdma = {.remote_addr = pair.b.remote(64), .rkey = pair.b.mr->rkey};
  REQUIRE_EQ(pair.a.post(wr, 0, 16), 0);
  for (End* const end : {&pair.a, &pair.b}) {
    ibv_cq_ex* const cq = end->cq_ex;
    start_poll(cq);
    CHECK_EQ(cq->status, IBV_WC_SUCCESS);
    CHECK_EQ(ibv_wc_read_vendor_err(cq), 0);
    CHECK_EQ(ibv_wc_read_qp_num(cq), end->qp->qp_num);
    if (end == &pair.a) {
      CHECK_EQ(cq->wr_id, 9);
      CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
    } else {
      CHECK_EQ(cq->wr_id, 8);
      CHECK_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV_RDMA_WITH_IMM);
      CHECK_EQ(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
      CHECK_EQ(ibv_wc_read_imm_data(cq), 42);
      CHECK_EQ(ibv_wc_read_byte_len(cq), 16);
    }
    CHECK_EQ(ibv_wc_read_src_qp(cq), 0);
    CHECK_EQ(ibv_wc_read_slid(cq), 0);
    CHECK_EQ(ibv_wc_read_sl(cq), 0);
    CHECK_EQ(ibv_wc_read_dlid_path_bits(cq), 0);
    ibv_end_poll(cq);
  }
}

// [IBV-254, IBV-255, IBV-269]
TEST_CASE("several completions are read between start and end, and ibv_poll_cq() works too") {
  Pair pair(kExtended);
  for (std::uint64_t i = 0; i < 4; ++i) write(pair, i);
  start_poll(pair.a.cq_ex);
  CHECK_EQ(pair.a.cq_ex->wr_id, 0);
  next_poll(pair.a.cq_ex);
  CHECK_EQ(pair.a.cq_ex->wr_id, 1);
  ibv_end_poll(pair.a.cq_ex);
  CHECK_EQ(success(pair.a.cq).wr_id, 2);
  CHECK_EQ(success(pair.a.cq).wr_id, 3);
}

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
      if (start(pair.a.cq_ex) != 0) continue;
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

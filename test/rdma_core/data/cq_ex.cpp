// SPDX-License-Identifier: Apache-2.0
// Tests ibv_create_cq_ex(), and completions that are read with the ibv_wc_read_*() calls.
#include <atomic>
#include <thread>

#include "support.hpp"

using namespace data;

namespace {

/// A completion queue for two Ends that was created with ibv_create_cq_ex().
struct ExtendedCq {
  explicit ExtendedCq(ibv_context* context, std::uint64_t flags = IBV_WC_STANDARD_FLAGS) {
    ibv_cq_init_attr_ex attr{.cqe = 64, .wc_flags = flags};
    cq = ibv_create_cq_ex(context, &attr);
  }
  ibv_cq_ex* cq;
};

int start(ibv_cq_ex* cq) {
  ibv_poll_cq_attr attr{};
  return ibv_start_poll(cq, &attr);
}

void until_started(ibv_cq_ex* cq) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (start(cq) != 0) REQUIRE(std::chrono::steady_clock::now() < end);
}

/// Two queue pairs that are connected to each other and share one extended completion queue.
struct Loop {
  Loop() {
    cq = ExtendedCq(end.context).cq;
    must(cq);
    for (ibv_qp*& qp : qps) {
      ibv_qp_init_attr attr{.send_cq = ibv_cq_ex_to_cq(cq),
                            .recv_cq = ibv_cq_ex_to_cq(cq),
                            .cap = {.max_send_wr = 16, .max_recv_wr = 16},
                            .qp_type = IBV_QPT_RC,
                            .sq_sig_all = 1};
      qp = must(ibv_create_qp(end.pd, &attr));
    }
    std::swap(end.qp, qps[0]);
    end.bring_up(qps[1]);
    std::swap(end.qp, qps[1]);
    end.bring_up(qps[1]);
    std::swap(end.qp, qps[1]);
    std::swap(end.qp, qps[0]);
  }
  ~Loop() {
    for (ibv_qp* qp : qps) CHECK_EQ(ibv_destroy_qp(qp), 0);
    CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  }
  void write(std::uint64_t id) {
    ibv_sge sge = end.sge(0, 8);
    ibv_send_wr wr{.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    wr.wr.rdma = {.remote_addr = end.remote(64), .rkey = end.mr->rkey};
    ibv_send_wr* bad = nullptr;
    REQUIRE_EQ(ibv_post_send(qps[0], &wr, &bad), 0);
  }
  End end;
  ibv_cq_ex* cq = nullptr;
  ibv_qp* qps[2] = {};
};

}  // namespace

TEST_CASE("each field of a completion is read with a call") {
  Loop loop;
  CHECK_EQ(start(loop.cq), ENOENT);
  ibv_recv_wr receive{.wr_id = 8};
  ibv_recv_wr* bad_receive = nullptr;
  REQUIRE_EQ(ibv_post_recv(loop.qps[1], &receive, &bad_receive), 0);
  ibv_sge sge = loop.end.sge(0, 16);
  ibv_send_wr wr{.wr_id = 9,
                 .sg_list = &sge,
                 .num_sge = 1,
                 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                 .imm_data = 42};
  wr.wr.rdma = {.remote_addr = loop.end.remote(64), .rkey = loop.end.mr->rkey};
  ibv_send_wr* bad = nullptr;
  REQUIRE_EQ(ibv_post_send(loop.qps[0], &wr, &bad), 0);
  for (int i = 0; i < 2; ++i) {
    until_started(loop.cq);
    CHECK_EQ(loop.cq->status, IBV_WC_SUCCESS);
    CHECK_EQ(ibv_wc_read_vendor_err(loop.cq), 0);
    if (loop.cq->wr_id == 9) {
      CHECK_EQ(ibv_wc_read_opcode(loop.cq), IBV_WC_RDMA_WRITE);
      CHECK_EQ(ibv_wc_read_qp_num(loop.cq), loop.qps[0]->qp_num);
    } else {
      CHECK_EQ(loop.cq->wr_id, 8);
      CHECK_EQ(ibv_wc_read_opcode(loop.cq), IBV_WC_RECV_RDMA_WITH_IMM);
      CHECK_EQ(ibv_wc_read_wc_flags(loop.cq), IBV_WC_WITH_IMM);
      CHECK_EQ(ibv_wc_read_imm_data(loop.cq), 42);
      CHECK_EQ(ibv_wc_read_byte_len(loop.cq), 16);
      CHECK_EQ(ibv_wc_read_qp_num(loop.cq), loop.qps[1]->qp_num);
    }
    CHECK_EQ(ibv_wc_read_src_qp(loop.cq), 0);
    CHECK_EQ(ibv_wc_read_slid(loop.cq), 0);
    CHECK_EQ(ibv_wc_read_sl(loop.cq), 0);
    CHECK_EQ(ibv_wc_read_dlid_path_bits(loop.cq), 0);
    ibv_end_poll(loop.cq);
  }
}

TEST_CASE("several completions are read between start and end, and ibv_poll_cq() works too") {
  Loop loop;
  for (std::uint64_t i = 0; i < 4; ++i) loop.write(i);
  until_started(loop.cq);
  CHECK_EQ(loop.cq->wr_id, 0);
  int code = 0;
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while ((code = ibv_next_poll(loop.cq)) == ENOENT) REQUIRE(std::chrono::steady_clock::now() < end);
  REQUIRE_EQ(code, 0);
  CHECK_EQ(loop.cq->wr_id, 1);
  ibv_end_poll(loop.cq);
  CHECK_EQ(success(ibv_cq_ex_to_cq(loop.cq)).wr_id, 2);
  CHECK_EQ(success(ibv_cq_ex_to_cq(loop.cq)).wr_id, 3);
}

TEST_CASE("a thread that never ends a poll does not keep other threads from polling") {
  Loop loop;
  loop.write(1);
  loop.write(2);
  until_started(loop.cq);
  until_started(loop.cq);  // A second ibv_start_poll() of the same thread ends the first poll.
  CHECK_EQ(loop.cq->wr_id, 2);
  loop.write(3);
  std::uint64_t got = 0;
  std::thread([&] {
    until_started(loop.cq);
    got = loop.cq->wr_id;
    ibv_end_poll(loop.cq);
  }).join();
  CHECK_EQ(got, 3);
}

TEST_CASE("threads that poll the same queue read complete completions") {
  Loop loop;
  constexpr std::uint64_t kCount = 400;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> sum{0};
  const auto poll = [&] {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (seen.load() < kCount && std::chrono::steady_clock::now() < end) {
      if (start(loop.cq) != 0) continue;
      sum += loop.cq->wr_id;
      CHECK_EQ(ibv_wc_read_opcode(loop.cq), IBV_WC_RDMA_WRITE);
      ibv_end_poll(loop.cq);
      ++seen;
    }
  };
  std::thread one(poll);
  std::thread two(poll);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (i >= seen.load() + 16) REQUIRE(std::chrono::steady_clock::now() < end);
    loop.write(i);
  }
  one.join();
  two.join();
  CHECK_EQ(seen.load(), kCount);
  CHECK_EQ(sum.load(), kCount * (kCount - 1) / 2);
}

TEST_CASE("unsupported fields and flags are refused") {
  ibv_context* context = open_device();
  for (const std::uint64_t flag :
       {IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
        IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO}) {
    errno = 0;
    CHECK_EQ(ExtendedCq(context, flag).cq, nullptr);
    CHECK_EQ(errno, EOPNOTSUPP);
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

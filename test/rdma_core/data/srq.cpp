// SPDX-License-Identifier: Apache-2.0
// Tests shared receive queues.
#include "support.hpp"

using namespace data;

namespace {

const Options kShared{.shared_receives = true};

ibv_srq* make(End& end, std::uint32_t max_wr, std::uint32_t max_sge = 1) {
  ibv_srq_init_attr attr{.attr = {.max_wr = max_wr, .max_sge = max_sge}};
  return ibv_create_srq(end.pd, &attr);
}

}  // namespace

// [IBV-324, IBV-510]
TEST_CASE("a Send waits for a receive that is posted later, to the shared queue or to its own") {
  for (const auto opcode : {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM}) {
    for (const bool is_shared : {false, true}) {
      CAPTURE(opcode);
      CAPTURE(is_shared);
      Pair pair({}, {.shared_receives = is_shared}, kForEver);
      pair.a.write(0, "late");
      REQUIRE_EQ(pair.a.post({.opcode = opcode, .imm_data = 5}, 0, 4), 0);
      if (!is_acknowledged()) REQUIRE_EQ(success(pair.a.cq).opcode, IBV_WC_SEND);
      CHECK(is_empty(pair.b.cq));
      REQUIRE_EQ(pair.b.post_recv(5, 8, 16), 0);
      const ibv_wc got = success(pair.b.cq);
      if (is_acknowledged()) REQUIRE_EQ(success(pair.a.cq).opcode, IBV_WC_SEND);
      CHECK_EQ(got.wr_id, 5);
      CHECK_EQ(got.byte_len, 4);
      if (opcode == IBV_WR_SEND_WITH_IMM) CHECK_EQ(got.imm_data, 5);
      CHECK_EQ(pair.b.text(8, 4), "late");
    }
  }
}

// [IBV-355, IBV-356, IBV-357, IBV-364, IBV-365, IBV-606]
TEST_CASE("one event reports that fewer receives than the limit remain") {
  Pair pair({}, kShared);
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE_EQ(pair.b.post_recv(i, 0, 16), 0);
  ibv_srq_attr attr{.srq_limit = 3};
  REQUIRE_EQ(ibv_modify_srq(pair.b.srq, &attr, IBV_SRQ_LIMIT), 0);
  REQUIRE_EQ(ibv_query_srq(pair.b.srq, &attr), 0);
  CHECK_EQ(attr.srq_limit, 3);
  CHECK_GE(attr.max_wr, 32);
  CHECK_GE(attr.max_sge, 4);
  REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 3), 0);
  success(pair.b.cq);
  CHECK_FALSE(is_readable(pair.b.context->async_fd));
  for (int i = 0; i < 2; ++i) {
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 3), 0);
    success(pair.b.cq);
  }
  const ibv_async_event event = pair.b.take_async_event();
  CHECK_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  CHECK_EQ(event.element.srq, pair.b.srq);
  CHECK_FALSE(is_readable(pair.b.context->async_fd));
  REQUIRE_EQ(ibv_query_srq(pair.b.srq, &attr), 0);
  CHECK_EQ(attr.srq_limit, 0);
}

// [IBV-305, IBV-376]
TEST_CASE("a queue pair in error consumes no more from the shared queue, and reports that once") {
  SettledPair pair({}, kShared);
  REQUIRE_EQ(pair.b.post_recv(1, 0, 16), 0);
  SUBCASE("by its own transition") { REQUIRE_EQ(pair.b.modify(IBV_QPS_ERR), 0); }
  SUBCASE("by the peer's transition") {
    if (is_acknowledged()) return;  // The queue pair stays in RTS.
    REQUIRE_EQ(pair.a.modify(IBV_QPS_ERR), 0);
  }
  const ibv_async_event event = pair.b.take_async_event();
  CHECK_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  CHECK_EQ(event.element.qp, pair.b.qp);
  REQUIRE_EQ(pair.b.modify(IBV_QPS_ERR), 0);
  CHECK_FALSE(is_readable(pair.b.context->async_fd));
  // The receive remains available to other queue pairs.
  CHECK(is_empty(pair.b.cq));
}

// [IBV-44, IBV-45, IBV-349, IBV-359, IBV-361, IBV-363, IBV-366]
TEST_CASE("sizes of shared receive queues are checked") {
  End end;
  ibv_device_attr device{};
  REQUIRE_EQ(ibv_query_device(end.context, &device), 0);
  const auto most = static_cast<std::uint32_t>(device.max_srq_wr);
  const auto sges = static_cast<std::uint32_t>(device.max_srq_sge);
  CHECK_EQ(make(end, 0), nullptr);
  CHECK_EQ(make(end, most + 1), nullptr);
  CHECK_EQ(make(end, 1, sges + 1), nullptr);
  ibv_srq* srq = must(make(end, most, sges));
  ibv_srq_attr attr{.max_wr = 2 * most, .srq_limit = most + 1};
  CHECK_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
  CHECK_NE(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
  CHECK_EQ(ibv_modify_srq(srq, &attr, 1 << 5), EINVAL);
  std::uint32_t number = 0;
  CHECK_EQ(ibv_get_srq_num(srq, &number), EOPNOTSUPP);
  CHECK_EQ(ibv_destroy_srq(srq), 0);
}

// [IBV-370, IBV-385]
TEST_CASE("a full receive queue returns ENOMEM, shared or not") {
  for (const bool is_shared : {false, true}) {
    End end({.shared_receives = is_shared});
    for (std::uint64_t i = 0; i < 32; ++i) REQUIRE_EQ(end.post_recv(i, 0, 8), 0);
    CHECK_EQ(end.post_recv(33, 0, 8), ENOMEM);
  }
}

// [IBV-374, IBV-375]
TEST_CASE("a queue pair with a shared receive queue has no queue of its own") {
  Options options = kShared;
  // ibv_create_qp(3): these capacities are ignored.
  options.cap.max_recv_wr = options.cap.max_recv_sge = UINT32_MAX;
  End end(options);
  CHECK_EQ(post_recv(end.qp, {}), EINVAL);
}

// [IBV-351, IBV-352]
TEST_CASE("only basic shared receive queues exist") {
  End end;
  ibv_srq_init_attr_ex attr{.attr = {.max_wr = 1, .max_sge = 1},
                            .comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
                            .srq_type = IBV_SRQT_XRC,
                            .pd = end.pd};
  errno = 0;
  CHECK_EQ(error_of(ibv_create_srq_ex(end.context, &attr)), EOPNOTSUPP);
  attr.srq_type = IBV_SRQT_BASIC;
  CHECK_EQ(ibv_destroy_srq(must(ibv_create_srq_ex(end.context, &attr))), 0);
}

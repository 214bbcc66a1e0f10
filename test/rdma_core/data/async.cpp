// SPDX-License-Identifier: Apache-2.0
// Tests asynchronous events, and completions after a stream was terminated.

#include "captured_stderr.hpp"
#include "support.hpp"

using namespace data;

namespace {

constexpr std::uint32_t kTerminated = 0x10000;

// The library reads the options once, at its first use.
const int kLogs = ::setenv("IWARP_LOG", "warning", 1);

/// Takes an event, and checks that it is about the queue pair of `end`.
ibv_event_type event_about(End& end) {
  const ibv_async_event event = end.take_async_event();
  CHECK_EQ(event.element.qp, end.qp);
  return event.event_type;
}

/// wr_id of the following Read, and where it would place its data
constexpr std::uint64_t kReadAt = 16;

}  // namespace

// [IBV-258, IBV-320, IBV-593, IBV-601]
TEST_CASE("a Read of memory without read access ends the stream at both ends") {
  const iwarp::test::CapturedStderr said;
  SettledPair pair;
  const auto wrong_key = pair.b.mr->rkey ^ 0x100;
  REQUIRE_EQ(pair.a.post_to(IBV_WR_RDMA_READ, pair.b.remote(0), wrong_key, kReadAt, 8), 0);
  const ibv_wc wc = next(pair.a.cq);
  CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
  CHECK_EQ(wc.wr_id, kReadAt);
  CHECK_EQ(wc.vendor_err, kTerminated | 0x0100);  // RDMAP, remote protection, invalid STag
  CHECK_EQ(event_about(pair.a), IBV_EVENT_QP_ACCESS_ERR);
  CHECK_EQ(event_about(pair.b), IBV_EVENT_QP_ACCESS_ERR);
  CHECK(said.comes_to_have("the peer refused RDMA Read wr_id 0x10 (8 bytes, rkey 0x"));
  CHECK(said.comes_to_have("this end refused the peer's RDMA Read (8 bytes, rkey 0x"));
}

// [IBV-290, IBV-605]
TEST_CASE("an overflow of the completion queue is reported") {
  const iwarp::test::CapturedStderr said;
  SettledPair pair({}, {.cqe = 1});
  const int events = 4;
  for (std::uint64_t i = 0; i < events; ++i) REQUIRE_EQ(pair.b.post_recv(i, 0, 8), 0);
  for (int i = 0; i < events; ++i) {
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 8), 0);
  }
  ibv_async_event event = pair.b.take_async_event();
  while (event.event_type != IBV_EVENT_CQ_ERR) event = pair.b.take_async_event();
  CHECK_EQ(event.element.cq, pair.b.cq);
  CHECK(said.has("iwarp: a completion queue with a capacity of 1 overflowed: "));
  CHECK(said.comes_to_have("a completion queue of this end overflowed ("));
}

// [IBV-15, IBV-600]
TEST_CASE("a device may be closed while objects exist, about which events still arrive") {
  auto* pair = new Pair;  // never destroyed, as in programs that return from main()
  pair->settle();
  REQUIRE_EQ(pair->b.post_recv(1, 0, 4), 0);
  REQUIRE_EQ(ibv_close_device(pair->b.context), 0);
  REQUIRE_EQ(pair->a.post({.opcode = IBV_WR_SEND}, 0, 8), 0);
  CHECK_EQ(event_about(pair->a), IBV_EVENT_QP_REQ_ERR);
}

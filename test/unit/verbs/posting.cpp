// SPDX-License-Identifier: Apache-2.0
// Tests which requests may be posted, how many, and what a queue pair does with them while it is
// not connected.
#include <vector>

#include "driver_support.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "iwarp/verbs/receive_queue.hpp"
#include "queue_pair/stream_port.hpp"
#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

struct Fixture {
  explicit Fixture(QpInit init = {}) {
    init.pd = kPd;
    init.send_cq = &cq;
    init.recv_cq = &cq;
    qp = std::make_unique<QueuePair>(kQp, init, table,
                                     [this](const AsyncEvent& e) { events.push_back(e); });
  }
  std::vector<WorkCompletion> poll() {
    std::vector<WorkCompletion> out(512);
    out.resize(cq.poll(out));
    return out;
  }

  StreamPort& port() { return stream_port(*qp); }

  Table table;
  CompletionQueue cq{512, nullptr};
  std::vector<AsyncEvent> events;
  std::unique_ptr<QueuePair> qp;
};

QpInit limits(const QpLimits& l) {
  QpInit init;
  init.limits = l;
  return init;
}

TEST_CASE("a queue of depth 0 accepts no requests [VRB-42]") {
  Fixture f(limits({.max_send_wr = 0, .max_recv_wr = 0, .max_inline = 0}));
  CHECK(f.qp->post_send(SendWr{}) == Errc::kQueueFull);
  CHECK(f.qp->post_recv({}) == Errc::kQueueFull);
  CHECK(!f.qp->abort());
  CHECK(f.poll().empty());
}

TEST_CASE("atomics and Immediates require agreement [EXT-1, EXT-6, EXT-52]") {
  Fixture f;
  std::array<std::byte, 64> memory{};
  const std::array word{Sge{.address = memory.data(), .length = 8}, Sge{}};
  const std::array odd{Sge{.address = memory.data(), .length = 7},
                       Sge{.address = memory.data(), .length = 9}};
  const std::span one = std::span(word).first(1);
  const auto check = [&f](const SendWr& wr, std::error_code expected) {
    CHECK(f.qp->post_send(wr) == expected);
  };
  for (const auto opcode : {WrOpcode::kFetchAdd, WrOpcode::kCmpSwap}) {
    check({.opcode = opcode}, Errc::kAtomicNeedsOneWord);
    check({.opcode = opcode, .sgl = word}, Errc::kAtomicNeedsOneWord);
    check({.opcode = opcode, .sgl = std::span(odd).first(1)}, Errc::kAtomicNeedsOneWord);
    check({.opcode = opcode, .sgl = std::span(odd).last(1)}, Errc::kAtomicNeedsOneWord);
    check({.opcode = opcode, .flags = SendFlags::kInline, .sgl = one}, Errc::kInvalidArgument);
  }
  check({.opcode = WrOpcode::kImmediate, .sgl = one}, Errc::kInvalidArgument);
  check({.opcode = WrOpcode::kImmediate, .flags = SendFlags::kInline}, Errc::kInvalidArgument);
  CHECK(f.qp->query().send_outstanding == 0);

  const std::array good{SendWr{.opcode = WrOpcode::kFetchAdd, .sgl = one},
                        SendWr{.opcode = WrOpcode::kCmpSwap, .sgl = one},
                        SendWr{.opcode = WrOpcode::kImmediate},
                        SendWr{.opcode = WrOpcode::kWriteImmediate, .sgl = odd}};
  // In Idle, the queue pair does not know yet what the peer supports.
  for (const SendWr& wr : good) check(wr, {});
  const auto nobody = std::make_shared<CountingDriver>();
  CHECK(f.port().open(*nobody, {.ird = 4, .ord = 4}, nullptr));
  CHECK_FALSE(f.qp->query().extensions);
  for (const SendWr& wr : good) check(wr, Errc::kNotAgreed);
  CHECK(f.qp->query().send_outstanding == good.size());
  f.port().event(QpEvent::kLowerLayerLost);
  CHECK(f.poll().size() == good.size());
  check(good[0], {});  // In Error, every request is flushed.
  CHECK(f.poll().size() == 1);
}

TEST_CASE("a close before the driver's abort() still leaves Error [VRB-11]") {
  for (const bool departs : {false, true}) {
    Fixture f;
    const auto busy = std::make_shared<CountingDriver>();
    CHECK(f.port().open(*busy, {.ird = 4, .ord = 4}, nullptr));
    f.port().event(QpEvent::kPeerClosed);
    if (departs) {
      busy->on_depart = [&] { f.port().event(QpEvent::kLowerLayerClosed); };
      CHECK(QueuePairPort::depart(*f.qp));
    } else {
      CHECK_FALSE(f.qp->abort());
      f.port().event(QpEvent::kLowerLayerClosed);
    }
    CHECK(f.qp->state() == QpState::kError);
    CHECK_FALSE(f.qp->post_send({.wr_id = 1}));
    CHECK(f.poll().size() == 1);
    CHECK_FALSE(f.qp->reset());
    CHECK(f.qp->state() == QpState::kIdle);
  }
}

TEST_CASE("ORD may be lowered, but not raised above the negotiated value [VRB-25] [VRB-2]") {
  Fixture f;
  const auto nobody = std::make_shared<CountingDriver>();
  CHECK(!f.qp->set_ord(8));  // In Idle, this sets the ORD of a later connection.
  CHECK(f.port().open(*nobody, {.ird = 4, .ord = 30}, nullptr));
  CHECK_FALSE(f.port().open(*nobody, {.ird = 4, .ord = 8}, nullptr));
  CHECK(f.qp->query().ird == 4);
  CHECK(f.qp->set_ord(9) == Errc::kOrdTooLarge);
  CHECK(f.qp->query().ord == 8);
  CHECK(!f.qp->set_ord(3));
  CHECK(f.qp->query().ord == 3);
  f.port().event(QpEvent::kStreamError);
  CHECK(f.qp->set_ord(1) == Errc::kWrongState);  // [VRB-13]
  CHECK(f.qp->query().ord == 3);
  CHECK(f.qp->reset() == Errc::kWrongState);
  f.port().event(QpEvent::kLowerLayerClosed);
  CHECK(nobody.use_count() == 1);
}

TEST_CASE("a queue pair with an SRQ has no other, and keeps its objects in use [VRB-19] [VRB-4]") {
  SharedReceiveQueue srq(kPd, {}, nullptr);
  QpInit init;
  init.srq = &srq;
  {
    Fixture f(init);
    CHECK(SharedReceiveQueuePort::attached(srq) == 1);
    CHECK(CompletionQueuePort::attached(f.cq) == 2);
    CHECK(f.qp->post_recv({.wr_id = 1, .sgl = {}}) == Errc::kInvalidArgument);
    Region* region = f.table.add();
    Region* window = f.table.add(Access::kNone, 0, kPd, Region::Kind::kWindow);
    CHECK(!f.table.bind(kPd, kQp,
                        {.window = stag_of(window),
                         .region = stag_of(region),
                         .address = region->address,
                         .length = 8,
                         .access = Access::kRemoteRead}));
    f.qp.reset();
    CHECK_FALSE(window->valid.load());  // Destroying the queue pair invalidates its windows.
    CHECK(CompletionQueuePort::attached(f.cq) == 0);
  }
  CHECK(SharedReceiveQueuePort::attached(srq) == 0);
}

TEST_CASE("completions outlive their queue pair [VRB-4]") {
  Fixture f;
  CHECK(!f.qp->post_send({.wr_id = 3}));
  CHECK(!f.qp->abort());
  f.qp.reset();
  const auto done = f.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].wr_id == 3);
}

TEST_CASE("a list is posted completely or not at all") {
  Fixture f(limits({.max_send_wr = 3, .max_inline = 0}));
  std::array<std::byte, 8> memory{};
  const std::array sge{Sge{.address = memory.data(), .length = 8}};
  std::array<SendWr, 4> wrs;
  for (std::size_t i = 0; i < wrs.size(); ++i) wrs[i].wr_id = i;
  CHECK(f.qp->post_all(wrs) == Errc::kQueueFull);
  CHECK(f.qp->query().send_outstanding == 0);
  wrs[2].flags = SendFlags::kInline;
  wrs[2].sgl = sge;
  CHECK(f.qp->post_all(std::span(wrs).first(3)) == Errc::kInlineTooLong);
  CHECK(f.qp->query().send_outstanding == 0);
  CHECK(!f.qp->post_all(std::span(wrs).first(2)));
  CHECK(f.qp->query().send_outstanding == 2);
  CHECK(f.qp->post_all(std::span(wrs).first(2)) == Errc::kQueueFull);
  CHECK(f.qp->query().send_outstanding == 2);
  CHECK(!f.qp->post_all({}));
  CHECK(!f.qp->abort());
  const auto wcs = f.poll();
  REQUIRE(wcs.size() == 2);
  CHECK(wcs[1].wr_id == 1);
}

TEST_CASE("on request, failed completions are removed with their queue pair or by a reset") {
  for (const bool drop : {false, true}) {
    QpInit init;
    init.drop_failed = drop;
    init.limits.max_recv_wr = 2;
    Fixture f(init);
    const std::size_t left = drop ? 0 : 2;
    for (int i = 0; i < 2; ++i) REQUIRE(!f.qp->post_recv({}));
    CHECK(!f.qp->abort());
    CHECK(!f.qp->reset());
    CHECK(f.poll().size() == left);
    for (int i = 0; i < 2; ++i) REQUIRE(!f.qp->post_recv({}));
    CHECK(!f.qp->abort());
    f.qp.reset();
    CHECK(f.poll().size() == left);
  }
}

}  // namespace
}  // namespace iwarp::verbs

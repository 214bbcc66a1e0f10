// SPDX-License-Identifier: Apache-2.0
// Tests one shared receive queue with two queue pairs (verbs draft section 6.3, RFC 5042 section
// 6.4.3).
#include "iwarp/verbs/receive_queue.hpp"
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

// Two connections whose responders share `srq`. The receive buffers are in the memory of the first
// responder, so the second responder also uses the STag table of the first, as two streams of one
// Rnic do.
struct Shared {
  explicit Shared(const verbs::SharedReceiveQueue::Limits& limits = {}) : srq(1, limits, nullptr) {
    const verbs::QpInit init{
        .pd = 1, .send_cq = &first.b->cq, .recv_cq = &first.b->cq, .srq = &srq};
    second.b->qp = std::make_unique<verbs::QueuePair>(
        8, init, first.b->stags,
        [this](const verbs::AsyncEvent& e) { second.b->async.push_back(e); });
    for (Pair* pair : {&first, &second}) {
      REQUIRE(pair->establish());
      sources.push_back(pair->a->memory(64, kEverything));
    }
  }
  void post_receives(std::uint64_t from, std::uint64_t to) {
    for (auto id = from; id < to; ++id) {
      const Sge buffer = sge(inbox, id * 64, 64);
      REQUIRE(!srq.post_recv({.wr_id = id, .sgl = {&buffer, 1}}));
    }
  }
  void send(int which, std::uint64_t id) {
    Pair& pair = which == 0 ? first : second;
    post_send(*pair.a, id, sge(sources[static_cast<std::size_t>(which)], 0, 8));
    pair.run();
  }

  verbs::SharedReceiveQueue srq;
  Pair first{{}, {}, {.seed = 1}, {}, {.srq = &srq}};
  Pair second{{}, {}, {.seed = 2}};
  Region* inbox = first.b->memory(100 * 64, Access::kLocalWrite);
  std::vector<Region*> sources;
};

}  // namespace

TEST_CASE("a peer that consumes more than its share is disconnected [SEC-22, DDP-105, RDMAP-127]") {
  Shared s({.max_wr = 64, .max_sge = 1, .per_qp = 2});
  s.post_receives(0, 10);
  s.send(0, 1);
  s.send(0, 2);
  s.send(1, 3);
  CHECK(s.first.b->qp->state() == QpState::kRts);
  // After the poll, the first queue pair may consume two more receives.
  CHECK(s.first.b->completions().size() == 3);
  s.send(0, 4);
  s.send(0, 5);
  CHECK(s.first.b->qp->state() == QpState::kRts);
  s.send(0, 6);
  CHECK(sent_code(*s.first.b) == "1/2/02");
  s.send(1, 7);
  CHECK(s.second.b->qp->state() == QpState::kRts);
  CHECK(s.srq.size() == 10 - 6);
}

TEST_CASE("in Error a queue pair reports once that it consumes no more shared receives [VRB-19]") {
  for (const int how : {0, 1, 2}) {
    CAPTURE(how);
    Shared s;
    s.post_receives(0, 4);
    End& end = *s.first.b;
    const auto reports = [&end] { return count(end, AsyncEventType::kLastReceive); };
    s.send(0, 1);
    if (how == 0) CHECK(!end.qp->abort());
    if (how == 1) CHECK(!end.qp->terminate());
    if (how == 2) end.connection->lost(end.now);
    s.first.run();
    CHECK(end.qp->state() == QpState::kError);
    CHECK(reports() == 1);
    CHECK(end.async.back().type == AsyncEventType::kLastReceive);
    CHECK(!end.qp->abort());
    CHECK(reports() == 1);
    CHECK(count(*s.second.b, AsyncEventType::kLastReceive) == 0);
    // `a` has its own receive queue.
    CHECK(count(*s.first.a, AsyncEventType::kLastReceive) == 0);
    CHECK(!end.qp->reset());
    CHECK(!end.qp->abort());
    CHECK(reports() == 2);  // The second event is about a new connection.
  }
}

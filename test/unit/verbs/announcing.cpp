// SPDX-License-Identifier: Apache-2.0
// Tests completions that the queue holds back until they may be announced.
#include <vector>

#include "iwarp/verbs/queue_pair_port.hpp"
#include "queue_pair/completion_gate.hpp"
#include "stag_support.hpp"

namespace iwarp::verbs {
namespace {

struct GateFixture {
  void complete(std::uint64_t id, WcStatus status, WcOpcode opcode = WcOpcode::kSend) {
    const WorkCompletion wc{.wr_id = id, .status = status, .opcode = opcode};
    if (!gate.lets_pass(status) && gate.hold({&cq, wc, false, {}})) return;
    announced.push_back(id);
    statuses.push_back(status);
  }
  void announce(Announce what) {
    gate.set(what, [this](const CompletionGate::Held& held) {
      announced.push_back(held.wc.wr_id);
      statuses.push_back(held.wc.status);
    });
  }

  CompletionQueue cq{1, nullptr};
  CompletionGate gate;
  std::vector<std::uint64_t> announced;
  std::vector<WcStatus> statuses;
};

using Ids = std::vector<std::uint64_t>;

TEST_CASE("completions pass until they are held back, and are later announced in order") {
  GateFixture f;
  f.complete(1, WcStatus::kWrFlush);
  CHECK(f.announced == Ids{1});
  f.announce(Announce::kNothing);
  f.complete(2, WcStatus::kSuccess);
  f.complete(3, WcStatus::kWrFlush);
  f.complete(4, WcStatus::kSuccess);
  CHECK(f.announced == Ids{1});
  f.announce(Announce::kUnflushed);
  CHECK(f.announced == Ids{1, 2});
  f.announce(Announce::kAll);
  f.complete(5, WcStatus::kWrFlush);
  CHECK(f.announced == Ids{1, 2, 3, 4, 5});
}

TEST_CASE("while flushed completions wait, errors pass, but nothing overtakes them") {
  GateFixture f;
  f.announce(Announce::kUnflushed);
  f.complete(1, WcStatus::kSuccess);
  f.complete(2, WcStatus::kRemoteAccess);
  f.complete(3, WcStatus::kWrFlush);
  f.complete(4, WcStatus::kSuccess);
  CHECK(f.announced == Ids{1, 2});
  f.announce(Announce::kAll);
  CHECK(f.announced == Ids{1, 2, 3, 4});
}

TEST_CASE("if the peer is gone, the oldest request fails as unanswered and is announced first") {
  GateFixture f;
  f.announce(Announce::kAnswered);
  f.complete(1, WcStatus::kSuccess);
  f.complete(2, WcStatus::kWrFlush, WcOpcode::kRecv);
  f.complete(3, WcStatus::kWrFlush, WcOpcode::kRecv);
  CHECK(!f.gate.holds_requests());
  f.complete(4, WcStatus::kWrFlush, WcOpcode::kWrite);
  f.complete(5, WcStatus::kWrFlush);
  CHECK(f.gate.holds_requests());
  f.gate.fail_oldest_request();
  CHECK(f.announced == Ids{1});
  f.announce(Announce::kAll);
  CHECK(f.announced == Ids{1, 4, 5, 2, 3});
  CHECK(f.statuses == std::vector{WcStatus::kSuccess, WcStatus::kRetryExceeded, WcStatus::kWrFlush,
                                  WcStatus::kWrFlush, WcStatus::kWrFlush});
}

TEST_CASE("receives without a waiting request stay flushed, a failed request keeps its status") {
  GateFixture f;
  f.announce(Announce::kNothing);
  f.complete(1, WcStatus::kWrFlush, WcOpcode::kRecv);
  f.gate.fail_oldest_request();
  f.complete(2, WcStatus::kLocalProtection);
  f.gate.fail_oldest_request();
  f.announce(Announce::kAll);
  CHECK(f.announced == Ids{2, 1});
  CHECK(f.statuses == std::vector{WcStatus::kLocalProtection, WcStatus::kWrFlush});
}

struct QpFixture {
  QpFixture() {
    QpInit init{.pd = kPd, .send_cq = &cq, .recv_cq = &cq, .drop_failed = true};
    qp = std::make_unique<QueuePair>(kQp, init, table, nullptr);
    QueuePairPort::announce(*qp, Announce::kNothing);
    CHECK(!qp->post_recv({.wr_id = 1}));
    CHECK(!qp->abort());
  }
  std::size_t poll() {
    std::array<WorkCompletion, 4> out;
    return cq.poll(out);
  }

  Table table;
  int notified = 0;
  CompletionQueue cq{8, [this] { ++notified; }};
  std::unique_ptr<QueuePair> qp;
};

TEST_CASE("a program is notified when a completion is announced") {
  QpFixture f;
  f.cq.arm(Notify::kNext);
  CHECK(f.poll() == 0);
  CHECK(f.notified == 0);
  QueuePairPort::announce(*f.qp, Announce::kAll);
  CHECK(f.notified == 1);
  CHECK(f.poll() == 1);
}

TEST_CASE("completions that were not announced are dropped with their queue pair, and by a reset") {
  QpFixture f;
  SUBCASE("destroyed") {
    f.qp.reset();
    CHECK(f.poll() == 0);
  }
  SUBCASE("reset") {
    CHECK(!f.qp->reset());
    CHECK(f.poll() == 0);
    CHECK(!f.qp->post_recv({.wr_id = 2}));
    CHECK(!f.qp->abort());
    CHECK(f.poll() == 1);
  }
}

}  // namespace
}  // namespace iwarp::verbs

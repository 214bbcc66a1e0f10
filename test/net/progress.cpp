// SPDX-License-Identifier: Apache-2.0
// Tests which thread drives a connection: a polling thread, a sleeping thread, or the worker, which
// takes over when the program stops polling.
#include <atomic>
#include <held_clock.hpp>
#include <thread>

#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

void poll_empty(End& end, int times) {
  verbs::WorkCompletion wc;
  for (int i = 0; i < times; ++i) REQUIRE_EQ(end.cq->poll(std::span(&wc, 1)), 0);
}

}  // namespace

TEST_CASE("two sleepers exchange messages, and no wake-up is lost [VRB-52]") {
  Established pair;
  ping_pong(pair, 2000, [](End& end) { return end.completion(); });
}

TEST_CASE("a program that polls and then sleeps is woken each time") {
  Established pair;
  for (int i = 0; i < 50; ++i) {
    poll_empty(pair.b, 200);  // After 200 empty polls the worker has gone to sleep.
    pair.b.post_recv(0, 64);
    std::jthread sender([&] { REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64)); });
    pair.b.expect_success();
    sender.join();
    pair.a.expect_success();
  }
}

TEST_CASE("the worker serves a target whose program has stopped polling") {
  Established pair;
  for (int i = 0; i < 50; ++i) {
    poll_empty(pair.b, 200);
    pair.a.perform(WrOpcode::kRead, 0, 64, pair.b.remote(64));
  }
}

TEST_CASE(
    "the worker serves a target whose program placed large Writes by polling, and then stays "
    "away") {
  Established pair(1 << 17);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 32; ++j) {
      REQUIRE_FALSE(pair.a.post(WrOpcode::kWrite, 0, 1 << 16, pair.b.remote(0)));
      poll_empty(pair.b, 2);
      pair.a.expect_success();
    }
    pair.a.perform(WrOpcode::kRead, 0, 64, pair.b.remote(64));
  }
}

TEST_CASE("a message posted on an idle stream takes one system call, at 64 octets and at 64 KiB") {
  Established pair(1 << 17);
  for (const std::size_t size : {64U, 65536U}) {
    for (int i = 0; i < 10; ++i) {
      const auto before = pair.rnic->counters(*pair.a.qp).send_calls;
      REQUIRE_FALSE(pair.a.post(WrOpcode::kWrite, 0, size, pair.b.remote(0)));
      CHECK_EQ(pair.rnic->counters(*pair.a.qp).send_calls, before + 1);
      pair.a.expect_success();
      // When the Read has completed, the socket buffer is empty.
      pair.a.perform(WrOpcode::kRead, 0, 1, pair.b.remote(0));
    }
  }
}

TEST_CASE("a request is accepted on a queue that the program polls continuously") {
  auto rnic = open_rnic();
  End server(*rnic);
  End client(*rnic);
  auto listener = must(rnic->listen({"127.0.0.1", 0}, {}, *server.cm));
  std::atomic<bool> stop{false};
  std::jthread poller([&] {
    verbs::WorkCompletion wc;
    while (!stop) server.cq->poll(std::span(&wc, 1));
  });
  std::vector<QpHandle> there;
  std::vector<QpHandle> here;
  for (int i = 0; i < 20; ++i) {
    here.push_back(client.make_qp());
    there.push_back(server.make_qp());
    join(client, *here.back(), server, *there.back(), listener->local());
  }
  stop = true;
}

// Maximum number of times that a worker which is about to sleep may still read the socket.
constexpr std::uint64_t kBegun = 2;

TEST_CASE("a poll that finds a message reads the socket once") {
  Established pair;
  // The clock stands still, so that the worker does not take over if the program is interrupted for
  // a while.
  const test::HeldClock clock;
  poll_empty(pair.b, 200);  // After these polls the program of b counts as a poller.
  const auto before = pair.rnic->counters(*pair.b.qp).receive_calls;
  std::uint64_t polls = 0;
  for (int i = 0; i < 100; ++i) {
    pair.b.post_recv(0, 64);
    REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64));
    verbs::WorkCompletion wc;
    do {
      ++polls;
    } while (pair.b.cq->poll(std::span(&wc, 1)) == 0);
    pair.a.expect_success();
  }
  CHECK_LE(pair.rnic->counters(*pair.b.qp).receive_calls - before, polls + kBegun);
}

TEST_CASE("if a program polls two queues of a connection in turn, only one reads the socket") {
  auto rnic = open_rnic();
  End a(*rnic);
  End b(*rnic);
  const auto sends = must(rnic->create_cq(64));
  b.qp = must(rnic->create_qp(*b.pd, {.send_cq = sends.get(), .recv_cq = b.cq.get()}));
  join(a, b);
  const auto calls_of = [&](auto polls) {
    constexpr int kRounds = 100;
    const auto before = rnic->counters(*b.qp).receive_calls;
    for (int i = 0; i < kRounds; ++i) polls();
    return rnic->counters(*b.qp).receive_calls - before;
  };
  verbs::WorkCompletion wc;
  const auto poll_sends = [&] { REQUIRE_EQ(sends->poll(std::span(&wc, 1)), 0); };
  const auto both = [&] {
    poll_empty(b, 1);
    poll_sends();
  };
  const test::HeldClock clock;
  (void)calls_of(both);  // After these polls the program of b counts as a poller.
  CHECK_LE(calls_of(both), 101 + kBegun);
  CHECK_GE(calls_of(poll_sends), 99);
  b.qp.reset();
}

TEST_CASE("no thread is woken while a connection is idle") {
  Established pair;
  poll_empty(pair.b, 500);
  pair.a.perform(WrOpcode::kRead, 0, 64, pair.b.remote(64));
  Pair others;  // `others` uses another device. While it exchanges messages, `pair` is idle.
  others.connect();
  const auto end = std::chrono::steady_clock::now() + kLimit;
  for (bool is_at_rest = false; !is_at_rest;) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    const auto before = pair.rnic->counters();
    ping_pong(others, 1000, [](End& one) { return one.completion(); });
    CHECK_FALSE(pair.a.cm->poll().has_value());
    const auto after = pair.rnic->counters();
    is_at_rest = after.wakeups == before.wakeups && after.receive_calls == before.receive_calls &&
                 after.send_calls == before.send_calls;
  }
}

TEST_CASE("a held stream continues when a receive is posted, also in an SRQ [VRB-19]") {
  for (const bool shared : {true, false}) {
    Pair pair({.connection = {.receive_hold = kLimit}});
    const auto srq = must(pair.rnic->create_srq(*pair.b.pd, {}));
    if (shared) {
      pair.b.qp = must(pair.rnic->create_qp(
          *pair.b.pd, {.send_cq = pair.b.cq.get(), .recv_cq = pair.b.cq.get(), .srq = srq.get()}));
    }
    pair.connect();
    for (int i = 0; i < 100; ++i) {
      pair.a.perform(WrOpcode::kSend, 0, 512);
      const auto one = pair.b.sge(0, 512);
      const verbs::RecvWr receive{.sgl = std::span(&one, 1)};
      REQUIRE(!(shared ? srq->post_recv(receive) : pair.b.qp->post_recv(receive)));
      pair.b.expect_success();
    }
    pair.b.qp.reset();
  }
}

TEST_CASE("a held stream ends when its peer resets it") {
  for (const bool polled : {false, true}) {
    CAPTURE(polled);
    Established pair({.connection = {.receive_hold = 1h}});
    pair.a.perform(WrOpcode::kSend, 0, 512);
    if (polled) poll_empty(pair.b, 500);
    REQUIRE_FALSE(pair.a.qp->abort());
    if (polled) {
      while (pair.b.qp->state() == verbs::QpState::kRts) poll_empty(pair.b, 1);
    }
    expect(*pair.b.cm, Type::kDisconnected);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Tests doorbell coalescing: which posts are sent immediately, and which events send the delayed
// posts.
#include <sys/socket.h>

#include <array>
#include <functional>
#include <held_clock.hpp>
#include <vector>

#include "driver/driven_connection.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

constexpr auto kNever = std::chrono::hours(1);

/// A connected pair. `a` posts Writes of 64 bytes, each of which may be delayed by up to `delay`.
struct Gathering : Pair {
  explicit Gathering(verbs::Duration delay,
                     verbs::Completions completions = verbs::Completions::kSent)
      : Pair(1 << 16) {
    connect({.connection = {.completions = completions, .gather_delay = delay}});
  }
  void post(int count, std::size_t size = 64) {
    for (int i = 0; i < count; ++i) {
      REQUIRE_FALSE(a.post(WrOpcode::kWrite, 0, size, b.remote(0)));
    }
  }
  /// Returns the number of send calls. Reading the counters drives the connection, so no post is
  /// pending afterwards.
  std::uint64_t send_calls() { return rnic->counters(*a.qp).send_calls; }
  std::uint64_t arrived() { return rnic->counters(*b.qp).fpdus_received; }
  /// Waits until `count` FPDUs have arrived at b, and checks that no more have arrived.
  void await_arrival(std::uint64_t count) {
    REQUIRE(comes_true([&] { return arrived() >= count; }));
    CHECK_EQ(arrived(), count);
  }
  bool poll_once() {
    verbs::WorkCompletion wc;
    if (a.cq->poll(std::span(&wc, 1)) == 0) return false;
    REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
    return true;
  }
};

struct NoRegistry final : Registry {
  void ended(DrivenConnection& connection) override { held_at_end = connection.may_hold_posts(); }
  void break_pins(verbs::Stag) override {}
  SetupTally& setups_as(mpa::Role) override { return tally; }
  void memory_gone(const DrivenConnection&, const std::byte*) override {}
  SetupTally tally;
  bool held_at_end = false;
};

/// A connection whose peer sends nothing. Its posts may be delayed for longer than the test can
/// run.
struct Alone {
  std::shared_ptr<DrivenConnection> make() {
    std::array<int, 2> ends{};
    REQUIRE_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    peers.emplace_back(ends[1]);
    DrivenConnection::Setup setup{.role = mpa::Role::kResponder, .socket = UniqueFd(ends[0])};
    setup.options.gather_delay = std::chrono::hours(1'000'000);
    return DrivenConnection::make(registry, worker, std::move(setup));
  }
  NoRegistry registry;
  Worker worker{std::chrono::microseconds(0)};
  std::vector<UniqueFd> peers;
  std::shared_ptr<DrivenConnection> connection = make();
};

}  // namespace

TEST_CASE("small requests delayed behind an unpolled one are sent at the next empty poll") {
  Gathering pair(kNever);
  pair.post(1);
  pair.await_arrival(1);
  const auto before = pair.send_calls();
  pair.post(10);
  CHECK(pair.poll_once());
  CHECK_EQ(pair.arrived(), 1);
  while (pair.poll_once()) {
  }
  CHECK_EQ(pair.send_calls(), before + 1);
  pair.await_arrival(11);
}

TEST_CASE("requests of a program that has polled its queue empty are sent without delay") {
  Gathering pair(kNever);
  for (int i = 0; i < 20; ++i) {
    const auto before = pair.send_calls();
    pair.post(1);
    CHECK_EQ(pair.send_calls(), before + 1);
    pair.a.expect_success();
  }
}

TEST_CASE("a full batch is sent immediately") {
  Gathering pair(kNever);
  pair.post(1);
  const auto before = pair.send_calls();
  pair.post(16);
  pair.await_arrival(17);
  CHECK_EQ(pair.send_calls(), before + 1);
}

TEST_CASE("posts that the program does not poll for are sent when their delay has passed") {
  Gathering pair(std::chrono::milliseconds(1));
  std::uint64_t posted = 0;
  for (int i = 0; i < 30; ++i) {
    pair.post(3);
    pair.await_arrival(posted += 3);
  }
  while (pair.poll_once()) {
  }
}

TEST_CASE("arming the queue sends the delayed posts, since the program is about to sleep") {
  Gathering pair(kNever);
  pair.post(4);
  pair.a.cq->arm(verbs::Notify::kNext);
  pair.await_arrival(4);
}

TEST_CASE("while the program sleeps, its requests are delayed only until the worker sends them") {
  Gathering pair(kNever);
  pair.post(1);
  pair.await_arrival(1);
  for (std::uint64_t posted = 1; posted < 200; posted += 5) {
    pair.a.cq->arm(verbs::Notify::kSolicited);  // no Write has a solicited completion
    pair.post(5);
    pair.await_arrival(posted + 5);
    while (pair.poll_once()) {
    }
  }
}

TEST_CASE("closing sends the delayed posts") {
  Gathering pair(kNever);
  pair.post(8);
  REQUIRE_FALSE(pair.a.qp->disconnect());
  for (int i = 0; i < 8; ++i) {
    CHECK_EQ(to_string(pair.a.spin().status), to_string(verbs::WcStatus::kSuccess));
  }
}

TEST_CASE("a large payload is sent together with the delayed posts, and a list is not delayed") {
  Gathering pair(kNever);
  pair.post(1);
  auto before = pair.send_calls();
  pair.post(2);
  pair.post(4, 32768);
  CHECK_EQ(pair.send_calls(), before + 1);
  before = pair.send_calls();
  const auto one = pair.a.sge(0, 64);
  const verbs::SendWr write{
      .opcode = WrOpcode::kWrite, .sgl = std::span(&one, 1), .remote = pair.b.remote(0)};
  const std::vector<verbs::SendWr> list(2, write);
  REQUIRE_FALSE(pair.a.qp->post_all(list));
  CHECK_EQ(pair.send_calls(), before + 1);
}

TEST_CASE("without a delay each request is sent at once") {
  Gathering pair(verbs::Duration::zero());
  pair.post(1);
  const auto before = pair.send_calls();
  pair.post(10);
  CHECK_EQ(pair.send_calls(), before + 10);
}

TEST_CASE("an acknowledgement request is sent with the request that follows an answer") {
  Gathering pair(kNever, verbs::Completions::kAcknowledged);
  constexpr std::uint64_t kPosts = 40;
  // The clock stands still, so that the program still counts as a poller if it is interrupted for a
  // while.
  const test::HeldClock clock;
  for (int i = 0; i < 500; ++i) REQUIRE_FALSE(pair.poll_once());
  const auto before = pair.send_calls();
  pair.post(1);
  pair.post(1);
  for (std::uint64_t i = 2; i != kPosts; ++i) {
    (void)pair.a.spin();
    pair.post(1);
  }
  (void)pair.a.spin();
  (void)pair.a.spin();
  // The last acknowledgement request needs a send call of its own, because no post follows that
  // could carry it. The worker may also finish up to two send calls that it has already begun.
  // Without coalescing, each acknowledgement request would need a send call of its own.
  CHECK_LE(pair.send_calls() - before, kPosts + 1 + 2);
}

TEST_CASE("the acknowledgement request is sent at the next poll if no request follows") {
  Gathering pair(kNever, verbs::Completions::kAcknowledged);
  for (int i = 0; i < 200; ++i) {
    pair.post(2);
    CHECK_EQ(to_string(pair.a.spin().status), to_string(verbs::WcStatus::kSuccess));
    CHECK_EQ(to_string(pair.a.spin().status), to_string(verbs::WcStatus::kSuccess));
  }
}

TEST_CASE("the acknowledgement request is sent in time if the program stops polling") {
  Gathering pair(kNever, verbs::Completions::kAcknowledged);
  const auto before = pair.arrived();
  for (int i = 0; i < 500; ++i) REQUIRE_FALSE(pair.poll_once());
  pair.post(1);
  const bool answered = pair.poll_once();  // false unless the peer's worker answers immediately
  // The next post carries the acknowledgement request for the first post, unless the first post is
  // already acknowledged.
  pair.post(1);
  if (!answered) (void)pair.a.spin();
  pair.await_arrival(before + 4);
}

TEST_CASE("deregistering memory sends the requests that name it first") {
  Gathering pair(kNever);
  pair.post(8);
  REQUIRE_FALSE(pair.a.memory.deregister());
  for (int i = 0; i < 8; ++i) pair.a.expect_success();
}

TEST_CASE("deallocating a window sends the request that binds it first") {
  Gathering pair(kNever);
  End& a = pair.a;
  a.memory = must(pair.rnic->register_memory(*a.pd, std::span(a.buffer),
                                             Access::kLocalWrite | Access::kBindWindow));
  Memory window = must(pair.rnic->allocate_window(*a.pd));
  pair.post(2);
  const verbs::WindowBind bind{.window = window.stag(),
                               .key = 1,
                               .region = a.memory.stag(),
                               .address = a.buffer.data(),
                               .length = 8,
                               .access = Access::kRemoteRead};
  REQUIRE_FALSE(a.qp->post_send({.opcode = WrOpcode::kBindWindow, .bind = bind}));
  REQUIRE_FALSE(window.deregister());
  for (int i = 0; i < 3; ++i) a.expect_success();
}

TEST_CASE("ending a queue pair in any way sends what was posted before") {
  for (const auto end : {&QueuePair::abort, &QueuePair::terminate}) {
    Gathering pair(kNever);
    pair.post(8);
    REQUIRE_FALSE(std::invoke(end, *pair.a.qp));
    for (int i = 0; i < 8; ++i) pair.a.expect_success();
  }
  Gathering pair(kNever);
  pair.post(8);
  pair.a.qp.reset();
  pair.await_arrival(8);
}

TEST_CASE("a connection may delay posts, also while a thread drives it") {
  Alone alone;
  CHECK_FALSE(alone.connection->may_hold_posts());
  REQUIRE(alone.connection->posted(verbs::Doorbell::kMayWait));
  CHECK(alone.connection->may_hold_posts());
  alone.connection->sync();
  CHECK_FALSE(alone.connection->may_hold_posts());
  alone.connection->end();
  CHECK(alone.registry.held_at_end);
  CHECK_FALSE(alone.connection->may_hold_posts());
}

TEST_CASE("the timer stops when no posts wait, and the next post starts it again") {
  Alone alone;
  alone.connection->sync();
  const auto without_timer = alone.connection.use_count();
  CAPTURE(without_timer);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(alone.connection->posted(verbs::Doorbell::kMayWait));
    alone.connection->sync();
    CHECK(comes_true([&] { return alone.connection.use_count() <= without_timer; }));
  }
}

TEST_CASE("large posts to many connections in turn are sent at once, those to a few may wait") {
  for (const bool many : {false, true}) {
    Alone alone;
    std::vector<std::shared_ptr<DrivenConnection>> connections{alone.connection};
    while (connections.size() < (many ? 5 : 4)) connections.push_back(alone.make());
    for (int round = 0; round < 50; ++round) {
      for (const auto& connection : connections) {
        (void)connection->posted(verbs::Doorbell::kLargeMayWait);
      }
    }
    for (const auto& connection : connections) {
      connection->sync();
      CHECK(connection->posted(verbs::Doorbell::kLargeMayWait) != many);
      CHECK(connection->posted(verbs::Doorbell::kMayWait));
    }
    for (const auto& connection : connections) connection->end();
  }
}

TEST_CASE("the timer forgets a connection that ends while posts wait") {
  Alone alone;
  REQUIRE(alone.connection->posted(verbs::Doorbell::kMayWait));
  alone.connection->end();
  const std::weak_ptr<DrivenConnection> left = alone.connection;
  alone.connection.reset();
  CHECK(comes_true([&] { return left.expired(); }));
}

// SPDX-License-Identifier: Apache-2.0
// Tests a CqFeed, and a completion channel with its feeds, without a device. Their connection only
// records how it is driven.
#include "channels/cq_feed.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <array>
#include <held_clock.hpp>

#include "channels/completion_channel_impl.hpp"
#include "driver/driven.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

// UndefinedBehaviorSanitizer opens file descriptors to examine memory, so tests that count
// descriptors do not run with it.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class NotedDriven final : public Driven {
 public:
  void poll(bool frequent) override {
    ++polls;
    is_polled_often |= frequent;
  }
  bool polled(bool, bool) override { return false; }
  void sleep_on() override {}
  bool ready(bool, bool) override {
    ++wakeups;
    return has_input;
  }
  void let_go() override {}
  void join(std::shared_ptr<SocketSet>) override {}
  void leave(const SocketSet*) override {}
  bool is_plain() const override { return true; }
  bool is_blocked() const override { return false; }
  void flush_posts() override {}
  void note_taken() override {}
  bool may_hold_posts() const override { return false; }
  void sync() override {}

  int polls = 0;
  int wakeups = 0;
  bool is_polled_often = false;
  bool has_input = true;
};

constexpr int kPolls = 100;

/// A completion queue with its feed. A completion arrives while the queue is being armed. The clock
/// stands still, so that polls count as consecutive even on a slow machine.
struct Fed final : verbs::Progress {
  Fed() {
    feed->feeds(queue);
    feed->add(driven);
    verbs::CompletionQueuePort::set_progress(queue, this);
  }
  ~Fed() { feed->stop(); }
  void make_progress() override { feed->make_progress(); }
  void armed() override {
    verbs::CompletionQueuePort::push(queue, {}, false, {});
    feed->armed();
  }

  test::HeldClock held;
  Worker worker{std::chrono::microseconds(0)};
  std::shared_ptr<CqFeed> feed = std::make_shared<CqFeed>(worker);
  std::shared_ptr<NotedDriven> driven = std::make_shared<NotedDriven>();
  verbs::CompletionQueue queue{16, nullptr};
};

/// A channel with both queues of one connection, which has input that completes no request. The
/// program has begun to sleep on the sockets. The clock stands still, so that the feeds do not give
/// the connection back to the worker.
struct SleptOn {
  SleptOn() {
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      feeds[i]->feeds(queues[i]);
      feeds[i]->add(driven);
      channel.impl().add(feeds[i]);
    }
    channel.impl().begin(channel.impl().outside);
    REQUIRE(sockets_wake());
  }
  ~SleptOn() {
    for (const auto& feed : feeds) feed->stop();
  }
  bool sockets_wake() { return channel.impl().outside.is_watching(); }

  test::HeldClock held;
  Worker worker{std::chrono::microseconds(0)};
  CompletionChannel channel;
  std::shared_ptr<NotedDriven> driven = std::make_shared<NotedDriven>();
  std::array<std::shared_ptr<CqFeed>, 2> feeds{std::make_shared<CqFeed>(worker),
                                               std::make_shared<CqFeed>(worker)};
  std::array<verbs::CompletionQueue, 2> queues{verbs::CompletionQueue{16, [this] { tell(0); }},
                                               verbs::CompletionQueue{16, [this] { tell(1); }}};

 private:
  void tell(std::size_t i) { ChannelPort::push(channel.impl().events, &queues[i]); }
};

}  // namespace

TEST_CASE("after a wake-up, a connection is driven once, although both its queues have a feed") {
  SleptOn one;
  one.queues[0].arm(verbs::Notify::kNext);
  CHECK(one.channel.poll() == &one.queues[0]);
  CHECK(one.driven->wakeups == 1);
}

TEST_CASE("a program that takes events until there are none is still woken by the sockets") {
  SleptOn one;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    one.queues[1].arm(verbs::Notify::kNext);
    REQUIRE(one.channel.poll() == &one.queues[1]);
    REQUIRE_FALSE(one.channel.poll().has_value());
    REQUIRE(one.sockets_wake());
  }
}

TEST_CASE("a program that sleeps without arming a queue is soon no longer woken by the sockets") {
  SleptOn one;
  int polls = 0;
  while (one.sockets_wake() && ++polls < 100) (void)one.channel.poll();
  CHECK(polls < 100);
  CHECK(polls > 1);
}

TEST_CASE("a call that would block returns at once if the sockets may have woken the program") {
  SleptOn one;
  CHECK(one.channel.wait(std::chrono::milliseconds(-1)).has_value());
  CHECK_FALSE(one.sockets_wake());
}

TEST_CASE("a completion that arrives while the queue is being armed leaves its feed unarmed") {
  Fed fed;
  fed.queue.arm(verbs::Notify::kNext);
  verbs::WorkCompletion wc;
  REQUIRE(fed.queue.poll(std::span(&wc, 1)) == 1);
  for (int i = 0; i < kPolls; ++i) fed.queue.poll(std::span(&wc, 1));
  CHECK(fed.driven->is_polled_often);
}

TEST_CASE("polls drive several connections even if no descriptor is free for an epoll set" *
          doctest::skip(kSanitized)) {
  Fed fed;
  const auto second = std::make_shared<NotedDriven>();
  fed.feed->add(second);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  verbs::WorkCompletion wc;
  for (int i = 0; i < kPolls; ++i) fed.queue.poll(std::span(&wc, 1));
  const int polls = second->polls;
  for (int i = 0; i < kPolls; ++i) fed.queue.poll(std::span(&wc, 1));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(second->is_polled_often);
  CHECK(second->polls == polls + kPolls);
}

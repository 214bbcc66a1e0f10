// SPDX-License-Identifier: Apache-2.0
// Tests a CqFeed without a device. Its connection only records how it is driven.
#include "channels/cq_feed.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <held_clock.hpp>

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
  bool ready(bool, bool) override { return false; }
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
  bool is_polled_often = false;
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

}  // namespace

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

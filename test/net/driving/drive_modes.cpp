// SPDX-License-Identifier: Apache-2.0
// Tests which thread drives a connection: the table of modes, and programs that poll, that sleep in
// wait() or in their own epoll set, that stop polling, and that switch between these modes.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fsm_snapshot.hpp>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "driver/states.hpp"
#include "replaced_socket_ops.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

/// The program's own epoll set. It watches the descriptor of one channel.
class Epoll {
 public:
  explicit Epoll(const CompletionChannel& channel, std::uint32_t events = EPOLLIN)
      : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{.events = events, .data = {}};
    REQUIRE_EQ(::epoll_ctl(fd_, EPOLL_CTL_ADD, channel.fd(), &event), 0);
  }
  ~Epoll() { ::close(fd_); }
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  bool wait(std::chrono::milliseconds limit = kLimit) const {
    epoll_event event{};
    return ::epoll_wait(fd_, &event, 1, static_cast<int>(limit.count())) == 1;
  }

 private:
  const int fd_;
};

/// The epoll sets of the programs at both ends of `pair`.
struct Epolls {
  explicit Epolls(const Pair& pair, std::uint32_t events = EPOLLIN)
      : first(pair.a), a(*pair.a.channel, events), b(*pair.b.channel, events) {}
  const Epoll& of(const End& end) const { return &end == &first ? a : b; }
  const End& first;
  const Epoll a;
  const Epoll b;
};

/// Returns the next completion. Blocks in `epoll` until it arrives, as an event-driven server does.
verbs::WorkCompletion asleep_in(const Epoll& epoll, End& end) {
  return end.completion([&] {
    do {
      REQUIRE(epoll.wait());
    } while (!end.channel->poll());
    while (end.channel->poll()) {
    }
  });
}

/// Like asleep_in(), but after each wakeup of `epoll` it reads exactly one event, as in the manual
/// page of ibv_get_cq_event(). If `drains` is set, it reads all pending events, as an
/// edge-triggered program must.
verbs::WorkCompletion told_once(const Epoll& epoll, End& end, bool drains) {
  return end.completion([&] {
    REQUIRE(epoll.wait());
    REQUIRE(end.channel->poll().has_value());
    while (drains && end.channel->poll()) {
    }
  });
}

// Number of messages in a normal run. For each message, the receiver decides at random whether it
// busy-polls, waits on the completion channel, or blocks in epoll. A run with kManyChanges
// messages takes longer and needs IWARP_LONG=1.
constexpr int kChanges = 10'000;
constexpr int kManyChanges = 100'000;

/// While a PatientSends exists, sendmsg() in this thread blocks until it has sent everything, and
/// then calls `sent`.
class PatientSends {
 public:
  explicit PatientSends(std::function<void()> sent) : sent_(std::move(sent)) { mine_ = this; }
  ~PatientSends() { mine_ = nullptr; }
  PatientSends(const PatientSends&) = delete;
  PatientSends& operator=(const PatientSends&) = delete;

 private:
  static ssize_t send(int fd, const msghdr* message, int flags) {
    if (mine_ == nullptr) return kernel_socket_ops().send(fd, message, flags);
    ssize_t sent = 0;
    for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
      const auto& piece = message->msg_iov[i];
      for (std::size_t at = 0; at < piece.iov_len;) {
        const auto n = ::send(fd, static_cast<const std::byte*>(piece.iov_base) + at,
                              piece.iov_len - at, flags);
        if (n < 0 && errno != EAGAIN) return -1;
        if (n < 0) {
          pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
          ::poll(&room, 1, -1);
          continue;
        }
        at += static_cast<std::size_t>(n);
        sent += n;
      }
    }
    mine_->sent_();
    return sent;
  }

  inline static thread_local PatientSends* mine_ = nullptr;
  std::function<void()> sent_;
  const test::ReplacedSocketOps replaced_{[](SocketOps& ops) { ops.send = send; }};
};

}  // namespace

TEST_CASE("the tables of the driver are those in rfc-notes/fsm") {
  iwarp::test::check_fsm("drive_mode", kDriveEdges);
  iwarp::test::check_fsm("socket_input", kInputEdges);
  iwarp::test::check_fsm("socket_output", kOutputEdges);
  iwarp::test::check_fsm("socket_fin", kFinEdges);
}

TEST_CASE(
    "in every mode each queue may poll, sleep and stop; the worker drives if no thread of the "
    "program does") {
  for (const auto mode : bytes::enumerators<DriveMode>()) {
    for (const auto cause : {DriveCause::kPolled, DriveCause::kSleptOn}) {
      CHECK(bytes::step(kDriveEdges, mode, cause).has_value());
    }
    CHECK(bytes::step(kDriveEdges, mode, DriveCause::kLetGo) == DriveMode::kWorker);
  }
}

TEST_CASE("two ends that each sleep in their own epoll set exchange messages [VRB-52]") {
  for (const std::uint32_t events : std::array<std::uint32_t, 2>{EPOLLIN, EPOLLIN | EPOLLET}) {
    CAPTURE(events);
    Established pair;
    const Epolls epolls(pair, events);
    ping_pong(pair, 2000, [&](End& end) { return asleep_in(epolls.of(end), end); });
  }
}

TEST_CASE("the worker serves a program that slept often and briefly, and then stays away") {
  for (const bool own_epoll : {true, false}) {
    Established pair;
    const Epolls epolls(pair);
    const auto wait = [&](End& end) {
      return own_epoll ? asleep_in(epolls.of(end), end) : end.completion();
    };
    for (int i = 0; i < 20; ++i) {
      ping_pong(pair, 50, wait);
      // The descriptor of b's channel may become readable, but b's program does not wait for it.
      REQUIRE_FALSE(pair.a.post(WrOpcode::kRead, 0, 64, pair.b.remote(64)));
      while (wait(pair.a).opcode != verbs::WcOpcode::kRead) {
      }
      verbs::WorkCompletion left_over;
      while (pair.b.cq->poll(std::span(&left_over, 1)) != 0) {
      }
    }
  }
}

TEST_CASE("of many connections on one queue, each is served, and each wakes a sleeper for itself") {
  constexpr std::size_t kConnections = 40;  // more than one poll checks
  for (const bool sleeps : {true, false}) {
    CAPTURE(sleeps);
    auto rnic = open_rnic();
    End server(*rnic);
    End client(*rnic);
    auto listener = must(rnic->listen({"127.0.0.1", 0}, {}, *server.cm));
    std::vector<QpHandle> there;
    std::vector<QpHandle> here;
    for (std::size_t i = 0; i < kConnections; ++i) {
      here.push_back(client.make_qp());
      there.push_back(server.make_qp());
      join(client, *here.back(), server, *there.back(), listener->local());
    }
    const Epoll of_client(*client.channel);
    for (int round = 0; round < 50; ++round) {
      for (std::size_t i = 0; i < here.size(); ++i) {
        const auto one = client.sge(128 * i, 128);
        REQUIRE_FALSE(here[i]->post_send(
            {.opcode = WrOpcode::kRead, .sgl = std::span(&one, 1), .remote = server.remote(0)}));
      }
      std::set<std::uint32_t> answered;
      while (answered.size() != here.size()) {
        const auto wc = sleeps ? asleep_in(of_client, client) : client.spin();
        REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
        REQUIRE(answered.insert(wc.qp_num).second);
      }
      // Destroying the queue pairs of one connection must not affect the other connections.
      if (round % 10 == 0) {
        here.pop_back();
        there.pop_back();
      }
    }
  }
}

TEST_CASE("a held stream continues while its program sleeps on the socket") {
  Established pair({.connection = {.receive_hold = kLimit}});
  const Epoll of_b(*pair.b.channel);
  for (int i = 0; i < 300; ++i) {
    pair.a.perform(WrOpcode::kSend, 0, 512);
    if (i % 3 == 0) std::this_thread::yield();
    pair.b.post_recv(0, 512);
    REQUIRE_EQ(to_string(asleep_in(of_b, pair.b).status), to_string(verbs::WcStatus::kSuccess));
  }
}

TEST_CASE(
    "a Send completes although the program posts its next receive only then, whichever thread "
    "reads the socket") {
  constexpr auto kAcknowledged = verbs::Completions::kAcknowledged;
  Pair pair({.connection = {.completions = kAcknowledged, .receive_hold = kLimit}});
  pair.connect({.connection = {.completions = kAcknowledged}});
  const Epoll of_b(*pair.b.channel);
  const std::array<std::function<verbs::WorkCompletion()>, 3> waits{
      [&] { return pair.b.spin(); }, [&] { return pair.b.completion(); },
      [&] { return asleep_in(of_b, pair.b); }};
  const auto expect_next = [](const verbs::WorkCompletion& wc, verbs::WcOpcode opcode) {
    REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
    REQUIRE_EQ(static_cast<int>(wc.opcode), static_cast<int>(opcode));
  };
  for (const auto& wait : waits) {
    for (int i = 0; i < 200; ++i) {
      pair.a.post_recv(0, 64);
      REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 512));
      REQUIRE_FALSE(pair.b.post(WrOpcode::kSend, 0, 64));
      expect_next(wait(), verbs::WcOpcode::kSend);
      pair.b.post_recv(0, 512);
      expect_next(wait(), verbs::WcOpcode::kRecv);
      expect_next(pair.a.completion(), verbs::WcOpcode::kRecv);
      expect_next(pair.a.completion(), verbs::WcOpcode::kSend);
    }
  }
  CHECK(pair.rnic->statistics().receive_holds != 0);
}

TEST_CASE("a FIN behind a message that waits for a receive is not lost") {
  for (const bool polls : {false, true}) {
    Established pair({.connection = {.receive_hold = kLimit}});
    pair.a.perform(WrOpcode::kSend, 0, 512);
    REQUIRE_FALSE(pair.a.qp->disconnect());
    verbs::WorkCompletion wc;
    for (int i = 0; polls && i < 500; ++i) REQUIRE_EQ(pair.b.cq->poll(std::span(&wc, 1)), 0);
    REQUIRE(pair.b.qp->state() == verbs::QpState::kRts);
    pair.b.post_recv(0, 512);
    pair.b.expect_success();
    pair.expect_disconnected();
  }
}

TEST_CASE("while idle, a program asleep in its epoll set is not woken") {
  Established pair;
  const Epolls epolls(pair);
  ping_pong(pair, 100, [&](End& end) { return asleep_in(epolls.of(end), end); });
  verbs::WorkCompletion wc;
  Established others;  // Uses another device. While it exchanges messages, `pair` is idle.
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  for (bool is_at_rest = false; !is_at_rest;) {
    REQUIRE(std::chrono::steady_clock::now() < limit);
    for (End* end : {&pair.a, &pair.b}) {
      end->cq->arm(verbs::Notify::kNext);
      while (end->cq->poll(std::span(&wc, 1)) != 0) {
      }
      while (end->channel->poll()) {
      }
      end->cq->arm(verbs::Notify::kNext);
    }
    const auto before = pair.rnic->counters();
    ping_pong(others, 1000, [](End& one) { return one.completion(); });
    if (epolls.a.wait(0ms) || epolls.b.wait(0ms)) continue;
    const auto after = pair.rnic->counters();
    is_at_rest = after.wakeups == before.wakeups && after.receive_calls == before.receive_calls;
  }
}

TEST_CASE("pollers, sleepers and posters change roles, and no wake-up is lost") {
  const char* const value = std::getenv("IWARP_LONG");
  const bool is_long = value != nullptr && std::string_view(value) == "1";
  const int changes = is_long ? kManyChanges : kChanges;
  Established pair;
  const Epolls epolls(pair);
  std::atomic<bool> stop{false};
  // A second thread of each program, which posts one Read after the other.
  struct Poster {
    std::atomic<bool> under_way{false};
    std::uint64_t done = 0;
  };
  Poster posters[2];
  const auto keep_posting = [&](End& end, const End& peer, Poster& poster) {
    while (!stop) {
      if (!poster.under_way.exchange(true)) {
        REQUIRE_FALSE(end.post(WrOpcode::kRead, 4096, 64, const_cast<End&>(peer).remote(0)));
      }
      std::this_thread::yield();
    }
  };
  const auto await_message = [&](End& end, std::minstd_rand& random) {
    Poster& poster = posters[&end == &pair.b];
    while (true) {
      const auto role = random() % 512;
      if (role == 0) CHECK_FALSE(end.cm->wait(2ms).has_value());
      const auto wc = role % 3 == 0   ? end.spin()
                      : role % 3 == 1 ? end.completion()
                                      : asleep_in(epolls.of(end), end);
      REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
      if (wc.opcode == verbs::WcOpcode::kRead) {
        ++poster.done;
        poster.under_way = false;
      }
      if (wc.opcode == verbs::WcOpcode::kRecv) return;
    }
  };
  {
    std::jthread poster_a([&] { keep_posting(pair.a, pair.b, posters[0]); });
    std::jthread poster_b([&] { keep_posting(pair.b, pair.a, posters[1]); });
    pair.b.post_recv(0, 64);
    std::jthread echo([&] {
      std::minstd_rand random(2);
      for (int i = 0; i < changes / 2; ++i) {
        await_message(pair.b, random);
        pair.b.post_recv(0, 64);
        REQUIRE_FALSE(pair.b.post(WrOpcode::kSend, 0, 64));
      }
    });
    std::minstd_rand random(1);
    for (int i = 0; i < changes / 2; ++i) {
      pair.a.post_recv(64, 64);
      REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64));
      await_message(pair.a, random);
    }
    stop = true;
  }
  CHECK(posters[0].done > 0);
  CHECK(posters[1].done > 0);
}

TEST_CASE("a readable descriptor has an event, level-triggered and edge-triggered [VRB-52]") {
  for (const std::uint32_t events : std::array<std::uint32_t, 2>{EPOLLIN, EPOLLIN | EPOLLET}) {
    for (const auto completions : {verbs::Completions::kSent, verbs::Completions::kAcknowledged}) {
      CAPTURE(events);
      Pair pair({.connection = {.completions = completions}});
      pair.connect({.connection = {.completions = completions}});
      const Epolls epolls(pair, events);
      ping_pong(pair, 1000,
                [&](End& end) { return told_once(epolls.of(end), end, events != EPOLLIN); });
    }
  }
}

TEST_CASE(
    "a message in pieces gives its sleeping receiver one completion, and never leaves a readable "
    "descriptor without an event") {
  constexpr std::uint32_t kSize = 1 << 21;
  Established pair(kSize);
  const Epolls epolls(pair);
  const auto wait = [&](End& end) { return told_once(epolls.of(end), end, false); };
  ping_pong(pair, 50, wait);
  while (wait(pair.b).opcode != verbs::WcOpcode::kSend) {
  }
  for (int i = 0; i < 50; ++i) {
    // In the first round, the message consumes the receive of 64 bytes that ping_pong() has left
    // posted.
    const std::uint32_t size = i == 0 ? 64 : kSize;
    pair.b.post_recv(0, kSize);
    std::jthread sender([&] {
      REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, size));
      while (wait(pair.a).opcode != verbs::WcOpcode::kSend) {
      }
    });
    const auto wc = wait(pair.b);
    REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
    REQUIRE(wc.opcode == verbs::WcOpcode::kRecv);
    REQUIRE_EQ(wc.byte_len, size);
    sender.join();
    REQUIRE(std::equal(pair.a.buffer.begin(), pair.a.buffer.begin() + size, pair.b.buffer.begin()));
  }
}

TEST_CASE("a readable descriptor has an event although another thread polls the queue") {
  Established pair;
  const Epolls epolls(pair);
  std::atomic<bool> stop{false};
  const auto take_events = [&](End& end, const Epoll& epoll) {
    while (!stop) {
      end.cq->arm(verbs::Notify::kNext);
      if (epoll.wait(10ms)) REQUIRE(end.channel->poll().has_value());
    }
  };
  std::jthread events_of_a([&] { take_events(pair.a, epolls.a); });
  std::jthread events_of_b([&] { take_events(pair.b, epolls.b); });
  ping_pong(pair, 2000, [](End& end) { return end.spin(); });
  stop = true;
}

TEST_CASE(
    "the queues of a connection may share a channel or not; no descriptor becomes readable without "
    "an event") {
  for (const bool is_shared : {true, false}) {
    CAPTURE(is_shared);
    auto rnic = open_rnic();
    End a(*rnic);
    End b(*rnic);
    const auto own_channel = must(rnic->create_channel());
    CompletionChannel& channel = is_shared ? *b.channel : *own_channel;
    const auto sends = must(rnic->create_cq(64, &channel));
    b.qp = must(rnic->create_qp(
        *b.pd, {.send_cq = sends.get(), .recv_cq = b.cq.get(), .signal_all = true}));
    join(a, b);
    const Epoll of_b(*b.channel);
    const Epoll of_sends(channel);
    for (int i = 0; i < 500; ++i) {
      b.post_recv(0, 64);
      REQUIRE_FALSE(a.post(WrOpcode::kSend, 0, 64));
      REQUIRE_EQ(to_string(told_once(of_b, b, false).status), to_string(verbs::WcStatus::kSuccess));
      a.expect_success();
      REQUIRE_FALSE(b.post(WrOpcode::kRead, 0, 64, a.remote(0)));
      verbs::WorkCompletion wc;
      sends->arm(verbs::Notify::kNext);
      while (sends->poll(std::span(&wc, 1)) == 0) {
        REQUIRE(of_sends.wait());
        REQUIRE(channel.poll().has_value());
        sends->arm(verbs::Notify::kNext);
      }
      REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
      if (of_b.wait(0ms)) REQUIRE(b.channel->poll().has_value());
    }
    b.qp.reset();
  }
}

TEST_CASE("after a poller stops during a turn that leaves work, the worker continues") {
  constexpr std::size_t kSize = 4 << 20;  // more than the driver sends in one turn
  Established pair(kSize);
  for (int i = 0; i < 5; ++i) {
    pair.b.post_recv(0, kSize);
    verbs::WorkCompletion wc;
    for (int j = 0; j < 200; ++j) REQUIRE_EQ(pair.a.cq->poll(std::span(&wc, 1)), 0);
    bool is_armed = false;
    const PatientSends sends([&] {
      if (!std::exchange(is_armed, true)) {
        std::jthread([&] { pair.a.cq->arm(verbs::Notify::kNext); }).join();
      }
    });
    REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, kSize));
    // If the worker drove the connection, it has sent the whole message and `sends` has not armed
    // the queue. Otherwise the queue is armed and its event arrives.
    if (is_armed) REQUIRE(pair.a.channel->wait(kLimit).has_value());
    pair.a.expect_success();
    pair.b.expect_success();
  }
}

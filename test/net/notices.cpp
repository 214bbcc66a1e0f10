// SPDX-License-Identifier: Apache-2.0
// Tests when a sleeping program is notified of a completion: only if there is a completion, and
// only after the worker has answered the peer.
#include <poll.h>

#include <atomic>
#include <thread>

#include "replaced_socket_ops.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

/// Counts the sends before the descriptor `channel` becomes readable, and the sends afterwards.
class SendsBeforeNotice {
 public:
  explicit SendsBeforeNotice(int channel) {
    channel_ = channel;
    before_ = after_ = 0;
  }

  int before() const { return before_; }
  int after() const { return after_; }

 private:
  static ssize_t send(int fd, const msghdr* message, int flags) {
    pollfd channel{.fd = channel_, .events = POLLIN, .revents = 0};
    ++(::poll(&channel, 1, 0) == 1 ? after_ : before_);
    return kernel_socket_ops().send(fd, message, flags);
  }

  inline static std::atomic<int> channel_{-1};
  inline static std::atomic<int> before_{0};
  inline static std::atomic<int> after_{0};
  const test::ReplacedSocketOps replaced_{[](SocketOps& ops) { ops.send = send; }};
};

}  // namespace

TEST_CASE("a program that sleeps in wait() gets no event for an empty queue") {
  Established pair;
  const auto receive = [&] {
    REQUIRE(pair.b.channel->wait(kLimit).has_value());
    pair.b.cq->arm(verbs::Notify::kNext);
    verbs::WorkCompletion wc;
    REQUIRE_EQ(pair.b.cq->poll(std::span(&wc, 1)), 1);
  };
  const auto send = [&] { pair.a.perform(WrOpcode::kSend, 0, 64); };
  pair.b.cq->arm(verbs::Notify::kNext);
  for (int round = 0; round < 3; ++round) {
    // The event is already pending when the program calls wait(), as with a fast peer.
    for (int i = 0; i < 100; ++i) {
      pair.b.post_recv(0, 64);
      send();
      pollfd channel{.fd = pair.b.channel->fd(), .events = POLLIN, .revents = 0};
      REQUIRE_EQ(::poll(&channel, 1, static_cast<int>(std::chrono::milliseconds(kLimit).count())),
                 1);
      receive();
    }
    // b's program does not poll, so b's worker answers the Read. b's program then calls wait()
    // before the next message is sent.
    pair.a.perform(WrOpcode::kRead, 0, 64, pair.b.remote(64));
    pair.b.post_recv(0, 64);
    const std::jthread later(send);
    receive();
  }
}

TEST_CASE("a worker answers the peer before it notifies the program, which may then exit") {
  const verbs::ConnectionOptions acknowledged{.completions = verbs::Completions::kAcknowledged};
  Pair pair({.connection = acknowledged});
  pair.connect({.connection = acknowledged});
  for (int i = 0; i < 5; ++i) {
    pair.b.post_recv(0, 64);
    pair.b.cq->arm(verbs::Notify::kNext);
    const SendsBeforeNotice sends(pair.b.channel->fd());
    REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64));
    REQUIRE_EQ(to_string(pair.a.spin().status), to_string(verbs::WcStatus::kSuccess));
    REQUIRE(pair.b.channel->wait(kLimit).has_value());
    // Counts a's message with its acknowledgement request, and b's answer to that request.
    CHECK_EQ(sends.before(), 2);
    CHECK_EQ(sends.after(), 0);
    verbs::WorkCompletion wc;
    REQUIRE_EQ(pair.b.cq->poll(std::span(&wc, 1)), 1);
  }
}

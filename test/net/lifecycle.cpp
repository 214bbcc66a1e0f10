// SPDX-License-Identifier: Apache-2.0
// Tests how connections end (gracefully by either side, by abort, by Terminate, or with the
// device), and which objects may outlive which others.
#include <sys/socket.h>

#include <atomic>
#include <fstream>
#include <functional>

#include "iwarp/net/channel_port.hpp"
#include "iwarp/net/statistics.hpp"
#include "iwarp/verbs/wire_tap.hpp"
#include "raw_peer.hpp"
#include "replaced_socket_ops.hpp"
#include "socket_pair.hpp"
#include "sockets/sockets.hpp"

using namespace iwarp;
using namespace iwarp::net;
using verbs::QpState;

namespace {

/// Connects `pair.a` to a raw peer with revision 1.
RawPeer raw_peer_of(Pair& pair, ConnectOptions options = {}) {
  RawListener server;
  options.connection.startup.revision = 1;
  pair.start(options, server.address());
  auto peer = server.answer();
  expect(*pair.a.cm, Type::kEstablished);
  return peer;
}

/// What the next send() does first, in whichever thread drives the connection.
std::function<void()> before_send;
std::atomic<bool> is_before_send_due{false};

}  // namespace

TEST_CASE(
    "an orderly close from either side is reported once at both ends, and both can connect again "
    "[VRB-18] [DDP-9] [DDP-10] [MPA-107]") {
  Pair pair;
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    pair.connect();
    REQUIRE_FALSE((round % 2 == 0 ? pair.a : pair.b).qp->disconnect());
    CHECK_EQ(expect(*pair.a.cm, Type::kDisconnected).qp, pair.a.qp.get());
    CHECK_EQ(expect(*pair.b.cm, Type::kDisconnected).qp, pair.b.qp.get());
    CHECK_EQ(to_string(pair.a.qp->state()), to_string(QpState::kIdle));
    CHECK_EQ(to_string(pair.b.qp->state()), to_string(QpState::kIdle));
    CHECK_FALSE(pair.a.cm->poll().has_value());
    CHECK_FALSE(pair.b.cm->poll().has_value());
  }
}

TEST_CASE("a close in order and a Terminate that are requested in one turn send no Terminate") {
  Established pair;
  const iwarp::test::ReplacedSocketOps replaced([](SocketOps& ops) {
    ops.send = [](int fd, const msghdr* message, int flags) {
      if (is_before_send_due.exchange(false)) before_send();
      return kernel_socket_ops().send(fd, message, flags);
    };
  });
  before_send = [&] {
    CHECK_FALSE(pair.a.qp->disconnect());
    CHECK_FALSE(pair.a.qp->terminate());
  };
  is_before_send_due = true;
  REQUIRE_FALSE(pair.a.post(WrOpcode::kWrite, 0, 64, pair.b.remote(0)));
  pair.expect_disconnected();
  CHECK_FALSE(pair.b.qp->query().terminate_received.has_value());
}

TEST_CASE("the data of completed requests still arrives after their queue pair is destroyed") {
  constexpr std::size_t kMessage = 64 * 1024;
  // These messages fit in this end's send buffer. While the peer's program posts no receives, the
  // peer and its kernel cannot buffer all of them.
  constexpr std::size_t kMessages = 6;
  Pair pair(kMessage, {}, {"127.0.0.1", 0}, {.connection = {.receive_hold = kLimit}});
  {
    auto near = open_rnic();
    End a(*near, kMessage, 1);
    join(a, *a.qp, pair.b, *pair.b.qp, pair.listener->local());
    for (std::size_t i = 0; i < kMessages; ++i) {
      a.perform(WrOpcode::kSend, 0, kMessage);
    }
  }  // The end of this scope destroys the queue pair and its device.
  for (std::size_t i = 0; i < kMessages; ++i) {
    pair.b.post_recv(0, kMessage);
    pair.b.expect_success();
    CHECK_EQ(pair.b.buffer, pair.a.buffer);  // Both buffers were filled from the same seed.
  }
  expect(*pair.b.cm, Type::kDisconnected);
  CHECK_EQ(to_string(pair.b.qp->state()), to_string(QpState::kIdle));
}

TEST_CASE("a peer that keeps sending to a destroyed queue pair receives all data sent to it") {
  Pair pair;
  auto peer = raw_peer_of(pair);
  pair.a.perform(WrOpcode::kSend, 0, 8);
  pair.a.qp.reset();
  for (int i = 0; i < 64; ++i) peer.send(pattern(65536, 1));
  CHECK_EQ(bytes::load_be<std::uint16_t>(peer.receive(32).data()), 18 + 8);
  CHECK_FALSE(peer.wait_for_end());  // The connection must not end with a reset.
}

TEST_CASE("a queue pair destroyed in the middle of a message resets its connection") {
  Pair pair(1 << 24);
  auto peer = raw_peer_of(pair);
  // This message is too large for the socket buffers.
  REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 1 << 24));
  pair.a.qp.reset();
  CHECK(peer.wait_for_end());
}

TEST_CASE("an initiator with first_fpdu_delay sends when the delay after the Reply has passed") {
  Pair pair;
  auto peer = raw_peer_of(pair, {.connection = {.first_fpdu_delay = 20ms}});
  REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 8));
  // Nothing else is posted, polled or received, so only the worker's timer can send this message.
  CHECK_EQ(bytes::load_be<std::uint16_t>(peer.receive(32).data()), 18 + 8);
  pair.a.expect_success();
}

TEST_CASE("a queue pair that is destroyed under traffic leaves no objects behind") {
  for (int round = 0; round < 20; ++round) {
    Established pair;
    for (int i = 0; i < 50; ++i) {
      const auto error = pair.a.post(WrOpcode::kWrite, 0, 32768, pair.b.remote(0));
      REQUIRE_FALSE(error);
    }
    (round % 2 == 0 ? pair.a : pair.b).qp.reset();
  }
}

TEST_CASE("destroying a device resets undecided requests; a rejection just before still arrives") {
  for (const bool rejects : {true, false}) {
    auto near = open_rnic();
    End a(*near);
    auto far = open_rnic();
    CmChannel channel;
    auto listener = must(far->listen({"127.0.0.1", 0}, {}, channel));
    REQUIRE_FALSE(
        near->connect(*a.qp, listener->local(), {.fall_back_to_revision_1 = false}, *a.cm));
    auto event = expect(channel, Type::kConnectRequest);
    if (rejects) {
      REQUIRE_FALSE(event.request->reject(octets("no")));
      event.request.reset();
    } else {
      ChannelPort::push(channel, std::move(event));
    }
    listener.reset();
    far.reset();
    const auto outcome = expect(*a.cm, rejects ? Type::kRejected : Type::kConnectFailed);
    CHECK_EQ(outcome.private_data, rejects ? octets("no") : octets(""));
    CHECK_EQ(outcome.error, make_error_code(rejects ? Errc::kRejected : Errc::kConnectionReset));
  }
}

/// Returns the number of TCP sockets of this process that use the congestion control `congestion`.
std::size_t sockets_with(std::string_view congestion) {
  constexpr int kDescriptors = 256;
  std::size_t count = 0;
  for (int fd = 0; fd < kDescriptors; ++fd) {
    if (congestion_of(fd) == congestion) ++count;
  }
  return count;
}

TEST_CASE("the congestion control can be chosen") {
  std::string name;  // the system's default
  std::ifstream("/proc/sys/net/ipv4/tcp_congestion_control") >> name;
  const auto before = sockets_with(name);
  Pair pair(1 << 16, {}, {"127.0.0.1", 0}, {.congestion = name});
  pair.connect({.congestion = name});
  CHECK_EQ(sockets_with(name), before + 3);  // The listener and both ends use it.
  CHECK_EQ(pair.rnic->statistics().connections.front().congestion, name);
  pair.b.post_recv(0, 64);
  REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64));
  pair.b.expect_success();
}

TEST_CASE(
    "both ends of a connection on this host use reno by default, and from the first segment on") {
  static std::string at_connect;
  const iwarp::test::ReplacedSocketOps replaced([](SocketOps& ops) {
    ops.connect = [](int fd, const sockaddr* address, socklen_t length) {
      at_connect = congestion_of(fd);
      return kernel_socket_ops().connect(fd, address, length);
    };
  });
  const auto before = sockets_with("reno");
  Pair pair(1 << 16);
  CHECK_EQ(sockets_with("reno"), before + 1);  // the listener
  pair.connect();
  CHECK_EQ(at_connect, "reno");
  CHECK_EQ(sockets_with("reno"), before + 3);
  const auto connections = pair.rnic->statistics().connections;
  REQUIRE_EQ(connections.size(), 2);
  for (const auto& connection : connections) CHECK_EQ(connection.congestion, "reno");
}

TEST_CASE("choosing an unavailable congestion control is an error") {
  Pair pair;
  const auto none = make_error_code(Errc::kInvalidArgument);
  const auto listener = pair.rnic->listen({"127.0.0.1", 0}, {.congestion = "no-such"}, *pair.b.cm);
  REQUIRE_FALSE(listener);
  CHECK_EQ(listener.error(), none);
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, pair.listener->local(), {.congestion = "no-such"},
                                   *pair.a.cm));
  CHECK_EQ(expect(*pair.a.cm, Type::kConnectFailed).error, none);
}

TEST_CASE("each end gets a tap that sees all octets, including the startup frames") {
  struct Seen {
    std::atomic<std::size_t> out{0};
    std::atomic<std::size_t> in{0};
    std::atomic<int> closed{0};
  };
  struct Tap final : verbs::WireTap {
    explicit Tap(Seen& s) : seen(s) {}
    void octets(bool outbound, bytes::View view, mpa::TimePoint) override {
      (outbound ? seen.out : seen.in) += view.size();
    }
    void closed(bool, bool, mpa::TimePoint) override { ++seen.closed; }
    Seen& seen;
  };
  Seen active;
  Seen passive;
  const auto factory = [](Seen& seen, bool expected_outgoing) {
    return [&seen, expected_outgoing](const Address& local, const Address& peer, bool outgoing) {
      CHECK_EQ(outgoing, expected_outgoing);
      CHECK_EQ(local.host, "127.0.0.1");
      CHECK_NE(local.port, peer.port);
      return std::make_unique<Tap>(seen);
    };
  };
  {
    Pair pair(1 << 16, {}, {"127.0.0.1", 0}, {.tap = factory(passive, false)});
    pair.connect({.tap = factory(active, true)});
    pair.a.perform(WrOpcode::kWrite, 0, 5000, pair.b.remote(0));
    pair.a.perform(WrOpcode::kRead, 8192, 5000, pair.b.remote(0));
    REQUIRE_FALSE(pair.a.qp->disconnect());
    pair.expect_disconnected();
  }
  CHECK_EQ(active.out, passive.in);
  CHECK_EQ(active.in, passive.out);
  CHECK_GT(active.out, 5000 + 20);
  CHECK_GT(passive.out, 5000 + 20);
  CHECK_EQ(active.closed, 2);
  CHECK_EQ(passive.closed, 2);
}

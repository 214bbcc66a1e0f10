// SPDX-License-Identifier: Apache-2.0
// Tests what happens after a rejection: MPA has ended, but the TCP connection remains. Either end
// can take the socket and continue to use it, or drop it. [MPA-86] [MPA-91]
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "raw_peer.hpp"
#include "replaced_socket_ops.hpp"
#include "socket_pair.hpp"

using namespace iwarp;       // NOLINT
using namespace iwarp::net;  // NOLINT

namespace {

constexpr int kTimeoutMs = 60'000;

void say(const UniqueFd& socket, std::string_view text) {
  REQUIRE_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
             static_cast<ssize_t>(text.size()));
}

/// Receives exactly `size` bytes from a non-blocking socket.
std::string receive(const UniqueFd& socket, std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t done = 0; done < size;) {
    pollfd wait{socket.get(), POLLIN, 0};
    REQUIRE_EQ(::poll(&wait, 1, kTimeoutMs), 1);
    const auto n = ::recv(socket.get(), out.data() + done, size - done, MSG_DONTWAIT);
    REQUIRE(n > 0);
    done += static_cast<std::size_t>(n);
  }
  return out;
}

/// Makes all sockets behave as if their send buffers were full while the returned object exists.
test::ReplacedSocketOps full_sockets() {
  return test::ReplacedSocketOps([](SocketOps& ops) {
    ops.send = [](int, const msghdr*, int) -> ssize_t {
      errno = EAGAIN;
      return -1;
    };
  });
}

/// A peer that has sent a Request to `pair.b`, and the event with this Request.
struct Asked {
  explicit Asked(const ListenOptions& options = {})
      : pair(1 << 16, {}, {"127.0.0.1", 0}, options) {}
  std::error_code reject_and_keep(const std::vector<std::byte>& private_data = {}) {
    return event.request->reject_and_keep(socket, private_data);
  }
  Pair pair;
  RawPeer peer = RawPeer::ask(pair.listener->local().port);
  CmEvent event = expect(*pair.b.cm, Type::kConnectRequest);
  UniqueFd socket;
};

struct Ends {
  UniqueFd active, passive;
};

/// Creates both ends of a TCP connection without using the device.
Ends tcp_connection() {
  const UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = loopback(0);
  REQUIRE_EQ(::bind(listening.get(), address.get(), address.length), 0);
  REQUIRE_EQ(::listen(listening.get(), 1), 0);
  address = loopback(local_address(listening.get()).port);
  Ends out;
  out.active = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE_EQ(::connect(out.active.get(), address.get(), address.length), 0);
  out.passive = UniqueFd(::accept(listening.get(), nullptr, nullptr));
  return out;
}

}  // namespace

TEST_CASE("a rejected end can continue over TCP, and loses no octet after the Reply [MPA-91]") {
  for (const std::size_t behind : {std::size_t{0}, std::size_t{5}, std::size_t{100'000}}) {
    CAPTURE(behind);
    RawListener server;
    Pair pair;
    pair.start({}, server.address());
    auto peer = server.accept();
    peer.receive_request();
    const auto more = pattern(behind, 7);
    std::vector<std::byte> reply(mpa::startup_frame_size(0));
    bytes::Writer writer{reply};
    mpa::encode({.kind = mpa::FrameKind::kReply, .rejected = true}, writer);
    reply.insert(reply.end(), more.begin(), more.end());
    peer.send(reply);

    auto event = expect(*pair.a.cm, Type::kRejected);
    CHECK_EQ(event.error, make_error_code(Errc::kRejected));
    REQUIRE(event.socket);
    REQUIRE(event.read_ahead.size() <= behind);
    auto got = event.read_ahead;
    const auto rest = octets(receive(event.socket, behind - got.size()));
    got.insert(got.end(), rest.begin(), rest.end());
    CHECK_EQ(got, more);
    say(event.socket, "so be it");
    CHECK_EQ(peer.receive(8), octets("so be it"));
    peer.send(octets("fine"));
    CHECK_EQ(receive(event.socket, 4), "fine");
    event.socket.reset();
    CHECK_FALSE(peer.wait_for_end());
    pair.connect();  // The queue pair can be used again after the rejection.
  }
}

TEST_CASE("an end that rejects can keep the TCP connection and continue on it [MPA-86]") {
  Asked asked;
  auto& [pair, peer, event, socket] = asked;
  REQUIRE_FALSE(asked.reject_and_keep(octets("no")));
  REQUIRE(socket);
  CHECK((::fcntl(socket.get(), F_GETFL) & O_NONBLOCK) != 0);
  UniqueFd again;
  CHECK_EQ(event.request->reject_and_keep(again), make_error_code(Errc::kWrongState));
  CHECK_FALSE(again);

  peer.receive(mpa::startup_frame_size(2));
  say(socket, "in words");
  CHECK_EQ(peer.receive(8), octets("in words"));
  peer.send(octets("heard"));
  CHECK_EQ(receive(socket, 5), "heard");
  socket.reset();
  CHECK_FALSE(peer.wait_for_end());
}

TEST_CASE("private data that is too long can be followed by a shorter rejection") {
  Asked asked;
  CHECK_EQ(asked.reject_and_keep(pattern(513, 1)), make_error_code(Errc::kPrivateDataTooLong));
  CHECK_FALSE(asked.socket);
  REQUIRE_FALSE(asked.reject_and_keep(pattern(512, 1)));
  CHECK(asked.socket);
}

TEST_CASE(
    "sockets that the program created become connections; after a rejection the program gets them "
    "back, and can try MPA again [MPA-62] [MPA-63]") {
  Pair pair;
  const UniqueFd unconnected(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK_EQ(pair.rnic->adopt_initiator(*pair.a.qp, unconnected.get(), {}, *pair.a.cm),
           make_error_code(Errc::kInvalidArgument));
  auto [active, passive] = tcp_connection();
  const auto ask = [&] {
    REQUIRE_FALSE(pair.rnic->adopt_responder(passive.release(), {}, *pair.b.cm));
    REQUIRE_FALSE(pair.rnic->adopt_initiator(*pair.a.qp, active.release(), {}, *pair.a.cm));
    return expect(*pair.b.cm, Type::kConnectRequest);
  };
  for (int i = 0; i < 3; ++i) {
    say(active, "now?");
    CHECK_EQ(receive(passive, 4), "now?");
    say(passive, "now");
    CHECK_EQ(receive(active, 3), "now");
    auto event = ask();
    REQUIRE_FALSE(event.request->reject_and_keep(passive, octets("not yet")));
    auto rejected = expect(*pair.a.cm, Type::kRejected);
    CHECK_EQ(rejected.private_data, octets("not yet"));
    active = std::move(rejected.socket);
    REQUIRE(active);
  }
  REQUIRE_FALSE(ask().request->accept(*pair.b.qp));
  expect(*pair.a.cm, Type::kEstablished);
  pair.b.post_recv(0, 64);
  REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64));
  pair.b.expect_success();
}

TEST_CASE("a Reply that TCP does not accept at once is still sent, and TCP is closed afterwards") {
  Asked asked;
  auto& peer = asked.peer;
  {
    const auto full = full_sockets();
    CHECK_EQ(asked.reject_and_keep(), make_error_code(Errc::kBusy));
    CHECK_FALSE(asked.socket);
    CHECK_EQ(asked.event.request->reject(), make_error_code(Errc::kWrongState));
  }
  const auto reply =
      mpa::decode_startup_frame(mpa::FrameKind::kReply, peer.receive(mpa::startup_frame_size(0)));
  REQUIRE(reply.has_value());
  CHECK(std::get<mpa::StartupFrame>(*reply).rejected);
  CHECK_FALSE(peer.wait_for_end());
}

TEST_CASE("a rejection that TCP never accepts ends after a timeout") {
  Asked asked({.connection = {.close_timeout = 50ms}});
  const auto full = full_sockets();
  CHECK_EQ(asked.reject_and_keep(), make_error_code(Errc::kBusy));
  CHECK(asked.peer.wait_for_end());
}

TEST_CASE("a rejection whose socket neither side keeps closes TCP in order") {
  Asked asked;
  REQUIRE_FALSE(asked.event.request->reject());
  asked.event.request.reset();
  asked.peer.receive(mpa::startup_frame_size(0));
  asked.peer.send(octets("still talking"));
  CHECK_FALSE(asked.peer.wait_for_end());
}

TEST_CASE("rejected peers that do not close do not hold a descriptor each") {
  const auto descriptors_now = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  };
  Pair pair({.connection = {.close_timeout = 1h}});
  constexpr std::size_t kStrangers = 200;
  std::vector<RawPeer> strangers;
  const auto before = descriptors_now();
  for (std::size_t i = 0; i < kStrangers; ++i) {
    auto& peer = strangers.emplace_back(RawPeer::ask(pair.listener->local().port));
    REQUIRE_FALSE(expect(*pair.b.cm, Type::kConnectRequest).request->reject());
    peer.receive(mpa::startup_frame_size(0));
  }
  // The peers' ends of the connections are also descriptors of this process.
  CHECK(descriptors_now() - before < kStrangers + kStrangers / 2);
}

// SPDX-License-Identifier: Apache-2.0
// Tests ports that the program binds before it uses them. No other program can bind such a port,
// former connections do not block it, and a socket can listen on it or connect from it. Also tests
// the options of connected sockets.
#include <optional>

#include "iwarp/net/bound_socket.hpp"
#include "raw_peer.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

const Address kAnyPort{"127.0.0.1", 0};
const std::error_code kInUse = make_error_code(Errc::kAddressInUse);

std::error_code error_of(const Address& at) {
  const auto socket = bind_tcp(at);
  return socket ? std::error_code() : socket.error();
}

/// Creates a socket, sets its option `option`, and binds it to `port`, as a program without this
/// library does. Returns the socket, or nullopt if the port is in use.
std::optional<UniqueFd> foreign_bind(std::uint16_t port, int option = SO_KEEPALIVE) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  REQUIRE_EQ(::setsockopt(socket.get(), SOL_SOCKET, option, &on, sizeof on), 0);
  const auto address = loopback(port);
  if (::bind(socket.get(), address.get(), address.length) == 0) return socket;
  REQUIRE_EQ(errno, EADDRINUSE);
  return std::nullopt;
}

}  // namespace

TEST_CASE("no other program can bind a bound port, with any socket option, until it is released") {
  Address at;
  {
    auto socket = must(bind_tcp(kAnyPort));
    at = socket.local();
    CHECK_EQ(at.host, "127.0.0.1");
    REQUIRE_NE(at.port, 0);
    CHECK_EQ(error_of(at), kInUse);
    CHECK_EQ(error_of({"0.0.0.0", at.port}), kInUse);
    CHECK_EQ(error_of({"", at.port}), kInUse);
    CHECK_FALSE(error_of({"127.0.0.2", at.port}));
    CHECK_FALSE(foreign_bind(at.port).has_value());
    CHECK_FALSE(foreign_bind(at.port, SO_REUSEADDR).has_value());
    auto rnic = open_rnic();
    CmChannel channel;
    CHECK_EQ(rnic->listen(at, {}, channel).error(), kInUse);
    auto other = must(bind_tcp(kAnyPort));
    CHECK_NE(other.local().port, at.port);
    other = std::move(socket);
    CHECK_EQ(other.local(), at);
    CHECK_EQ(error_of(at), kInUse);
  }
  CHECK_FALSE(error_of(at));
}

TEST_CASE("bind_tcp() itself reports an address that cannot be bound") {
  CHECK(error_of({"192.0.2.1", 0}) == std::errc::address_not_available);
  CHECK_EQ(error_of({"no.such.host.invalid", 0}), make_error_code(Errc::kAddressInvalid));
}

TEST_CASE("a port is bound again while its former connections are open or in TIME_WAIT") {
  Established pair;
  const Address at = pair.listener->local();
  // The listener still holds the port, so another bind fails.
  CHECK_EQ(error_of(at), kInUse);
  pair.listener.reset();
  {
    auto beside_the_connection = must(bind_tcp(at));
    CHECK_EQ(error_of(at), kInUse);
  }
  // `b` closes first, so its end of the connection enters TIME_WAIT. That end is bound to the port
  // of `at`.
  REQUIRE_FALSE(pair.b.qp->disconnect());
  pair.expect_disconnected();
  CHECK_FALSE(foreign_bind(at.port).has_value());
  auto socket = must(bind_tcp(at));
  CHECK_EQ(error_of(at), kInUse);
  CHECK_FALSE(foreign_bind(at.port, SO_REUSEADDR).has_value());
  pair.listener = must(pair.rnic->listen(std::move(socket), {}, *pair.b.cm));
  CHECK_EQ(pair.listener->local(), at);
  pair.connect();
}

TEST_CASE("a listener on a bound socket accepts, and no other socket can listen there") {
  Pair pair;
  auto socket = must(bind_tcp({"", 0}));
  const auto at = socket.local();
  pair.listener = must(pair.rnic->listen(std::move(socket), {}, *pair.b.cm));
  CHECK_EQ(error_of(at), kInUse);
  CHECK_EQ(error_of({"127.0.0.1", at.port}), kInUse);
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, {"127.0.0.1", at.port}, {}, *pair.a.cm));
  expect(*pair.b.cm, Type::kConnectRequest);
}

TEST_CASE("a socket on which listening failed stays bound, and can listen later") {
  Pair pair;
  auto socket = must(bind_tcp(kAnyPort));
  const auto at = socket.local();
  // Another socket of the same user can share the port only with SO_REUSEPORT, which a program does
  // not set by accident.
  auto stranger = foreign_bind(at.port, SO_REUSEPORT);
  REQUIRE(stranger.has_value());
  REQUIRE_EQ(::listen(stranger->get(), 1), 0);
  const auto failed = pair.rnic->listen(std::move(socket), {}, *pair.b.cm);
  REQUIRE_FALSE(failed.has_value());
  CHECK_EQ(failed.error(), kInUse);
  CHECK_EQ(socket.local(), at);
  stranger.reset();
  CHECK_FALSE(foreign_bind(at.port).has_value());
  CHECK(pair.rnic->listen(std::move(socket), {}, *pair.b.cm).has_value());
}

TEST_CASE("a connection is made from the port that the program has bound, and keeps it") {
  Pair pair;
  for (const char* host : {"127.0.0.1", "0.0.0.0", ""}) {
    CAPTURE(host);
    const auto socket = must(bind_tcp({host, 0}));
    const Address from{host, socket.local().port};
    for (int round = 0; round < 2; ++round) {
      CAPTURE(round);
      pair.start({.local = from});
      auto event = expect(*pair.b.cm, Type::kConnectRequest);
      CHECK_EQ(event.request->peer(), Address{"127.0.0.1", from.port});
      REQUIRE_FALSE(event.request->accept(*pair.b.qp));
      expect(*pair.a.cm, Type::kEstablished);
      expect(*pair.b.cm, Type::kEstablished);
      CHECK_EQ(error_of(from), kInUse);
      CHECK_FALSE(foreign_bind(from.port, SO_REUSEADDR).has_value());
      // The passive side closes first and enters TIME_WAIT, so the active side can connect again
      // from the same port.
      REQUIRE_FALSE(pair.b.qp->disconnect());
      pair.expect_disconnected();
    }
  }
}

TEST_CASE("an address to connect from may leave out the port or the host address") {
  Pair pair;
  pair.start({.local = Address{"127.0.0.2", 0}});
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_EQ(event.request->peer().host, "127.0.0.2");
  event.request.reset();
  expect(*pair.a.cm, Type::kRejected);
  const auto port = must(bind_tcp(kAnyPort)).local().port;
  pair.start({.local = Address{"", port}});
  event = expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_EQ(event.request->peer(), Address{"127.0.0.1", port});
}

TEST_CASE("a connection can be made from an IPv6 address") {
  Pair pair(1 << 12, {}, {"::1", 0});
  pair.start({.local = Address{"::1", 0}});
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_EQ(event.request->peer().host, "::1");
  REQUIRE_FALSE(event.request->reject());
  expect(*pair.a.cm, Type::kRejected);
  const auto socket = must(bind_tcp({"::1", 0}));
  pair.start({.local = socket.local()});
  CHECK_EQ(expect(*pair.b.cm, Type::kConnectRequest).request->peer(), socket.local());
}

TEST_CASE("connecting from an address that cannot be bound fails with the reason") {
  Pair pair;
  for (const char* host : {"localhost", "192.0.2.1", "::1"}) {
    CAPTURE(host);
    pair.start({.local = Address{host, 0}});
    CHECK_EQ(expect(*pair.a.cm, Type::kConnectFailed).error,
             make_error_code(Errc::kAddressInvalid));
  }
  pair.start({.local = pair.listener->local()});
  CHECK_EQ(expect(*pair.a.cm, Type::kConnectFailed).error, kInUse);
}

TEST_CASE("a range of ports is used from the bottom up, until none is left") {
  // Find three free ports in a row.
  std::uint16_t first = 0;
  for (std::uint16_t port = 20000; first == 0 && port < 32000; port += 3) {
    const auto free = [](std::uint16_t p) { return !error_of({"127.0.0.1", p}); };
    if (free(port) && free(port + 1) && free(port + 2)) first = port;
  }
  REQUIRE_NE(first, 0);
  const PortRange range{.first = first, .last = static_cast<std::uint16_t>(first + 2)};
  auto lowest = must(bind_tcp(kAnyPort, range));
  const auto next = must(bind_tcp(kAnyPort, range));
  CHECK_EQ(lowest.local().port, first);
  CHECK_EQ(next.local().port, first + 1);
  {
    const auto last = must(bind_tcp(kAnyPort, range));
    CHECK_EQ(last.local().port, first + 2);
    CHECK_EQ(bind_tcp(kAnyPort, range).error(), kInUse);
  }
  lowest = must(bind_tcp(kAnyPort, range));
  CHECK_EQ(lowest.local().port, first + 2);
  CHECK_EQ(must(bind_tcp(kAnyPort, range)).local().port, first);
  // The port range limits only the ports that bind_tcp() chooses itself. It does not limit a port
  // that the caller specifies.
  CHECK_EQ(must(bind_tcp({"127.0.0.1", first}, {.first = 1, .last = 2})).local().port, first);
}

TEST_CASE("a connection between two ends of a host has a small send buffer, which does not grow") {
  const auto listening = must(bind_tcp(kAnyPort));
  REQUIRE_FALSE(start_listening(listening.fd(), 1));
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = loopback(listening.local().port);
  REQUIRE_EQ(::connect(socket.get(), address.get(), address.length), 0);
  REQUIRE_FALSE(prepare_connected(socket.get(), ""));

  const std::vector<std::byte> octets(64 * 1024);
  while (::send(socket.get(), octets.data(), octets.size(), MSG_NOSIGNAL) > 0) {
  }
  REQUIRE_EQ(errno, EAGAIN);
  int size = 0;
  socklen_t length = sizeof size;
  REQUIRE_EQ(::getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &size, &length), 0);
  CHECK_LE(size, 1024 * 1024);
}

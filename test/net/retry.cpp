// SPDX-License-Identifier: Apache-2.0
// Tests connecting to a peer that is not ready yet and refuses or resets connections at first, and
// to existing peers that support only revision 1 or refuse some private data. The library retries
// for as long as the program allows.
#include <atomic>
#include <cerrno>
#include <thread>

#include "iwarp/net/bound_socket.hpp"
#include "raw_peer.hpp"
#include "replaced_socket_ops.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

std::atomic<int> refused{0};
std::atomic<int> refusals{0};  // number of connect() calls that will still fail

/// Makes the next `times` calls of connect() fail with ECONNREFUSED.
test::ReplacedSocketOps refusing_connects(int times) {
  refused = 0;
  refusals = times;
  return test::ReplacedSocketOps([](SocketOps& ops) {
    ops.connect = [](int fd, const sockaddr* address, socklen_t length) {
      if (refusals <= 0) return ::connect(fd, address, length);
      --refusals;
      ++refused;
      errno = ECONNREFUSED;
      return -1;
    };
  });
}

ConnectOptions with_time(std::chrono::milliseconds time = kLimit) {
  return {.retry_refused_for = time};
}

std::uint8_t revision(bytes::View request) { return std::to_integer<std::uint8_t>(request[17]); }
std::uint8_t revision(RawPeer& peer) { return revision(peer.receive_request()); }

std::vector<std::byte> private_data(bytes::View request) {
  const auto frame = mpa::decode_startup_frame(mpa::FrameKind::kRequest, request);
  REQUIRE(frame.has_value());
  const auto& data = std::get<mpa::StartupFrame>(*frame).private_data;
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("a peer that refuses is retried for as long as the program allows") {
  Pair pair;
  {
    const auto refusing = refusing_connects(5);
    pair.connect(with_time());
  }
  CHECK_EQ(refused, 5);
  pair.a.qp = pair.a.make_qp();
  pair.b.qp = pair.b.make_qp();
  const auto refusing = refusing_connects(INT_MAX);
  pair.start(with_time(30ms));
  CHECK_EQ(expect(*pair.a.cm, Type::kConnectFailed).error,
           make_error_code(Errc::kConnectionRefused));
}

TEST_CASE("by default a refusal is not retried") {
  const auto refusing = refusing_connects(1);
  Pair pair;
  pair.start();
  CHECK_EQ(expect(*pair.a.cm, Type::kConnectFailed).error,
           make_error_code(Errc::kConnectionRefused));
}

TEST_CASE("a listener that is replaced by another one on its port causes no peer to fail") {
  Pair pair;
  auto former = std::make_unique<RawListener>();
  const auto at = former->address();
  pair.start(with_time(), at);
  auto peer = former->accept();
  CHECK_EQ(revision(peer), 2);
  // Each later connection is refused, or is reset when the listener closes.
  peer.reset();
  former.reset();
  pair.listener = must(pair.rnic->listen(at, {}, *pair.b.cm));
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  REQUIRE(event.offer.has_value());
  CHECK(event.offer->enhanced);
  REQUIRE_FALSE(event.request->accept(*pair.b.qp));
  expect(*pair.a.cm, Type::kEstablished);
}

TEST_CASE("a peer silent for the allowed time is then tried once with revision 1 [EMPA-50]") {
  RawListener server;
  Pair pair;
  pair.start(with_time(1ms), server.address());
  for (;;) {
    auto peer = server.accept();
    if (revision(peer) != 1) continue;  // The connection closes at the end of the scope.
    peer.send_startup({.kind = mpa::FrameKind::kReply});
    expect(*pair.a.cm, Type::kEstablished);
    break;
  }
}

TEST_CASE("a peer that has begun to answer, or rejects, is not retried [MPA-91]") {
  RawListener server;
  Pair pair;
  pair.start(with_time(), server.address());
  {
    auto peer = server.accept();
    peer.receive_request();
    peer.send(octets("M"));
  }
  CHECK_EQ(expect(*pair.a.cm, Type::kConnectFailed).error, make_error_code(Errc::kConnectionReset));
  pair.start(with_time(), server.address());
  auto peer = server.accept();
  peer.receive_request();
  peer.send_startup({.kind = mpa::FrameKind::kReply, .rejected = true});
  expect(*pair.a.cm, Type::kRejected);
  peer.wait_for_end();
}

TEST_CASE(
    "after a peer closes, resets or accepts without the enhanced word, the initiator retries once "
    "with revision 1, without tag and trailer [EMPA-50]") {
  const std::pair<const char*, void (*)(RawPeer&)> kOldPeers[] = {
      {"closes", [](RawPeer& peer) { peer.close(); }},
      {"resets", [](RawPeer& peer) { peer.reset(); }},
      {"accepts", [](RawPeer& peer) { peer.send_startup({.kind = mpa::FrameKind::kReply}); }}};
  for (const auto& [name, react] : kOldPeers) {
    CAPTURE(name);
    RawListener server;
    Pair pair;
    ConnectOptions options;
    options.private_data = octets("abc");
    options.private_trailer = octets("de");
    options.connection.startup.rtr = mpa::Rtr::kWrite;
    pair.start(options, server.address());
    auto old = server.accept();
    const auto first = old.receive_request();
    CHECK_EQ(revision(first), 2);
    CHECK(mpa::ends_with_extensions_tag(mpa::FrameKind::kRequest, first));
    CHECK(std::ranges::equal(std::span(first).subspan(24, 5), octets("abcde")));
    react(old);
    auto again = server.accept();
    const auto second = again.receive_request();
    CHECK_EQ(revision(second), 1);
    CHECK_EQ(private_data(second), octets("abc"));
    again.send_startup({.kind = mpa::FrameKind::kReply});
    expect(*pair.a.cm, Type::kEstablished);
    again.reset();
    expect(*pair.a.cm, Type::kDisconnected);
  }
}

TEST_CASE("if a peer closes on private data that some peers refuse, the error mentions it") {
  const auto why = [](std::size_t size) {
    RawListener server;
    Pair pair;
    pair.start({.private_data = pattern(size, 3), .fall_back_to_revision_1 = false},
               server.address());
    auto peer = server.accept();
    peer.receive_request();
    peer.close();
    return expect(*pair.a.cm, Type::kConnectFailed).why;
  };
  const std::string hint =
      " (the Request has 257 octets of private data; some peers accept at most 256)";
  CHECK(why(253).ends_with(hint));  // The enhanced MPA header adds 4 octets.
  CHECK_EQ(why(252).find("private data"), std::string::npos);
}

TEST_CASE("each attempt uses the port that the program specified") {
  RawListener server;
  Pair pair;
  const auto socket = must(bind_tcp({"127.0.0.1", 0}));
  auto options = with_time();
  options.local = socket.local();
  pair.start(options, server.address());
  for (const bool reset : {true, true, false, true}) {
    auto peer = server.accept();
    CHECK_EQ(peer.address(), socket.local());
    CHECK_EQ(revision(peer), 2);
    if (reset) peer.reset();
  }
}

TEST_CASE("a queue pair can be destroyed while its connection waits for the next attempt") {
  const auto refusing = refusing_connects(INT_MAX);
  Pair pair;
  pair.start(with_time());
  while (refused < 3) std::this_thread::yield();
  pair.a.qp.reset();
  CHECK_FALSE(pair.a.cm->poll().has_value());
}

// SPDX-License-Identifier: Apache-2.0
// Tests data over TLS: sockets that transfer one octet at a time, records that are buffered so that
// the socket does not become readable, key updates, and the ways in which a stream ends.
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "replaced_socket_ops.hpp"
#include "support_tls.hpp"

using namespace iwarp;       // NOLINT
using namespace iwarp::net;  // NOLINT
using namespace iwarp::tls;  // NOLINT

namespace {

constexpr std::size_t kSize = 4 << 20;

struct Connected {
  explicit Connected(ConnectOptions connect = {}, ListenOptions listen = {},
                     std::uint64_t rekey_after = std::uint64_t{1} << 36, std::size_t size = 1 << 16)
      : pair(pair_served_by(with(std::move(listen), rekey_after), size)) {
    auto asking = credentials.asking();
    asking.rekey_after = rekey_after;
    connect.carrier = good(connecting(asking));
    pair.connect(connect);
  }
  ListenOptions with(ListenOptions listen, std::uint64_t rekey_after) const {
    auto serving = credentials.serving();
    serving.rekey_after = rekey_after;
    listen.carrier = good(listening(serving));
    return listen;
  }
  Credentials credentials;
  Pair pair;
};

/// Makes system calls transfer one octet at a time while the returned object exists.
test::ReplacedSocketOps one_octet_calls() {
  return test::ReplacedSocketOps([](SocketOps& ops) {
    ops.send = [](int fd, const msghdr* message, int flags) {
      return ::send(fd, message->msg_iov->iov_base, 1, flags);
    };
    ops.receive = [](int fd, msghdr* message, int flags) {
      return ::recv(fd, message->msg_iov->iov_base, 1, flags);
    };
  });
}

void write_and_read(Pair& pair, std::size_t size) {
  pair.a.perform(WrOpcode::kWrite, 0, size, pair.b.remote(0));
  pair.a.perform(WrOpcode::kRead, size, size, pair.b.remote(0));
  CHECK(std::equal(pair.a.buffer.begin(), pair.a.buffer.begin() + static_cast<long>(size),
                   pair.a.buffer.begin() + static_cast<long>(size)));
}

int state_of(const End& end) { return static_cast<int>(end.qp->state()); }

}  // namespace

TEST_CASE("TLS works over sockets that transfer one octet at a time") {
  const auto slow = one_octet_calls();
  Connected connected;
  write_and_read(connected.pair, 3000);
}

TEST_CASE("large transfers in both directions, with a new key each 64 KiB") {
  Connected connected({}, {}, 64 * 1024, 2 * kSize);
  End& a = connected.pair.a;
  End& b = connected.pair.b;
  // Both ends write at the same time.
  REQUIRE_FALSE(a.post(WrOpcode::kWrite, 0, kSize, b.remote(kSize)));
  REQUIRE_FALSE(b.post(WrOpcode::kWrite, 0, kSize, a.remote(kSize)));
  a.expect_success();
  b.expect_success();
  // The Read Response follows the data that `b` has written, so all of that data has arrived when
  // the Read completes. The Read that `b` posts below does the same for the data of `a`.
  write_and_read(connected.pair, 1000);
  b.perform(WrOpcode::kRead, 0, 1, a.remote(0));
  CHECK(std::equal(b.buffer.begin() + 1000, b.buffer.begin() + kSize,
                   a.buffer.begin() + kSize + 1000));
  CHECK(std::equal(a.buffer.begin() + 2000, a.buffer.begin() + kSize,
                   b.buffer.begin() + kSize + 2000));
}

TEST_CASE("polling and sleeping programs are both served over TLS") {
  Connected connected;
  SUBCASE("polls") {
    ping_pong(connected.pair, 2000, [](End& end) { return end.spin(); });
  }
  SUBCASE("sleeps") {
    ping_pong(connected.pair, 500, [](End& end) { return end.completion(); });
  }
}

TEST_CASE("a held stream continues with the data that TLS has already read") {
  Connected connected({}, {.connection = {.receive_hold = kLimit}});
  End& a = connected.pair.a;
  End& b = connected.pair.b;
  constexpr int kSends = 40;
  // Posts all Sends as one batch, so that they fill only a few records. b reads these records
  // before a receive is posted for any of the Sends.
  for (int i = 0; i < kSends; ++i) REQUIRE_FALSE(a.post(WrOpcode::kSend, 0, 1000));
  for (int i = 0; i < kSends; ++i) a.expect_success();
  bool polls = false;
  SUBCASE("polls") { polls = true; }
  SUBCASE("sleeps") {}
  for (int i = 0; i < kSends; ++i) {
    b.post_recv(0, 1000, static_cast<std::uint64_t>(i));
    const auto wc = polls ? b.spin() : b.completion();
    REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
    REQUIRE_EQ(wc.wr_id, static_cast<std::uint64_t>(i));
  }
}

TEST_CASE("a stream that ends without close_notify is a cut, not an orderly close") {
  const Credentials credentials;
  auto pair = pair_served_by(served_by(credentials.serving()));
  TlsPeer peer(TlsPeer::connect(pair.listener->local().port), true, &credentials.client);
  REQUIRE(peer.shake_hands());
  peer.send_request();
  auto request = expect(*pair.b.cm, Type::kConnectRequest);
  REQUIRE_FALSE(request.request->accept(*pair.b.qp));
  expect(*pair.b.cm, Type::kEstablished);
  peer.receive(mpa::kStartupHeaderSize);
  SUBCASE("without close_notify") {
    peer.cut_off();
    expect(*pair.b.cm, Type::kDisconnected);
    CHECK_EQ(state_of(pair.b), static_cast<int>(verbs::QpState::kError));
  }
  SUBCASE("with close_notify") {
    peer.close_in_order();
    expect(*pair.b.cm, Type::kDisconnected);
    CHECK_EQ(state_of(pair.b), static_cast<int>(verbs::QpState::kIdle));
    CHECK(peer.hear_all().empty());
  }
}

TEST_CASE("a peer that updates its key again and again is still served") {
  const Credentials credentials;
  auto pair = pair_served_by(served_by(credentials.serving()));
  TlsPeer peer(TlsPeer::connect(pair.listener->local().port), true, &credentials.client);
  REQUIRE(peer.shake_hands());
  for (int i = 0; i < 30; ++i) peer.change_key();
  peer.send_request();
  auto request = expect(*pair.b.cm, Type::kConnectRequest);
  REQUIRE_FALSE(request.request->accept(*pair.b.qp));
  peer.receive(mpa::kStartupHeaderSize);
}

TEST_CASE("the data of completed requests arrives although their queue pair is destroyed at once") {
  Connected connected({}, {}, std::uint64_t{1} << 36, kSize);
  End& a = connected.pair.a;
  End& b = connected.pair.b;
  a.perform(WrOpcode::kWrite, 0, kSize, b.remote(0));
  a.qp.reset();
  expect(*b.cm, Type::kDisconnected);
  CHECK_EQ(state_of(b), static_cast<int>(verbs::QpState::kIdle));
  CHECK(a.buffer == b.buffer);
}

TEST_CASE("octets that send() reads together with the end of the handshake count as input") {
  const Credentials credentials;
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
  const UniqueFd first(ends[0]);
  const UniqueFd second(ends[1]);
  const auto client =
      good(connecting(credentials.asking()))->make(CarrierSocket(first.get()), "127.0.0.1");
  const auto server = good(listening(credentials.serving()))->make(CarrierSocket(second.get()), "");
  char octet = 'x';
  const iovec plan{.iov_base = &octet, .iov_len = 1};
  CHECK_EQ(client->send({}), 0);
  CHECK_EQ(server->send({}), 0);
  CHECK_EQ(client->send({&plan, 1}), 1);
  CHECK_FALSE(server->holds_input());
  CHECK_EQ(server->send({}), 0);
  CHECK(server->holds_input());
  octet = 0;
  CHECK_EQ(server->receive({&plan, 1}), 1);
  CHECK_EQ(octet, 'x');
}

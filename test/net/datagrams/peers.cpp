// SPDX-License-Identifier: Apache-2.0
// Tests that a queue pair opens a connected socket for a peer to which it sends often, and that
// this changes nothing else.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "raw_peer.hpp"
#include "ready_datagrams.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

constexpr int kCalls = 32;

std::size_t sockets_of(const ReadyDatagrams& end) { return sockets_at(port_of(end)).size(); }

/// Sends kCalls datagrams to `to`, so that `from` opens a socket that is connected to `to`.
void send_often(ReadyDatagrams& from, const ReadyDatagrams& to) {
  for (int i = 0; i != kCalls; ++i) from.send(1, to);
}

/// Polls completions until the receiver has delivered `count` datagrams.
void take_all(const ReadyDatagrams& end, std::uint64_t count) {
  std::array<verbs::WorkCompletion, 16> some;
  CHECK(comes_true([&] {
    while (end.cq->poll(some) != 0) {
    }
    return end.qp->counters().delivered >= count;
  }));
  while (end.cq->poll(some) != 0) {
  }
  CHECK_EQ(end.qp->counters().delivered, count);
}

/// Polls often enough that the worker stops watching the socket. From then on, the polling thread
/// reads the socket.
void poll_in_vain(const ReadyDatagrams& end) {
  std::array<verbs::WorkCompletion, 1> none;
  for (int i = 0; i != 1000; ++i) (void)end.cq->poll(none);
}

struct Stranger {
  void send(std::uint16_t to) const {
    const auto at = loopback(to);
    REQUIRE_EQ(::sendto(socket.get(), "x", 1, 0, at.get(), at.length), 1);
  }
  UniqueFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

bool can_bind(const in_addr& at, std::uint16_t port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  REQUIRE_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
  REQUIRE_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
  const sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = at, .sin_zero = {}};
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

TEST_CASE(
    "a peer to which the queue pair sends often gets a connected socket that no other program can "
    "share") {
  ReadyDatagrams here;
  ReadyDatagrams there;
  there.post_receives(2 * kCalls);
  here.send(16, there);
  CHECK_EQ(sockets_of(here), 1);
  send_often(here, there);
  REQUIRE_EQ(sockets_of(here), 2);
  send_often(here, there);
  CHECK_EQ(sockets_of(here), 2);
  take_all(there, 2 * kCalls);
  for (const auto address : {INADDR_LOOPBACK, INADDR_ANY}) {
    CHECK_FALSE(can_bind({.s_addr = htonl(address)}, port_of(here)));
  }
}

TEST_CASE("polling a connected peer's socket also delivers datagrams of all other peers") {
  ReadyDatagrams here;
  ReadyDatagrams there;
  ReadyDatagrams other;
  there.post_receives(kCalls);
  send_often(here, there);
  REQUIRE_EQ(sockets_of(here), 2);
  const Stranger stranger;
  for (std::uint64_t round = 1; round != 4; ++round) {
    here.post_receives(3);
    poll_in_vain(here);
    stranger.send(port_of(here));
    there.send(1, here);
    other.send(1, here);
    take_all(here, 2 * round);
    CHECK(comes_true([&] {
      poll_in_vain(here);
      return here.qp->counters().dropped_for(verbs::DatagramDrop::kMalformed) == round;
    }));
  }
}

TEST_CASE("a connected peer's datagrams report the same addresses, hop limit and traffic class") {
  constexpr verbs::IpAddress kOwnHost6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const auto between = [](const verbs::IpAddress& ends, std::uint8_t hops, std::uint8_t traffic) {
    return verbs::DatagramPath{
        .own = ends, .peer = ends, .hop_limit = hops, .traffic_class = traffic};
  };
  for (const auto& path : {between(kOwnHost, 0, 0), between(kOwnHost, 7, 0x68),
                           between(kOwnHost6, 0, 0), between(kOwnHost6, 7, 0x68)}) {
    ReadyDatagrams here;
    ReadyDatagrams there;
    here.path = there.path = path;
    const auto grh_after = [&](int count) {
      here.post_receives(count);
      const auto before = here.qp->counters().delivered;
      std::ranges::fill(here.room, std::byte{});
      for (int i = 0; i != count; ++i) there.send(1, here);
      take_all(here, before + static_cast<std::uint64_t>(count));
      return std::vector<std::byte>(here.room.begin(), here.room.begin() + 40);
    };
    const auto unconnected = grh_after(1);
    if (path.hop_limit != 0) {
      CHECK_EQ(unconnected[verbs::is_ipv4(path.peer) ? 28 : 7], std::byte{path.hop_limit});
    }
    there.post_receives(kCalls);
    send_often(here, there);
    REQUIRE_EQ(sockets_of(here), 2);
    CHECK((grh_after(1) == unconnected));
    CHECK((grh_after(kCalls) == unconnected));
    CHECK_EQ(sockets_of(there), 2);
    CHECK((grh_after(1) == unconnected));
    // The second path to the same peer gets no connected socket, because the kernel could deliver
    // the replies to either socket.
    here.path.hop_limit = 9;
    there.post_receives(kCalls);
    send_often(here, there);
    CHECK_EQ(sockets_of(here), 2);
  }
}

TEST_CASE("datagrams that arrived before the connected socket existed are delivered first") {
  ReadyDatagrams here(1h);
  ReadyDatagrams there;
  constexpr int kMany = 1000;  // more datagrams than the window of sequence numbers holds
  there.post_receives(2 * kCalls);
  // While the completion queue is not empty, the queue pair keeps datagrams that arrive when no
  // receive is posted, instead of dropping them. The last loop therefore polls all completions but
  // one.
  here.post_receives(1);
  there.send(1, here);
  REQUIRE(comes_true([&] { return here.qp->counters().delivered == 1; }));
  for (int i = 0; i != kMany; ++i) there.send(1, here);
  send_often(here, there);
  REQUIRE_EQ(sockets_of(here), 2);
  for (int i = 0; i != kMany; ++i) there.send(1, here);
  for (int done = 0; done != 2 * kMany; done += 100) {
    here.post_receives(100);
    const auto wanted = static_cast<std::uint64_t>(done) + 101;
    REQUIRE(comes_true([&] { return here.qp->counters().delivered == wanted; }));
    std::array<verbs::WorkCompletion, 100> some;
    CHECK_EQ(here.cq->poll(some), some.size());
  }
}

TEST_CASE("a peer that is gone costs other peers no datagram, and no datagram counts as unsent") {
  ReadyDatagrams here;
  auto gone = std::make_unique<ReadyDatagrams>();
  const auto number = gone->qp->num();
  send_often(here, *gone);
  REQUIRE_EQ(sockets_of(here), 2);
  gone.reset();
  ReadyDatagrams other;
  other.post_receives(10);
  for (int i = 0; i != 10; ++i) {
    here.send_to(number, 1);  // The next send call reports the ICMP error of this datagram.
    here.send(1, other);
  }
  take_all(other, 10);
  CHECK_EQ(here.qp->counters().unsent, 0);
}

TEST_CASE(
    "the number of connected sockets is limited, and the socket of a long-silent peer is "
    "replaced") {
  ReadyDatagrams here;
  std::array<ReadyDatagrams, 5> others;
  here.post_receives(1);
  for (const auto& other : others) send_often(here, other);
  REQUIRE_EQ(sockets_of(here), 5);
  // `here` has recently sent to each of the first four peers. It therefore closes none of their
  // sockets to make room for a socket to the last peer.
  const auto is_connected_to_last = [&] {
    for (const int fd : sockets_at(port_of(here))) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
      if (ntohs(peer.sin_port) == port_of(others.back())) return true;
    }
    return false;
  };
  CHECK_FALSE(is_connected_to_last());
  for (int i = 0; i != 4096; ++i) here.send(1, others.back());
  CHECK(is_connected_to_last());
  CHECK_EQ(sockets_of(here), 5);
  others.front().send(1, here);
  take_all(here, 1);
}

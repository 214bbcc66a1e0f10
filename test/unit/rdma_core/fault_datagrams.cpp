// SPDX-License-Identifier: Apache-2.0
// Tests delayed datagrams: they are sent unchanged and in the order of their due times, but not
// after their queue pair is destroyed. The number of waiting datagrams is limited.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <set>
#include <string>
#include <utility>

#include "faults/datagrams.hpp"
#include "iwarp/verbs/datagram.hpp"

using namespace iwarp::rdma_core::fault;
using namespace std::chrono_literals;
namespace verbs = iwarp::verbs;

namespace {

/// A pair of sockets: datagrams sent to `from` arrive at `to`. The socket buffer holds only a few
/// datagrams.
struct Sockets {
  Sockets() {
    std::array<int, 2> both{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, both.data()) == 0);
    from = both[0];
    to = both[1];
  }
  ~Sockets() {
    if (from >= 0) ::close(from);
    ::close(to);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
  void end() { ::close(std::exchange(from, -1)); }
  /// Returns the payload of the next datagram that has arrived, or "-" if there is none.
  std::string next() const {
    std::array<char, 256> octets{};
    const auto n = ::recv(to, octets.data(), octets.size(), 0);
    if (n < 0) return "-";
    REQUIRE(static_cast<std::size_t>(n) >= verbs::kDatagramOverhead);
    return {octets.data() + verbs::kDatagramHeaderSize, n - verbs::kDatagramOverhead};
  }
  int from = -1;
  int to = -1;
};

/// A datagram as the driver passes it to the socket: header, payload, trailer.
struct Outgoing {
  Outgoing(std::uint32_t qp_num, std::string text)
      : header(verbs::encode({.destination = 9, .source = qp_num})), payload(std::move(text)) {
    pieces = {iovec{header.data(), header.size()}, iovec{payload.data(), payload.size()},
              iovec{crc.data(), crc.size()}};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
  }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  verbs::DatagramHeaderOctets header;
  std::string payload;
  std::array<std::byte, verbs::kDatagramCrcSize> crc{};
  std::array<iovec, 3> pieces;
  msghdr message{};
};

const std::set<std::uint32_t> kPasses;

}  // namespace

TEST_CASE("a datagram names the queue pair that sends it, and other messages belong to none") {
  Outgoing datagram(0x812345, "text");
  CHECK(sender_of(datagram.message) == 0x812345);
  datagram.header[0] = std::byte{0};
  CHECK(sender_of(datagram.message) == 0);
  CHECK(sender_of(msghdr{}) == 0);
  Outgoing cut(1, "");
  cut.pieces[0].iov_len = verbs::kDatagramHeaderSize - 1;
  CHECK(sender_of(cut.message) == 0);
}

TEST_CASE("delayed datagrams are sent when due, ordered by due time and then by arrival") {
  const Sockets sockets;
  HeldDatagrams held;
  CHECK(held.release(1h, kPasses) == std::nullopt);
  REQUIRE(held.keep(sockets.from, Outgoing(1, "third").message, 30ms));
  REQUIRE(held.keep(sockets.from, Outgoing(1, "first").message, 10ms));
  REQUIRE(held.keep(sockets.from, Outgoing(1, "second").message, 10ms));
  CHECK(held.release(9ms, kPasses) == 10ms);
  CHECK(sockets.next() == "-");
  CHECK(held.release(10ms, kPasses) == 30ms);
  CHECK(sockets.next() == "first");
  CHECK(sockets.next() == "second");
  CHECK(sockets.next() == "-");
  CHECK(held.release(1h, kPasses) == std::nullopt);
  CHECK(sockets.next() == "third");
  CHECK(held.release(1h, kPasses) == std::nullopt);
  CHECK(sockets.next() == "-");
}

TEST_CASE("no datagram of a queue pair is sent after its destruction") {
  const Sockets sockets;
  HeldDatagrams held;
  REQUIRE(held.keep(sockets.from, Outgoing(1, "gone").message, 10ms));
  REQUIRE(held.keep(sockets.from, Outgoing(2, "there").message, 20ms));
  held.forget(1);
  CHECK(held.release(1h, kPasses) == std::nullopt);
  CHECK(sockets.next() == "there");
  CHECK(sockets.next() == "-");
}

TEST_CASE("nothing is sent on a descriptor that now belongs to another socket") {
  Sockets first;
  HeldDatagrams held;
  REQUIRE(held.keep(first.from, Outgoing(1, "for the first").message, 10ms));
  const int was = first.from;
  first.end();
  const Sockets second;
  REQUIRE(::dup2(second.from, was) == was);
  CHECK(held.release(1h, kPasses) == std::nullopt);
  CHECK(second.next() == "-");
  if (was != second.from) ::close(was);
}

TEST_CASE("datagrams that fall due while their queue pair is cut are lost") {
  const Sockets sockets;
  HeldDatagrams held;
  REQUIRE(held.keep(sockets.from, Outgoing(1, "lost").message, 10ms));
  REQUIRE(held.keep(sockets.from, Outgoing(2, "of another").message, 10ms));
  REQUIRE(held.keep(sockets.from, Outgoing(1, "later").message, 20ms));
  CHECK(held.release(10ms, {1}) == 20ms);
  CHECK(held.release(20ms, kPasses) == std::nullopt);
  CHECK(sockets.next() == "of another");
  CHECK(sockets.next() == "later");
  CHECK(sockets.next() == "-");
}

TEST_CASE("the number of delayed datagrams is limited, and a full socket buffer is retried") {
  const Sockets sockets;
  HeldDatagrams held;
  for (std::size_t i = 0; i < HeldDatagrams::kMax; ++i) {
    REQUIRE(held.keep(sockets.from, Outgoing(1, std::to_string(i)).message, 10ms));
  }
  CHECK_FALSE(held.keep(sockets.from, Outgoing(1, "one more").message, 10ms));
  std::size_t arrived = 0;
  for (auto again = held.release(10ms, kPasses);; again = held.release(10ms, kPasses)) {
    for (std::string text = sockets.next(); text != "-"; text = sockets.next()) {
      REQUIRE(text == std::to_string(arrived++));
    }
    if (!again) break;
    REQUIRE(*again == 11ms);
  }
  CHECK(arrived == HeldDatagrams::kMax);
  CHECK(held.keep(sockets.from, Outgoing(1, "one more").message, 10ms));
}

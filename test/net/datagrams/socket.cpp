// SPDX-License-Identifier: Apache-2.0
// Tests that every datagram arrives unchanged, whether the kernel segments it from a larger message
// or it is sent as a message of its own.
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <vector>

#include "iwarp/net/datagram_socket.hpp"
#include "iwarp/verbs/datagram.hpp"
#include "replaced_socket_ops.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

constexpr IpAddress kLoopback4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1};
constexpr IpAddress kLoopback6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

constexpr IpAddress kGroup4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 55, 55, 1};

using Datagram = std::vector<std::byte>;

std::vector<Datagram> datagrams_of(std::initializer_list<std::size_t> sizes) {
  std::vector<Datagram> out;
  std::size_t n = 0;
  for (const std::size_t size : sizes) out.emplace_back(size, static_cast<std::byte>(++n));
  return out;
}

DatagramPath path_to(const IpAddress& peer, std::uint8_t hop_limit = 0) {
  return {.own = peer, .peer = peer, .hop_limit = hop_limit};
}

/// A list of datagrams, each in two pieces. One array holds all pieces.
struct Batch {
  Batch(std::vector<Datagram>& from, const DatagramPath& path, std::uint16_t port) {
    for (Datagram& one : from) {
      pieces.push_back({one.data(), 1});
      pieces.push_back({one.data() + 1, one.size() - 1});
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      sendings.push_back(
          {.path = path, .port = port, .pieces = std::span(pieces).subspan(2 * i, 2)});
    }
  }
  std::vector<iovec> pieces;
  std::vector<DatagramSocket::Sending> sendings;
};

struct Arrival {
  Datagram octets;
  std::uint8_t hop_limit;
};

std::vector<Arrival> receive_all(const DatagramSocket& socket, std::size_t count) {
  std::vector<Arrival> out;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (out.size() < count && std::chrono::steady_clock::now() < end) {
    std::array<std::array<std::byte, 4096>, DatagramSocket::kBatch> rooms;
    std::array<DatagramSocket::Received, DatagramSocket::kBatch> came;
    for (std::size_t i = 0; i < came.size(); ++i) came[i].room = rooms[i];
    const std::size_t n = socket.receive(came);
    for (const auto& one : std::span(came).first(n)) {
      const auto octets = one.room.first(one.size);
      out.push_back({{octets.begin(), octets.end()}, one.path.hop_limit});
    }
  }
  return out;
}

std::vector<Datagram> octets_of(const std::vector<Arrival>& arrivals) {
  std::vector<Datagram> out;
  for (const Arrival& arrival : arrivals) out.push_back(arrival.octets);
  return out;
}

/// Counts the system calls that send datagrams.
class CountedSends {
 public:
  CountedSends() { count_ = 0; }
  int calls() const { return count_; }

 private:
  static inline std::atomic<int> count_;
  const test::ReplacedSocketOps replaced_{[](SocketOps& ops) {
    ops.send_datagrams = [](int fd, mmsghdr* messages, unsigned count, int flags) {
      ++count_;
      return kernel_socket_ops().send_datagrams(fd, messages, count, flags);
    };
  }};
};

}  // namespace

TEST_CASE("the datagrams of one call arrive separately and in order, whatever their sizes") {
  auto sender = must(DatagramSocket::open(0, {}));
  auto receiver = must(DatagramSocket::open(0, {}));
  for (const IpAddress& to : {kLoopback4, kLoopback6}) {
    for (const auto& sizes : {std::initializer_list<std::size_t>{100},
                              {64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64},
                              {100, 100, 100, 60, 60, 2, 60, 100, 100, 99, 4096, 4096, 4096, 1000},
                              {2, 3, 4, 3, 2}}) {
      auto sent = datagrams_of(sizes);
      Batch batch(sent, path_to(to), receiver.port());
      REQUIRE_EQ(sender.send(batch.sendings).count, sent.size());
      CHECK((octets_of(receive_all(receiver, sent.size())) == sent));
    }
  }
}

TEST_CASE("datagrams of equal size over different paths keep their paths") {
  auto sender = must(DatagramSocket::open(0, {}));
  auto receiver = must(DatagramSocket::open(0, {}));
  auto other = must(DatagramSocket::open(0, {}));
  auto sent = datagrams_of({50, 50, 50, 50});
  Batch batch(sent, path_to(kLoopback4, 7), receiver.port());
  batch.sendings[1].path.hop_limit = 9;
  batch.sendings[2].port = other.port();
  REQUIRE_EQ(sender.send(batch.sendings).count, sent.size());
  const auto here = receive_all(receiver, 3);
  CHECK((octets_of(here) == std::vector<Datagram>{sent[0], sent[1], sent[3]}));
  CHECK_EQ(here[0].hop_limit, 7);
  CHECK_EQ(here[1].hop_limit, 9);
  CHECK_EQ(here[2].hop_limit, 7);
  CHECK((octets_of(receive_all(other, 1)) == std::vector<Datagram>{sent[2]}));
}

TEST_CASE("if the kernel cannot segment a message, its datagrams are sent one by one") {
  auto sender = must(DatagramSocket::open(0, {}));
  auto receiver = must(DatagramSocket::open(0, {}));
  // The kernel segments a message into datagrams only if it may compute their checksums.
  const int on = 1;
  REQUIRE_EQ(::setsockopt(sender.fd(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
  auto sent = datagrams_of({200, 200, 200});
  Batch batch(sent, path_to(kLoopback4), receiver.port());
  const auto all = sender.send(batch.sendings);
  REQUIRE_EQ(all.count, sent.size());
  CHECK_EQ(all.calls, 2);
  CHECK((octets_of(receive_all(receiver, sent.size())) == sent));
}

TEST_CASE("a datagram that is refused because of its own content is not sent again") {
  auto sender = must(DatagramSocket::open(0, {}));
  auto sent = datagrams_of({200, 100});
  Batch batch(sent, path_to(kLoopback4), 0);  // Sending to port 0 is an error.
  const CountedSends counted;
  const auto none = sender.send(std::span(batch.sendings).first(1));
  CHECK_EQ(errno, EINVAL);
  CHECK_EQ(none.count, 0);
  CHECK_EQ(none.calls, 1);
  CHECK_EQ(counted.calls(), 1);
  // If the second datagram has another hop limit, it is not in the same message of sendmmsg(2) as
  // the first datagram. Sending then still stops at the first error.
  batch.sendings[1].path.hop_limit = 9;
  CHECK_EQ(sender.send(batch.sendings).calls, 1);
  CHECK_EQ(counted.calls(), 2);
}

TEST_CASE("a group is joined once on each interface") {
  constexpr std::uint16_t kPort = 40551;
  const unsigned here = ::if_nametoindex("lo");
  auto member = must(DatagramSocket::open_at(kGroup4, here, kPort));
  CHECK_FALSE(member.join(kGroup4, here));  // The member has already joined this group.
  CHECK_EQ(member.join(kGroup4, 0x7FFFFFF).value(), ENODEV);
  auto sender = must(DatagramSocket::open(0, {}));
  auto sent = datagrams_of({10});
  Batch batch(sent, {.own = kLoopback4, .peer = kGroup4, .interface = here}, kPort);
  REQUIRE_EQ(sender.send(batch.sendings).count, 1);
  CHECK((octets_of(receive_all(member, 1)) == sent));
}

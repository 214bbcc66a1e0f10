// SPDX-License-Identifier: Apache-2.0
// Tests what any UDP socket or queue pair may send to a datagram rsocket. Malformed messages must
// be dropped, an answer must never be longer than its request, and the state kept for senders must
// be limited.
#include <rdma/rdma_cma.h>

#include <algorithm>

#include "../support/verbs_end.hpp"
#include "datagram_sockets.hpp"
#include "rsockets/datagrams/peers.hpp"
#include "rsockets/datagrams/wire.hpp"

namespace {

namespace wire = iwarp::rdma_core::rsockets;
using namespace rsockets_test;
using Octets = std::vector<std::byte>;

Octets octets_of(const std::string& text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

template <typename Header>
Octets message(const Header& header, const std::string& text = {}) {
  Octets out(28);
  out.resize(encode(header, std::span(out)));
  const auto payload = octets_of(text);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

wire::UdpAddress place(const sockaddr_in& address) {
  return wire::udp_address_of(reinterpret_cast<const sockaddr&>(address));
}

/// A UDP socket from which the test sends messages of the UDP protocol of rsockets. The test
/// encodes these messages itself.
class Stranger {
 public:
  Stranger() : fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    auto any_port = own_place();
    socklen_t size = sizeof place;
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&any_port), size) == 0);
    REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&place), &size) == 0);
  }
  ~Stranger() { ::close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  wire::UdpHeader header(wire::UdpKind kind, std::uint32_t queue_pair = 77) const {
    return {wire::Version::kIpv4, kind, queue_pair, ::place(place)};
  }
  void send(const Socket& to, const Octets& octets) const {
    const auto address = place_of(to);
    REQUIRE(::sendto(fd_, octets.data(), octets.size(), 0,
                     reinterpret_cast<const sockaddr*>(&address), sizeof address) >= 0);
  }
  /// Returns the next datagram, or an empty vector if none arrives within the timeout.
  Octets receive(int timeout_ms = kTimeoutMs) const {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, timeout_ms) != 1) return {};
    Octets out(4096);
    const ssize_t count = ::recv(fd_, out.data(), out.size(), 0);
    out.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return out;
  }
  bool receives_nothing() const { return receive(100).empty(); }

  sockaddr_in place{};

 private:
  int fd_;
};

TEST_CASE("headers have the format of rdma-core's") {
  const wire::UdpAddress sender{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 1, 2, 3}, 0x1234};
  CHECK(message(wire::UdpHeader{wire::Version::kIpv4, wire::UdpKind::kControl, 0x0A0B0C, sender}) ==
        octets_of(std::string("UUUU\4\7\20\0\0\12\13\14\12\1\2\3", 16)));
  CHECK(message(wire::QpHeader{wire::Version::kIpv4, sender}) ==
        octets_of(std::string("\4\10\x12\x34\12\1\2\3", 8)));
  const auto six = message(wire::QpHeader{wire::Version::kIpv6, sender}, "x");
  CHECK(six.size() == 25);
  const auto decoded = wire::decode_qp(six);
  REQUIRE(decoded);
  CHECK(decoded->header.sender == sender);
  CHECK(decoded->payload.size() == 1);
  for (std::size_t size = 0; size < 24; ++size) {
    CHECK_FALSE(wire::decode_qp(std::span(six).first(size)));
  }
}

TEST_CASE("a peer that follows the protocol gets the queue pair, in no more octets than it sent") {
  const Socket socket = bound_socket();
  const Stranger stranger;
  const auto hello = message(stranger.header(wire::UdpKind::kData));
  stranger.send(socket, hello);
  CHECK(receive_from(socket)->text.empty());
  const auto answer = stranger.receive();
  REQUIRE(answer.size() == hello.size());
  const auto decoded = wire::decode_udp(answer);
  REQUIRE(decoded);
  CHECK(decoded->header.kind == wire::UdpKind::kControl);
  CHECK(decoded->header.sender.ip == ::place(own_place()).ip);
  CHECK(stranger.receives_nothing());
}

TEST_CASE("a peer is answered at most once in 5 ms, and never if the answer would be longer") {
  using std::chrono_literals::operator""ms;
  wire::Peer peer;
  peer.version = wire::Version::kIpv4;
  const wire::Peers::Time start{std::chrono::hours(1)};
  CHECK_FALSE(wire::Peers::is_to_be_answered(peer, 15, start));
  CHECK(wire::Peers::is_to_be_answered(peer, 16, start));
  CHECK_FALSE(wire::Peers::is_to_be_answered(peer, 16, start + 4ms));
  CHECK(wire::Peers::is_to_be_answered(peer, 16, start + 5ms));
}

TEST_CASE("malformed messages by UDP are dropped and not answered") {
  const Socket socket = bound_socket();
  const Stranger stranger;
  const auto good = message(stranger.header(wire::UdpKind::kData), "good");
  for (std::size_t size = 0; size < 16; ++size) {
    stranger.send(socket, {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  for (const auto& [at, value] : {std::pair{0, 0x54}, {4, 6}, {4, 5}, {5, 1}, {6, 15}, {6, 255}}) {
    auto bad = good;
    bad[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    stranger.send(socket, bad);
  }
  stranger.send(socket, message(stranger.header(wire::UdpKind::kData, 1)));
  stranger.send(socket, message(stranger.header(wire::UdpKind::kData), std::string(2033, 'x')));
  CHECK_FALSE(receive_from(socket, 20));
  CHECK(stranger.receives_nothing());
  stranger.send(socket, good);
  CHECK(receive_from(socket)->text == "good");
}

TEST_CASE("a peer that claims IPv6 over IPv4 is answered as IPv4, in no more octets than it sent") {
  const Socket socket = bound_socket();
  const Stranger stranger;
  const std::string longest(wire::kMaxDatagram - 16, 'x');
  auto six = stranger.header(wire::UdpKind::kData);
  six.version = wire::Version::kIpv6;
  stranger.send(socket, message(six));
  stranger.send(socket, message(stranger.header(wire::UdpKind::kData), longest));
  stranger.send(socket, message(six));
  for (const std::size_t size : {std::size_t{0}, longest.size(), std::size_t{0}}) {
    const auto got = receive_from(socket);
    REQUIRE(got);
    CHECK(got->text.size() == size);
  }
  send_to(socket, stranger.place, longest);
  Octets echo = stranger.receive();
  CHECK(echo.size() == 16);
  // If the test was slow, its later messages were answered, too.
  while (echo.size() == 16) echo = stranger.receive();
  REQUIRE(echo.size() == wire::kMaxDatagram);
  const auto decoded = wire::decode_udp(echo);
  REQUIRE(decoded);
  CHECK(decoded->header.version == wire::Version::kIpv4);
  CHECK(decoded->payload.size() == longest.size());
}

TEST_CASE("an unsolicited announcement of a queue pair changes nothing") {
  const DatagramPair pair;
  const Stranger stranger;
  stranger.send(pair.server, message(stranger.header(wire::UdpKind::kControl)));
  CHECK_FALSE(receive_from(pair.server, 20));
  CHECK(stranger.receives_nothing());
  // The socket does not know the stranger's queue pair. It therefore sends this message by UDP and
  // accepts the stranger's answer.
  const std::string_view text = "by UDP";
  send_to(pair.server, stranger.place, text);
  CHECK(stranger.receive().size() == 16 + text.size());
  const Stranger queue_pair;  // The port of this socket is a part of the queue pair number.
  const std::uint32_t number = 0x800000 | ntohs(queue_pair.place.sin_port);
  stranger.send(pair.server, message(stranger.header(wire::UdpKind::kControl, number)));
  CHECK_FALSE(receive_from(pair.server, 20));
  send_to(pair.server, stranger.place, "to the queue pair");
  CHECK(stranger.receives_nothing());
  const wire::QpHeader header{wire::Version::kIpv4, ::place(place_of(pair.server))};
  const auto sent = message(header, "to the queue pair");
  const auto got = queue_pair.receive();
  CHECK_FALSE(std::ranges::search(got, sent).empty());
}

TEST_CASE("if data names another queue pair of a known peer, the peer is only asked") {
  const Socket socket = bound_socket();
  const Stranger peer;
  // The queue pair numbers contain the ports of these two sockets.
  const Stranger own;
  const Stranger forged;
  const auto number = [](const Stranger& of) { return 0x800000U | ntohs(of.place.sin_port); };
  const auto data_from = [&](const Stranger& queue_pair) {
    peer.send(socket, message(peer.header(wire::UdpKind::kData, number(queue_pair))));
    REQUIRE(receive_from(socket));
  };
  data_from(own);
  CHECK(peer.receive().size() == 16);
  send_to(socket, peer.place, "to the queue pair");
  CHECK_FALSE(own.receive().empty());
  // The first message makes the socket forget the known queue pair. The second message must not
  // restore it.
  data_from(forged);
  data_from(forged);
  send_to(socket, peer.place, "which one?");
  CHECK(forged.receives_nothing());
  Octets asked;
  do asked = peer.receive();
  while (asked.size() == 16);
  CHECK(asked.size() == 26);
  peer.send(socket, message(peer.header(wire::UdpKind::kControl, number(own))));
  CHECK_FALSE(receive_from(socket, 20));
  send_to(socket, peer.place, "to the queue pair");
  CHECK_FALSE(own.receive().empty());
}

TEST_CASE("a flood from unknown senders does not affect the peers to which the program sends") {
  wire::Peers peers;
  const auto at = [](unsigned n) {
    return wire::UdpAddress{
        {10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, static_cast<std::uint8_t>(n >> 16)},
        static_cast<std::uint16_t>(n)};
  };
  peers.want(at(0), 0, wire::Version::kIpv6).asked = true;
  const wire::UdpHeader header{wire::Version::kIpv6, wire::UdpKind::kControl, 9, at(0)};
  for (unsigned n = 1; n < 100'000; ++n) {
    auto data = header;
    data.kind = wire::UdpKind::kData;
    peers.learn(at(n), 0, data);
  }
  CHECK(peers.size() == 1 + wire::Peers::kMostStrangers);
  CHECK(peers.find(at(1)) == nullptr);
  CHECK_FALSE(peers.take_answer(at(1), header));
  CHECK(peers.take_answer(at(0), header));
  CHECK_FALSE(peers.take_answer(at(0), header));
  CHECK(peers.find(at(0))->queue_pair == 9);
  for (unsigned n = 200'000; n < 210'000; ++n) peers.want(at(n), 0, wire::Version::kIpv4);
  CHECK(peers.size() == wire::Peers::kMostWanted + wire::Peers::kMostStrangers);
}

/// A UD queue pair that is not used by an rsocket. It only sends.
struct RawQueuePair : rdma_core_test::VerbsEnd {
  RawQueuePair() : VerbsEnd({.type = IBV_QPT_UD, .cap = {16, 1, 1, 1, 256}}) {
    bring_up();
    ibv_gid own{};
    std::ranges::copy(::place(own_place()).ip, own.raw);
    way = way_to(own, index_of(own));
  }
  ~RawQueuePair() {
    ibv_destroy_ah(way);
    CHECK(destroy());
  }
  RawQueuePair(const RawQueuePair&) = delete;
  RawQueuePair& operator=(const RawQueuePair&) = delete;

  void send(std::uint32_t to, const Octets& octets) const {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(octets.data()),
                static_cast<std::uint32_t>(octets.size()), 0};
    ibv_send_wr wr = rdma_core_test::datagram(sge, way, to);
    wr.send_flags = IBV_SEND_INLINE;
    wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
    REQUIRE(rdma_core_test::post_send(qp, wr) == 0);
  }

  ibv_ah* way = nullptr;
};

TEST_CASE("a message to the queue pair must come from the address in its header") {
  const Socket socket = bound_socket();
  const Stranger stranger;
  stranger.send(socket, message(stranger.header(wire::UdpKind::kData)));
  CHECK(receive_from(socket));
  const auto answer = wire::decode_udp(stranger.receive());
  REQUIRE(answer);
  const RawQueuePair raw;
  const auto send = [&](const Octets& octets) { raw.send(answer->header.queue_pair, octets); };
  wire::UdpAddress sender = ::place(own_place(9));
  const auto good = message(wire::QpHeader{wire::Version::kIpv4, sender}, "good");
  for (std::size_t size = 0; size < 8; ++size) {
    send({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  auto bad = good;
  bad[1] = std::byte{200};
  send(bad);
  sender.ip[15] ^= 1;
  send(message(wire::QpHeader{wire::Version::kIpv4, sender}, "forged"));
  send(good);
  const auto got = receive_from(socket);
  REQUIRE(got);
  CHECK(got->text == "good");
  CHECK(ntohs(got->from.sin_port) == 9);
  CHECK_FALSE(receive_from(socket, 20));
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "iwarp/trace/datagram_taps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/trace/ip_address.hpp"
#include "synthetic_packet.hpp"

namespace iwarp::trace {
namespace {

constexpr std::size_t kUdpSize = 8;
constexpr std::size_t kUdpChecksumAt = 6;
constexpr std::size_t kIpv4At = 12;

IpAddress shown(const verbs::IpAddress& ip) {
  IpAddress out{.octets = {}, .v6 = !verbs::is_ipv4(ip)};
  std::ranges::transform(std::span(ip).subspan(out.v6 ? 0 : kIpv4At), out.octets.begin(),
                         [](std::uint8_t octet) { return std::byte{octet}; });
  return out;
}

std::string end_json(const verbs::IpAddress& ip, std::uint16_t port) {
  return fmt::format(R"({{"ip":"{}","port":{}}})", to_string(shown(ip)), port);
}

}  // namespace

CaptureDatagrams::CaptureDatagrams(std::shared_ptr<PacketSink> file) : file_(std::move(file)) {}

void CaptureDatagrams::datagram(bool outbound, const verbs::DatagramEnds& ends, bytes::View octets,
                                mpa::TimePoint now) {
  synthetic::Addresses addresses{shown(ends.own), shown(ends.peer), outbound};
  std::uint16_t from = ends.own_port;
  std::uint16_t to = ends.peer_port;
  if (!outbound) {
    std::swap(addresses.from, addresses.to);
    std::swap(from, to);
  }
  const std::size_t size = kUdpSize + octets.size();
  auto out = synthetic::begin_packet(packet_, addresses, synthetic::kUdp, size, ip_id_++);
  const std::size_t udp_at = out.size();
  out.u16(from);
  out.u16(to);
  out.u16(static_cast<std::uint16_t>(size));
  out.u16(0);
  out.put(octets);
  const auto sum =
      synthetic::checksum(addresses, synthetic::kUdp, bytes::View(packet_).subspan(udp_at));
  // In UDP, a checksum field of 0 means that there is no checksum, so a sum of 0 is sent as 0xFFFF.
  bytes::store_be(packet_.data() + udp_at + kUdpChecksumAt, sum != 0 ? sum : std::uint16_t{0xFFFF});
  file_->write(packet_, now);
}

QlogDatagrams::QlogDatagrams(std::shared_ptr<QlogFile> file)
    : file_(std::move(file)), group_(file_->next_group()) {}

void QlogDatagrams::datagram(bool outbound, const verbs::DatagramEnds& ends, bytes::View octets,
                             mpa::TimePoint now) {
  file_->event(group_, outbound ? "datagram_sent" : "datagram_received",
               fmt::format(R"({{"local":{},"remote":{},"raw":{{"length":{},"data":"{}"}}}})",
                           end_json(ends.own, ends.own_port), end_json(ends.peer, ends.peer_port),
                           octets.size(), bytes::to_hex(octets, 0)),
               now);
}

}  // namespace iwarp::trace

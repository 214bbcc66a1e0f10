// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes both headers. A header with an impossible version, length or queue pair
// number is not decoded.
#include "rsockets/datagrams/wire.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint32_t kUdpTag = 0x55555555;
constexpr std::uint32_t kQueuePairMask = 0xFFFFFF;
// The lowest valid queue pair number. InfiniBand uses lower numbers for subnet management.
constexpr std::uint32_t kFirstQueuePair = 2;
constexpr std::size_t kIpv4At = 12;
constexpr std::array<std::uint8_t, kIpv4At> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

bool is_version(Version version) { return version == Version::kIpv4 || version == Version::kIpv6; }

/// Returns the part of an address that a header of this version contains.
template <typename Octet>
std::span<Octet> in_header(std::span<Octet, 16> ip, Version version) {
  return version == Version::kIpv4 ? ip.subspan(kIpv4At) : ip;
}

void put_ip(bytes::Writer& out, const UdpAddress& place, Version version) {
  out.put(std::as_bytes(in_header(std::span(place.ip), version)));
}

/// Reads the address at the end of a header.
std::array<std::uint8_t, 16> take_ip(bytes::Reader& in, Version version) {
  std::array<std::uint8_t, 16> out{};
  std::ranges::copy(kMapped, out.begin());
  const auto to = std::as_writable_bytes(in_header(std::span(out), version));
  std::ranges::copy(in.take(to.size()), to.begin());
  return out;
}

}  // namespace

bool UdpAddress::is_ipv4() const { return std::equal(kMapped.begin(), kMapped.end(), ip.begin()); }

UdpAddress udp_address_of(const sockaddr& address) {
  UdpAddress out;
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    std::ranges::copy(kMapped, out.ip.begin());
    std::memcpy(out.ip.data() + kIpv4At, &v4.sin_addr, sizeof v4.sin_addr);
    out.port = ntohs(v4.sin_port);
    return out;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::memcpy(out.ip.data(), &v6.sin6_addr, out.ip.size());
  out.port = ntohs(v6.sin6_port);
  return out;
}

sockaddr_storage address_of(const UdpAddress& place, int family, std::uint32_t scope) {
  sockaddr_storage out{};
  out.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(out);
    std::memcpy(&v4.sin_addr, place.ip.data() + kIpv4At, sizeof v4.sin_addr);
    v4.sin_port = htons(place.port);
    return out;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  std::memcpy(&v6.sin6_addr, place.ip.data(), place.ip.size());
  v6.sin6_port = htons(place.port);
  v6.sin6_scope_id = scope;
  return out;
}

// Writes the fields of the header: tag (4 octets), version (1), kind (1), length (1), zero (1),
// queue pair (4), and the address.
std::size_t encode(const UdpHeader& header, std::span<std::byte> out) {
  bytes::Writer writer(out);
  writer.u32(kUdpTag);
  writer.u8(static_cast<std::uint8_t>(header.version));
  writer.u8(static_cast<std::uint8_t>(header.kind));
  writer.u8(static_cast<std::uint8_t>(udp_header_size(header.version)));
  writer.u8(0);
  writer.u32(header.queue_pair & kQueuePairMask);
  put_ip(writer, header.sender, header.version);
  return writer.size();
}

// Writes the fields of the header: version (1 octet), length (1), port (2), flow (4, only for
// IPv6), and the address.
std::size_t encode(const QpHeader& header, std::span<std::byte> out) {
  bytes::Writer writer(out);
  writer.u8(static_cast<std::uint8_t>(header.version));
  writer.u8(static_cast<std::uint8_t>(qp_header_size(header.version)));
  writer.u16(header.sender.port);
  if (header.version == Version::kIpv6) writer.u32(0);
  put_ip(writer, header.sender, header.version);
  return writer.size();
}

std::optional<Decoded<UdpHeader>> decode_udp(std::span<const std::byte> octets) {
  bytes::Reader in(octets);
  const bool is_tagged = in.u32() == kUdpTag;
  UdpHeader header{.version = static_cast<Version>(in.u8()), .kind = static_cast<UdpKind>(in.u8())};
  const std::size_t size = in.u8();
  in.skip(1);
  header.queue_pair = in.u32() & kQueuePairMask;
  const bool known = header.kind == UdpKind::kData || header.kind == UdpKind::kControl;
  if (!is_tagged || !is_version(header.version) || octets.size() < size || !known ||
      size != udp_header_size(header.version) || header.queue_pair < kFirstQueuePair) {
    return std::nullopt;
  }
  header.sender.ip = take_ip(in, header.version);
  return Decoded<UdpHeader>{header, in.rest()};
}

std::optional<Decoded<QpHeader>> decode_qp(std::span<const std::byte> octets) {
  bytes::Reader in(octets);
  QpHeader header{.version = static_cast<Version>(in.u8())};
  const std::size_t size = in.u8();
  header.sender.port = in.u16();
  if (!is_version(header.version) || octets.size() < size ||
      size != qp_header_size(header.version)) {
    return std::nullopt;
  }
  if (header.version == Version::kIpv6) in.skip(4);
  header.sender.ip = take_ip(in, header.version);
  return Decoded<QpHeader>{header, in.rest()};
}

}  // namespace iwarp::rdma_core::rsockets

// SPDX-License-Identifier: Apache-2.0
#include "rsockets/datagrams/wire.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint32_t kUdpTag = 0x55555555;
constexpr std::uint32_t kQueuePairMask = 0xFFFFFF;
// The lowest valid queue pair number. InfiniBand uses lower numbers for subnet management.
constexpr std::uint32_t kFirstQueuePair = 2;
constexpr std::size_t kIpv4At = 12;
constexpr std::array<std::uint8_t, kIpv4At> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

bool is_version(std::byte octet) {
  const auto version = static_cast<Version>(octet);
  return version == Version::kIpv4 || version == Version::kIpv6;
}

void put(std::span<std::byte> out, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    out[at + i] = static_cast<std::byte>(value >> 8 * (size - 1 - i));
  }
}

std::uint32_t get(std::span<const std::byte> octets, std::size_t at, std::size_t size) {
  std::uint32_t out = 0;
  for (const std::byte octet : octets.subspan(at, size)) {
    out = out << 8 | static_cast<std::uint32_t>(octet);
  }
  return out;
}

void put_ip(std::span<std::byte> out, std::size_t at, const UdpAddress& place, Version version) {
  const std::size_t skip = version == Version::kIpv4 ? kIpv4At : 0;
  std::memcpy(out.data() + at, place.ip.data() + skip, place.ip.size() - skip);
}

std::array<std::uint8_t, 16> get_ip(std::span<const std::byte> octets, std::size_t at,
                                    Version version) {
  std::array<std::uint8_t, 16> out{};
  if (version == Version::kIpv4) std::ranges::copy(kMapped, out.begin());
  const std::size_t skip = version == Version::kIpv4 ? kIpv4At : 0;
  std::memcpy(out.data() + skip, octets.data() + at, out.size() - skip);
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
  const std::size_t size = udp_header_size(header.version);
  put(out, 0, kUdpTag, 4);
  put(out, 4, static_cast<std::uint8_t>(header.version), 1);
  put(out, 5, static_cast<std::uint8_t>(header.kind), 1);
  put(out, 6, size, 1);
  put(out, 7, 0, 1);
  put(out, 8, header.queue_pair & kQueuePairMask, 4);
  put_ip(out, 12, header.sender, header.version);
  return size;
}

// Writes the fields of the header: version (1 octet), length (1), port (2), flow (4, only for
// IPv6), and the address.
std::size_t encode(const QpHeader& header, std::span<std::byte> out) {
  const std::size_t size = qp_header_size(header.version);
  put(out, 0, static_cast<std::uint8_t>(header.version), 1);
  put(out, 1, size, 1);
  put(out, 2, header.sender.port, 2);
  if (header.version == Version::kIpv6) put(out, 4, 0, 4);
  put_ip(out, header.version == Version::kIpv4 ? 4 : 8, header.sender, header.version);
  return size;
}

std::optional<Decoded<UdpHeader>> decode_udp(std::span<const std::byte> octets) {
  if (octets.size() < udp_header_size(Version::kIpv4) || get(octets, 0, 4) != kUdpTag ||
      !is_version(octets[4])) {
    return std::nullopt;
  }
  UdpHeader header{.version = static_cast<Version>(octets[4]),
                   .kind = static_cast<UdpKind>(octets[5]),
                   .queue_pair = get(octets, 8, 4) & kQueuePairMask,
                   .sender = {}};
  const std::size_t size = udp_header_size(header.version);
  const bool known = header.kind == UdpKind::kData || header.kind == UdpKind::kControl;
  if (octets.size() < size || get(octets, 6, 1) != size || !known ||
      header.queue_pair < kFirstQueuePair) {
    return std::nullopt;
  }
  header.sender.ip = get_ip(octets, 12, header.version);
  return Decoded<UdpHeader>{header, octets.subspan(size)};
}

std::optional<Decoded<QpHeader>> decode_qp(std::span<const std::byte> octets) {
  if (octets.size() < qp_header_size(Version::kIpv4) || !is_version(octets[0])) {
    return std::nullopt;
  }
  QpHeader header{.version = static_cast<Version>(octets[0]), .sender = {}};
  const std::size_t size = qp_header_size(header.version);
  if (octets.size() < size || get(octets, 1, 1) != size) return std::nullopt;
  header.sender.port = static_cast<std::uint16_t>(get(octets, 2, 2));
  header.sender.ip = get_ip(octets, header.version == Version::kIpv4 ? 4 : 8, header.version);
  return Decoded<QpHeader>{header, octets.subspan(size)};
}

}  // namespace iwarp::rdma_core::rsockets

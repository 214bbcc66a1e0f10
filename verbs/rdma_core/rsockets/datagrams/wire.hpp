// SPDX-License-Identifier: Apache-2.0
// What two datagram rsockets say to each other, octet by octet: the header of what goes by UDP, and
// that of what goes between queue pairs. Decoding checks what can be checked without knowing more.
// See rfc-notes/rsockets.md.
#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace iwarp::rdma_core::rsockets {

/// An address of UDP; IPv4 mapped into IPv6.
struct Place {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  auto operator<=>(const Place&) const = default;
  bool is_ipv4() const;
};

Place place_of(const sockaddr& address);
/// For a socket of that family; `scope` is that of a link-local address.
sockaddr_storage address_of(const Place& place, int family, std::uint32_t scope);

enum class Version : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };

/// At most so many octets are in a message with its header, whichever way it goes.
inline constexpr std::size_t kMaxDatagram = 2048;

enum class UdpKind : std::uint8_t { kData = 0, kControl = 7 };

struct UdpHeader {
  Version version{};
  UdpKind kind{};
  std::uint32_t queue_pair = 0;  ///< the sender's
  Place sender;                  ///< without a port
};
constexpr std::size_t udp_header_size(Version version) {
  return version == Version::kIpv4 ? 16 : 28;
}

struct QpHeader {
  Version version{};
  Place sender;
};
constexpr std::size_t qp_header_size(Version version) { return version == Version::kIpv4 ? 8 : 24; }

template <typename Header>
struct Decoded {
  Header header;
  std::span<const std::byte> payload;
};

/// How many octets.
std::size_t encode(const UdpHeader& header, std::span<std::byte> out);
std::size_t encode(const QpHeader& header, std::span<std::byte> out);
/// nullopt: it is none.
std::optional<Decoded<UdpHeader>> decode_udp(std::span<const std::byte> octets);
std::optional<Decoded<QpHeader>> decode_qp(std::span<const std::byte> octets);

}  // namespace iwarp::rdma_core::rsockets

// SPDX-License-Identifier: Apache-2.0
// The wire format of datagram rsockets: the header of messages over UDP, and the header of messages
// between queue pairs. The decoders check everything that can be checked without knowing the state
// of the rsocket. See rfc-notes/rsockets.md.
#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace iwarp::rdma_core::rsockets {

/// An IP address and a UDP port. An IPv4 address is stored as an IPv4-mapped IPv6 address.
struct UdpAddress {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  auto operator<=>(const UdpAddress&) const = default;
  bool is_ipv4() const;
};

UdpAddress udp_address_of(const sockaddr& address);
/// Returns the address in the form that a socket of `family` requires. `scope` is the scope ID of a
/// link-local address.
sockaddr_storage address_of(const UdpAddress& place, int family, std::uint32_t scope);

enum class Version : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };

/// The maximum size in octets of a message together with its header, both over UDP and between
/// queue pairs.
inline constexpr std::size_t kMaxDatagram = 2048;

enum class UdpKind : std::uint8_t { kData = 0, kControl = 7 };

struct UdpHeader {
  Version version{};
  UdpKind kind{};
  std::uint32_t queue_pair = 0;  ///< number of the sender's queue pair
  UdpAddress sender;             ///< address of the sender, without a port
};
constexpr std::size_t udp_header_size(Version version) {
  return version == Version::kIpv4 ? 16 : 28;
}

struct QpHeader {
  Version version{};
  UdpAddress sender;
};
constexpr std::size_t qp_header_size(Version version) { return version == Version::kIpv4 ? 8 : 24; }

template <typename Header>
struct Decoded {
  Header header;
  std::span<const std::byte> payload;
};

/// Writes the header to `out`. Returns the number of octets that were written.
std::size_t encode(const UdpHeader& header, std::span<std::byte> out);
std::size_t encode(const QpHeader& header, std::span<std::byte> out);
/// Decodes the header of a message. Returns nullopt if the octets are not a valid message.
std::optional<Decoded<UdpHeader>> decode_udp(std::span<const std::byte> octets);
std::optional<Decoded<QpHeader>> decode_qp(std::span<const std::byte> octets);

}  // namespace iwarp::rdma_core::rsockets

// SPDX-License-Identifier: Apache-2.0
// IpAddress: an address in an IPv4 or IPv6 header, for the writers and the readers of captures.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>

namespace iwarp::trace {

/// An IPv4 or IPv6 address in network byte order.
struct IpAddress {
  std::array<std::byte, 16> octets{};  ///< IPv4 uses the first 4 octets
  bool v6 = false;
  auto operator<=>(const IpAddress&) const = default;
};

/// Returns the address as text, IPv6 in the form of RFC 5952: "192.0.2.1", "2001:db8::1".
std::string to_string(const IpAddress& address);

}  // namespace iwarp::trace

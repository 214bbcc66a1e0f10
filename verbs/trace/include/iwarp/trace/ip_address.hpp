// SPDX-License-Identifier: Apache-2.0
// The address of an IPv4 or IPv6 packet, as the writers and the readers of captures use it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>

namespace iwarp::trace {

/// An IPv4 or IPv6 address in network byte order.
struct IpAddress {
  std::array<std::byte, 16> octets{};  ///< the first 4 for IPv4
  bool v6 = false;
  auto operator<=>(const IpAddress&) const = default;
};

/// Returns the address as text, IPv6 in the form of RFC 5952: "192.0.2.1", "2001:db8::1".
std::string to_string(const IpAddress& address);

}  // namespace iwarp::trace

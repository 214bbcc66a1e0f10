// SPDX-License-Identifier: Apache-2.0
// HOST:PORT in text and back. IPv6 addresses stand in brackets when a port follows.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

namespace iwarp::net {

/// A TCP endpoint by name or number. RDMA port = TCP port.
struct Address {
  std::string host;  ///< name, IPv4, or IPv6 without brackets; empty: every local address
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

/// "host", "host:port", "[v6]", "[v6]:port", ":port". Errc::kAddressInvalid otherwise.
std::expected<Address, std::error_code> parse_address(std::string_view text,
                                                      std::uint16_t default_port);
std::string to_string(const Address& address);

}  // namespace iwarp::net

// SPDX-License-Identifier: Apache-2.0
// Address: a host and a port, parsed from and formatted as HOST:PORT. An IPv6 address is in
// brackets if a port follows.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

namespace iwarp::net {

/// A TCP endpoint: the name or numeric address of a host, and a port. The port number of an RDMA
/// connection is that of its TCP connection.
struct Address {
  std::string host{};  ///< name, IPv4 address, or IPv6 address without brackets; empty: any address
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

/// Parses "host", "host:port", "[v6]", "[v6]:port", "v6" or ":port". Does not resolve names. Fails
/// with `Errc::kAddressInvalid` if `text` has none of these forms.
std::expected<Address, std::error_code> parse_address(std::string_view text,
                                                      std::uint16_t default_port);
/// Returns "host:port" or "[v6]:port".
std::string to_string(const Address& address);

}  // namespace iwarp::net

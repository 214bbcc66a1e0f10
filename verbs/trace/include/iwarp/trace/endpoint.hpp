// SPDX-License-Identifier: Apache-2.0
// Endpoint: the TCP address of one end of a traced connection. An Endpoint consists of a text and a
// number, and does not resolve host names.
#pragma once

#include <cstdint>
#include <string>

namespace iwarp::trace {

/// The address and port of one end of a connection.
struct Endpoint {
  std::string host{};  ///< a numeric IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;
};

}  // namespace iwarp::trace

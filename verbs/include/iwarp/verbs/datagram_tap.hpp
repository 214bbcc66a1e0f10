// SPDX-License-Identifier: Apache-2.0
// DatagramTap: sees every datagram that a queue pair sends or receives, exactly as UDP carries it.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_types.hpp"
#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::verbs {

/// The addresses and UDP ports of both ends of a datagram.
struct DatagramEnds {
  IpAddress own{};
  std::uint16_t own_port = 0;
  IpAddress peer{};
  std::uint16_t peer_port = 0;
};

/// Observer of one queue pair's datagrams. Its functions are called under the queue pair's lock and
/// must not call back into the queue pair.
class DatagramTap {
 public:
  virtual ~DatagramTap() = default;
  /// Reports a datagram that the kernel has accepted for sending (`outbound`), or a received
  /// datagram, even if the queue pair drops it. `octets` is valid during the call only.
  virtual void datagram(bool outbound, const DatagramEnds& ends, bytes::View octets,
                        mpa::TimePoint now) = 0;
};

}  // namespace iwarp::verbs

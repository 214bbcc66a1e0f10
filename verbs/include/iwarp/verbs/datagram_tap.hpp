// SPDX-License-Identifier: Apache-2.0
// DatagramTap: sees every datagram of a queue pair, both ways, exactly as UDP carries it.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_types.hpp"
#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::verbs {

/// The addresses and UDP ports between which a datagram travelled.
struct DatagramEnds {
  IpAddress own{};
  std::uint16_t own_port = 0;
  IpAddress peer{};
  std::uint16_t peer_port = 0;
};

/// Observer of one queue pair's datagrams. Calls are made under the queue pair's lock and must not
/// call back into it.
class DatagramTap {
 public:
  virtual ~DatagramTap() = default;
  /// A datagram was accepted by the kernel for sending (`outbound`) or received from it, whether it
  /// is then delivered or not. The view is valid during the call only.
  virtual void datagram(bool outbound, const DatagramEnds& ends, bytes::View octets,
                        mpa::TimePoint now) = 0;
};

}  // namespace iwarp::verbs

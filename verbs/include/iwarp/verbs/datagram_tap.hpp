// SPDX-License-Identifier: Apache-2.0
// DatagramTap: sees every datagram of a queue pair, both ways, exactly as UDP carries it.
#pragma once

#include <cstdint>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_types.hpp"
#include "iwarp/verbs/arrivals.hpp"

namespace iwarp::verbs {

struct DatagramEnds {
  IpAddress own{};  ///< IPv4 mapped into IPv6
  std::uint16_t own_port = 0;
  IpAddress peer{};
  std::uint16_t peer_port = 0;
};

class DatagramTap {
 public:
  virtual ~DatagramTap() = default;
  /// One that the system took (`outbound`), or gave, whether it is then delivered or not. The view
  /// is valid during the call. Called under the queue pair's lock; must not call back into it.
  virtual void datagram(bool outbound, const DatagramEnds& ends, bytes::View octets,
                        mpa::TimePoint now) = 0;
};

}  // namespace iwarp::verbs

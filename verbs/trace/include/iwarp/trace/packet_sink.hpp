// SPDX-License-Identifier: Apache-2.0
// PacketSink: receives the packets of a capture one by one and stores them, in a file for example.
#pragma once

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::trace {

/// Receives captured packets.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  /// Stores an Ethernet packet of at most kMaxPacket octets.
  virtual void write(bytes::View packet, mpa::TimePoint now) = 0;

  static constexpr std::size_t kMaxPacket = 65536 + 256;
};

}  // namespace iwarp::trace

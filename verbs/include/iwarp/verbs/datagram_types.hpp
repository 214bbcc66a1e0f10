// SPDX-License-Identifier: Apache-2.0
// What a queue pair of datagrams is asked for, and what it counts.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "iwarp/verbs/arrivals.hpp"
#include "iwarp/verbs/datagram.hpp"
#include "iwarp/verbs/datagram_fsm.hpp"
#include "iwarp/verbs/region.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// A way between two addresses; IPv4 mapped into IPv6.
struct DatagramPath {
  IpAddress own{};
  IpAddress peer{};
  unsigned interface = 0;      ///< where a link-local or group address counts
  std::uint8_t hop_limit = 0;  ///< 0: to send, as the system has it
  std::uint8_t traffic_class = 0;
  bool operator==(const DatagramPath&) const = default;
};

struct DatagramTarget {
  DatagramPath path;
  QpNum qp = 0;
  std::uint32_t q_key = 0;
};

/// As SendWr, for a Send to somebody.
struct DatagramWr {
  std::uint64_t wr_id = 0;
  SendFlags flags = SendFlags::kNone;
  std::span<const Sge> sgl;
  std::optional<std::uint32_t> immediate;
  DatagramTarget to;
};

/// Why a datagram was not delivered.
enum class DatagramDrop : std::uint8_t {
  kMalformed,
  kNotReceiving,  ///< the queue pair is not ready for it
  kWrongQp,
  kWrongQKey,
  kBadCrc,
  kRepeated,  ///< or so late that it cannot be told
  kNoReceive,
  kTooLong,  ///< for the receive whose turn it was, which stays posted
};
inline constexpr std::size_t kDatagramDrops = 8;
const char* to_string(DatagramDrop drop);

struct DatagramCounters {
  std::uint64_t sent = 0;
  std::uint64_t unsent = 0;  ///< the system did not take them
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;      ///< the system had no room for them
  std::uint64_t unjoined = 0;  ///< interfaces on which a group was not joined
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;                      ///< those that brought something
  std::array<std::uint64_t, kDatagramDrops> dropped{};  ///< by DatagramDrop
  std::uint64_t dropped_for(DatagramDrop why) const {
    return dropped[static_cast<std::size_t>(why)];
  }
  DatagramCounters& operator+=(const DatagramCounters& o);
};

/// Ready to leave: a copy of all octets, for the CRC stands for them and the program may change its
/// memory before the kernel reads it. What the request names is held until sent().
struct OutgoingDatagram {
  bytes::View octets() const { return bytes::View(copy).first(size); }

  bytes::Gather payload;
  std::array<std::byte, kMaxDatagram> copy;
  std::size_t size = 0;  ///< of the copy
  DatagramPath path;
  std::uint16_t port = 0;  ///< UDP
  std::uint64_t sequence = 0;
  std::uint64_t wr_id = 0;
  bool is_signaled = false;
  std::array<Grant, bytes::kMaxSge> grants;
};

/// What stands in front of each payload that is received.
inline constexpr std::size_t kGrhSize = 40;

}  // namespace iwarp::verbs

// SPDX-License-Identifier: Apache-2.0
// Requests of a datagram queue pair, the reasons for which it drops datagrams, and its counters.
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

/// A path between two addresses.
struct DatagramPath {
  IpAddress own{};
  IpAddress peer{};
  unsigned interface = 0;          ///< index, for link-local and group addresses; 0: none
  std::uint8_t hop_limit = 0;      ///< 0, when sending: the system's default
  std::uint8_t traffic_class = 0;  ///< of the IP header
  bool operator==(const DatagramPath&) const = default;
};

/// The destination of a datagram: an address handle and a queue pair.
struct DatagramTarget {
  DatagramPath path;
  QpNum qp = 0;             ///< kMulticastQp for a group
  std::uint32_t q_key = 0;  ///< with the top bit set, the sending queue pair's own Q_Key is used
};

/// Send queue work request of a datagram queue pair: a Send to an explicit destination. Lifetimes
/// as in SendWr.
struct DatagramWr {
  std::uint64_t wr_id = 0;
  SendFlags flags = SendFlags::kNone;  ///< kSignaled, kSolicited, kInline
  std::span<const Sge> sgl;
  std::optional<std::uint32_t> immediate;
  DatagramTarget to;
};

/// Why a datagram was not delivered.
enum class DatagramDrop : std::uint8_t {
  kMalformed,     ///< not of the form of datagram.hpp
  kNotReceiving,  ///< the queue pair is in a state in which it does not receive
  kWrongQp,       ///< for another queue pair, or a group that is not attached
  kWrongQKey,     ///< with another Q_Key
  kBadCrc,        ///< damaged
  kRepeated,      ///< a duplicate, or too late to be told from one
  kNoReceive,     ///< no receive was posted
  kTooLong,       ///< longer than the oldest receive, which stays posted
};
inline constexpr std::size_t kDatagramDrops = 8;  ///< number of reasons
/// Returns the reason in snake case, "wrong_qp" for example.
const char* to_string(DatagramDrop drop);

/// Totals of one datagram queue pair.
struct DatagramCounters {
  std::uint64_t sent = 0;           ///< datagrams that the kernel accepted
  std::uint64_t unsent = 0;         ///< datagrams that the kernel refused
  std::uint64_t delivered = 0;      ///< datagrams placed in a receive
  std::uint64_t lost = 0;           ///< datagrams that the kernel dropped on arrival
  std::uint64_t unjoined = 0;       ///< interfaces on which a group could not be joined
  std::uint64_t send_calls = 0;     ///< system calls
  std::uint64_t receive_calls = 0;  ///< system calls that returned a datagram
  std::array<std::uint64_t, kDatagramDrops> dropped{};  ///< by DatagramDrop
  /// Returns how many datagrams were dropped for that reason.
  std::uint64_t dropped_for(DatagramDrop why) const {
    return dropped[static_cast<std::size_t>(why)];
  }
  /// Adds each counter of `o`.
  DatagramCounters& operator+=(const DatagramCounters& o);
};

/// A datagram that is ready to be sent. Holds a copy of all its octets, because the CRC covers them
/// and the application may change its memory before the kernel reads it; and the grants of the
/// request until DatagramQueuePair::sent() or give_back().
struct OutgoingDatagram {
  /// Returns the UDP payload to send.
  bytes::View octets() const { return bytes::View(copy).first(size); }

  bytes::Gather payload;  ///< the memory that the request names
  std::array<std::byte, kMaxDatagram> copy;
  std::size_t size = 0;  ///< octets of `copy` in use
  DatagramPath path;
  std::uint16_t port = 0;      ///< the peer's UDP port
  std::uint64_t sequence = 0;  ///< number of the request in the send queue
  std::uint64_t wr_id = 0;
  bool is_signaled = false;
  std::array<Grant, bytes::kMaxSge> grants;  ///< one for each piece of `payload`
};

/// Octets of the Global Routing Header that precedes the payload in a receive.
inline constexpr std::size_t kGrhSize = 40;

}  // namespace iwarp::verbs

// SPDX-License-Identifier: Apache-2.0
// Types of datagram queue pairs: addresses, states, options, requests, the reasons why datagrams
// are dropped, and counters.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// An IPv6 address in network byte order. IPv4 addresses are mapped to ::ffff:a.b.c.d.
using IpAddress = std::array<std::uint8_t, 16>;
/// Returns whether `address` is a mapped IPv4 address.
constexpr bool is_ipv4(const IpAddress& address) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::ranges::equal(kMapped, std::span(address).first<kMapped.size()>());
}

/// Largest payload of a datagram, in octets.
inline constexpr std::size_t kMaxDatagramPayload = 4096;
/// Destination QPN of datagrams to a multicast group.
inline constexpr QpNum kMulticastQp = 0xFFFFFF;

/// States of a datagram queue pair. The comment of each state begins with InfiniBand's name.
enum class DatagramState : std::uint8_t {
  kReset,      ///< Reset: nothing can be posted
  kInit,       ///< Init: receives can be posted
  kReceiving,  ///< RTR: receives can be posted, and datagrams are received
  kReady,      ///< RTS: datagrams are received, and receives and requests can be posted
  kError,      ///< Error: all posted requests and receives are flushed
};
/// Returns the state's name.
std::string_view to_string(DatagramState state);

/// A path between two addresses.
struct DatagramPath {
  IpAddress own{};
  IpAddress peer{};
  unsigned interface = 0;      ///< interface index for link-local and group addresses, otherwise 0
  std::uint8_t hop_limit = 0;  ///< hop limit; when sending, 0 means the system's default
  std::uint8_t traffic_class = 0;  ///< traffic class in the IP header
  bool operator==(const DatagramPath&) const = default;
};

/// The destination of a datagram: an address handle and a queue pair.
struct DatagramTarget {
  DatagramPath path{};
  QpNum qp = 0;             ///< number of the queue pair; kMulticastQp for a group
  std::uint32_t q_key = 0;  ///< if the top bit is set, the sender's own Q_Key is sent instead
};

/// Send queue work request of a datagram queue pair: a Send to an explicit destination. `sgl` and
/// the memory that it names must live as long as for a SendWr.
struct DatagramWr {
  std::uint64_t wr_id = 0;
  SendFlags flags = SendFlags::kNone;  ///< only kSignaled, kSolicited and kInline are allowed
  std::span<const Sge> sgl{};
  std::optional<std::uint32_t> immediate{};
  DatagramTarget to{};
};

/// Why a datagram was not delivered.
enum class DatagramDrop : std::uint8_t {
  kMalformed,     ///< the UDP payload does not have the form that datagram.hpp defines
  kNotReceiving,  ///< the queue pair is in a state in which it receives no datagrams
  kWrongQp,       ///< the destination is another queue pair, or a group that is not attached
  kWrongQKey,     ///< the Q_Key differs from that of the queue pair
  kBadCrc,        ///< the CRC is wrong: the datagram is damaged
  kRepeated,      ///< the datagram is a duplicate, or is so late that it may be one
  kNoReceive,     ///< no receive was posted
  kTooLong,       ///< the payload is longer than the oldest receive, which stays posted
};
inline constexpr std::size_t kDatagramDrops = 8;  ///< number of values of DatagramDrop
/// Returns the reason in snake case, "wrong_qp" for example.
const char* to_string(DatagramDrop drop);

/// Totals of one datagram queue pair.
struct DatagramCounters {
  std::uint64_t sent = 0;           ///< datagrams that the kernel accepted
  std::uint64_t unsent = 0;         ///< datagrams that the kernel refused
  std::uint64_t delivered = 0;      ///< datagrams placed in a receive
  std::uint64_t lost = 0;           ///< datagrams that the kernel dropped on arrival
  std::uint64_t unjoined = 0;       ///< interfaces on which a group could not be joined
  std::uint64_t send_calls = 0;     ///< system calls that send
  std::uint64_t receive_calls = 0;  ///< system calls that returned a datagram
  std::array<std::uint64_t, kDatagramDrops> dropped{};  ///< dropped datagrams, by DatagramDrop
  /// Returns the number of datagrams that were dropped because of `why`.
  std::uint64_t dropped_for(DatagramDrop why) const {
    return dropped[static_cast<std::size_t>(why)];
  }
  /// Adds each counter of `o`.
  DatagramCounters& operator+=(const DatagramCounters& o);
};

/// Parameters of a new datagram queue pair. The completion queues and the SRQ must outlive the
/// queue pair.
struct DatagramQpInit {
  QpNum num = 0;                       ///< number of the queue pair, 24 bits
  PdId pd = 0;                         ///< protection domain
  CompletionQueue* send_cq = nullptr;  ///< gets the completions of requests; not null
  /// Gets the completions of receives; not null, may be `send_cq`.
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;  ///< replaces the queue pair's own receive queue, if not null
  QpLimits limits{};                  ///< sizes of the queues
  bool signal_all = false;     ///< whether all requests are signaled, regardless of their flags
  std::uint32_t instance = 0;  ///< value of DatagramHeader::instance, an unpredictable number
  /// Largest payload of a request in bytes, at most kMaxDatagramPayload. Requests with more payload
  /// complete with WcStatus::kLocalLength.
  std::size_t max_payload = kMaxDatagramPayload;
  /// How long the driver keeps datagrams that arrive while no receive is posted, if the application
  /// still has completions of receives to poll: on a busy system, the application may not have had
  /// the time to post more receives.
  std::chrono::nanoseconds lateness = std::chrono::milliseconds(100);
};

/// Size in octets of the Global Routing Header that precedes the payload in a receive.
inline constexpr std::size_t kGrhSize = 40;

}  // namespace iwarp::verbs

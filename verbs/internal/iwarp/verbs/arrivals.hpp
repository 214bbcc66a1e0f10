// SPDX-License-Identifier: Apache-2.0
// Arrivals: remembers which datagrams a queue pair has accepted, so that none is delivered twice,
// however often the network or an attacker repeats it. Remembers the last kWindow sequence numbers
// of each of the kSenders senders heard most recently. Not thread-safe. Allocates once, at the
// first datagram.
#pragma once

#include <bitset>
#include <compare>
#include <cstdint>
#include <memory>

#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::verbs {

/// The source of a numbered series of datagrams.
struct DatagramSender {
  IpAddress ip{};
  std::uint32_t qp = 0;        ///< number of the sending queue pair
  std::uint32_t instance = 0;  ///< DatagramHeader::instance: tells it from an earlier one
  auto operator<=>(const DatagramSender&) const = default;
};

/// Duplicate detection for the datagrams that one queue pair receives.
class Arrivals {
 public:
  static constexpr std::uint32_t kWindow = 512;  ///< sequence numbers remembered per sender
  static constexpr std::size_t kSenders = 256;   ///< senders remembered

  Arrivals();
  ~Arrivals();
  /// Records datagram `msn` of `sender`. Returns true if it is new; false if it was recorded
  /// before, or is kWindow or more behind the newest one of that sender and so may have been. MSNs
  /// count modulo 2^32. A sender beyond kSenders evicts the least recently heard one, whose
  /// duplicates are then no longer detected. Throws std::bad_alloc at the first datagram only.
  bool take(const DatagramSender& sender, std::uint32_t msn);
  /// Forgets all senders and frees the memory.
  void clear();

 private:
  struct SenderWindow;
  struct Table;
  SenderWindow& find(const DatagramSender& sender, std::uint32_t msn);

  std::unique_ptr<Table> table_;
  SenderWindow* last_ = nullptr;  ///< one-entry cache: window of the last sender
  std::uint64_t clock_ = 0;
};

}  // namespace iwarp::verbs

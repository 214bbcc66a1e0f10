// SPDX-License-Identifier: Apache-2.0
// Arrivals: detects duplicates, so that a queue pair delivers no datagram twice, even if the
// network or an attacker repeats the datagram. Remembers the last kWindow sequence numbers of each
// of the kSenders senders from which datagrams arrived most recently. Not thread-safe. Allocates
// memory only at the first datagram.
#pragma once

#include <bitset>
#include <compare>
#include <cstdint>
#include <memory>

#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::verbs {

/// The source of one series of datagrams with consecutive MSNs.
struct DatagramSender {
  IpAddress ip{};
  std::uint32_t qp = 0;  ///< number of the sending queue pair
  /// Value of DatagramHeader::instance, which distinguishes the queue pair from earlier queue pairs
  /// with the same number.
  std::uint32_t instance = 0;
  auto operator<=>(const DatagramSender&) const = default;
};

/// Duplicate detection for the datagrams that one queue pair receives.
class Arrivals {
 public:
  /// number of sequence numbers remembered per sender
  static constexpr std::uint32_t kWindow = 512;
  static constexpr std::size_t kSenders = 256;  ///< number of senders remembered

  Arrivals();
  ~Arrivals();
  /// Records datagram `msn` of `sender`. Returns true if the datagram is new. Returns false if the
  /// datagram was recorded before. Also returns false if its MSN is at least kWindow behind the
  /// newest MSN of that sender, because the datagram may have been recorded before. MSNs count
  /// modulo 2^32. If there are kSenders senders already, a new sender evicts the sender that has
  /// been silent longest; duplicates from the evicted sender are no longer detected. Throws
  /// std::bad_alloc only at the first datagram.
  bool take(const DatagramSender& sender, std::uint32_t msn);
  /// Forgets all senders and frees the memory.
  void clear();

 private:
  struct SenderWindow;
  struct Table;
  SenderWindow& find(const DatagramSender& sender, std::uint32_t msn);

  std::unique_ptr<Table> table_;
  SenderWindow* last_ = nullptr;  ///< window of the last sender, as a cache of one entry
  std::uint64_t clock_ = 0;
};

}  // namespace iwarp::verbs

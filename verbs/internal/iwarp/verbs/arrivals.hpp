// SPDX-License-Identifier: Apache-2.0
// Arrivals: remembers which datagrams a queue pair has accepted, so that no datagram is delivered
// twice, however often the network or an attacker repeats it. It remembers the last kWindow
// sequence numbers of each of the kSenders senders from which datagrams arrived most recently. Not
// thread-safe. Allocates once, at the first datagram.
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
  std::uint32_t qp = 0;  ///< number of the sending queue pair
  /// DatagramHeader::instance; differs from that of earlier queue pairs with this number.
  std::uint32_t instance = 0;
  auto operator<=>(const DatagramSender&) const = default;
};

/// Duplicate detection for the datagrams that one queue pair receives.
class Arrivals {
 public:
  static constexpr std::uint32_t kWindow = 512;  ///< sequence numbers remembered per sender
  static constexpr std::size_t kSenders = 256;   ///< senders remembered

  Arrivals();
  ~Arrivals();
  /// Records datagram `msn` of `sender`. Returns true if the datagram is new. Returns false if it
  /// was recorded before, or if its MSN is at least kWindow behind the newest MSN of that sender,
  /// so that it may have been recorded before. MSNs count modulo 2^32. If there are kSenders
  /// senders already, a new sender evicts the one that has been silent longest, whose duplicates
  /// are then no longer detected. Throws std::bad_alloc at the first datagram only.
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

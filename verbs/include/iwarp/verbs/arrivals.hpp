// SPDX-License-Identifier: Apache-2.0
// Arrivals: which datagrams of which senders a queue pair has taken, so that none is delivered
// twice, however often a network, or somebody on it, repeats it. Of a sender the last kWindow
// numbers are known, older ones count as taken; of senders the kSenders that were heard last. One
// thread at a time. No memory before the first datagram, and none after it.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>

namespace iwarp::verbs {

/// IPv4 mapped into IPv6.
using IpAddress = std::array<std::uint8_t, 16>;
constexpr bool is_ipv4(const IpAddress& address) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::ranges::equal(kMapped, std::span(address).first<kMapped.size()>());
}

struct DatagramSender {
  IpAddress ip{};
  std::uint32_t qp = 0;
  std::uint32_t instance = 0;
  auto operator<=>(const DatagramSender&) const = default;
};

class Arrivals {
 public:
  static constexpr std::uint32_t kWindow = 512;
  static constexpr std::size_t kSenders = 256;

  Arrivals();
  ~Arrivals();
  /// It was not taken yet, and counts as taken from now on.
  bool take(const DatagramSender& sender, std::uint32_t msn);
  void clear();

 private:
  struct SenderWindow;
  struct Table;
  SenderWindow& find(const DatagramSender& sender, std::uint32_t msn);

  std::unique_ptr<Table> table_;
  SenderWindow* last_ = nullptr;  ///< whom the last one was of
  std::uint64_t clock_ = 0;
};

}  // namespace iwarp::verbs

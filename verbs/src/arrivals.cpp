// SPDX-License-Identifier: Apache-2.0
#include "iwarp/verbs/arrivals.hpp"

#include <algorithm>

namespace iwarp::verbs {

/// What is known of one sender.
struct Arrivals::SenderWindow {
  DatagramSender sender;
  std::uint32_t newest = 0;    ///< the largest number taken
  std::uint64_t used = 0;      ///< when; 0: nobody
  std::bitset<kWindow> taken;  ///< by number modulo kWindow
};

struct Arrivals::Table {
  std::array<std::array<SenderWindow, kWays>, kSets> sets;
};

namespace {

std::size_t set_of(const DatagramSender& sender) {
  constexpr std::uint32_t kOdd = 0x9E3779B1;
  std::uint32_t hash = sender.qp ^ sender.instance;
  for (const std::uint8_t octet : sender.ip) hash = (hash ^ octet) * kOdd;
  return (hash >> 16) % Arrivals::kSets;
}

}  // namespace

Arrivals::Arrivals() = default;
Arrivals::~Arrivals() = default;

void Arrivals::clear() {
  table_.reset();
  last_ = nullptr;
}

Arrivals::SenderWindow& Arrivals::find(const DatagramSender& sender, std::uint32_t msn) {
  if (last_ != nullptr && last_->sender == sender) return *last_;
  if (table_ == nullptr) table_ = std::make_unique<Table>();
  auto& ways = table_->sets[set_of(sender)];
  const auto known = std::ranges::find_if(ways, [&](const SenderWindow& window) {
    return window.used != 0 && window.sender == sender;
  });
  if (known != ways.end()) return *known;
  SenderWindow& oldest = *std::ranges::min_element(ways, {}, &SenderWindow::used);
  // Nothing in front of the first one is known to have been taken.
  oldest = {.sender = sender, .newest = msn - 1, .used = 0, .taken = {}};
  return oldest;
}

bool Arrivals::take(const DatagramSender& sender, std::uint32_t msn) {
  SenderWindow& window = find(sender, msn);
  last_ = &window;
  window.used = ++clock_;
  const std::uint32_t ahead = msn - window.newest;
  const bool is_newer = ahead != 0 && ahead < 1U << 31;
  if (is_newer) {
    if (ahead >= kWindow) window.taken.reset();
    for (std::uint32_t i = 1; i <= std::min(ahead, kWindow); ++i) {
      window.taken.reset((window.newest + i) % kWindow);
    }
    window.newest = msn;
  } else if (window.newest - msn >= kWindow) {
    return false;
  }
  const std::size_t at = msn % kWindow;
  if (window.taken.test(at)) return false;
  window.taken.set(at);
  return true;
}

}  // namespace iwarp::verbs

// SPDX-License-Identifier: Apache-2.0
// Arrivals: the table of senders, which is sorted for binary search, and the window of sequence
// numbers of each. A new sender replaces the sender that has been silent longest.
#include "iwarp/verbs/arrivals.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace iwarp::verbs {

/// The MSNs that have arrived from one sender.
struct Arrivals::SenderWindow {
  DatagramSender sender;
  std::uint32_t newest = 0;    ///< largest MSN that has arrived
  std::uint64_t used = 0;      ///< value of clock_ at the last use
  std::bitset<kWindow> taken;  ///< bit MSN modulo kWindow: whether that MSN has arrived
};

struct Arrivals::Table {
  using Index = std::uint16_t;

  SenderWindow* find(const DatagramSender& sender);
  SenderWindow& enter(const DatagramSender& sender);
  auto place_of(const DatagramSender& sender) {
    return std::ranges::lower_bound(
        ordered(), sender, {},
        [this](Index at) -> const DatagramSender& { return windows[at].sender; });
  }
  std::span<Index> ordered() { return std::span(by_sender).first(count); }

  std::array<SenderWindow, kSenders> windows;
  /// The first `count` elements: indexes of the windows in use, sorted by sender.
  std::array<Index, kSenders> by_sender;
  std::size_t count = 0;
};

Arrivals::SenderWindow* Arrivals::Table::find(const DatagramSender& sender) {
  const auto at = place_of(sender);
  if (at == ordered().end() || windows[*at].sender != sender) return nullptr;
  return &windows[*at];
}

// Assigns a window to a sender that has none: a free window or, if none is free, the window of the
// sender that has been silent longest.
Arrivals::SenderWindow& Arrivals::Table::enter(const DatagramSender& sender) {
  auto index = static_cast<Index>(count);
  if (count == kSenders) {
    const auto oldest = std::ranges::min_element(windows, {}, &SenderWindow::used);
    index = static_cast<Index>(oldest - windows.begin());
    const auto gone = place_of(oldest->sender);
    std::move(gone + 1, ordered().end(), gone);
    --count;
  }
  const auto at = place_of(sender);
  const auto behind = ordered().end();
  ++count;
  std::move_backward(at, behind, behind + 1);
  *at = index;
  SenderWindow& window = windows[index] = {};
  window.sender = sender;
  return window;
}

Arrivals::Arrivals() = default;
Arrivals::~Arrivals() = default;

void Arrivals::clear() {
  table_.reset();
  last_ = nullptr;
}

Arrivals::SenderWindow& Arrivals::find(const DatagramSender& sender, std::uint32_t msn) {
  if (last_ != nullptr && last_->sender == sender) return *last_;
  if (table_ == nullptr) table_ = std::make_unique<Table>();
  if (SenderWindow* const known = table_->find(sender)) return *known;
  SenderWindow& entered = table_->enter(sender);
  // MSNs before the MSN of the first datagram do not count as having arrived.
  entered.newest = msn - 1;
  return entered;
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

// SPDX-License-Identifier: Apache-2.0
// Carries octets between two simulated TCPs.
#include "wire.hpp"

#include <algorithm>

namespace iwarp::chaos {
namespace {

// Number of octets of the key, the flags, the revision, and the length of the private data.
constexpr std::size_t kStartupHeader = 20;

}  // namespace

void Wire::push(bytes::View octets) {
  if (first_.size() < kStartupHeader) {
    const auto n = std::min(kStartupHeader - first_.size(), octets.size());
    first_.insert(first_.end(), octets.begin(), octets.begin() + static_cast<long>(n));
    if (first_.size() == kStartupHeader) {
      startup_ = kStartupHeader + (std::to_integer<std::size_t>(first_[18]) << 8) +
                 std::to_integer<std::size_t>(first_[19]);
    }
  }
  buffer_.insert(buffer_.end(), octets.begin(), octets.end());
  pushed_ += octets.size();
}

bool Wire::flips_now(std::size_t n, std::size_t& at) {
  if (wreck_.kind != Wreck::Kind::kFlip || flipped_) return false;
  const auto skipped = flips_payload_only || pushed_ >= startup_ ? 0 : n;
  const auto before = counted_;
  counted_ += n - skipped;
  if (wreck_.at >= counted_) return false;
  at = static_cast<std::size_t>(wreck_.at - before);
  flipped_ = true;
  return true;
}

void Wire::end_of_push(std::uint64_t turn) {
  const auto delay = max_delay_ == 0 ? 0 : random_.below(max_delay_ + 1);
  const auto due = segments_.empty() ? turn + delay : std::max(segments_.back().turn, turn + delay);
  segments_.push_back({due, static_cast<std::size_t>(pushed_)});
}

bool Wire::breaks() const {
  return wreck_.kind == Wreck::Kind::kReset && beyond_startup(wreck_.at);
}

bool Wire::beyond_startup(std::uint64_t octets) const {
  return startup_ != UINT64_MAX && taken_ >= startup_ + octets;
}

bytes::View Wire::arrived(std::uint64_t turn) {
  if (cut_) return {};
  if (stall_.turns != 0 && taken_ >= stall_.at) {
    stalled_until_ = turn + stall_.turns;
    stall_.turns = 0;
  }
  if (turn < stalled_until_) return {};
  std::size_t end = static_cast<std::size_t>(taken_);
  for (const Segment& s : segments_) {
    if (s.turn > turn) break;
    end = s.end;
  }
  auto n = std::min<std::size_t>(end - static_cast<std::size_t>(taken_),
                                 random_.between(1, max_segment_));
  if (wreck_.kind == Wreck::Kind::kReset || wreck_.kind == Wreck::Kind::kHalfClose) {
    if (startup_ != UINT64_MAX) {
      const auto limit = std::max(startup_ + wreck_.at, taken_);
      n = std::min(n, static_cast<std::size_t>(limit - taken_));
    }
    if (wreck_.kind == Wreck::Kind::kHalfClose && beyond_startup(wreck_.at)) cut_ = true;
  }
  return bytes::View(buffer_).subspan(head_, n);
}

void Wire::taken(std::size_t n) {
  head_ += n;
  taken_ += n;
  while (!segments_.empty() && segments_.front().end <= taken_) segments_.pop_front();
  if (head_ == buffer_.size()) {
    buffer_.clear();
    head_ = 0;
  }
}

}  // namespace iwarp::chaos

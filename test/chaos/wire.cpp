// SPDX-License-Identifier: Apache-2.0
// Delays octets between two simulated TCPs, and injects the network fault.
#include "wire.hpp"

#include <algorithm>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::chaos {
namespace {

// Number of octets of the key, the flags, the revision, and the length of the private data.
constexpr std::size_t kStartupHeader = 20;

}  // namespace

std::optional<std::size_t> Wire::startup() const {
  if (log.size() < kStartupHeader) return std::nullopt;
  return kStartupHeader + bytes::load_be<std::uint16_t>(log.data() + kStartupHeader - 2);
}

bool Wire::flips_now(std::size_t n, std::size_t& at) {
  if (wreck_.kind != Wreck::Kind::kFlip || flipped_) return false;
  const bool is_startup = log.size() < startup().value_or(SIZE_MAX);
  const auto before = counted_;
  if (flips_payload_only || !is_startup) counted_ += n;
  if (wreck_.at >= counted_) return false;
  at = static_cast<std::size_t>(wreck_.at - before);
  flipped_ = true;
  return true;
}

void Wire::end_segment(std::uint64_t turn) {
  const auto delay = max_delay_ == 0 ? 0 : random_.below(max_delay_ + 1);
  const auto due = segments_.empty() ? turn + delay : std::max(segments_.back().turn, turn + delay);
  segments_.push_back({due, log.size()});
}

bool Wire::breaks() const {
  return wreck_.kind == Wreck::Kind::kReset && beyond_startup(wreck_.at);
}

bool Wire::beyond_startup(std::uint64_t octets) const {
  return startup() && arrived >= *startup() + octets;
}

std::size_t Wire::due(std::uint64_t turn) {
  if (cut_) return 0;
  if (stall_.turns != 0 && arrived >= stall_.at) {
    stalled_until_ = turn + stall_.turns;
    stall_.turns = 0;
  }
  if (turn < stalled_until_) return 0;
  while (!segments_.empty() && segments_.front().end <= arrived) segments_.pop_front();
  std::size_t end = arrived;
  for (const Segment& s : segments_) {
    if (s.turn > turn) break;
    end = s.end;
  }
  auto n = std::min(end - arrived, random_.between(1, max_segment_));
  const bool half_closes = wreck_.kind == Wreck::Kind::kHalfClose;
  if (startup() && (half_closes || wreck_.kind == Wreck::Kind::kReset)) {
    n = std::min(n, std::max(*startup() + wreck_.at, arrived) - arrived);
  }
  cut_ = half_closes && beyond_startup(wreck_.at);
  return n;
}

}  // namespace iwarp::chaos

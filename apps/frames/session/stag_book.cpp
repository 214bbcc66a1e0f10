// SPDX-License-Identifier: Apache-2.0
// Searches the stored payloads for an STag, starting with the newest payload.
#include "frames/session/stag_book.hpp"

#include <algorithm>
#include <array>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::apps::frames {
namespace {

using bytes::View;

constexpr std::size_t kMaxEntries = 1024;
/// The smallest STag to search for: the octets of a smaller number occur in almost every payload,
/// in one byte order or the other.
constexpr std::uint32_t kSmallest = 0x100;
/// A TO that is at most this far above an address in the payload is assumed to be in the memory at
/// that address.
constexpr std::uint64_t kReach = std::uint64_t{1} << 32;

template <typename T>
std::array<std::byte, sizeof(T)> octets_of(T value, bool little_endian) {
  std::array<std::byte, sizeof(T)> octets;
  bytes::store_be(octets.data(), little_endian ? std::byteswap(value) : value);
  return octets;
}

/// Returns whether the payload contains, at any position, the address of memory to which `to` may
/// belong.
bool contains_address(View payload, std::uint64_t to, bool little_endian) {
  for (std::size_t at = 0; at + sizeof(to) <= payload.size(); ++at) {
    auto value = bytes::load_be<std::uint64_t>(payload.data() + at);
    if (little_endian) value = std::byteswap(value);
    if (value == to || (value > kReach && to - value < kReach)) return true;
  }
  return false;
}

}  // namespace

void StagBook::sent(std::uint64_t frame, bool startup, View payload) {
  if (payload.size() < sizeof(std::uint32_t)) return;
  const View part = payload.first(std::min(payload.size(), Session::kMaxPayloadOctets));
  if (payloads_.size() == Session::kMaxPayloads) {
    // Reuse the vector of the oldest payload for the new entry.
    auto oldest = std::move(payloads_.front());
    payloads_.pop_front();
    oldest.octets.assign(part.begin(), part.end());
    payloads_.push_back({frame, startup, std::move(oldest.octets)});
  } else {
    payloads_.push_back({frame, startup, {part.begin(), part.end()}});
  }
}

void StagBook::invalidated(std::uint32_t stag, std::uint64_t frame) {
  entries_[stag] = {.origin = {}, .invalidated = frame, .looked_at = frame};
}

StagBook::Use StagBook::used(std::uint32_t stag, std::uint64_t to) {
  if (entries_.size() > kMaxEntries) entries_.clear();
  Entry& entry = entries_[stag];
  const std::uint64_t newest = payloads_.empty() ? 0 : payloads_.back().frame;
  const bool is_distinctive = stag >= kSmallest && std::byteswap(stag) >= kSmallest;
  if (!entry.origin && newest > entry.looked_at && is_distinctive) {
    entry.origin = search(stag, to, entry.looked_at);
    entry.looked_at = newest;
    if (entry.origin) entry.invalidated = 0;
  }
  return {entry.origin, entry.invalidated};
}

std::optional<StagOrigin> StagBook::search(std::uint32_t stag, std::uint64_t to,
                                           std::uint64_t behind) const {
  std::optional<StagOrigin> found;
  for (auto p = payloads_.rbegin(); p != payloads_.rend() && p->frame > behind; ++p) {
    for (const bool little : {false, true}) {
      const auto wanted = octets_of(stag, little);
      if (std::ranges::search(p->octets, wanted).empty()) continue;
      const bool with_to = contains_address(p->octets, to, little);
      if (!found || (with_to && !found->with_to)) {
        found = {
            .frame = p->frame, .with_to = with_to, .startup = p->startup, .little_endian = little};
      }
    }
    if (found && found->with_to) break;
  }
  return found;
}

}  // namespace iwarp::apps::frames

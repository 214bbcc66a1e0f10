// SPDX-License-Identifier: Apache-2.0
// Serialises the segments of each direction: a segment begins when the previous one has been sent
// completely.
#include "lab/link.hpp"

#include <algorithm>
#include <utility>

namespace iwarp::apps::lab {

void Link::send(Side from, std::vector<std::byte> octets, TimePoint now) {
  size_ += octets.size();
  Segment segment{.from = from, .offset = at(from).sent, .octets = std::move(octets), .sent = now};
  at(from).sent += segment.octets.size();
  add(std::move(segment));
}

void Link::finish(Side from, bool reset, TimePoint now) {
  if (at(from).finished) return;
  at(from).finished = true;
  add({.kind = reset ? Segment::Kind::kReset : Segment::Kind::kFin,
       .from = from,
       .offset = at(from).sent,
       .sent = now});
}

void Link::add(Segment segment) {
  Direction& direction = at(segment.from);
  const auto leaves = std::max(segment.sent, direction.free);
  direction.free = leaves + time_of(segment.octets.size());
  segment.due = leaves + kLatency;
  segments_.push_back(std::move(segment));
}

void Link::cut() {
  cut_ = true;
  for (auto& segment : segments_) segment.over = true;
}

Segment* Link::first_of(Side from) {
  for (auto& i = at(from).first; i < segments_.size(); ++i) {
    if (segments_[i].from == from && !segments_[i].over) return &segments_[i];
  }
  return nullptr;
}

Segment* Link::next() {
  Segment* const near = first_of(Side::kNear);
  Segment* const far = first_of(Side::kFar);
  if (near == nullptr || far == nullptr) return near == nullptr ? far : near;
  if (near->arrived != 0 || far->arrived != 0) return near->arrived != 0 ? near : far;
  return far->due < near->due ? far : near;
}

std::byte* Link::in_flight(Side from, std::uint64_t offset) {
  for (auto& segment : segments_) {
    const bool here = segment.from == from && !segment.over &&
                      offset >= segment.offset + segment.arrived &&
                      offset < segment.offset + segment.octets.size();
    if (here) return &segment.octets[static_cast<std::size_t>(offset - segment.offset)];
  }
  return nullptr;
}

std::uint64_t Link::arrived(Side from) const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment.from == from ? segment.arrived : 0;
  return sum;
}

void Link::replay(verbs::WireTap& tap) const {
  for (const auto& segment : segments_) {
    const bool outbound = segment.from == Side::kNear;
    if (segment.kind == Segment::Kind::kOctets) {
      tap.octets(outbound, segment.octets, segment.sent);
    } else {
      tap.closed(outbound, segment.kind == Segment::Kind::kReset, segment.sent);
    }
  }
}

}  // namespace iwarp::apps::lab

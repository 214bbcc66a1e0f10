// SPDX-License-Identifier: Apache-2.0
// Serialises the segments of each direction: a segment begins when the previous one has been sent
// completely.
#include "lab/link.hpp"

#include <algorithm>

namespace iwarp::apps::lab {

bool Link::pump(Side from, TimePoint now) {
  sim::Direction& way = at(from);
  if (cut_) return false;
  Segment segment{.from = from, .offset = way.log.size(), .sent = now};
  segment.size = way.send();
  if (segment.size == 0) {
    if (way.fin || way.reset) return false;
    way.finish();
    if (!way.fin && !way.reset) return false;
    segment.kind = way.reset ? Segment::Kind::kReset : Segment::Kind::kFin;
  }
  TimePoint& free = free_[static_cast<std::size_t>(from)];
  const auto leaves = std::max(now, free);
  free = leaves + time_of(segment.size);
  segment.due = leaves + kLatency;
  segments_.push_back(segment);
  return segment.size != 0;
}

void Link::arrive(const Segment& segment, std::size_t octets) {
  sim::Direction& way = at(segment.from);
  if (segment.kind != Segment::Kind::kOctets) {
    way.deliver_end();
    return;
  }
  const auto end = way.arrived + octets;
  while (way.arrived < end && way.deliver(end - way.arrived) != 0) {
  }
  way.arrived = end;
}

std::size_t Link::arrived(const Segment& segment) const {
  return std::clamp(arrived(segment.from), segment.offset, segment.offset + segment.size) -
         segment.offset;
}

bool Link::is_over(const Segment& segment) const {
  if (cut_) return true;
  return segment.size != 0 ? arrived(segment) == segment.size : at(segment.from).over;
}

const Segment* Link::first_of(Side from) {
  for (auto& i = first_[static_cast<std::size_t>(from)]; i < segments_.size(); ++i) {
    if (segments_[i].from == from && !is_over(segments_[i])) return &segments_[i];
  }
  return nullptr;
}

const Segment* Link::next() {
  const Segment* const near = first_of(Side::kNear);
  const Segment* const far = first_of(Side::kFar);
  if (near == nullptr || far == nullptr) return near == nullptr ? far : near;
  if (arrived(*near) != 0 || arrived(*far) != 0) return arrived(*near) != 0 ? near : far;
  return far->due < near->due ? far : near;
}

std::byte* Link::in_flight(Side from, std::size_t offset) {
  sim::Direction& way = at(from);
  const bool here = !cut_ && offset >= way.arrived && offset < way.log.size();
  return here ? &way.log[offset] : nullptr;
}

void Link::replay(verbs::WireTap& tap) const {
  for (const auto& segment : segments_) {
    const bool outbound = segment.from == Side::kNear;
    if (segment.kind == Segment::Kind::kOctets) {
      const bytes::View stream(at(segment.from).log);
      tap.octets(outbound, stream.subspan(segment.offset, segment.size), segment.sent);
    } else {
      tap.closed(outbound, segment.kind == Segment::Kind::kReset, segment.sent);
    }
  }
}

}  // namespace iwarp::apps::lab

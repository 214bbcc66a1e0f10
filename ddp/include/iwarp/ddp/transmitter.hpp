// SPDX-License-Identifier: Apache-2.0
// Transmitter: cuts one DDP message at a time into segments (RFC 5041 section 5.2).
// Numbers the messages of each queue and fills in the headers. It does not encode them, does not
// queue messages, does not copy payload, and takes MULPDU as a plain number: DDP does not depend on
// what lies below it.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/segment_header.hpp"

namespace iwarp::ddp {

/// A message as the ULP submits it.
struct Message {
  bool tagged = false;
  std::uint8_t rsvd_ulp = 0;        ///< the same in every segment [DDP-23] [DDP-28]
  std::uint32_t rsvd_ulp_rest = 0;  ///< untagged only
  Stag stag;                        ///< tagged [DDP-42]
  TaggedOffset to;                  ///< tagged: of the first octet
  Qn qn = 0;                        ///< untagged, below kQueues
  std::uint32_t length = 0;         ///< octets; below 2^32 by its type [DDP-38]
};

/// The next segment: its header, and which octets of the message go behind it.
struct Segment {
  SegmentHeader header;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

class Transmitter {
 public:
  /// Starts a message; only while idle(). An untagged message takes the next MSN of its queue.
  void start(const Message& message);
  /// True when the last segment of the message was taken (or nothing was started).
  bool idle() const { return idle_; }
  /// The next segment, header and payload together at most `mulpdu` octets (at least 128), filled
  /// up to it. A change of `mulpdu` only affects segments not yet taken. Not while idle().
  /// What it gives is valid until the next call. [DDP-2] [DDP-37] [MPA-50]
  const Segment& next(std::size_t mulpdu);
  /// Octets of the present message not yet given out.
  std::uint32_t remaining() const { return idle_ ? 0 : length_ - offset_; }
  /// Gives up what is left of the present message; the stream is about to end.
  void abandon() { idle_ = true; }

  Msn next_msn(Qn qn) const { return msn_[qn]; }
  /// For tests of the wrap at 2^32.
  void set_next_msn(Qn qn, Msn msn) { msn_[qn] = msn; }

 private:
  std::array<Msn, kQueues> msn_{};
  Segment segment_;  ///< what the segments of a message share is written once
  TaggedOffset to_;  ///< tagged: of the first octet
  std::uint32_t length_ = 0;
  std::uint32_t offset_ = 0;
  bool idle_ = true;
};

// Inline: a message of the ULP is seldom more than one segment.

inline void Transmitter::start(const Message& message) {
  assert(idle_);                       // One message after the other, as submitted. [DDP-47]
  SegmentHeader& h = segment_.header;  // What next() sets is left alone, and the version.
  h.tagged = message.tagged;
  h.rsvd_ulp = message.rsvd_ulp;
  if (message.tagged) {
    h.stag = message.stag;  // [DDP-25]
  } else {
    h.rsvd_ulp_rest = message.rsvd_ulp_rest;
    h.qn = message.qn;  // [DDP-30]
    // One step per message, per queue, per direction, modulo 2^32. [DDP-31] [DDP-33] [DDP-34]
    h.msn = msn_[message.qn];
    msn_[message.qn] = msn_[message.qn].next();
  }
  to_ = message.to;
  length_ = message.length;
  offset_ = 0;
  idle_ = false;
}

inline const Segment& Transmitter::next(std::size_t mulpdu) {
  assert(!idle_);
  SegmentHeader& h = segment_.header;
  const auto room = static_cast<std::uint32_t>(mulpdu - h.size());
  segment_.offset = offset_;
  segment_.length = std::min(room, length_ - offset_);  // [DDP-37] [DDP-39] [MPA-5]
  if (h.tagged) {
    h.to = TaggedOffset{to_.value + offset_};  // [DDP-43]
  } else {
    h.mo = offset_;  // The first octet has MO 0. [DDP-35] [DDP-41]
  }
  offset_ += segment_.length;
  // Only the segment that ends the message has L, and it goes last and highest: a message is cut
  // front to back. A message without payload is one segment. [DDP-13] [DDP-14] [DDP-15] [DDP-16]
  // [DDP-44] [DDP-48]
  h.last = offset_ == length_;
  idle_ = h.last;
  return segment_;
}

}  // namespace iwarp::ddp

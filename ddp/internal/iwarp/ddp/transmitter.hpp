// SPDX-License-Identifier: Apache-2.0
// Transmitter: cuts one DDP message at a time into segments (RFC 5041 section 5.2). The Transmitter
// numbers the messages of each queue and fills in the headers. It does not encode headers, queue
// messages or copy payload. MULPDU is a plain number, so that DDP does not depend on the layer
// below.
//
// <!-- figure: source test/unit/ddp/transmitter.cpp | block std::vector<Segment> all_segments -->
// ```cpp
// std::vector<Segment> all_segments(Transmitter& transmitter, std::size_t mulpdu) {
//   std::vector<Segment> out;
//   while (!transmitter.idle()) out.push_back(transmitter.next(mulpdu));
//   return out;
// }
// ```
// <!-- end -->
#pragma once

#include <algorithm>
#include <array>
#include <cassert>

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/segment_header.hpp"

namespace iwarp::ddp {

/// A message submitted by the ULP.
struct Message {
  bool tagged = false;
  std::uint8_t rsvd_ulp = 0;        ///< first octet of RsvdULP in every segment [DDP-23] [DDP-28]
  std::uint32_t rsvd_ulp_rest = 0;  ///< untagged: last four octets of RsvdULP
  Stag stag;                        ///< tagged: STag of the peer's buffer [DDP-42]
  TaggedOffset to;                  ///< tagged: TO of the message's first octet
  Qn qn = 0;                        ///< untagged: QN, below kQueues
  std::uint32_t length = 0;         ///< payload octets; the type limits it to 2^32 - 1 [DDP-38]
};

/// A segment: its header, and the octets of the message that follow the header.
struct Segment {
  SegmentHeader header;
  std::uint32_t offset = 0;  ///< offset of the payload in the message
  std::uint32_t length = 0;  ///< octets of payload
};

/// The sending half of a DDP stream. Not thread-safe.
class Transmitter {
 public:
  /// `first` is the MSN of the first message on each queue: 1 on a new stream. [DDP-32]
  explicit Transmitter(Msn first = {}) { msn_.fill(first); }
  /// Starts a message. Call only while idle(). An untagged message takes the next MSN of its queue.
  void start(const Message& message);
  /// Returns whether no message is in progress: none was started yet, or next() has returned the
  /// last segment of the last message.
  bool idle() const { return idle_; }
  /// Returns the next segment. Header and payload together have `mulpdu` octets (at least 128), or
  /// fewer in the last segment. `mulpdu` may change between calls. Do not call while idle(). The
  /// result is valid until the next call. [DDP-2] [DDP-37] [MPA-50]
  const Segment& next(std::size_t mulpdu);
  /// Returns the number of octets of the current message that next() has not returned yet.
  std::uint32_t remaining() const { return idle_ ? 0 : length_ - offset_; }
  /// Drops the rest of the current message. Call only when the stream is about to end.
  void abandon() { idle_ = true; }

 private:
  std::array<Msn, kQueues> msn_;
  Segment segment_;  ///< start() writes the fields that all segments of a message share
  TaggedOffset to_;  ///< tagged: TO of the message's first octet
  std::uint32_t length_ = 0;
  std::uint32_t offset_ = 0;
  bool idle_ = true;
};

// start() and next() are inline, because most messages have only one segment, and the stream calls
// both functions for each such message.

inline void Transmitter::start(const Message& message) {
  assert(idle_);  // Each message is sent completely before the next one starts. [DDP-47]
  // The version never changes. next() sets the fields that are not set here.
  SegmentHeader& h = segment_.header;
  h.tagged = message.tagged;
  h.rsvd_ulp = message.rsvd_ulp;
  if (message.tagged) {
    h.stag = message.stag;  // [DDP-25]
  } else {
    h.rsvd_ulp_rest = message.rsvd_ulp_rest;
    h.qn = message.qn;  // [DDP-30]
    // Each message on a queue gets the next MSN of this queue and direction, modulo 2^32. [DDP-31]
    // [DDP-33] [DDP-34]
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
    h.mo = offset_;  // The first segment has MO 0. [DDP-35] [DDP-41]
  }
  offset_ += segment_.length;
  // A message is cut from front to back, so the segment that ends the message has the highest
  // offset and is sent last. Only this segment has L. A message without payload is one segment.
  // [DDP-13] [DDP-14] [DDP-15] [DDP-16] [DDP-44] [DDP-48]
  h.last = offset_ == length_;
  idle_ = h.last;
  return segment_;
}

}  // namespace iwarp::ddp

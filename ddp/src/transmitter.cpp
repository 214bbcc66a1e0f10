// SPDX-License-Identifier: Apache-2.0
// Segmentation of outbound DDP messages (RFC 5041 section 5.2).
#include "iwarp/ddp/transmitter.hpp"

#include <algorithm>
#include <cassert>

namespace iwarp::ddp {

void Transmitter::start(const Message& message) {
  assert(idle_);  // One message after the other, as submitted. [DDP-47]
  message_ = message;
  offset_ = 0;
  idle_ = false;
  if (!message.tagged) {
    // One step per message, per queue, per direction, modulo 2^32. [DDP-31] [DDP-33]
    current_msn_ = msn_[message.qn];
    msn_[message.qn] = current_msn_.next();
  }
}

Segment Transmitter::next(std::size_t mulpdu) {
  assert(!idle_);
  Segment segment;
  SegmentHeader& h = segment.header;
  h.tagged = message_.tagged;
  h.rsvd_ulp = message_.rsvd_ulp;
  h.rsvd_ulp_rest = message_.rsvd_ulp_rest;
  const auto room = static_cast<std::uint32_t>(mulpdu - h.size());
  segment.offset = offset_;
  segment.length = std::min(room, message_.length - offset_);  // [DDP-37] [DDP-39] [MPA-5]
  if (h.tagged) {
    h.stag = message_.stag;                            // [DDP-25]
    h.to = TaggedOffset{message_.to.value + offset_};  // [DDP-43]
  } else {
    h.qn = message_.qn;    // [DDP-30]
    h.msn = current_msn_;  // [DDP-34]
    h.mo = offset_;        // The first octet has MO 0. [DDP-35] [DDP-41]
  }
  offset_ += segment.length;
  // Only the segment that ends the message has L, and it goes last and highest: a message is cut
  // front to back. A message without payload is one segment. [DDP-13] [DDP-14] [DDP-15] [DDP-16]
  // [DDP-44] [DDP-48]
  h.last = offset_ == message_.length;
  idle_ = h.last;
  return segment;
}

}  // namespace iwarp::ddp

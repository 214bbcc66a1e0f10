// SPDX-License-Identifier: Apache-2.0
// Segmentation of outbound DDP messages (RFC 5041 section 5.2).
#include "iwarp/ddp/transmitter.hpp"

#include <algorithm>
#include <cassert>

namespace iwarp::ddp {

void Transmitter::start(const Message& message) {
  assert(idle_);  // One message after the other, as submitted. [DDP-47]
  SegmentHeader& h = segment_.header;
  h = {.tagged = message.tagged,
       .rsvd_ulp = message.rsvd_ulp,
       .rsvd_ulp_rest = message.rsvd_ulp_rest,
       .stag = message.stag,  // [DDP-25]
       .qn = message.qn};     // [DDP-30]
  if (!message.tagged) {
    // One step per message, per queue, per direction, modulo 2^32. [DDP-31] [DDP-33] [DDP-34]
    h.msn = msn_[message.qn];
    msn_[message.qn] = msn_[message.qn].next();
  }
  to_ = message.to;
  length_ = message.length;
  offset_ = 0;
  idle_ = false;
}

const Segment& Transmitter::next(std::size_t mulpdu) {
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

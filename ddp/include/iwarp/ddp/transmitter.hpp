// SPDX-License-Identifier: Apache-2.0
// Transmitter: cuts one DDP message at a time into segments (RFC 5041 section 5.2).
// Numbers the messages of each queue and writes the headers. It does not queue messages, does not
// copy payload, and takes MULPDU as a plain number: DDP does not depend on what lies below it.
#pragma once

#include <array>

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

}  // namespace iwarp::ddp

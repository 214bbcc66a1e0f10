// SPDX-License-Identifier: Apache-2.0
// What DDP and the protocol above it exchange about inbound segments and messages.
#pragma once

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/segment_header.hpp"

namespace iwarp::ddp {

/// A buffer that the ULP has posted to an untagged queue.
struct UntaggedBuffer {
  bytes::Scatter pieces;
  /// The ULP sets this to false if no buffer is posted and it waits for one instead of ending the
  /// stream.
  bool ready = true;
};

/// A whole message, which has been placed; every message before it has been delivered.
struct Delivery {
  const SegmentHeader& header;  ///< header of the last segment [DDP-29] [DDP-53] [DDP-54]
  /// Payload octets: untagged, of the message; tagged, of the last segment.
  std::uint32_t length = 0;
};

/// The segment that is arriving, and where its payload belongs.
struct Arrival {
  SegmentHeader header;
  std::uint32_t length = 0;  ///< payload octets of this segment
  bytes::Scatter target;     ///< memory for exactly these octets [DDP-40]
  bool hold = false;         ///< no buffer is posted: call begin() again later with the segment
};

}  // namespace iwarp::ddp

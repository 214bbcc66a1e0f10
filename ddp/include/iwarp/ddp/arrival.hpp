// SPDX-License-Identifier: Apache-2.0
// What DDP and the protocol above hand each other about inbound segments and messages.
#pragma once

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/segment_header.hpp"

namespace iwarp::ddp {

/// A buffer the ULP has posted on an untagged queue.
struct UntaggedBuffer {
  bytes::Scatter pieces;
  /// False: there is none yet, but the ULP asks to wait for one instead of ending the stream.
  bool ready = true;
};

/// A whole message, placed; every message before it was delivered.
struct Delivery {
  const SegmentHeader& header;  ///< of its last segment [DDP-29] [DDP-53] [DDP-54]
  std::uint32_t length = 0;     ///< untagged: of the message; tagged: of the last segment
};

/// Where the segment under way belongs.
struct Arrival {
  SegmentHeader header;
  std::uint32_t length = 0;  ///< payload octets of this segment
  bytes::Scatter target;     ///< as many octets [DDP-40]
  bool hold = false;         ///< no buffer yet: call begin() again later with the same segment
};

}  // namespace iwarp::ddp

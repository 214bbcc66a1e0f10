// SPDX-License-Identifier: Apache-2.0
// The types in which DDP and the protocol above it describe inbound segments and messages.
#pragma once

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/segment_header.hpp"

namespace iwarp::ddp {

/// A buffer that the ULP has posted to an untagged queue.
struct UntaggedBuffer {
  bytes::Scatter pieces;
  /// If no buffer is posted, the ULP has two choices. It sets `ready` to false, and the segment
  /// waits for a buffer; or it returns a fault, and the stream ends.
  bool ready = true;
  /// What happens to a message that is longer than `pieces`.
  enum class Beyond : std::uint8_t {
    kTooLong,  ///< refused with kUntaggedTooLong
    /// Refused with kDdpCatastrophic, because the receiving end and not the message is at fault: it
    /// cannot use the rest of the buffer.
    kUnusable,
    kDropped,  ///< placed in `waste`
  };
  Beyond beyond = Beyond::kTooLong;
  bytes::Span waste;  ///< memory for the payload of any segment; valid with kDropped
};

/// A message whose payload has been placed completely. All earlier messages have been delivered.
struct Delivery {
  const SegmentHeader& header;  ///< header of the last segment [DDP-29] [DDP-53] [DDP-54]
  /// Number of payload octets: of the whole message if it is untagged, and of its last segment if
  /// it is tagged.
  std::uint32_t length = 0;
};

/// The segment that is arriving, and where its payload goes.
struct Arrival {
  SegmentHeader header;
  std::uint32_t length = 0;  ///< payload octets of this segment
  bytes::Scatter target;     ///< memory for exactly `length` octets [DDP-40]
  bool hold = false;         ///< no buffer is posted: call begin() again later for this segment
};

}  // namespace iwarp::ddp

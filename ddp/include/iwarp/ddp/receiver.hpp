// SPDX-License-Identifier: Apache-2.0
// Receiver: checks inbound DDP segments, says where their payload goes, delivers whole messages
// (RFC 5041 sections 5.3, 5.4 and 7). It moves no octets itself: begin() says where the payload
// belongs, the caller puts it there, end() makes it count. Lower layer: in order, as TCP is.
// It never tears a stream down [DDP-55] [DDP-65]; after its first Fault it takes nothing more
// [DDP-81].
#pragma once

#include <array>
#include <optional>

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

/// What DDP asks of the protocol above. Called from inside begin() and end() only.
class Sink {
 public:
  /// May a segment with this header come now? Judges what is the ULP's: RsvdULP above all. Called
  /// once per segment, before any other call.
  virtual bytes::Check admit(const SegmentHeader& header) = 0;
  /// Where the `length` > 0 octets of a tagged segment go, into the empty `target`; their total is
  /// `length`. Judges STag, association, rights, bounds and wrap. [DDP-73] [DDP-74] [DDP-75]
  /// [DDP-76] [DDP-77]
  virtual bytes::Check tagged_target(const SegmentHeader& header, std::uint32_t length,
                                     bytes::Scatter& target) = 0;
  /// The buffer for the message that starts with this segment, into the empty `buffer`. [DDP-68]
  virtual bytes::Check untagged_buffer(const SegmentHeader& first, UntaggedBuffer& buffer) = 0;
  /// A message is complete. In the order sent, each exactly once. [DDP-50] [DDP-51] [DDP-52]
  virtual bytes::Check deliver(const Delivery& delivery) = 0;

 protected:
  ~Sink() = default;
};

/// Where the segment under way belongs.
struct Arrival {
  SegmentHeader header;
  std::uint32_t length = 0;  ///< payload octets of this segment
  bytes::Scatter target;     ///< as many octets [DDP-40]
  bool hold = false;         ///< no buffer yet: call begin() again later with the same segment
};

class Receiver {
 public:
  explicit Receiver(Sink& sink) : sink_(sink) {}

  /// A segment of `ulpdu_length` octets, as the lower layer counts it [DDP-7], has begun; `prefix`
  /// holds at least its DDP header (all of the ULPDU if that is shorter). All checks are made here,
  /// before an octet is placed. [DDP-78] Without Fault, arrival() says where the payload goes.
  bytes::Check begin(bytes::View prefix, std::size_t ulpdu_length);
  /// The payload of the segment is in its target. Delivers the message when it was the last one.
  bytes::Check end();

  /// The segment last begun, until the next begin().
  const Arrival& arrival() const { return current_; }
  /// Its header: what a Terminate echoes. [DDP-80]
  const SegmentHeader& current() const { return current_.header; }

  /// The MSN that the next message on the queue must have; settable for tests of the wrap.
  Msn expected_msn(Qn qn) const { return queues_[qn].expected; }
  void set_expected_msn(Qn qn, Msn msn) { queues_[qn].expected = msn; }

 private:
  struct Queue {
    Msn expected;
    bool open = false;  ///< a message is under way in `buffer`
    std::uint32_t next_mo = 0;
    std::size_t size = 0;  ///< octets of the buffer
    UntaggedBuffer buffer;
  };

  bytes::Check begin_tagged();
  bytes::Check begin_untagged();
  bytes::Check open(Queue& queue);
  std::unexpected<Fault> latch(const Fault& fault);

  Sink& sink_;
  std::array<Queue, kQueues> queues_;
  Arrival current_;
  std::optional<Fault> fault_;
};

}  // namespace iwarp::ddp

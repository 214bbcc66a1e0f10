// SPDX-License-Identifier: Apache-2.0
// Receiver: checks inbound DDP segments, determines where their payload goes, and delivers whole
// messages (RFC 5041 sections 5.3, 5.4 and 7). The Receiver copies no octets: begin() determines
// where the payload goes, and the caller moves the payload there and then calls end(). The lower
// layer must deliver segments in order, as TCP does. The receiver never tears a stream down
// [DDP-55] [DDP-65]; after its first Fault it accepts nothing more [DDP-81]. The receiver does not
// judge STags, rights or opcodes; the Sink does.
//
// <!-- figure: source test/unit/ddp/support.hpp | block bytes::Check feed -->
// ```cpp
// bytes::Check feed(const Octets& octets) {
//   const auto arrival = begin(octets);
//   if (!arrival) return bytes::fault(arrival.error());
//   REQUIRE_FALSE(arrival->hold);
//   place(octets, *arrival);
//   return receiver.end(sink);
// }
// ```
// <!-- end -->
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "iwarp/ddp/arrival.hpp"

namespace iwarp::ddp {

/// The receiving half of a DDP stream. Not thread-safe. The Sink is the protocol above DDP, and the
/// caller passes the same object at every call. A Sink has these functions:
///
///   bytes::Check admit(const SegmentHeader& header);
///     Makes the checks that only the ULP can make: whether RsvdULP is valid, and whether the peer
///     may send a message of this kind now. Called once per segment, before any other function.
///   bytes::Check tagged_target(const SegmentHeader& header, std::uint32_t length,
///                              bytes::Scatter& target);
///     Sets `target`, which is empty, to the memory for the `length` > 0 octets of a tagged
///     segment. Checks STag, association, rights, bounds and wrap. [DDP-73] [DDP-74] [DDP-75]
///     [DDP-76] [DDP-77]
///   bytes::Check untagged_buffer(const SegmentHeader& first, UntaggedBuffer& buffer);
///     Sets `buffer`, which is empty, to the buffer for the message that starts with this segment.
///     [DDP-68]
///   bytes::Check deliver(const Delivery& delivery);
///     Reports a complete message. Called once per message, in the order in which the peer sent
///     the messages. [DDP-50] [DDP-51] [DDP-52]
class Receiver {
 public:
  /// `first` is the MSN of the first message on each queue: 1 on a new stream. [DDP-32]
  explicit Receiver(Msn first = {}) {
    for (Queue& queue : queues_) queue.expected = first;
  }
  /// Begins a segment of `ulpdu_length` octets, a length that the lower layer determines [DDP-7].
  /// `prefix` holds at least the DDP header of the segment, or all of the ULPDU if that is shorter.
  /// Makes all checks before the caller places an octet [DDP-78]. If the checks pass, arrival()
  /// says where the payload goes. Fails with kHeaderTooShort, a fault of types.hpp whose name
  /// begins with kTagged or kUntagged, or a fault that the Sink returned.
  template <typename Sink>
  bytes::Check begin(Sink& sink, bytes::View prefix, std::size_t ulpdu_length) {
    if (fault_) return bytes::fault(*fault_);  // [DDP-81]
    SegmentHeader& header = current_.header;
    if (!decode(prefix, header)) return latch(kHeaderTooShort);
    current_.length = static_cast<std::uint32_t>(ulpdu_length - header.size());
    current_.target.clear();
    current_.hold = false;
    return header.tagged ? begin_tagged(sink) : begin_untagged(sink);
  }
  /// Reports that the payload of the segment is in Arrival::target. Delivers the message if the
  /// segment was its last one. Fails with a fault of the Sink.
  template <typename Sink>
  bytes::Check end(Sink& sink);

  /// Returns the segment of the last begin(), valid until the next begin().
  const Arrival& arrival() const { return current_; }
  /// Returns the header that a Terminate echoes: the header of the segment of the last begin().
  /// [DDP-80]
  const SegmentHeader& current() const { return current_.header; }

  /// Returns the MSN that the next message on the queue must have.
  Msn expected_msn(Qn qn) const { return queues_[qn].expected; }

 private:
  struct Queue {
    Msn expected;
    bool open = false;  ///< a message has begun to arrive in `buffer` and is not complete
    std::uint32_t next_mo = 0;
    std::size_t size = 0;  ///< capacity of `buffer` in octets
    UntaggedBuffer buffer;
  };

  template <typename Sink>
  bytes::Check begin_tagged(Sink& sink) {
    const SegmentHeader& h = current_.header;
    if (h.version != kDdpVersion) return latch(kTaggedVersion);
    if (const auto ok = sink.admit(h); !ok) return latch(ok.error());
    // STag and TO of a segment without payload are not checked. [DDP-45] [DDP-46]
    if (current_.length == 0) return {};
    const auto ok = sink.tagged_target(h, current_.length, current_.target);
    if (!ok) return latch(ok.error());
    return {};
  }
  template <typename Sink>
  bytes::Check begin_untagged(Sink& sink);
  template <typename Sink>
  bytes::Check open(Sink& sink, Queue& queue);
  [[gnu::cold, gnu::noinline]] bytes::Check beyond(Queue& queue) {
    using enum UntaggedBuffer::Beyond;
    if (queue.buffer.beyond != kDropped) {
      return latch(queue.buffer.beyond == kUnusable ? kDdpCatastrophic
                                                    : kUntaggedTooLong);  // [DDP-71]
    }
    queue.size = current_.header.mo + current_.length;  // The next segment comes here, too.
    current_.target.push_back(queue.buffer.waste.first(current_.length));
    return {};
  }
  [[gnu::cold, gnu::noinline]] bytes::Check latch(const Fault& fault) {
    fault_ = fault;  // The caller drops the whole segment. [DDP-79]
    return bytes::fault(fault);
  }

  std::array<Queue, kQueues> queues_;
  Arrival current_;
  std::optional<Fault> fault_;
};

template <typename Sink>
inline bytes::Check Receiver::begin_untagged(Sink& sink) {
  const SegmentHeader& h = current_.header;
  if (h.version != kDdpVersion) return latch(kUntaggedVersion);
  if (h.qn >= kQueues) return latch(kUntaggedQn);  // [DDP-67]
  if (const auto ok = sink.admit(h); !ok) return latch(ok.error());
  Queue& queue = queues_[h.qn];
  // The lower layer delivers segments in order. So a valid MSN is the next one of its queue: any
  // other value would mean a duplicate or a gap. For the same reason, a valid MO is the number of
  // octets of the message placed so far. [DDP-70] [DDP-72]
  if (h.msn != queue.expected) return latch(kUntaggedMsnRange);
  if (h.mo != queue.next_mo) return latch(kUntaggedMo);
  if (!queue.open) {
    if (const auto ok = open(sink, queue); !ok) return latch(ok.error());  // [DDP-68]
    current_.hold = !queue.open;
    if (current_.hold) return {};
  }
  if (current_.length > queue.size - h.mo) return beyond(queue);
  bytes::append_slice(current_.target, queue.buffer.pieces, h.mo, current_.length);
  return {};
}

template <typename Sink>
inline bytes::Check Receiver::open(Sink& sink, Queue& queue) {
  queue.buffer.pieces.clear();
  queue.buffer.ready = true;
  queue.buffer.beyond = UntaggedBuffer::Beyond::kTooLong;
  if (const auto asked = sink.untagged_buffer(current_.header, queue.buffer); !asked) return asked;
  queue.open = queue.buffer.ready;
  // A message is shorter than 2^32 octets, so the rest of a larger buffer stays unused. [DDP-38]
  queue.size = std::min<std::size_t>(bytes::total_size(queue.buffer.pieces),
                                     std::numeric_limits<std::uint32_t>::max());
  return {};
}

template <typename Sink>
inline bytes::Check Receiver::end(Sink& sink) {
  if (fault_) return bytes::fault(*fault_);
  const SegmentHeader& h = current_.header;
  std::uint32_t length = current_.length;
  if (!h.tagged) {
    Queue& queue = queues_[h.qn];
    queue.next_mo += length;
    if (!h.last) return {};
    length = queue.next_mo;
    queue.expected = queue.expected.next();
    queue.next_mo = 0;
    queue.open = false;
  }
  if (!h.last) return {};  // Delivery waits for the segment with L. [DDP-17] [DDP-52]
  const auto ok = sink.deliver({.header = h, .length = length});
  if (!ok) return latch(ok.error());
  return {};
}

}  // namespace iwarp::ddp

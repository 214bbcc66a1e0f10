// SPDX-License-Identifier: Apache-2.0
// Validation, placement and delivery of inbound DDP segments (RFC 5041 sections 5.3, 5.4, 7).
#include "iwarp/ddp/receiver.hpp"

#include <algorithm>
#include <limits>

namespace iwarp::ddp {

using bytes::Check;
using bytes::fault;

namespace {

constexpr std::size_t kMaxMessage = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Check Receiver::begin(bytes::View prefix, std::size_t ulpdu_length) {
  if (fault_) return fault(*fault_);  // [DDP-81]
  SegmentHeader& header = current_.header;
  if (!decode(prefix, header)) return latch(kHeaderTooShort);
  current_.length = static_cast<std::uint32_t>(ulpdu_length - header.size());
  current_.target.clear();
  current_.hold = false;
  const auto judged = header.tagged ? begin_tagged() : begin_untagged();
  if (!judged) return latch(judged.error());
  return {};
}

inline Check Receiver::begin_tagged() {
  Arrival& arrival = current_;
  const SegmentHeader& h = arrival.header;
  if (h.version != kDdpVersion) return fault(kTaggedVersion);
  if (const auto ok = sink_.admit(h); !ok) return ok;
  // STag and TO of a segment without payload are not looked at. [DDP-45] [DDP-46]
  if (arrival.length == 0) return {};
  return sink_.tagged_target(h, arrival.length, arrival.target);
}

inline Check Receiver::begin_untagged() {
  Arrival& arrival = current_;
  const SegmentHeader& h = arrival.header;
  if (h.version != kDdpVersion) return fault(kUntaggedVersion);
  if (h.qn >= kQueues) return fault(kUntaggedQn);  // [DDP-67]
  if (const auto ok = sink_.admit(h); !ok) return ok;
  Queue& queue = queues_[h.qn];
  // The lower layer keeps order, so the only MSN that is not a duplicate or a gap is the next one,
  // and the only MO the one behind the octets placed so far. [DDP-70] [DDP-72]
  if (h.msn != queue.expected) return fault(kUntaggedMsnRange);
  if (h.mo != queue.next_mo) return fault(kUntaggedMo);
  if (!queue.open) {
    if (const auto ok = open(queue); !ok) return ok;  // [DDP-68]
    if (!queue.open) {
      arrival.hold = true;
      return {};
    }
  }
  if (arrival.length > queue.size - h.mo) return fault(kUntaggedTooLong);  // [DDP-71]
  bytes::append_slice(arrival.target, queue.buffer.pieces, h.mo, arrival.length);
  return {};
}

inline Check Receiver::open(Queue& queue) {
  queue.buffer.pieces.clear();
  queue.buffer.ready = true;
  const auto asked = sink_.untagged_buffer(current_.header, queue.buffer);
  queue.open = asked && queue.buffer.ready;
  // A message is shorter than 2^32 octets, so a larger buffer is not all usable. [DDP-38]
  queue.size = std::min<std::size_t>(bytes::total_size(queue.buffer.pieces), kMaxMessage);
  return asked;
}

Check Receiver::end() {
  if (fault_) return fault(*fault_);
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
  const auto ok = sink_.deliver({.header = h, .length = length});
  if (!ok) return latch(ok.error());
  return {};
}

std::unexpected<Fault> Receiver::latch(const Fault& f) {
  fault_ = f;  // Nothing of the segment counts. [DDP-79]
  return fault(f);
}

}  // namespace iwarp::ddp

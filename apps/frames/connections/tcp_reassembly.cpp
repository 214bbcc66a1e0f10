// SPDX-License-Identifier: Apache-2.0
// Converts sequence numbers to 64-bit offsets in the stream, which do not wrap around.
#include "frames/connections/tcp_reassembly.hpp"

#include <algorithm>
#include <utility>

namespace iwarp::apps::frames {

void TcpReassembly::segment(const TcpSegment& s, const PacketMark& mark, StreamSink& sink) {
  if (ended_) return;
  const std::uint32_t seq = s.seq + (s.syn ? 1 : 0);
  if (!started_) {
    // Do not start at a pure acknowledgement: if it is out of order, the captured stream begins at
    // another sequence number.
    if (s.size == 0 && !s.syn && !s.fin) return;
    started_ = true;
    first_seq_ = seq;
  }
  if (s.size == 0 && !s.fin) return;
  const std::uint32_t due = first_seq_ + static_cast<std::uint32_t>(next_);
  std::int64_t ahead = static_cast<std::int32_t>(seq - due);
  if (ahead < -kMaxBack) ahead += std::int64_t{1} << 32;
  if (ahead > 0) {
    const std::uint64_t at = next_ + static_cast<std::uint64_t>(ahead);
    if (is_held(at, s)) {
      counts_.repeated += s.size;
      return;
    }
    note_place(at, s.size);
    hold(at, s, mark);
    while (held_octets_ > kMaxHeld || held_.size() > kMaxSegments) skip_hole(sink);
    return;
  }
  const auto old = static_cast<std::size_t>(-ahead);
  counts_.repeated += std::min(old, s.size);
  if (old > s.size || (old == s.size && !s.fin)) return;
  note_place(next_, s.size - old);
  deliver(s.payload.subspan(std::min(old, s.payload.size())), s.size - old, s.fin, mark, sink);
  drain(sink);
}

void TcpReassembly::acknowledged(std::uint32_t ack, StreamSink& sink) {
  while (!held_.empty()) {
    const std::uint32_t behind_hole = first_seq_ + static_cast<std::uint32_t>(held_.front().at);
    if (static_cast<std::int32_t>(ack - behind_hole) < 0) return;
    skip_hole(sink);
  }
}

void TcpReassembly::finish(StreamSink& sink) {
  while (!held_.empty()) skip_hole(sink);
}

void TcpReassembly::deliver(bytes::View payload, std::size_t size, bool fin, const PacketMark& mark,
                            StreamSink& sink) {
  next_ += size;
  ended_ = ended_ || fin;
  if (!payload.empty()) sink.octets(payload, mark);
  if (size > payload.size()) {
    counts_.missing += size - payload.size();
    sink.missing(size - payload.size(), mark);
  }
}

/// Counts the `size` new octets at offset `at` as reordered if an octet that follows them in the
/// stream was captured earlier.
void TcpReassembly::note_place(std::uint64_t at, std::size_t size) {
  if (at < highest_) ++counts_.reordered;
  highest_ = std::max(highest_, at + size);
}

/// Returns whether a segment with the same position and size is already held. If so, this segment
/// is a retransmission.
bool TcpReassembly::is_held(std::uint64_t at, const TcpSegment& s) const {
  const auto first = std::ranges::lower_bound(held_, at, {}, &Held::at);
  return first != held_.end() && first->at == at && first->size == s.size && first->fin == s.fin &&
         first->octets.size() >= s.payload.size();
}

void TcpReassembly::hold(std::uint64_t at, const TcpSegment& s, const PacketMark& mark) {
  const auto place = std::ranges::upper_bound(held_, at, {}, &Held::at);
  held_.insert(place, {at, {s.payload.begin(), s.payload.end()}, s.size, s.fin, mark});
  held_octets_ += s.payload.size();
}

/// Delivers and releases those held segments that are now next in the stream.
void TcpReassembly::drain(StreamSink& sink) {
  std::size_t done = 0;
  for (; done < held_.size() && held_[done].at <= next_; ++done) {
    const Held& h = held_[done];
    held_octets_ -= h.octets.size();
    const auto old = static_cast<std::size_t>(std::min<std::uint64_t>(next_ - h.at, h.size));
    counts_.repeated += old;
    if (ended_ || (old == h.size && !h.fin)) continue;
    deliver(bytes::View(h.octets).subspan(std::min(old, h.octets.size())), h.size - old, h.fin,
            h.mark, sink);
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(done));
}

void TcpReassembly::skip_hole(StreamSink& sink) {
  if (held_.empty()) return;
  const std::uint64_t hole = held_.front().at - next_;
  counts_.missing += hole;
  next_ = held_.front().at;
  sink.missing(hole, held_.front().mark);
  drain(sink);
}

}  // namespace iwarp::apps::frames

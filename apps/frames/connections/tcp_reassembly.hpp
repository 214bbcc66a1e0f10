// SPDX-License-Identifier: Apache-2.0
// TcpReassembly: restores the stream of octets of one direction of a captured TCP connection (RFC
// 9293). Drops retransmitted octets, puts segments in order, and reports how many octets are
// missing. Holds a bounded number of octets. If an octet was captured twice, the first copy counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frames/connections/packet.hpp"
#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::frames {

/// The time at which a packet was captured, and the number of that packet in the capture.
struct PacketMark {
  std::int64_t nanoseconds = 0;  ///< nanoseconds since 1970
  std::uint64_t packet = 0;      ///< number of the packet, from 1
};

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void octets(bytes::View octets, const PacketMark& mark) = 0;
  /// Reports a hole: the next `octets` octets of the stream are not in the capture.
  virtual void missing(std::uint64_t octets, const PacketMark& mark) = 0;
};

class TcpReassembly {
 public:
  void segment(const TcpSegment& segment, const PacketMark& mark, StreamSink& sink);
  /// Handles an acknowledgement up to `ack` by the peer: holes before it count as missing, because
  /// the peer received octets that the capture does not contain.
  void acknowledged(std::uint32_t ack, StreamSink& sink);
  /// Delivers all held octets and reports the holes between them. Called when the stream has ended,
  /// or when too many octets are held.
  void finish(StreamSink& sink);

  /// Returns whether octets wait behind a hole.
  bool waits() const { return !held_.empty(); }

  /// Returns whether the FIN has been reached: all octets before it were delivered or reported
  /// missing.
  bool ended() const { return ended_; }
  std::size_t held() const { return held_octets_; }

  struct Counts {
    std::uint64_t repeated = 0;   ///< octets that were captured more than once
    std::uint64_t reordered = 0;  ///< segments captured after one that follows them in the stream
    std::uint64_t missing = 0;    ///< octets that are not in the capture
  };
  const Counts& counts() const { return counts_; }

  /// Maximum octets and segments that are held. Beyond these limits, the first hole counts as
  /// missing.
  static constexpr std::size_t kMaxHeld = 256 * 1024;
  static constexpr std::size_t kMaxSegments = 256;
  /// Maximum distance of a retransmission. A sequence number that is further behind the expected
  /// one is taken as one that is far ahead of it.
  static constexpr std::int64_t kMaxBack = std::int64_t{1} << 26;

 private:
  struct Held {
    std::uint64_t at;  ///< offset of the segment in the stream
    std::vector<std::byte> octets;
    std::size_t size;  ///< size of the payload on the wire
    bool fin;
    PacketMark mark;
  };

  void deliver(bytes::View payload, std::size_t size, bool fin, const PacketMark& mark,
               StreamSink& sink);
  void note_place(std::uint64_t at, std::size_t size);
  bool is_held(std::uint64_t at, const TcpSegment& segment) const;
  void hold(std::uint64_t at, const TcpSegment& segment, const PacketMark& mark);
  void drain(StreamSink& sink);
  void skip_hole(StreamSink& sink);

  bool started_ = false;
  bool ended_ = false;
  std::uint32_t first_seq_ = 0;
  /// Offset of the next octet to deliver; the octet with number first_seq_ has offset 0.
  std::uint64_t next_ = 0;
  std::uint64_t highest_ = 0;  ///< offset behind all octets seen
  std::vector<Held> held_;     ///< held segments, sorted by offset
  std::size_t held_octets_ = 0;
  Counts counts_;
};

}  // namespace iwarp::apps::frames

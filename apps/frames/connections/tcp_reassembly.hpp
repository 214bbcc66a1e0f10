// SPDX-License-Identifier: Apache-2.0
// TcpReassembly: restores the octet stream of one direction of a captured TCP connection (RFC
// 9293). It drops retransmitted octets, puts segments in order, and reports how many octets are
// missing. It holds a bounded number of octets. If an octet was captured twice, the first copy is
// used.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frames/connections/packet.hpp"
#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::frames {

/// Identifies a packet: the time at which it was captured, and its number in the capture.
struct PacketMark {
  std::int64_t nanoseconds = 0;  ///< time of the capture, in nanoseconds since 1970
  std::uint64_t packet = 0;      ///< number of the packet, counted from 1
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
  /// Handles an acknowledgement up to `ack` by the peer. Holes before `ack` count as missing: the
  /// peer has received their octets, but the capture does not have them.
  void acknowledged(std::uint32_t ack, StreamSink& sink);
  /// Delivers all held octets and reports the holes between them. Called at the end of the stream,
  /// or when too many octets are held.
  void finish(StreamSink& sink);

  /// Returns whether octets are held because a hole precedes them.
  bool waits() const { return !held_.empty(); }

  /// Returns whether the FIN has been reached. All octets before the FIN have then been delivered
  /// or reported as missing.
  bool ended() const { return ended_; }
  std::size_t held() const { return held_octets_; }

  struct Counts {
    std::uint64_t repeated = 0;   ///< number of octets that were captured more than once
    std::uint64_t reordered = 0;  ///< number of segments that were captured out of order
    std::uint64_t missing = 0;    ///< number of octets that are not in the capture
  };
  const Counts& counts() const { return counts_; }

  /// Maximum number of octets and of segments that are held. When a limit is exceeded, the octets
  /// of the first hole count as missing.
  static constexpr std::size_t kMaxHeld = 256 * 1024;
  static constexpr std::size_t kMaxSegments = 256;
  /// Maximum number of octets by which a retransmission can be behind the expected sequence number.
  /// A sequence number that is further behind is assumed to have wrapped around, that is, to be far
  /// ahead.
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
  /// Offset of the next octet to deliver. Offset 0 is the octet with sequence number first_seq_.
  std::uint64_t next_ = 0;
  std::uint64_t highest_ = 0;  ///< end offset of the highest octet seen so far
  std::vector<Held> held_;     ///< the held segments, sorted by offset
  std::size_t held_octets_ = 0;
  Counts counts_;
};

}  // namespace iwarp::apps::frames

// SPDX-License-Identifier: Apache-2.0
// TcpReassembly: one direction of a captured TCP connection as a stream of octets (RFC 9293). Drops
// what was sent twice, puts in order what came out of order, and says how much is missing. Holds a
// bounded number of octets; the first copy of an octet counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frames/connections/packet.hpp"
#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::frames {

/// When and as which packet of the capture something came.
struct PacketMark {
  std::int64_t nanoseconds = 0;  ///< since 1970
  std::uint64_t packet = 0;      ///< from 1
};

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void octets(bytes::View octets, const PacketMark& mark) = 0;
  /// So many octets are not in the capture, although they were sent before what comes next.
  virtual void missing(std::uint64_t octets, const PacketMark& mark) = 0;
};

class TcpReassembly {
 public:
  void segment(const TcpSegment& segment, const PacketMark& mark, StreamSink& sink);
  /// The peer has received everything before this number: holes before it were not captured.
  void acknowledged(std::uint32_t ack, StreamSink& sink);
  /// Gives what is held, with what is missing in between: nothing more comes, or too much waits.
  void finish(StreamSink& sink);

  /// Octets wait behind a hole.
  bool waits() const { return !held_.empty(); }

  /// The FIN was reached.
  bool ended() const { return ended_; }
  std::size_t held() const { return held_octets_; }

  struct Counts {
    std::uint64_t repeated = 0;   ///< octets that were sent again
    std::uint64_t reordered = 0;  ///< segments that came after one that follows them in the stream
    std::uint64_t missing = 0;    ///< octets that are not in the capture
  };
  const Counts& counts() const { return counts_; }

  /// More than that is not held; then what is in between counts as missing.
  static constexpr std::size_t kMaxHeld = 256 * 1024;
  static constexpr std::size_t kMaxSegments = 256;
  /// Nothing is sent again from so far back: a number below is one far ahead.
  static constexpr std::int64_t kMaxBack = std::int64_t{1} << 26;

 private:
  struct Held {
    std::uint64_t at;  ///< offset in the stream
    std::vector<std::byte> octets;
    std::size_t size;  ///< on the wire
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
  std::uint64_t next_ = 0;     ///< offset in the stream; first_seq_ has 0
  std::uint64_t highest_ = 0;  ///< offset behind all octets seen
  std::vector<Held> held_;     ///< by offset
  std::size_t held_octets_ = 0;
  Counts counts_;
};

}  // namespace iwarp::apps::frames

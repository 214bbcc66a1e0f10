// SPDX-License-Identifier: Apache-2.0
// TcpReassembly: one direction of a captured TCP connection as a stream of octets (RFC 9293). Drops
// repeated octets, reorders, and reports how many are missing. Holds a bounded number of octets;
// the first copy of an octet counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frames/connections/packet.hpp"
#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::frames {

/// When something was captured, and in which packet.
struct PacketMark {
  std::int64_t nanoseconds = 0;  ///< since 1970
  std::uint64_t packet = 0;      ///< from 1
};

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void octets(bytes::View octets, const PacketMark& mark) = 0;
  /// Reports a hole: `octets` octets, sent before the next ones, are not in the capture.
  virtual void missing(std::uint64_t octets, const PacketMark& mark) = 0;
};

class TcpReassembly {
 public:
  void segment(const TcpSegment& segment, const PacketMark& mark, StreamSink& sink);
  /// The peer has received everything before `ack`: holes before it were not captured.
  void acknowledged(std::uint32_t ack, StreamSink& sink);
  /// Delivers what is held, with the holes in between, because nothing more comes or too much
  /// waits.
  void finish(StreamSink& sink);

  /// Returns whether octets wait behind a hole.
  bool waits() const { return !held_.empty(); }

  /// Returns whether the FIN was reached.
  bool ended() const { return ended_; }
  std::size_t held() const { return held_octets_; }

  struct Counts {
    std::uint64_t repeated = 0;   ///< octets captured again
    std::uint64_t reordered = 0;  ///< segments captured after one that follows them in the stream
    std::uint64_t missing = 0;    ///< octets that are not in the capture
  };
  const Counts& counts() const { return counts_; }

  /// Limits of what is held; beyond them the hole counts as missing.
  static constexpr std::size_t kMaxHeld = 256 * 1024;
  static constexpr std::size_t kMaxSegments = 256;
  /// Largest distance of a repetition: a number further back is one far ahead.
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
  std::uint64_t highest_ = 0;  ///< offset after all octets seen
  std::vector<Held> held_;     ///< by offset
  std::size_t held_octets_ = 0;
  Counts counts_;
};

}  // namespace iwarp::apps::frames
